//! Operators declared in files: turns a declaration into a definition like those of the table, and reports every
//! problem.
//!
//! Definitions live as long as the program, as the rows of the table do, and equal declarations share one. Names are
//! not global: a text has a [`Scope`] of the operators it may mention.

mod body;
mod check;
mod infer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tautomer_diag::{Diagnostic, Diagnostics};
use tautomer_lang::ast::{Function, OperatorDecl, Program};
use tautomer_lang::format_operator;
use tautomer_op::{Body, Declared, OpDef, Scope, Semantics, lookup};

pub(crate) use body::{bind_operands, code_of};
use check::Checked;
pub(crate) use infer::infer as type_of_body;

/// The data kept with the definition of a declared operator.
pub(crate) struct Code {
    /// The declaration, without documentation.
    pub(crate) decl: OperatorDecl,
    /// The expressions of the declaration; the body as a function, unless it has none.
    pub(crate) program: Program,
    /// The operators that the body may call.
    pub(crate) scope: Scope,
}

impl Code {
    /// The body as a function of the operands.
    pub(crate) fn function(&self) -> Option<&Function> {
        self.program.functions.first()
    }
}

/// The operators of the declarations, each under its name, and all problems with them. A body may call the operators of
/// `outer` and those declared before its own.
///
/// A declaration may have the name of an operator of `outer`: it then stands for that operator here, and a warning says
/// so unless both declarations are the same.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_graph::declare;
/// use tautomer_lang::parse_program;
/// use tautomer_op::Scope;
///
/// let text = "operator twice(x) { x + x }";
/// let program = parse_program(Arc::new(Source::new("a.taut", text))).unwrap();
/// let (scope, problems) = declare(&program.operators, &Scope::default());
/// assert!(problems.is_empty());
/// assert_eq!(scope.declared("twice").unwrap().operands.len(), 1);
/// ```
pub fn declare<'a>(decls: impl IntoIterator<Item = &'a OperatorDecl>, outer: &Scope) -> (Scope, Diagnostics) {
    declare_as(decls, outer, true)
}

/// Like [`declare`], for declarations that were checked before: their bodies are not tried.
pub fn declare_checked<'a>(decls: impl IntoIterator<Item = &'a OperatorDecl>, outer: &Scope) -> (Scope, Diagnostics) {
    declare_as(decls, outer, false)
}

fn declare_as<'a>(
    decls: impl IntoIterator<Item = &'a OperatorDecl>,
    outer: &Scope,
    thorough: bool,
) -> (Scope, Diagnostics) {
    let decls: Vec<&OperatorDecl> = decls.into_iter().collect();
    let mut problems = Diagnostics::new();
    let mut own = Scope::default();
    let mut visible = outer.clone();
    let mut seen: HashMap<&str, &OperatorDecl> = HashMap::new();
    for (i, decl) in decls.iter().enumerate() {
        let name = decl.name.as_str();
        if let Some(first) = seen.get(name) {
            problems.push(
                Diagnostic::error("T0105", format!("the operator `{name}` is declared twice"))
                    .label(decl.name.span, "again here")
                    .secondary(first.name.span, "first here")
                    .help("rename one of the two"),
            );
            continue;
        }
        seen.insert(name, decl);
        let later: Vec<&str> = decls[i + 1..].iter().map(|later| later.name.as_str()).collect();
        let checked = match check::check(decl, &visible, &later, thorough) {
            Ok(checked) => checked,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        problems.extend(checked.warnings.iter().cloned());
        let def = is_of_table(decl).unwrap_or_else(|| intern(decl, checked, &visible));
        if let Some(before) = outer.declared(name)
            && !std::ptr::eq(before, def)
        {
            problems.push(
                Diagnostic::warning("T0105", format!("`{name}` replaces another declaration of that name"))
                    .label(decl.name.span, "stands for this operator in this file")
                    .help("mention the other one by not declaring it again, or rename this one"),
            );
        }
        if let Some(foreign) = def.foreign()
            && let Some(other) = own.in_models(foreign.domain, foreign.name)
        {
            problems.push(
                Diagnostic::error(
                    "T0105",
                    format!(
                        "`{name}` and `{}` are the same operator of models, {}::{}",
                        other.name, foreign.domain, foreign.name
                    ),
                )
                .label(decl.name.span, "")
                .help("a node of a model has one meaning; remove one of the declarations"),
            );
            continue;
        }
        own.insert(name, def);
        visible.insert(name, def);
        // A short name does not hide the name in models.
        if let Some(foreign) = def.foreign() {
            let quoted = format!("{}::{}", foreign.domain, foreign.name);
            if quoted != name {
                own.insert(&quoted, def);
                visible.insert(&quoted, def);
            }
        }
    }
    (own, problems)
}

/// The declarations that a graph with calls of `def` needs to be read back: its own and those its body calls, in order.
pub(crate) fn declarations_of(def: &'static OpDef, out: &mut Vec<&'static OpDef>) {
    let Some(declared) = &def.declared else { return };
    for inner in declared.calls {
        declarations_of(inner, out);
    }
    if !out.iter().any(|known| std::ptr::eq(*known, def)) {
        out.push(def);
    }
}

/// The declaration of an operator, unless it is a primitive of the table.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_program;
/// # use tautomer_op::{Scope, lookup};
/// use tautomer_graph::{declaration, declare};
///
/// let program = parse_program(Arc::new(Source::new("a.taut", "operator twice(x) { x + x }"))).unwrap();
/// let (scope, _) = declare(&program.operators, &Scope::default());
/// assert_eq!(declaration(scope.declared("twice").unwrap()).unwrap().name.as_str(), "twice");
/// assert_eq!(declaration(lookup("silu").unwrap()).unwrap().operands.len(), 1);
/// assert!(declaration(lookup("relu").unwrap()).is_none());
/// ```
pub fn declaration(def: &OpDef) -> Option<&'static OperatorDecl> {
    code_of(def).map(|code| &code.decl)
}

