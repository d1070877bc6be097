//! Checks a declaration, and turns its parts into those of a definition.

use std::collections::BTreeMap;

use tautomer_diag::{Diagnostic, Diagnostics, Span};
use tautomer_lang::ast::{Dims, ExprKind, Mark, OperatorDecl, TypeKind};
use tautomer_op::{AttrDef, CostRule, DeclaredResult, ForeignName, OpDef, OpTraits, Operand, OperandKind, Scope};

use super::{infer, is_of_table, is_taken};
use crate::term::term_function;

mod attrs;
mod body;
mod traits;

/// The parts of a definition, from a declaration without problems.
pub(super) struct Checked {
    pub(super) operands: Vec<Operand>,
    pub(super) attrs: Vec<AttrDef>,
    pub(super) traits: OpTraits,
    pub(super) cost: CostRule,
    pub(super) results: Vec<DeclaredResult>,
    pub(super) calls: Vec<&'static OpDef>,
    pub(super) onnx: Option<ForeignName>,
    pub(super) warnings: Diagnostics,
}

/// The version of a domain that a declaration does not give.
const FIRST_VERSION: u32 = 1;

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("T0109", message)
}

/// Checks a declaration whose body may call the operators of `visible`; `later` are the names declared after it. The
/// body is tried on operands only if `thorough`.
pub(super) fn check(
    decl: &OperatorDecl,
    visible: &Scope,
    later: &[&str],
    thorough: bool,
) -> Result<Checked, Diagnostics> {
    let mut checker = Checker {
        decl,
        problems: Diagnostics::new(),
    };
    checker.name();
    checker.no_laws();
    checker.distinct_names();
    let operands = checker.operands();
    let attrs: Vec<AttrDef> = decl.attrs.iter().filter_map(|attr| checker.attr(attr)).collect();
    let results = checker.results();
    let onnx = checker.onnx();
    let traits = checker.traits();
    let cost = checker.cost();
    let calls = checker.calls(visible, later);
    // Properties of operators of the table are tested with them, and what their bodies apply to is what their laws say.
    if checker.problems.is_empty() && thorough && is_of_table(decl).is_none() {
        checker.traits_of_body();
        let tried = body::check(decl, &operands, &attrs, visible);
        checker.problems.extend(tried);
    }
    let problems = checker.problems;
    if problems.has_errors() {
        return Err(problems.in_source(&decl.ast.source));
    }
    Ok(Checked {
        operands,
        attrs,
        traits,
        cost,
        results,
        calls,
        onnx,
        warnings: problems.in_source(&decl.ast.source),
    })
}

struct Checker<'a> {
    decl: &'a OperatorDecl,
    problems: Diagnostics,
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

