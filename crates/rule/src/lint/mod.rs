//! Redundant and nonterminating rules, found by comparing both sides of all rules.
//!
//! Everything here is a warning. A comparison that finds nothing proves nothing.

mod instance;
mod shapes;
mod sides;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use instance::Instance;
use rustc_hash::FxHashMap;
use shapes::Shapes;
use sides::{Sides, type_term};
use terms::{Head, Meaning, TermId, Terms};

use super::Rule;
use tautomer_diag::{Diagnostic, Diagnostics};

/// Compares all rules with each other and with themselves: rules that are equal up to names (T0313), rules that another
/// one makes redundant (T0314), and rules that match their own result and grow without bound (T0315).
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::{compare_rules, load_rules};
/// let load = |name: &str, text: &str| load_rules(parse_rules(Arc::new(Source::new(name, text))).unwrap()).unwrap().rules;
/// let mut rules = load("a.rules", "/// Twice.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }");
/// rules.extend(load("b.rules", "/// Again.\nrule again(y) { relu(relu(y)) => relu(y) numerics bitwise }"));
/// let found = compare_rules(&rules);
/// assert_eq!(found.iter().next().unwrap().message, "`again` is the rule `twice` with other names");
/// ```
pub fn compare_rules(rules: &[Arc<Rule>]) -> Diagnostics {
    compare(rules, &|_, _| true)
}

/// Like [`compare_rules`], for rules of several files that were already compared within each file: only rules of
/// different files are compared.
pub fn compare_files(rules: &[Arc<Rule>]) -> Diagnostics {
    compare(rules, &|a, b| !Arc::ptr_eq(&a.ast.source, &b.ast.source))
}

/// Compares the pairs that are `wanted`, including a rule paired with itself.
fn compare(rules: &[Arc<Rule>], wanted: &dyn Fn(&Rule, &Rule) -> bool) -> Diagnostics {
    let mut terms = Terms::default();
    let sides: Vec<Sides> = rules.iter().map(|r| Sides::new(&mut terms, r)).collect();
    let mut problems = Diagnostics::new();
    let mut superfluous = vec![false; rules.len()];
    let mut forms: FxHashMap<Vec<TermId>, usize> = FxHashMap::default();
    for (i, rule) in rules.iter().enumerate() {
        let form = up_to_names(&mut terms, rule, &sides[i]);
        match forms.get(&form) {
            Some(&first) if !is_one_rule(&rules[first], rule) => {
                superfluous[i] = true;
                problems.extend(wanted(&rules[first], rule).then(|| equal(&rules[first], rule)));
            }
            Some(_) => {}
            None => {
                forms.insert(form, i);
            }
        }
        if wanted(rule, rule) {
            problems.extend(endless(&mut terms, rule, &sides[i]));
        }
    }
    let mut shapes = Shapes::default();
    for (i, side) in sides.iter().enumerate() {
        shapes.add(&terms, side.source[0], i);
    }
    for (i, rule) in rules.iter().enumerate() {
        if superfluous[i] {
            continue;
        }
        let (reported, known): (Vec<usize>, Vec<usize>) = candidates(&terms, &sides[i], &shapes)
            .into_iter()
            .filter(|&k| !is_one_rule(&rules[k], rule))
            .partition(|&k| wanted(&rules[k], rule));
        let mut first = |others: Vec<usize>| {
            let mut others = others.into_iter();
            others.find(|&k| implies(&mut terms, (&rules[k], &sides[k]), (rule, &sides[i])))
        };
        if first(known).is_some() {
            continue;
        }
        // Of several equal rules, the message names the first.
        let found = first(reported.into_iter().filter(|&k| !superfluous[k]).collect());
        problems.extend(found.map(|k| contained(&rules[k], rule)));
    }
    problems
}

/// The two directions of one rule.
fn is_one_rule(a: &Rule, b: &Rule) -> bool {
    Arc::ptr_eq(&a.ast.source, &b.ast.source) && a.span == b.span
}

/// The rule with its names replaced by numbers in order of occurrence.
fn up_to_names(terms: &mut Terms, rule: &Rule, sides: &Sides) -> Vec<TermId> {
    let mut roots = sides.source.clone();
    roots.extend(&sides.target);
    let names = terms.names(&roots);
    let mut meaning = Meaning::default();
    for (i, name) in names.iter().enumerate() {
        let number = terms.name(&format!("{i}").into());
        meaning.insert(name.clone(), number);
    }
    let marker = terms.form("=>", Vec::new());
    let mut out: Vec<TermId> = Vec::new();
    for part in [&sides.source, &sides.target] {
        out.extend(part.iter().map(|t| terms.with_names(*t, &meaning)));
        out.push(marker);
    }
    let mut conditions: Vec<TermId> = sides
        .conditions
        .iter()
        .map(|t| terms.with_names(*t, &meaning))
        .collect();
    conditions.sort_unstable();
    out.extend(conditions);
    out.push(marker);
    let class = format!("{} {:?}", rule.class, rule.assuming);
    out.push(terms.form(class, Vec::new()));
    for name in &names {
        if let Some(i) = rule.variable(name) {
            let variable = &rule.variables[i];
            let ty = type_term(terms, &rule.ast, variable);
            let ty = ty.map(|t| terms.with_names(t, &meaning));
            out.push(terms.form(
                format!("{:?} {}", variable.class, variable.indexed),
                ty.into_iter().collect(),
            ));
        } else if let Some(variable) = rule.operators.iter().find(|v| v.name == *name) {
            let choices: Vec<&str> = variable.choices.iter().map(|d| d.name).collect();
            out.push(terms.form(choices.join(" "), Vec::new()));
        }
    }
    out
}