/// The canonical form of a declaration and the definitions that it refers to: two declarations are the same if these
/// are.
type Key = (String, Vec<usize>);

/// The one definition of a declaration.
fn intern(decl: &OperatorDecl, checked: Checked, visible: &Scope) -> &'static OpDef {
    static INTERNED: Mutex<Option<HashMap<Key, &'static OpDef>>> = Mutex::new(None);
    let mut plain = decl.clone();
    plain.doc = None;
    for attr in &mut plain.attrs {
        attr.doc = None;
    }
    let text = format_operator(&plain);
    let address = |def: &&'static OpDef| std::ptr::from_ref::<OpDef>(def).addr();
    let key = (text.clone(), checked.calls.iter().map(address).collect());
    // Before the lock: operators that come with the tool may be loaded for it, which are interned themselves.
    let mut scope = Scope::default();
    if !checked.calls.is_empty() {
        let is_called = |def: &'static OpDef| checked.calls.iter().any(|called| std::ptr::eq(*called, def));
        let called = visible.iter().filter(|(_, def)| is_called(def));
        called.for_each(|(name, def)| scope.insert(name, def));
    }
    let mut guard = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let interned = guard.get_or_insert_with(HashMap::new);
    if let Some(def) = interned.get(&key) {
        return def;
    }
    let text: &'static str = text.leak();
    let semantics = match &decl.body {
        Some(_) => Semantics::Composite(Body { text, tree: &[] }),
        None => Semantics::Uninterpreted,
    };
    let code: &'static Code = Box::leak(Box::new(Code {
        program: body::program(&plain),
        decl: plain,
        scope,
    }));
    let mut def = OpDef::new(
        decl.name.as_str().to_owned().leak(),
        decl.doc.clone().unwrap_or_default().leak(),
    );
    def.operands = checked.operands.leak();
    def.attrs = checked.attrs.leak();
    def.infer = infer::infer;
    def.semantics = semantics;
    def.traits = checked.traits;
    def.cost = checked.cost;
    def.declared = Some(Declared {
        text,
        calls: checked.calls.leak(),
        results: checked.results.leak(),
        onnx: checked.onnx,
        code,
    });
    let def: &'static OpDef = Box::leak(Box::new(def));
    interned.insert(key, def);
    def
}

/// The operator of the table whose declaration this is.
fn is_of_table(decl: &OperatorDecl) -> Option<&'static OpDef> {
    let def = lookup(decl.name.as_str()).filter(|_| !decl.quoted)?;
    let known = def.composite_body()?;
    let mut plain = decl.clone();
    plain.doc = None;
    (format_operator(&plain) == known).then_some(def)
}

/// True for names that a declaration may not take, since the table has them.
fn is_taken(name: &str) -> bool {
    lookup(name).is_some()
}

/// A source for the body of a declaration.
fn synthetic(decl: &OperatorDecl) -> Program {
    let mut program = Program::synthetic();
    program.ast = Arc::unwrap_or_clone(decl.ast.clone());
    program
}
