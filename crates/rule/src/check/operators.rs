//! Operators that a rule mentions: known ones, with their number of operands and their attributes; operator variables.

use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_graph::term::TERM_FUNCTIONS;
use tautomer_lang::ast::{Attrs, OpBinder};
use tautomer_op::{self as op, OpDef, OpTraits};

use super::Checker;
use crate::pattern::OpVariable;

impl Checker<'_> {
    /// The operators that `for f in …:` allows: those with all the traits, or those named.
    pub(super) fn operator_variable(&mut self, binder: &OpBinder) -> OpVariable {
        let mut traits = OpTraits::NONE;
        let mut named: Vec<&'static OpDef> = Vec::new();
        let mut ok = true;
        for word in &binder.bound {
            let name = word.as_str();
            if let Some(wanted) = OpTraits::by_name(name) {
                traits = traits.and(wanted);
            } else if let Some(def) = self.scope.find(&name.replace('-', "_"), false) {
                named.push(def);
            } else {
                let mut known: Vec<&str> = OpTraits::all_names()
                    .chain(op::table().flat_map(OpDef::names))
                    .collect();
                known.extend(self.scope.iter().map(|(name, _)| name));
                let problem = Diagnostic::error(
                    "T0308",
                    format!("`{name}` is neither a property of operators nor an operator"),
                )
                .label(word.span, "");
                self.problems.push(match did_you_mean(name, known) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => {
                        let all: Vec<&str> = OpTraits::all_names().collect();
                        problem.help(format!("the properties are {}", all.join(", ")))
                    }
                });
                ok = false;
            }
        }
        let declared = match named.is_empty() {
            true => self.scope.written(),
            false => named.iter().copied().filter(|def| def.declared.is_some()).collect(),
        };
        let choices: Vec<&'static OpDef> = op::table()
            .chain(declared)
            .filter(|def| named.is_empty() || named.iter().any(|n| std::ptr::eq(*n, *def)))
            .filter(|def| def.traits.contains(traits) && !def.traits.contains(OpTraits::NONDETERMINISTIC))
            .collect();
        if ok && choices.is_empty() {
            self.problems.push(
                Diagnostic::error(
                    "T0311",
                    format!(
                        "no operator has all the properties that `{}` requires",
                        binder.var.as_str()
                    ),
                )
                .label(binder.span, "")
                .help("remove one of the properties"),
            );
            ok = false;
        }
        OpVariable {
            name: binder.var.name.clone(),
            // After a problem it may be any operator, so that the rest of the rule is still checked.
            choices: if ok { choices } else { op::table().collect() },
        }
    }

    pub(super) fn unknown_operator(&mut self, name: &str, span: Span) {
        let domain = name.contains("::");
        let problem = Diagnostic::error("T0101", format!("unknown operator `{name}`"));
        let problem = match domain {
            true => problem.label(span, "not declared"),
            false => problem.label(span, "not in the operator table"),
        };
        let mut known: Vec<&str> = op::table().flat_map(OpDef::names).collect();
        known.extend(TERM_FUNCTIONS.iter().map(|f| f.name));
        known.extend(self.scope.iter().map(|(name, _)| name));
        let problem = match did_you_mean(name, known) {
            Some(close) => problem.help(format!("did you mean `{close}`?")),
            None if domain => problem.help(format!(
                "declare it with what it computes: `operator \"{name}\"(x) {{ … }}`, or with its type alone: \
                 `operator \"{name}\"(x: [n, m]) -> [n, m];`"
            )),
            None => problem.help(format!(
                "an operator of your own is declared: `operator {name}(x) {{ … }}`"
            )),
        };
        self.problems.push(problem);
    }

    /// Reports a wrong number of operands; with `open`, more operands may follow.
    pub(super) fn arity(&mut self, def: &'static OpDef, given: usize, open: bool, span: Span) -> bool {
        let (least, most) = def.arity();
        if (open || given >= least) && most.is_none_or(|m| given <= m) {
            return true;
        }
        let plural = |n: usize| {
            if n == 1 {
                "1 operand".to_owned()
            } else {
                format!("{n} operands")
            }
        };
        let takes = match most {
            None => format!("at least {}", plural(least)),
            Some(m) if m == least => plural(m),
            Some(m) => format!("{least} to {m} operands"),
        };
        let names: Vec<&str> = def.operands.iter().map(|o| o.name).collect();
        let are = if given == 1 { "is" } else { "are" };
        let problem = Diagnostic::error(
            "T0102",
            format!(
                "`{}`: takes {takes} ({}), but {given} {are} given",
                def.name,
                names.join(", ")
            ),
        )
        .label(span, "");
        let too_many = most.map_or(0, |most| given.saturating_sub(most));
        let attrs: Vec<&str> = def.attrs.iter().map(|a| a.name).take(too_many).collect();
        self.problems.push(match attrs.first() {
            Some(first) => problem.help(format!(
                "write attributes in braces after the operands: `{}({}) {{{first} = …}}`",
                def.name,
                names.join(", ")
            )),
            None => problem,
        });
        false
    }

    pub(super) fn attr_names(&mut self, def: &'static OpDef, attrs: &Attrs) -> bool {
        let mut ok = true;
        for (i, entry) in attrs.entries.iter().enumerate() {
            if def.attr_index(entry.name.as_str()).is_none() {
                let problem = Diagnostic::error(
                    "T0103",
                    format!("`{}` has no attribute `{}`", def.name, entry.name.name),
                )
                .label(entry.name.span, "");
                let names: Vec<&str> = def.attrs.iter().map(|a| a.name).collect();
                self.problems
                    .push(match did_you_mean(entry.name.as_str(), names.iter().copied()) {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None if names.is_empty() => problem.help("it takes no attributes"),
                        None => problem.help(format!("its attributes are {}", names.join(", "))),
                    });
                ok = false;
            } else if let Some(first) = attrs.entries[..i].iter().find(|e| e.name.name == entry.name.name) {
                self.problems.push(
                    Diagnostic::error("T0103", format!("attribute `{}` is given twice", entry.name.name))
                        .label(entry.name.span, "again here")
                        .secondary(first.name.span, "first here"),
                );
                ok = false;
            }
        }
        ok
    }
}
