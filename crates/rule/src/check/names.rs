//! Checks the names of a rule: every name in the target and the conditions is bound, and every variable is used.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::super::pattern::{AttrPattern, ListItem, Pattern, PatternNode, ProjIndex};
use super::source::SideState;
use super::{Checker, MAX_RULE_DEPTH};
use tautomer_diag::{Diagnostic, did_you_mean};
use tautomer_graph::term;
use tautomer_lang::ast::{Ast, DimExpr, Dims, ExprId, ExprKind, LetNames, Rule as RuleAst, RuleParam, Side, TypeKind};

impl Checker<'_> {
    /// Checks that the source binds every name of the target and the conditions, and contains every variable.
    pub(super) fn check_names(&mut self, rule: &RuleAst, source: &Side, target: &Side, state: &mut SideState<'_>) {
        let mut known: FxHashSet<Arc<str>> = state.bound.clone();
        known.extend(state.names.keys().cloned());
        for (i, param) in rule.params.iter().enumerate() {
            if !state.variables.contains_key(&i) {
                self.problems.push(
                    Diagnostic::error(
                        "T0302",
                        format!("the variable `{}` does not occur in the source", param.name.name),
                    )
                    .label(param.span, "declared here")
                    .secondary(self.ast.span(source.outputs), "the source")
                    .help("a match must bind every variable; remove it, or use it"),
                );
            }
            known.insert(param.name.name.clone());
        }
        known.extend(dimension_names(self.ast, &rule.params));
        let mut roots: Vec<(ExprId, FxHashSet<Arc<str>>)> = rule
            .conditions
            .iter()
            .chain(&state.computed)
            .map(|&c| (c, known.clone()))
            .collect();
        let mut scope = known.clone();
        for item in &target.lets {
            roots.push((item.value, scope.clone()));
            match &item.names {
                LetNames::One(name) => {
                    scope.insert(name.name.clone());
                }
                LetNames::Tuple(names) => scope.extend(names.iter().map(|n| n.name.clone())),
            }
        }
        roots.push((target.outputs, scope));
        let operators: Vec<Arc<str>> = rule.ops.iter().map(|b| b.var.name.clone()).collect();
        let mut names = Names {
            state,
            operators: &operators,
            used: FxHashSet::default(),
        };
        for (root, scope) in roots {
            self.names_in(root, &scope, &mut names, 0);
        }
        let mut used = names.used;
        // What stands for a list has a condition.
        let lists = &state.given[rule.params.len()..];
        used.extend(lists.iter().map(|v| v.name.clone()));
        self.check_alternatives(rule, source, state, &used);
        // In a rule with two directions, the other direction reports what only one side has as unbound.
        for (i, param) in rule.params.iter().enumerate() {
            let ty_names = dimension_names(self.ast, std::slice::from_ref(param));
            let says_something = param.class != tautomer_lang::ast::RuleClass::Any
                || param.ty.is_some()
                || ty_names.iter().any(|n| used.contains(n))
                || self.occurrences(source, &param.name.name) > 1;
            if !rule.both_ways
                && state.variables.contains_key(&i)
                && !used.contains(&param.name.name)
                && !says_something
            {
                self.problems.push(
                    Diagnostic::warning("T0312", format!("`{}` occurs only in the source", param.name.name))
                        .label(param.span, "the target does not depend on it")
                        .help("write `_` in its place if any value is allowed"),
                );
            }
        }
    }

    fn occurrences(&self, source: &Side, name: &str) -> usize {
        let roots = source.lets.iter().map(|l| l.value).chain([source.outputs]);
        let mut stack: Vec<ExprId> = roots.collect();
        let mut count = 0;
        while let Some(id) = stack.pop() {
            if matches!(self.ast.kind(id), ExprKind::Name(n) if &**n == name) {
                count += 1;
            }
            stack.extend(self.ast.operands(id));
        }
        count
    }

    /// Reports names used elsewhere that only some alternatives bind.
    fn check_alternatives(&mut self, rule: &RuleAst, source: &Side, state: &SideState<'_>, used: &FxHashSet<Arc<str>>) {
        let pattern = &state.pattern;
        let bound = Self::bound_names(pattern, state);
        let mut always: FxHashSet<Arc<str>> = FxHashSet::default();
        for item in &pattern.outputs {
            always.extend(bound[item.vertex().0 as usize].iter().cloned());
        }
        for (_, id) in &pattern.named {
            always.extend(bound[id.0 as usize].iter().cloned());
        }
        for family in &pattern.families {
            if let super::super::pattern::Count::Bind(name) = &family.count {
                always.insert(name.clone());
            }
        }
        let declared = state.given.iter().map(|v| &v.name);
        let mut loose: Vec<&Arc<str>> = declared
            .chain(&state.bound)
            .filter(|name| used.contains(*name) && !always.contains(*name))
            .filter(|name| {
                let at = state.variables.iter().find(|(i, _)| state.given[**i].name == **name);
                at.is_some() || state.bound.contains(*name)
            })
            .filter(|name| !dimension_names(self.ast, &rule.params).contains(name))
            .collect();
        loose.sort();
        loose.dedup();
        for name in loose {
            self.problems.push(
                Diagnostic::error("T0301", format!("only some alternatives of the source bind `{name}`"))
                    .label(self.ast.span(source.outputs), "")
                    .help("names used by the target or a condition must occur in every alternative"),
            );
        }
    }

    /// For each node, the names that every match of it binds.
    fn bound_names(pattern: &Pattern, state: &SideState<'_>) -> Vec<FxHashSet<Arc<str>>> {
        let mut all: Vec<FxHashSet<Arc<str>>> = Vec::with_capacity(pattern.len());
        for (id, node) in pattern.nodes() {
            let mut out = FxHashSet::default();
            let below = pattern.operands(id);
            match node {
                PatternNode::Variable(_) => out.extend(state.variable_name(id)),
                PatternNode::AnyOf(items) => {
                    out = items.first().map(|i| all[i.0 as usize].clone()).unwrap_or_default();
                    out.retain(|name| items.iter().all(|i| all[i.0 as usize].contains(name)));
                }
                PatternNode::Call { attrs, .. } => {
                    for attr in attrs {
                        match attr {
                            AttrPattern::Bind(name) | AttrPattern::BindEach(name) => {
                                out.insert(name.clone());
                            }
                            AttrPattern::List(items) => out.extend(items.iter().filter_map(|item| match item {
                                ListItem::Bind(name) => Some(name.clone()),
                                _ => None,
                            })),
                            _ => {}
                        }
                    }
                }
                PatternNode::Proj(_, ProjIndex::Bind(name)) => {
                    out.insert(name.clone());
                }
                _ => {}
            }
            if !matches!(node, PatternNode::AnyOf(_)) {
                for operand in below {
                    out.extend(all[operand.0 as usize].iter().cloned());
                }
            }
            all.push(out);
        }
        all
    }

    fn names_in(&mut self, id: ExprId, scope: &FxHashSet<Arc<str>>, names: &mut Names<'_, '_>, depth: usize) {
        let ast = self.ast;
        let span = ast.span(id);
        if depth > MAX_RULE_DEPTH {
            self.problems.push(
                Diagnostic::error(
                    "T0604",
                    format!("an expression of a rule may be nested at most {MAX_RULE_DEPTH} deep"),
                )
                .label(span, ""),
            );
            return;
        }
        let mut children: Vec<ExprId> = Vec::new();
        match ast.kind(id) {
            ExprKind::Name(name) => {
                names.used.insert(name.clone());
                if !scope.contains(name) && &**name != "none" && name.parse::<tautomer_tensor::DType>().is_err() {
                    let problem =
                        Diagnostic::error("T0301", format!("`{name}` is not bound by the source")).label(span, "");
                    let close = did_you_mean(name, scope.iter().map(|n| &**n)).map(str::to_owned);
                    self.problems.push(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None => problem.help("the source binds variables, and names for attributes as in `{axis = k}`"),
                    });
                }
            }
            ExprKind::Wildcard => self.problems.push(
                Diagnostic::error("T0301", "`_` has no value here")
                    .label(span, "")
                    .help("name it in the source"),
            ),
            ExprKind::Call {
                callee,
                args,
                attrs,
                quoted,
            } => {
                let variable = names.operators.contains(&callee.name);
                let def = self.scope.find(&callee.name, *quoted).filter(|_| !variable);
                let function = term::term_function(callee.as_str()).is_some();
                if def.is_none() && (*quoted || !function && !variable) {
                    self.unknown_operator(&callee.name, callee.span);
                }
                children.extend(args);
                let spread = args
                    .iter()
                    .filter(|a| matches!(ast.kind(**a), ExprKind::Comprehension { .. }))
                    .count();
                if let Some(def) = def
                    && !function
                {
                    self.arity(def, args.len() - spread, spread > 0, span);
                }
                if let Some(attrs) = attrs {
                    children.extend(attrs.entries.iter().map(|a| a.value));
                    if let Some(rest) = &attrs.rest
                        && !names.state.rests.contains(&rest.name)
                    {
                        self.problems.push(
                            Diagnostic::error("T0301", format!("`..{}` is not bound by the source", rest.name))
                                .label(rest.span, "")
                                .help(format!("bind it in the source with `{{..{}}}`", rest.name)),
                        );
                    }
                    if let Some(def) = def {
                        self.attr_names(def, attrs);
                    }
                }
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                self.names_in(*iter, scope, names, depth + 1);
                let mut inner = scope.clone();
                inner.insert(var.name.clone());
                for id in [Some(*body), *cond].into_iter().flatten() {
                    self.names_in(id, &inner, names, depth + 1);
                }
            }
            ExprKind::If { cond, then, otherwise } | ExprKind::When { cond, then, otherwise } => {
                children.push(*cond);
                for block in [then, otherwise] {
                    let mut inner = scope.clone();
                    for item in &block.lets {
                        self.names_in(item.value, &inner, names, depth + 1);
                        match &item.names {
                            LetNames::One(name) => {
                                inner.insert(name.name.clone());
                            }
                            LetNames::Tuple(all) => inner.extend(all.iter().map(|n| n.name.clone())),
                        }
                    }
                    self.names_in(block.result, &inner, names, depth + 1);
                }
            }
            ExprKind::Field { base, name } => {
                names.used.insert(name.name.clone());
                if !matches!(name.as_str(), "shape" | "rank" | "size" | "dtype") && !scope.contains(&name.name) {
                    self.problems.push(
                        Diagnostic::error("T0301", format!("there is no `.{}`", name.name))
                            .label(name.span, "")
                            .help("values have `.shape`, `.rank`, `.size` and `.dtype`; tuples `.0`, `.1`, and `.i` for a name `i`"),
                    );
                }
                children.push(*base);
            }
            _ => children = ast.operands(id),
        }
        for child in children {
            self.names_in(child, scope, names, depth + 1);
        }
    }
}

/// The state while the names of a side are checked.
struct Names<'a, 's> {
    state: &'a SideState<'s>,
    operators: &'a [Arc<str>],
    used: FxHashSet<Arc<str>>,
}

/// Names that the types of variables bind.
fn dimension_names(ast: &Ast, params: &[RuleParam]) -> Vec<Arc<str>> {
    let mut out = Vec::new();
    for param in params {
        let Some(ty) = &param.ty else { continue };
        let TypeKind::Tensor {
            dims: Dims::List(dims), ..
        } = &ty.kind
        else {
            continue;
        };
        for dim in dims {
            if let DimExpr::Expr(id) = dim
                && let ExprKind::Name(name) = ast.kind(*id)
            {
                out.push(name.clone());
            }
        }
    }
    out
}
