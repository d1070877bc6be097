//! The loader: from a parsed rule file to checked rules, collecting all problems.

mod calls;
mod kinds;
mod lists;
mod names;
mod nodes;
mod operator_example;
mod operators;
mod probe;
mod sets;
mod source;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use lists::ListConstant;
pub use probe::{given_list, instances};

use super::example::{Example, ExampleKind};
use super::pattern::{OpVariable, Variable};
use super::{Class, Rule, RuleSet, compare_rules};
use tautomer_diag::{Diagnostic, Diagnostics, Severity, Span, did_you_mean};
use tautomer_graph::{BuildOptions, build_function, declare, declare_checked};
use tautomer_lang::ast::{Ast, Block, Example as ExampleAst, ExprId, Item, Rule as RuleAst, RuleFile, Side};
use tautomer_op::Scope;

/// The maximum nesting depth of an expression in a rule.
const MAX_RULE_DEPTH: usize = 200;

/// The checked rules and examples of a parsed file.
///
/// # Errors
/// Every problem found, with its location.
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
    load(file, Depth::Tried, &Scope::default())
}

/// Like [`load_rules`], for a file that may mention the operators of `scope` besides its own.
///
/// # Errors
/// Every problem found, with its location.
pub fn load_rules_in(file: RuleFile, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    load(file, Depth::Tried, scope)
}

/// Like [`load_checked_rules`], for a file that may mention the operators of `scope` besides its own.
///
/// # Errors
/// Every problem found, with its location.
pub fn load_checked_rules_in(file: RuleFile, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    load(file, Depth::Checked, scope)
}

/// The rules of a file that comes with the tool and was parsed when the tool was built, whose tests have checked it:
/// only what a rule is made from is looked at.
///
/// # Errors
/// Problems that leave a rule without a pattern.
pub(crate) fn load_trusted_rules_in(file: RuleFile, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    load(file, Depth::Trusted, scope)
}

/// Like [`load_rules`], for rules that were checked before: they are neither tried on operands nor compared.
///
/// # Errors
/// Every problem found, with its location.
pub fn load_checked_rules(file: RuleFile) -> Result<RuleSet, Diagnostics> {
    load(file, Depth::Checked, &Scope::default())
}

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Depth {
    /// Nothing that only finds problems.
    Trusted,
    /// Names, conditions and shapes of patterns.
    Checked,
    /// Also tried on operands, and compared with the other rules of the file.
    Tried,
}

fn load(file: RuleFile, depth: Depth, outer: &Scope) -> Result<RuleSet, Diagnostics> {
    let mut ast = file.ast;
    let lists = lists::constants(&mut ast, &file.items);
    let ast = Arc::new(ast);
    let operators = file.items.iter().filter_map(|item| match item {
        Item::Operator(operator) => Some(&**operator),
        _ => None,
    });
    let (own, declared) = if depth == Depth::Tried {
        declare(operators, outer)
    } else {
        declare_checked(operators, outer)
    };
    if declared.has_errors() {
        // Rules that mention these operators would be reported as well.
        let mut problems = declared.in_source(&ast.source);
        problems.sort();
        return Err(problems);
    }
    let mut scope = outer.clone();
    scope.extend(&own);
    let mut checker = Checker {
        ast: &ast,
        lists,
        problems: declared,
        depth,
        scope,
        own: own.clone(),
    };
    let mut set = RuleSet {
        operators: own,
        ..RuleSet::default()
    };
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
    if depth == Depth::Tried {
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
    depth: Depth,
    /// The declared operators that the file may mention.
    scope: Scope,
    /// Those that it declares.
    own: Scope,
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
                scope: self.scope.clone(),
            });
        }
        if self.depth >= Depth::Checked {
            self.check_conditions(rule);
            self.check_dimensions(rule);
        }
        let mut failed = self.failed_since(before);
        if let (Some(forward), false, Depth::Tried) = (out.first(), failed, self.depth) {
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

    fn example(&mut self, example: &ExampleAst, rules: &BTreeMap<Arc<str>, Span>) -> Option<Example> {
        let is_rule = rules.contains_key(&example.name.name);
        let is_operator = !is_rule && self.own.declared(example.name.as_str()).is_some();
        if !is_rule && !is_operator {
            let problem = Diagnostic::error(
                "T0307",
                format!("there is no rule or operator `{}` in this file", example.name.name),
            )
            .label(example.name.span, "");
            let names = rules.keys().map(|n| &**n).chain(self.own.iter().map(|(name, _)| name));
            let close = did_you_mean(example.name.as_str(), names);
            self.problems.push(match close {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help("an example has the name of its rule, or of its operator"),
            });
            return None;
        }
        let ast = self.ast;
        let options = BuildOptions {
            scope: self.scope.clone(),
            ..BuildOptions::default()
        };
        let mut build = |function| match build_function(ast, function, &options) {
            Ok(graph) => Some(graph),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        };
        let source = build(&example.source);
        let target = example.target.as_ref().map(&mut build);
        if is_operator {
            if let (Some(source), true) = (&source, self.depth == Depth::Tried)
                && !matches!(target, Some(None))
            {
                self.operator_example(example, source, target.flatten().as_ref());
            }
            return None;
        }
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
}