impl Checker<'_> {
    fn name(&mut self) {
        let decl = self.decl;
        let (name, span) = (decl.name.as_str(), decl.name.span);
        if decl.quoted {
            let well_formed = name
                .rsplit_once("::")
                .is_some_and(|(domain, name)| !domain.is_empty() && !name.is_empty());
            if !well_formed {
                let what = format!("`{name}` has no domain");
                self.problems.push(
                    invalid(what)
                        .label(span, "")
                        .help("a quoted name has the form `\"com.example::Warp\"`; a name of your own needs no quotes"),
                );
            } else if name.starts_with("ai.onnx::") {
                self.problems.push(standard(name).label(span, ""));
            }
        } else if is_of_table(decl).is_some() {
            // The file of the table itself.
        } else if is_taken(name) || term_function(name).is_some() {
            let what = match is_taken(name) {
                true => format!("`{name}` is an operator that comes with the tool"),
                false => format!("`{name}` is a function for attributes and conditions"),
            };
            self.problems.push(
                Diagnostic::error("T0105", what)
                    .label(span, "declared again here")
                    .help(format!("choose another name, such as `my_{name}`")),
            );
        }
    }

    /// Only operators of the table may have laws, which are facts in Rust about an operator.
    fn no_laws(&mut self) {
        let decl = self.decl;
        let first = decl.also.first().or(decl.laws.first().map(|law| &law.name));
        if let Some(first) = first
            && is_of_table(decl).is_none()
        {
            self.problems.push(
                invalid("a clause for operators of the table alone")
                    .label(first.span, "")
                    .help("leave out `also` and `laws`: an operator of your own has one name, and its types are those of its body"),
            );
        }
    }

    /// Operands, attributes and results have different names: the body and the conditions refer to them by name.
    fn distinct_names(&mut self) {
        let decl = self.decl;
        let operands = decl.operands.iter().map(|o| (&o.name, "operand"));
        let attrs = decl.attrs.iter().map(|a| (&a.name, "attribute"));
        let results = decl
            .results
            .iter()
            .flatten()
            .filter_map(|r| Some((r.name.as_ref()?, "result")));
        let mut seen: BTreeMap<&str, (Span, &str)> = BTreeMap::new();
        let mut results_seen: BTreeMap<&str, Span> = BTreeMap::new();
        for (name, kind) in operands.chain(attrs) {
            match seen.get(name.as_str()) {
                Some((first, before)) => self.problems.push(
                    Diagnostic::error(
                        "T0105",
                        format!("{kind} `{}` has the name of an earlier {before}", name.name),
                    )
                    .label(name.span, "again here")
                    .secondary(*first, "first here")
                    .help("rename one of the two"),
                ),
                None => {
                    seen.insert(name.as_str(), (name.span, kind));
                }
            }
        }
        for (name, _) in results {
            if let Some(first) = results_seen.insert(name.as_str(), name.span) {
                self.problems.push(
                    Diagnostic::error("T0105", format!("there are two results `{}`", name.name))
                        .label(name.span, "again here")
                        .secondary(first, "first here")
                        .help("rename one of the two"),
                );
            }
        }
    }

    fn operands(&mut self) -> Vec<Operand> {
        let decl = self.decl;
        let mut optional: Option<&tautomer_lang::ast::OperandDecl> = None;
        let mut out = Vec::with_capacity(decl.operands.len());
        for (i, operand) in decl.operands.iter().enumerate() {
            let name = operand.name.as_str();
            if operand.mark == Mark::Variadic && i + 1 < decl.operands.len() {
                self.problems.push(
                    invalid(format!("`{name}...` is not the last operand"))
                        .label(operand.span, "takes all operands that follow")
                        .help("move it to the end"),
                );
            }
            match (operand.mark, optional) {
                (Mark::Optional, None) => optional = Some(operand),
                (Mark::One | Mark::Variadic, Some(before)) => self.problems.push(
                    invalid(format!("operand `{name}` follows one that may be left out"))
                        .label(operand.span, "required")
                        .secondary(before.span, "may be left out")
                        .help(format!(
                            "operands that may be left out come last; if `{name}` has its place in models, declare \
                             `{name}?` and `where given({name})`"
                        )),
                ),
                _ => {}
            }
            out.push(Operand {
                name: leaked(name),
                kind: match operand.mark {
                    Mark::One => OperandKind::One,
                    Mark::Optional => OperandKind::Optional,
                    Mark::Variadic => OperandKind::Variadic,
                },
                attr: None,
                rank: None,
                zeros: false,
            });
        }
        out
    }

    fn results(&mut self) -> Vec<DeclaredResult> {
        let decl = self.decl;
        let listed = decl.results.as_deref().unwrap_or_default();
        if decl.body.is_none() {
            if decl.results.is_none() {
                self.problems.push(
                    invalid(format!("`{}` has neither a body nor a result type", decl.name.as_str()))
                        .label(decl.name.span, "")
                        .help("say what it computes, `{ … }`, or at least of which type it is: `-> f32[n];`"),
                );
            }
            for result in listed.iter().filter(|result| result.ty.is_none()) {
                self.problems.push(
                    invalid("a result without a type, of an operator without a body")
                        .label(result.span, "of which type?")
                        .help("write its type: `y: f32[n]`, or `y: [n]` for the element type of the first operand"),
                );
            }
        }
        let mut optional = None;
        for result in listed {
            match (result.optional, optional) {
                (true, None) => optional = Some(result.span),
                (false, Some(before)) => self.problems.push(
                    invalid("a result that is always there follows one that may be left out")
                        .label(result.span, "")
                        .secondary(before, "may be left out")
                        .help("results that may be left out come last"),
                ),
                _ => {}
            }
        }
        if let [first, ..] = listed
            && first.optional
        {
            self.problems.push(
                invalid("the first result may not be left out")
                    .label(first.span, "")
                    .help("remove the `?`: a call without any result is of no use"),
            );
        }
        let names = listed.iter().map(|result| DeclaredResult {
            name: result.name.as_ref().map(|name| leaked(name.as_str())),
            optional: result.optional,
        });
        names.collect()
    }

    fn onnx(&mut self) -> Option<ForeignName> {
        let decl = self.decl;
        let name = decl.name.as_str();
        let own = decl.quoted.then(|| name.rsplit_once("::")).flatten();
        let Some(clause) = &decl.onnx else {
            return own.map(|(domain, name)| ForeignName {
                domain: leaked(domain),
                name: leaked(name),
                version: FIRST_VERSION,
            });
        };
        if is_of_table(decl).is_some() {
            return None;
        }
        if matches!(&*clause.domain, "" | "ai.onnx") {
            self.problems.push(standard(&clause.name).label(clause.span, ""));
            return None;
        }
        if let Some((domain, own)) = own
            && (domain, own) != (&*clause.domain, &*clause.name)
        {
            self.problems.push(
                invalid(format!(
                    "`{name}` is called {}::{} in models",
                    clause.domain, clause.name
                ))
                .label(clause.span, "")
                .secondary(decl.name.span, "a quoted name is the name in models")
                .help("give the operator a short name without quotes, or remove this line"),
            );
        }
        Some(ForeignName {
            domain: leaked(&clause.domain),
            name: leaked(&clause.name),
            version: clause.version.unwrap_or(FIRST_VERSION),
        })
    }

    fn cost(&mut self) -> CostRule {
        let Some(clause) = &self.decl.cost else {
            return CostRule::Flops(infer::operations);
        };
        match (clause.rule.as_str(), clause.operations) {
            ("elementwise", Some(n)) if n >= 0.0 => CostRule::Elementwise(n),
            ("per_operand", Some(n)) if n >= 0.0 => CostRule::PerInput(n),
            ("view", None) => CostRule::View,
            ("body", None) => CostRule::Flops(infer::operations),
            _ => {
                self.problems.push(invalid("no known cost").label(clause.span, "").help(
                    "`cost elementwise(10)`: operations for each element of the result; `cost per_operand(2)`: for each \
                     element of the first operand; `cost view`: nothing is moved; `cost body`: as the body",
                ));
                CostRule::Elementwise(1.0)
            }
        }
    }

    /// The declared operators that the body calls.
    fn calls(&mut self, visible: &Scope, later: &[&str]) -> Vec<&'static OpDef> {
        let mut out: Vec<&'static OpDef> = Vec::new();
        for (_, expr) in self.decl.ast.iter() {
            let ExprKind::Call { callee, .. } = &expr.kind else {
                continue;
            };
            let name = callee.as_str();
            if name == self.decl.name.as_str() {
                let problem = Diagnostic::error("T0107", format!("`{name}` calls itself"));
                self.problems.push(
                    problem
                        .label(callee.span, "")
                        .help("an operator is replaced by its body"),
                );
            } else if let Some(def) = visible.declared(name) {
                if !out.iter().any(|known| std::ptr::eq(*known, def)) {
                    out.push(def);
                }
            } else if later.contains(&name) {
                self.problems.push(
                    Diagnostic::error("T0101", format!("`{name}` is declared below"))
                        .label(callee.span, "not known yet")
                        .help("a body calls operators that are declared before it: move the declaration up"),
                );
            }
        }
        out
    }
}

fn standard(name: &str) -> Diagnostic {
    let name = name.rsplit_once("::").map_or(name, |(_, name)| name);
    let problem = invalid(format!("`{name}` of the standard domain cannot be declared"));
    match tautomer_op::lookup_onnx(name) {
        Some(def) => problem.help(format!("it comes with the tool, as `{}`", def.name)),
        None => problem.help("declare it in a domain of its own, such as `com.example`"),
    }
}

/// True if every operand has a type that says everything about it.
fn is_typed(decl: &OperatorDecl) -> bool {
    decl.operands.iter().all(|operand| {
        operand.ty.as_ref().is_some_and(|ty| match &ty.kind {
            TypeKind::Tensor { dtype, dims } => dtype.is_some() && !matches!(dims, Dims::AnyRank),
            _ => true,
        })
    })
}