/// Rules whose source may match a part of this one, in order.
fn candidates(terms: &Terms, sides: &Sides, shapes: &Shapes) -> Vec<usize> {
    let mut out = BTreeSet::new();
    for part in terms.parts(&sides.source) {
        // A part that is a name cannot match a source, which begins with an operator.
        if !matches!(terms.head(part), Head::Name(_)) {
            shapes.of(terms, part, &mut out);
        }
    }
    out.into_iter().collect()
}

/// True if `general` does everything that `special` does, perhaps on only a part of its match.
fn implies(terms: &mut Terms, general: (&Rule, &Sides), special: (&Rule, &Sides)) -> bool {
    let ((general, a), (special, b)) = (general, special);
    let stronger = special.class.allows(general.class) && general.assuming.iter().all(|f| special.assuming.contains(f));
    if !stronger {
        return false;
    }
    if a.source.len() > 1 || b.source.len() > 1 {
        let found = Instance {
            terms: &mut *terms,
            general,
            special,
        }
        .of(&a.source, &b.source);
        return found.is_some_and(|names| {
            holds(terms, a, b, &names)
                && a.target
                    .iter()
                    .zip(&b.target)
                    .all(|(x, y)| terms.with_names(*x, &names) == *y)
        });
    }
    let (Some(&target), Some(&wanted)) = (a.target.first(), b.target.first()) else {
        return false;
    };
    for part in terms.parts(&b.source) {
        let Some(names) = (Instance {
            terms: &mut *terms,
            general,
            special,
        })
        .of(&a.source, &[part]) else {
            continue;
        };
        if holds(terms, a, b, &names) {
            let made = terms.with_names(target, &names);
            if terms.with_part(b.source[0], part, made) == wanted {
                return true;
            }
        }
    }
    false
}

/// True if the conditions of `a`, its names replaced, are among those of `b`.
fn holds(terms: &mut Terms, a: &Sides, b: &Sides, names: &Meaning) -> bool {
    a.conditions
        .iter()
        .all(|c| b.conditions.contains(&terms.with_names(*c, names)))
}

/// Reports a rule that matches its own result and makes it larger again.
fn endless(terms: &mut Terms, rule: &Rule, sides: &Sides) -> Option<Diagnostic> {
    let ([source], [target]) = (sides.source.as_slice(), sides.target.as_slice()) else {
        return None;
    };
    let names = Instance {
        terms: &mut *terms,
        general: rule,
        special: rule,
    }
    .of(&[*source], &[*target])?;
    // A condition may end it, unless it also held before.
    if !holds(terms, sides, sides, &names) {
        return None;
    }
    let next = terms.with_names(*target, &names);
    if terms.size(next) <= terms.size(*target) {
        return None;
    }
    let help = "add a condition that the result does not satisfy, or reverse the rule";
    Some(
        Diagnostic::warning(
            "T0315",
            format!("`{}` matches its own result, which grows without bound", rule.name),
        )
        .label(rule.ast.span(rule.target.result), "the source matches here again")
        .help(help)
        .in_source(&rule.ast.source),
    )
}

fn equal(first: &Rule, again: &Rule) -> Diagnostic {
    let problem = Diagnostic::warning(
        "T0313",
        format!("`{}` is the rule `{}` with other names", again.name, first.name),
    );
    place_both(problem, first, again).help("remove one of the two")
}

fn contained(general: &Rule, special: &Rule) -> Diagnostic {
    let problem = Diagnostic::warning(
        "T0314",
        format!("`{}` does nothing that `{}` does not do", special.name, general.name),
    );
    place_both(problem, general, special).help("remove it, or add a condition that makes it different")
}

/// Points at a rule, and at another one that explains the problem and may be in another file.
fn place_both(problem: Diagnostic, other: &Rule, rule: &Rule) -> Diagnostic {
    let problem = problem.label(rule.name_span, "").in_source(&rule.ast.source);
    let source = &other.ast.source;
    if Arc::ptr_eq(source, &rule.ast.source) {
        return problem.secondary(other.name_span, "the other one");
    }
    let (line, column) = source.line_column(other.name_span.start);
    problem.note(format!(
        "`{}` is defined in {}:{line}:{column}",
        other.name, source.name
    ))
}
