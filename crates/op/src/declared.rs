//! Operators that files declare, and the names by which texts know them.
//!
//! A declared operator has an [`OpDef`] like the rows of the table, so that every stage treats both the same way. Equal
//! declarations share one definition, as equal strings share one symbol in an interner; a [`Scope`] maps names to
//! definitions, and each text has its own scope.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::sync::Arc;

use super::{OpDef, lookup};

/// The parts of a declaration that a row of the table does not have.
#[derive(Clone, Copy)]
pub struct Declared {
    /// The declaration in canonical form, without documentation. Together with the definitions it refers to, it decides
    /// whether two declarations are the same.
    pub text: &'static str,
    /// The declared operators that its body calls.
    pub calls: &'static [&'static OpDef],
    /// Its results; one without a name if the declaration does not list them.
    pub results: &'static [DeclaredResult],
    /// Its counterpart in models.
    pub onnx: Option<ForeignName>,
    /// Data that the crate that checked the declaration keeps with it.
    pub code: &'static (dyn Any + Send + Sync + RefUnwindSafe),
}

/// A result of a declared operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclaredResult {
    /// Its name, if it has one.
    pub name: Option<&'static str>,
    /// Nodes of models may leave it out.
    pub optional: bool,
}

/// An operator of an ONNX domain other than the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForeignName {
    /// `com.microsoft`
    pub domain: &'static str,
    /// `SkipLayerNormalization`
    pub name: &'static str,
    /// The version of the domain.
    pub version: u32,
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// The declared operators that a text may mention, by name.
///
/// ```
/// use tautomer_op::Scope;
///
/// assert_eq!(Scope::default().find("relu", false).map(|def| def.name), Some("relu"));
/// assert!(Scope::default().find("com.microsoft::Gelu", true).is_none());
/// ```
#[derive(Clone, Default)]
pub struct Scope {
    names: Arc<BTreeMap<Arc<str>, &'static OpDef>>,
    shipped: Option<Shipped>,
}

/// Operators of one domain that are loaded when a text first mentions the domain.
#[derive(Clone, Copy)]
struct Shipped {
    domain: &'static str,
    load: fn() -> &'static Scope,
}

impl Scope {
    /// The operator that a call means: a declared one, or one of the table unless the name is quoted.
    pub fn find(&self, name: &str, quoted: bool) -> Option<&'static OpDef> {
        match self.declared(name) {
            None if !quoted => lookup(name),
            found => found,
        }
    }

    /// A scope with the operators that `load` returns, all with names in `domain`. They are loaded when one of them, or
    /// the list of all names, is first needed.
    #[doc(hidden)]
    pub fn of_domain(domain: &'static str, load: fn() -> &'static Scope) -> Scope {
        Scope {
            names: Arc::default(),
            shipped: Some(Shipped { domain, load }),
        }
    }

    /// The operators of a domain that are loaded later, if `domain` is that one.
    fn later(&self, domain: &str) -> Option<&'static Scope> {
        let shipped = self.shipped.filter(|shipped| shipped.domain == domain)?;
        Some((shipped.load)())
    }

    /// The declared operator of that name.
    pub fn declared(&self, name: &str) -> Option<&'static OpDef> {
        self.names.get(name).copied().or_else(|| {
            let (domain, _) = name.split_once("::")?;
            self.later(domain)?.declared(name)
        })
    }

    /// The declared operator that stands for `name` of `domain` in models.
    pub fn in_models(&self, domain: &str, name: &str) -> Option<&'static OpDef> {
        let is_it = |def: &&OpDef| {
            def.foreign()
                .is_some_and(|foreign| foreign.domain == domain && foreign.name == name)
        };
        // A quoted name is the name in models; an `onnx` line gives an operator one besides its short name.
        self.declared(&format!("{domain}::{name}"))
            .filter(is_it)
            .or_else(|| self.names.values().copied().find(|def| is_it(def)))
            .or_else(|| self.later(domain)?.in_models(domain, name))
    }

    /// Binds `name` to `def` from here on.
    pub fn insert(&mut self, name: &str, def: &'static OpDef) {
        Arc::make_mut(&mut self.names).insert(name.into(), def);
    }

    /// Adds the names of another scope, which win over those that are there.
    pub fn extend(&mut self, other: &Scope) {
        if self.is_empty() {
            return *self = other.clone();
        }
        if let Some(shipped) = other.shipped
            && self.shipped.is_none()
        {
            self.extend((shipped.load)());
        }
        if !Arc::ptr_eq(&self.names, &other.names) {
            let names = other.names.iter().map(|(name, def)| (name.clone(), *def));
            Arc::make_mut(&mut self.names).extend(names);
        }
    }

    /// The names and their definitions, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'static OpDef)> {
        let later = self.shipped.iter().flat_map(|shipped| (shipped.load)().names.iter());
        // Names of the text itself win.
        let all: BTreeMap<&str, _> = later
            .chain(self.names.iter())
            .map(|(name, def)| (&**name, *def))
            .collect();
        all.into_iter()
    }

    /// The operators that texts declare, each once, without those that are loaded later: these have no properties, so
    /// that no operator variable stands for one of them.
    #[doc(hidden)]
    pub fn written(&self) -> Vec<&'static OpDef> {
        // An operator may have a short name and one in models.
        let mut out: Vec<&'static OpDef> = Vec::new();
        for &def in self.names.values() {
            if !out.iter().any(|known| std::ptr::eq(*known, def)) {
                out.push(def);
            }
        }
        out
    }

    /// True if no operator has been declared.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.shipped.is_none()
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}
