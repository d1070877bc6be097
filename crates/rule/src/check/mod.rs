//! The loader: from a parsed rule file to checked rules, collecting all problems.

mod calls;
mod kinds;
mod lists;
mod names;
mod nodes;
mod probe;
mod source;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use lists::ListConstant;
pub use probe::instances;

use super::example::{Example, ExampleKind};
use super::pattern::{OpVariable, Variable};
use super::{Class, Group, Rule, RuleSet, compare_rules};
use tautomer_diag::{Diagnostic, Diagnostics, Severity, Span, did_you_mean};
use tautomer_graph::term::TERM_FUNCTIONS;
use tautomer_graph::{BuildOptions, build_function};
use tautomer_lang::ast::{
    Ast, Attrs, Block, Example as ExampleAst, ExprId, Item, OpBinder, Rule as RuleAst, RuleFile, Side,
};
use tautomer_op::{self as op, OpDef, OpTraits};

/// The maximum nesting depth of an expression in a rule.
const MAX_RULE_DEPTH: usize = 200;

/// The checked rules and examples of a parsed file.
///
/// # Errors
/// Every problem found, with its place.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// let text = "/// Twice negated.\nrule neg-of-neg(x) { -(-x) => x numerics bitwise }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("neg.rules", text))).unwrap()).unwrap();
/// assert_eq!(&*set.rules[0].name, "neg-of-neg");
/// ```
pub fn load_rules(file: RuleFile) -> Result<RuleSet, Diagnostics> {
    load(file, true)
}

/// Like [`load_rules`], for rules that were checked before: they are neither tried on operands nor compared.
///
/// # Errors
/// Every problem found, with its place.
pub fn load_checked_rules(file: RuleFile) -> Result<RuleSet, Diagnostics> {
    load(file, false)
}

fn load(file: RuleFile, thorough: bool) -> Result<RuleSet, Diagnostics> {
    let mut ast = file.ast;
    let lists = lists::constants(&mut ast, &file.items);
    let ast = Arc::new(ast);
    let mut checker = Checker {
        ast: &ast,
        lists,
        problems: Diagnostics::new(),
        thorough,
    };
    let mut set = RuleSet::default();
    let mut names: BTreeMap<Arc<str>, Span> = BTreeMap::new();
    for item in &file.items {
        let Item::Rule(rule) = item else { continue };
        if let Some(before) = names.insert(rule.name.name.clone(), rule.name.span) {
            checker.problems.push(
                Diagnostic::error("T0306", format!("there are two rules `{}`", rule.name.name))
                    .label(rule.name.span, "again here")
                    .secondary(before, "first here")
                    .help("a rule is reported, skipped and tested by its name; rename one"),
            );
            continue;
        }
        set.rules.extend(checker.rule(rule, &ast).into_iter().map(Arc::new));
    }
    for item in &file.items {
        if let Item::Example(example) | Item::NoExample(example) = item {
            set.examples.extend(checker.example(example, &names));
        }
    }
    set.groups = checker.groups(&file.items, &names, !file.uses.is_empty());
    let mut problems = checker.problems.in_source(&ast.source);
    if thorough {
        problems.extend(compare_rules(&set.rules));
    }
    problems.sort();
    if !problems.has_errors() {
        set.warnings.clone_from(&problems);
    }
    problems.into_result(set)
}

struct Checker<'a> {
    ast: &'a Ast,
    /// The lists that are operands in patterns.
    lists: FxHashMap<ExprId, ListConstant>,
    problems: Diagnostics,
    /// True to try the rules on operands as well.
    thorough: bool,
}

