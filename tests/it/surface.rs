//! What the crate `tautomer` offers to others, name by name: `tests/data/surface.txt`. A line that disappears or changes
//! breaks programs of users, so it is seen in review and named in CHANGELOG.md.
//!
//! `UPDATE_SURFACE=1 cargo test --test it surface::` writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// A module with what is declared in it.
#[derive(Default)]
struct Module {
    items: Vec<Declared>,
    /// Public and private modules by name.
    modules: BTreeMap<String, Rc<Module>>,
    /// Names that imports give to what is elsewhere: name, path, whether it is public.
    uses: Vec<(String, Vec<String>, bool)>,
}

/// A declaration, with the lines that it and its public parts have in the list.
struct Declared {
    name: String,
    is_public: bool,
    line: String,
    parts: Vec<String>,
}

/// A crate: its modules, and the public functions and constants of each type by its name.
struct Krate {
    root: Rc<Module>,
    methods: BTreeMap<String, BTreeSet<String>>,
}

/// A file while it is read.
struct Reader<'a> {
    text: &'a str,
    methods: &'a mut BTreeMap<String, BTreeSet<String>>,
}

impl Krate {
    fn read(folder: &Path) -> Krate {
        let mut methods = BTreeMap::new();
        let root = module_of(&folder.join("src/lib.rs"), &folder.join("src"), &mut methods);
        Krate {
            root: Rc::new(root),
            methods,
        }
    }
}

/// Reads the module in a file; its modules are in files of `folder`.
fn module_of(file: &Path, folder: &Path, methods: &mut BTreeMap<String, BTreeSet<String>>) -> Module {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut reader = Reader { text: &text, methods };
    reader.module(&parsed.items, folder)
}

