//! Which values have to be there: what keeps rules from changing nulls and failures.
//!
//! A rule says that two expressions are equal wherever all their values are there. What a row is if one is not, null or a
//! failure, follows from the *needs* of an expression: the columns and calls without which it has no value. Operators
//! need what all their operands need, but for three: `where` needs what the branch needs that the row takes, `and` and
//! `or` do not need an operand where the other decides. All expressions of a class have the same needs, since only
//! classes with the same needs become equal. So `x * 0` does not become 0 where `x` may be null: one needs `x`, the
//! other nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;

use tautomer_op::Op;
use tautomer_rewrite::{EGraph, ENode, Encoded, Guard, Head};

/// Larger needs are given a name of their own: this many parts.
const MOST: usize = 32;

/// How an input or a call of something else than an operator treats nulls and failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// There wherever its operands are.
    Total,
    /// Always there; it fails where its operands do, if they may.
    Never,
    /// It may be missing on its own.
    Missing {
        /// True if it may fail, false if it may only be null.
        fails: bool,
    },
}

/// A truth value: that of a class, or its opposite.
type Truth = (Id, bool);

/// A part of what an expression needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// This class.
    Value { class: Id, fails: bool },
    /// What the branch needs that is taken.
    Taken(Truth, Needs, Needs),
    /// Both, or one that is false.
    Both { parts: Vec<Truth>, fails: bool },
    /// Unlike anything: not known to be what the rules take it for.
    Unknown,
}

type Needs = BTreeSet<Need>;

impl Need {
    fn fails(&self) -> bool {
        match self {
            Need::Value { fails, .. } | Need::Both { fails, .. } => *fails,
            Need::Taken(_, a, b) => may_fail(a) || may_fail(b),
            Need::Unknown => true,
        }
    }

    fn size(&self) -> usize {
        match self {
            Need::Taken(_, a, b) => 1 + size(a) + size(b),
            _ => 1,
        }
    }
}

fn may_fail(needs: &Needs) -> bool {
    needs.iter().any(Need::fails)
}

fn size(needs: &Needs) -> usize {
    needs.iter().map(Need::size).sum()
}

/// The needs of the classes of an e-graph.
pub(super) struct Missing<'a> {
    inputs: &'a [Treatment],
    calls: &'a [Treatment],
    needs: FxHashMap<Id, Arc<Needs>>,
}

impl<'a> Missing<'a> {
    /// The needs of a graph that was just encoded. `inputs` are in the order of its inputs, `calls` by the numbers that
    /// are the names of opaque calls.
    pub(super) fn new(encoded: &Encoded, inputs: &'a [Treatment], calls: &'a [Treatment]) -> Self {
        let needs = FxHashMap::default();
        let mut missing = Missing { inputs, calls, needs };
        for (_, id, enode) in &encoded.origins {
            missing.add(&encoded.egraph, *id, enode);
        }
        missing
    }

    fn add(&mut self, egraph: &EGraph, id: Id, enode: &ENode) {
        if self.needs.contains_key(&id) {
            return;
        }
        let needs = self.of(egraph, id, enode);
        self.needs.insert(id, Arc::new(needs));
    }

    /// The needs of a class, with classes that became equal under one number.
    fn class(&self, egraph: &EGraph, id: Id) -> Needs {
        let needs = self.needs.get(&egraph.find(id)).or_else(|| self.needs.get(&id));
        needs.map_or_else(Needs::new, |needs| current(egraph, needs))
    }

    fn of(&self, egraph: &EGraph, id: Id, enode: &ENode) -> Needs {
        let own = |fails| Needs::from([Need::Value { class: id, fails }]);
        let all = |ids: &[Id]| -> Needs { ids.iter().flat_map(|&child| self.class(egraph, child)).collect() };
        let treated = |treatment: Treatment, ids: &[Id]| match treatment {
            Treatment::Total => all(ids),
            Treatment::Never if may_fail(&all(ids)) => own(true),
            Treatment::Never => Needs::new(),
            Treatment::Missing { fails } => own(fails),
        };
        let needs = match enode.head {
            Head::Input(at) => treated(self.inputs[at as usize], &[]),
            Head::Op(number) => {
                let op = egraph.analysis.interner.op_at(number);
                let operands = &enode.children[..enode.children.len().saturating_sub(op.attr_names().len())];
                match (op, operands) {
                    (Op::Opaque(op), _) => {
                        let at: Option<usize> = op.name.parse().ok();
                        let treatment = at.and_then(|at| self.calls.get(at)).copied();
                        treated(treatment.unwrap_or(Treatment::Missing { fails: true }), operands)
                    }
                    (Op::Known(def), &[condition, a, b]) if def.name == "where" => {
                        self.choice(egraph, condition, [a, b])
                    }
                    (Op::Known(def), &[a, b]) if matches!(def.name, "and" | "or") => {
                        self.both(egraph, [a, b], def.name == "or")
                    }
                    // Only the type of the operand matters.
                    (Op::Known(def), _) if def.name == "zeros_like" => Needs::new(),
                    _ => all(operands),
                }
            }
            _ => all(&enode.children),
        };
        match size(&needs) > MOST && !needs.contains(&Need::Unknown) {
            true => own(may_fail(&needs)),
            false => needs,
        }
    }