impl Checker<'_> {
    /// A rule in each of its directions; none if it has problems.
    fn rule(&mut self, rule: &RuleAst, ast: &Arc<Ast>) -> Vec<Rule> {
        let before = self.problems.len();
        let variables: Vec<Variable> = rule
            .params
            .iter()
            .map(|p| Variable {
                name: p.name.name.clone(),
                class: p.class,
                ty: p.ty.clone(),
                indexed: p.index.is_some(),
            })
            .collect();
        for (i, param) in rule.params.iter().enumerate() {
            if let Some(first) = rule.params[..i].iter().find(|p| p.name.name == param.name.name) {
                self.problems.push(
                    Diagnostic::error("T0306", format!("there are two variables `{}`", param.name.name))
                        .label(param.name.span, "again here")
                        .secondary(first.name.span, "first here"),
                );
            }
        }
        if rule.doc.is_none() {
            self.problems.push(
                Diagnostic::warning("T0310", format!("the rule `{}` has no documentation", rule.name.name))
                    .label(rule.name.span, "")
                    .help("describe in one line what it does: `/// …`"),
            );
        }
        let operators: Vec<OpVariable> = rule.ops.iter().map(|b| self.operator_variable(b)).collect();
        let class = rule.numerics.map_or(Class::Real, |n| n.class.into());
        let assuming: Vec<String> = rule
            .assuming
            .iter()
            .map(|&id| tautomer_lang::format_expr(ast, id))
            .collect();
        let forward = (&rule.source, &rule.target, "");
        let backward = (&rule.target, &rule.source, "-reversed");
        let directions: &[(&Side, &Side, &str)] = if rule.both_ways {
            &[forward, backward]
        } else {
            &[forward]
        };
        let mut out = Vec::new();
        for (source, target, suffix) in directions {
            let lists = self.lists_of(source);
            let mut variables = variables.clone();
            variables.extend(lists.iter().map(|list| list.variable()));
            let conditions = rule.conditions.iter().copied();
            let conditions = conditions.chain(lists.iter().map(|list| list.condition)).collect();
            let Some((pattern, rests)) = self.side(rule, source, target, &variables, &operators) else {
                continue;
            };
            out.push(Rule {
                name: format!("{}{suffix}", rule.name.name).into(),
                doc: rule.doc.clone().unwrap_or_default(),
                class,
                assuming: assuming.clone(),
                variables,
                operators: operators.clone(),
                source: pattern,
                conditions,
                target: Block {
                    lets: target.lets.clone(),
                    result: target.outputs,
                    span: target.span,
                },
                rests,
                both_ways: rule.both_ways,
                span: rule.span,
                name_span: rule.name.span,
                ast: ast.clone(),
            });
        }
        self.check_conditions(rule);
        self.check_dimensions(rule);
        let mut failed = self.failed_since(before);
        if let (Some(forward), false, true) = (out.first(), failed, self.thorough) {
            self.check_types(rule, forward);
            self.check_forms(rule, forward);
            failed = self.failed_since(before);
        }
        if failed { Vec::new() } else { out }
    }

    fn failed_since(&self, before: usize) -> bool {
        let mut new = self.problems.iter().skip(before);
        new.any(|p| p.severity == Severity::Error)
    }

    /// The operators that `for f in …:` allows: those with all the traits, or those named.
    fn operator_variable(&mut self, binder: &OpBinder) -> OpVariable {
        let mut traits = OpTraits::NONE;
        let mut named: Vec<&'static OpDef> = Vec::new();
        let mut ok = true;
        for word in &binder.bound {
            let name = word.as_str();
            if let Some(wanted) = OpTraits::by_name(name) {
                traits = traits.and(wanted);
            } else if let Some(def) = op::lookup(&name.replace('-', "_")) {
                named.push(def);
            } else {
                let known = OpTraits::all_names().chain(op::table().flat_map(OpDef::names));
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
        let choices: Vec<&'static OpDef> = op::table()
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

    fn example(&mut self, example: &ExampleAst, rules: &BTreeMap<Arc<str>, Span>) -> Option<Example> {
        if !rules.contains_key(&example.name.name) {
            let problem = Diagnostic::error(
                "T0307",
                format!("there is no rule `{}` in this file", example.name.name),
            )
            .label(example.name.span, "");
            let close = did_you_mean(example.name.as_str(), rules.keys().map(|n| &**n));
            self.problems.push(match close {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help("an example has the name of its rule"),
            });
            return None;
        }
        let ast = self.ast;
        let mut build = |function| match build_function(ast, function, &BuildOptions::default()) {
            Ok(graph) => Some(graph),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        };
        let source = build(&example.source);
        let target = example.target.as_ref().map(&mut build);
        let kind = match target {
            None => ExampleKind::MustNotFire,
            Some(Some(target)) => ExampleKind::Becomes(Box::new(target)),
            Some(None) => return None,
        };
        Some(Example {
            rule: example.name.name.clone(),
            source: source?,
            kind,
        })
    }

    /// The sets of the file. Their members are rules and sets of the file and of the files it uses.
    fn groups(&mut self, items: &[Item], rules: &BTreeMap<Arc<str>, Span>, uses: bool) -> Vec<Group> {
        let mut known: BTreeMap<Arc<str>, Span> = rules.clone();
        let mut out = Vec::new();
        for item in items {
            let Item::RuleSet(set) = item else { continue };
            if let Some(before) = known.insert(set.name.name.clone(), set.name.span) {
                self.problems.push(
                    Diagnostic::error("T0306", format!("`{}` is defined twice", set.name.name))
                        .label(set.name.span, "again here")
                        .secondary(before, "first here")
                        .help("rules and sets are selected by name; rename one"),
                );
            }
        }
        for item in items {
            let Item::RuleSet(set) = item else { continue };
            for member in &set.members {
                if known.contains_key(&member.name) || uses {
                    continue;
                }
                let problem = Diagnostic::error("T0307", format!("there is no rule or set `{}`", member.name))
                    .label(member.span, "");
                let close = did_you_mean(member.as_str(), known.keys().map(|n| &**n));
                self.problems.push(match close {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help("members are rules and sets of this file, or of the files it uses"),
                });
            }
            out.push(Group {
                name: set.name.name.clone(),
                doc: set.doc.clone().unwrap_or_default(),
                members: set.members.iter().map(|m| m.name.clone()).collect(),
            });
        }
        self.circles(items, &out);
        out
    }

    /// Reports sets that are part of themselves, each cycle once.
    fn circles(&mut self, items: &[Item], groups: &[Group]) {
        let place = |name: &Arc<str>| groups.iter().position(|g| g.name == *name);
        let mut told = vec![false; groups.len()];
        for start in 0..groups.len() {
            let mut seen = vec![false; groups.len()];
            let mut stack: Vec<usize> = groups[start].members.iter().filter_map(place).collect();
            while let Some(at) = stack.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    stack.extend(groups[at].members.iter().filter_map(place));
                }
            }
            if seen[start] && !told[start] {
                // Sets reachable from here are not reported again, since those on the same cycles are among them.
                told.iter_mut().zip(&seen).for_each(|(told, seen)| *told |= *seen);
                let name = &groups[start].name;
                let spans = items.iter().filter_map(|item| match item {
                    Item::RuleSet(set) if set.name.name == *name => Some(set.name.span),
                    _ => None,
                });
                let problem = Diagnostic::error("T0317", format!("the set `{name}` is part of itself"));
                self.problems.push(
                    spans
                        .fold(problem, |p, span| p.label(span, ""))
                        .help("remove one of its members, or list the rules themselves"),
                );
            }
        }
    }

    fn unknown_operator(&mut self, name: &str, span: Span) {
        let problem =
            Diagnostic::error("T0101", format!("unknown operator `{name}`")).label(span, "not in the operator table");
        self.problems.push(
            match did_you_mean(
                name,
                op::table().flat_map(OpDef::names).chain(TERM_FUNCTIONS.iter().copied()),
            ) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem,
            },
        );
    }

    /// Reports a wrong number of operands; with `open`, more operands may follow.
    fn arity(&mut self, def: &'static OpDef, given: usize, open: bool, span: Span) -> bool {
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

    fn attr_names(&mut self, def: &'static OpDef, attrs: &Attrs) -> bool {
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