impl Reader<'_> {
    fn module(&mut self, items: &[Item], folder: &Path) -> Module {
        let mut out = Module::default();
        for item in items {
            self.item(item, folder, &mut out);
        }
        out
    }

    fn item(&mut self, item: &Item, folder: &Path, out: &mut Module) {
        let is_listed = !is_hidden(attributes(item));
        if is_test(attributes(item)) {
            return;
        }
        let is_public = |vis: &Visibility| is_listed && is_public(vis);
        let mut declare = |name: String, vis: &Visibility, line: String, parts: Vec<String>| {
            out.items.push(Declared {
                name,
                is_public: is_public(vis),
                line,
                parts,
            });
        };
        match item {
            Item::Mod(module) => {
                let name = module.ident.to_string();
                let inner = match &module.content {
                    Some((_, items)) => self.module(items, &folder.join(&name)),
                    None => {
                        let (beside, inside) = (folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs"));
                        let file = if beside.exists() { beside } else { inside };
                        module_of(&file, &folder.join(&name), self.methods)
                    }
                };
                out.modules.insert(name.clone(), Rc::new(inner));
                out.uses
                    .push((name.clone(), vec!["self".into(), name], is_public(&module.vis)));
            }
            Item::Use(item) => flatten(&item.tree, &mut Vec::new(), is_public(&item.vis), &mut out.uses),
            Item::Fn(item) => {
                let line = self.slice(item.sig.span().byte_range());
                declare(item.sig.ident.to_string(), &item.vis, line, Vec::new());
            }
            Item::Struct(item) => {
                let line = format!("struct {}{}", item.ident, self.slice(item.generics.span().byte_range()));
                let parts = self.fields(&item.fields);
                declare(item.ident.to_string(), &item.vis, line, parts);
            }
            Item::Enum(item) => {
                let line = format!("enum {}{}", item.ident, self.slice(item.generics.span().byte_range()));
                let variants = item.variants.iter().filter(|v| !is_hidden(&v.attrs)).map(|v| {
                    let fields = self.slice(v.fields.span().byte_range());
                    format!(
                        "{}{}{fields}",
                        v.ident,
                        if matches!(v.fields, Fields::Named(_)) { " " } else { "" }
                    )
                });
                let parts = variants.collect();
                declare(item.ident.to_string(), &item.vis, line, parts);
            }
            Item::Trait(item) => {
                let supertraits = self.slice(item.supertraits.span().byte_range());
                let colon = if supertraits.is_empty() { "" } else { ": " };
                let line = format!("trait {}{colon}{supertraits}", item.ident);
                let parts = item.items.iter().filter_map(|part| self.of_trait(part)).collect();
                declare(item.ident.to_string(), &item.vis, line, parts);
            }
            Item::Type(item) => {
                let line = self.slice(item.type_token.span().byte_range().start..item.ty.span().byte_range().end);
                declare(item.ident.to_string(), &item.vis, line, Vec::new());
            }
            Item::Const(item) => {
                let line = format!("const {}: {}", item.ident, self.slice(item.ty.span().byte_range()));
                declare(item.ident.to_string(), &item.vis, line, Vec::new());
            }
            Item::Static(item) => {
                let line = format!("static {}: {}", item.ident, self.slice(item.ty.span().byte_range()));
                declare(item.ident.to_string(), &item.vis, line, Vec::new());
            }
            Item::Macro(item) => {
                let exported = is_listed && item.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                if let Some(name) = item.ident.as_ref().filter(|_| exported) {
                    out.items.push(Declared {
                        name: name.to_string(),
                        is_public: true,
                        line: format!("macro {name}!"),
                        parts: Vec::new(),
                    });
                }
            }
            Item::Impl(item) if item.trait_.is_none() && is_listed => {
                let syn::Type::Path(ty) = &*item.self_ty else { return };
                let Some(name) = ty.path.segments.last().map(|s| s.ident.to_string()) else {
                    return;
                };
                let found: Vec<String> = item.items.iter().filter_map(|part| self.of_impl(part)).collect();
                self.methods.entry(name).or_default().extend(found);
            }
            _ => {}
        }
    }

    fn fields(&self, fields: &Fields) -> Vec<String> {
        let public = fields
            .iter()
            .enumerate()
            .filter(|(_, f)| is_public(&f.vis) && !is_hidden(&f.attrs));
        let line = |(i, field): (usize, &syn::Field)| {
            let name = field.ident.as_ref().map_or_else(|| i.to_string(), ToString::to_string);
            format!("{name}: {}", self.slice(field.ty.span().byte_range()))
        };
        public.map(line).collect()
    }

    fn of_impl(&self, part: &ImplItem) -> Option<String> {
        match part {
            ImplItem::Fn(f) if is_public(&f.vis) && !is_hidden(&f.attrs) => Some(self.slice(f.sig.span().byte_range())),
            ImplItem::Const(c) if is_public(&c.vis) && !is_hidden(&c.attrs) => {
                Some(format!("const {}: {}", c.ident, self.slice(c.ty.span().byte_range())))
            }
            _ => None,
        }
    }

    fn of_trait(&self, part: &TraitItem) -> Option<String> {
        match part {
            TraitItem::Fn(f) if !is_hidden(&f.attrs) => Some(self.slice(f.sig.span().byte_range())),
            TraitItem::Const(c) => Some(format!("const {}: {}", c.ident, self.slice(c.ty.span().byte_range()))),
            TraitItem::Type(t) => Some(format!("type {}", t.ident)),
            _ => None,
        }
    }

    /// Source text on one line.
    fn slice(&self, range: Range<usize>) -> String {
        let lines = self.text[range]
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words
            .join(" ")
            .replace("( ", "(")
            .replace(", )", ")")
            .replace(",)", ")")
            .replace("{ ", "{")
            .replace(", }", "}")
    }
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

/// True for what is not documented.
fn is_hidden(attrs: &[Attribute]) -> bool {
    has(attrs, "doc", "hidden")
}

fn is_test(attrs: &[Attribute]) -> bool {
    has(attrs, "cfg", "test")
}

fn has(attrs: &[Attribute], name: &str, word: &str) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        syn::Meta::List(list) => list.path.is_ident(name) && list.tokens.to_string() == word,
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// The names that an import makes, each with its path.
fn flatten(tree: &UseTree, path: &mut Vec<String>, public: bool, out: &mut Vec<(String, Vec<String>, bool)>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            flatten(&inner.tree, path, public, out);
            path.pop();
        }
        UseTree::Name(name) => {
            let mut whole = path.clone();
            whole.push(name.ident.to_string());
            // `use a::b::{self}` is `use a::b`.
            if name.ident == "self" {
                whole.pop();
            }
            out.push((whole.last().cloned().unwrap_or_default(), whole, public));
        }
        UseTree::Rename(name) => {
            let mut whole = path.clone();
            whole.push(name.ident.to_string());
            out.push((name.rename.to_string(), whole, public));
        }
        UseTree::Glob(_) => out.push(("*".into(), path.clone(), public)),
        UseTree::Group(group) => group.items.iter().for_each(|inner| flatten(inner, path, public, out)),
    }
}

/// All crates by the name that a program has for them.
struct Workspace(BTreeMap<String, Krate>);

/// A module, and the crate and modules that it is inside of.
#[derive(Clone)]
struct Place {
    krate: String,
    /// From the root of the crate to the module.
    chain: Vec<Rc<Module>>,
}

/// What a path leads to.
enum Found {
    Module(Place),
    /// An item, with the crate that it is in.
    Item(Place, usize),
}