    fn choice(&self, egraph: &EGraph, condition: Id, [a, b]: [Id; 2]) -> Needs {
        if !self.class(egraph, condition).is_empty() {
            // Without a condition, a row takes the second branch, which no rule knows.
            return Needs::from([Need::Unknown]);
        }
        taken(truth(egraph, condition), self.class(egraph, a), self.class(egraph, b))
    }

    fn both(&self, egraph: &EGraph, operands: [Id; 2], opposite: bool) -> Needs {
        let [a, b] = operands.map(|operand| self.class(egraph, operand));
        if a == b {
            return a;
        }
        if a.contains(&Need::Unknown) || b.contains(&Need::Unknown) {
            return Needs::from([Need::Unknown]);
        }
        let parts = operands
            .map(|operand| truth(egraph, operand))
            .map(|(id, is)| (id, is ^ opposite));
        let fails = may_fail(&a) || may_fail(&b);
        Needs::from([both(parts.to_vec(), fails)])
    }
}

impl Guard for Missing<'_> {
    fn created(&mut self, egraph: &EGraph, created: &[(ENode, Id)]) {
        for (enode, id) in created {
            self.add(egraph, *id, enode);
        }
    }

    fn allows(&mut self, egraph: &EGraph, found: Id, target: Id) -> bool {
        let (found, target) = (self.class(egraph, found), self.class(egraph, target));
        found == target && !found.contains(&Need::Unknown)
    }
}

/// Both parts, in any order unless one may fail: an `and` does not look at its right side where the left one is false.
fn both(mut parts: Vec<Truth>, fails: bool) -> Need {
    if !fails {
        parts.sort_unstable();
        parts.dedup();
    }
    Need::Both { parts, fails }
}

/// What a choice needs: what both branches need, and what is left of the one that is taken.
fn taken((class, is): Truth, a: Needs, b: Needs) -> Needs {
    if a.contains(&Need::Unknown) || b.contains(&Need::Unknown) {
        return Needs::from([Need::Unknown]);
    }
    let mut needs: Needs = a.intersection(&b).cloned().collect();
    let (a, b): (Needs, Needs) = (
        a.difference(&needs).cloned().collect(),
        b.difference(&needs).cloned().collect(),
    );
    if !(a.is_empty() && b.is_empty()) {
        let [a, b] = if is { [a, b] } else { [b, a] };
        needs.insert(Need::Taken((class, true), a, b));
    }
    needs
}

/// A truth value as that of the class that it negates, if it is a negation.
fn truth(egraph: &EGraph, class: Id) -> Truth {
    let class = egraph.find(class);
    let negated = egraph[class].nodes.iter().find_map(|enode| match enode.head {
        Head::Op(op) if matches!(egraph.analysis.interner.op_at(op), Op::Known(def) if def.name == "not") => {
            Some(egraph.find(enode.children[0]))
        }
        _ => None,
    });
    match negated {
        Some(negated) if negated < class => (negated, false),
        _ => (class, true),
    }
}

/// The needs with the numbers that classes have now.
fn current(egraph: &EGraph, needs: &Needs) -> Needs {
    let now = |(class, is): &Truth| {
        let (class, same) = truth(egraph, *class);
        (class, *is == same)
    };
    needs
        .iter()
        .flat_map(|need| match need {
            Need::Value { class, fails } => Needs::from([Need::Value {
                class: egraph.find(*class),
                fails: *fails,
            }]),
            Need::Taken(condition, a, b) => taken(now(condition), current(egraph, a), current(egraph, b)),
            Need::Both { parts, fails } => Needs::from([both(parts.iter().map(now).collect(), *fails)]),
            Need::Unknown => Needs::from([Need::Unknown]),
        })
        .collect()
}
