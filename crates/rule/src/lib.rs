//! Checked rules: patterns, conditions and targets, resolved against the operator table.
//!
//! This crate knows operators and expressions, but not the engines that apply rules.

mod check;
mod composite;
mod example;
mod library;
mod lint;
mod pattern;

use std::fmt;
use std::sync::Arc;

pub use check::{given_list, instances};
pub use check::{load_checked_rules, load_checked_rules_in, load_rules, load_rules_in};
pub use composite::{composite_rules, is_body, recognition_rules};
pub use example::{Example, ExampleKind};
pub use library::{
    NamedText, library, library_files, library_operators, library_rules, library_scope, library_set, library_set_files,
    library_set_rules, load_shipped_rules, operator_files, shipped_rule_file, shipped_target_file, table_files,
    target_files,
};
pub use lint::{compare_files, compare_rules};
pub use pattern::{
    AttrPattern, Count, Family, FamilyId, Item, ListItem, OpVariable, Pattern, PatternId, PatternNode, ProjIndex,
    Variable,
};

use tautomer_diag::{Diagnostics, Span};
use tautomer_lang::ast::{Ast, Block, ExprId, Numerics, RuleClass};
use tautomer_op::Scope;

/// How closely the two sides of a rule agree, from the strictest class to the weakest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Class {
    /// The same bits for every input, NaN payloads aside.
    Bitwise,
    /// Equal as functions over the real numbers; only rounding differs.
    Real,
    /// The difference is at most this number times the largest magnitude in either result.
    Approx(f64),
}

impl Class {
    /// True if a user who allows `self` allows `other`.
    pub fn allows(self, other: Class) -> bool {
        match (self, other) {
            (_, Class::Bitwise) | (Class::Real | Class::Approx(_), Class::Real) => true,
            (Class::Approx(allowed), Class::Approx(e)) => e <= allowed,
            _ => false,
        }
    }

    /// The weaker of two classes; errors of approximations add up.
    pub fn weaker(self, other: Class) -> Class {
        match (self, other) {
            (Class::Approx(a), Class::Approx(b)) => Class::Approx(a + b),
            (Class::Approx(e), _) | (_, Class::Approx(e)) => Class::Approx(e),
            (Class::Real, _) | (_, Class::Real) => Class::Real,
            _ => Class::Bitwise,
        }
    }
}

impl From<Numerics> for Class {
    fn from(numerics: Numerics) -> Class {
        match numerics {
            Numerics::Bitwise => Class::Bitwise,
            Numerics::Real => Class::Real,
            Numerics::Approx(e) => Class::Approx(e),
        }
    }
}

/// `bitwise`, `real`, `approx(1e-3)`.
///
/// ```
/// # use tautomer_rule::Class;
/// assert_eq!("approx(1e-3)".parse(), Ok(Class::Approx(1e-3)));
/// assert!("exact".parse::<Class>().is_err());
/// ```
impl std::str::FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Class, String> {
        let text = text.trim();
        match text {
            "bitwise" => return Ok(Class::Bitwise),
            "real" => return Ok(Class::Real),
            _ => {}
        }
        let bound = text.strip_prefix("approx(").and_then(|rest| rest.strip_suffix(')'));
        match bound.map(|digits| digits.trim().parse::<f64>()) {
            Some(Ok(e)) if e >= 0.0 && e.is_finite() => Ok(Class::Approx(e)),
            _ => Err("expected `bitwise`, `real` or `approx(e)` with a nonnegative number".to_owned()),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::Bitwise => f.write_str("bitwise"),
            Class::Real => f.write_str("real"),
            Class::Approx(e) => write!(f, "approx({e:?})"),
        }
    }
}

/// A rule in one direction.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its name; the reverse direction of a rule with `<=>` has the suffix `-reversed`.
    pub name: Arc<str>,
    /// Its documentation.
    pub doc: String,
    /// How closely the sides agree.
    pub class: Class,
    /// Facts about values that it assumes, as written.
    pub assuming: Vec<String>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// Its operator variables.
    pub operators: Vec<OpVariable>,
    /// The pattern to find.
    pub source: Pattern,
    /// Conditions on a match.
    pub conditions: Vec<ExprId>,
    /// The replacement for the match.
    pub target: Block,
    /// The names of rests of attributes that the source binds.
    pub rests: Vec<Arc<str>>,
    /// Written with `<=>`: an equality without a direction.
    pub both_ways: bool,
    /// Its span.
    pub span: Span,
    /// The span of its name.
    pub name_span: Span,
    /// The syntax tree that conditions and target are part of.
    pub ast: Arc<Ast>,
    /// The declared operators that it may mention.
    pub scope: Scope,
}

impl Rule {
    /// The index of the variable with that name.
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|v| &*v.name == name)
    }
}

/// Rules of one file with their examples.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// The rules, in order.
    pub rules: Vec<Arc<Rule>>,
    /// The examples, in order.
    pub examples: Vec<Example>,
    /// The sets, in order.
    pub groups: Vec<Group>,
    /// The operators that the file declares.
    pub operators: Scope,
    /// Warnings, such as rules without documentation.
    pub warnings: Diagnostics,
}

impl RuleSet {
    /// Adds the rules and examples of another set.
    pub fn extend(&mut self, other: RuleSet) {
        self.rules.extend(other.rules);
        self.examples.extend(other.examples);
        self.groups.extend(other.groups);
        self.operators.extend(&other.operators);
        self.warnings.extend(other.warnings);
    }
}

/// Rules under one name: `ruleset name { a, b }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// Its documentation.
    pub doc: String,
    /// Rules and sets.
    pub members: Vec<Arc<str>>,
}

/// A description of the values that a variable of that class may match.
pub fn class_name(class: RuleClass) -> &'static str {
    match class {
        RuleClass::Any => "any value",
        RuleClass::Param => "a value that depends only on parameters and constants",
        RuleClass::Const => "a constant",
    }
}