impl Workspace {
    fn read() -> Workspace {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut crates = BTreeMap::from([("tautomer".to_owned(), Krate::read(root))]);
        let mut folders: Vec<PathBuf> = fs::read_dir(root.join("crates"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
            // What is built only with a feature is no part of the list.
            if !matches!(&*name, "columns" | "datafusion" | "testing") {
                crates.insert(format!("tautomer_{name}"), Krate::read(&folder));
            }
        }
        Workspace(crates)
    }

    fn root(&self, krate: &str) -> Option<Place> {
        Some(Place {
            krate: krate.to_owned(),
            chain: vec![self.0.get(krate)?.root.clone()],
        })
    }

    /// What `path` means in the module at the end of `place`.
    fn resolve(&self, place: &Place, path: &[String], depth: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => self.root(&place.krate)?,
            "self" => place.clone(),
            "super" => Place {
                chain: place.chain[..place.chain.len() - 1].to_vec(),
                ..place.clone()
            },
            name => match self.member(place, name, depth)? {
                Found::Module(found) => found,
                item if rest.is_empty() => return Some(item),
                Found::Item(..) => return None,
            },
        };
        for (i, name) in rest.iter().enumerate() {
            at = match self.member(&at, name, depth)? {
                Found::Module(found) => found,
                item if i + 1 == rest.len() => return Some(item),
                Found::Item(..) => return None,
            };
        }
        Some(Found::Module(at))
    }

    fn member(&self, place: &Place, name: &str, depth: usize) -> Option<Found> {
        // Imports that lead back to themselves.
        if depth > 16 {
            return None;
        }
        let module = place.chain.last()?;
        if let Some(i) = module.items.iter().position(|item| item.name == name) {
            return Some(Found::Item(place.clone(), i));
        }
        if let Some(inner) = module.modules.get(name) {
            let mut inside = place.clone();
            inside.chain.push(inner.clone());
            return Some(Found::Module(inside));
        }
        for (known, path, _) in &module.uses {
            if known == name && path.first().is_some_and(|first| first != name || path.len() == 1) {
                if let Some(krate) = path.first().filter(|_| path.len() == 1).and_then(|p| self.root(p)) {
                    return Some(Found::Module(krate));
                }
                if path != &[name.to_owned()]
                    && let Some(found) = self.resolve(place, path, depth + 1)
                {
                    return Some(found);
                }
            }
        }
        for (_, path, _) in module.uses.iter().filter(|(known, ..)| known == "*") {
            if let Some(Found::Module(all)) = self.resolve(place, path, depth + 1)
                && let Some(found) = self.member(&all, name, depth + 1)
            {
                return Some(found);
            }
        }
        self.root(name).map(Found::Module)
    }

    /// The lines of a module and of what is in it, under the name that it has from outside.
    fn list(&self, place: &Place, prefix: &str, seen: &mut BTreeSet<*const Module>, out: &mut BTreeSet<String>) {
        let Some(module) = place.chain.last() else { return };
        if !seen.insert(Rc::as_ptr(module)) {
            return;
        }
        for (i, item) in module.items.iter().enumerate() {
            if item.is_public {
                self.item(&Found::Item(place.clone(), i), &item.name, prefix, seen, out);
            }
        }
        for (name, path, _) in module.uses.iter().filter(|(.., public)| *public) {
            match self.resolve(place, path, 0) {
                Some(Found::Module(all)) if name == "*" => {
                    seen.remove(&Rc::as_ptr(all.chain.last().unwrap()));
                    self.list(&all, prefix, seen, out);
                }
                Some(found) => self.item(&found, name, prefix, seen, out),
                None => {
                    out.insert(format!("{prefix}::{name} = {}", path.join("::")));
                }
            }
        }
        seen.remove(&Rc::as_ptr(module));
    }

    fn item(
        &self,
        found: &Found,
        name: &str,
        prefix: &str,
        seen: &mut BTreeSet<*const Module>,
        out: &mut BTreeSet<String>,
    ) {
        match found {
            Found::Module(inner) => self.list(inner, &format!("{prefix}::{name}"), seen, out),
            Found::Item(place, i) => {
                let item = &place.chain.last().unwrap().items[*i];
                let renamed = if name == item.name {
                    String::new()
                } else {
                    format!(" as {name}")
                };
                out.insert(format!("{prefix}: {}{renamed}", item.line));
                let methods = self.0[&place.krate].methods.get(&item.name);
                let methods = methods.filter(|_| !item.line.starts_with("fn ")).into_iter().flatten();
                for part in item.parts.iter().chain(methods) {
                    out.insert(format!("{prefix}::{name}: {part}"));
                }
            }
        }
    }
}

#[test]
fn the_public_surface_is_the_one_that_is_listed() {
    let workspace = Workspace::read();
    let mut lines = BTreeSet::new();
    workspace.list(
        &workspace.root("tautomer").unwrap(),
        "tautomer",
        &mut BTreeSet::new(),
        &mut lines,
    );
    let found: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/surface.txt");
    if std::env::var_os("UPDATE_SURFACE").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let listed = fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeSet<&str> = listed.lines().collect();
    let gone: Vec<&&str> = known.iter().filter(|line| !lines.contains(**line)).collect();
    let new: Vec<&String> = lines.iter().filter(|line| !known.contains(line.as_str())).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "the public surface is not that of tests/data/surface.txt: gone {gone:#?}, new {new:#?}; \
         `UPDATE_SURFACE=1 cargo test --test it surface::` writes it, and CHANGELOG.md names what users see"
    );
}
