//! The loader: from a parsed rule file to checked rules, all problems collected.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::example::{Example, ExampleKind};
use super::pattern::{AttrPattern, ListItem, Pattern, PatternId, PatternNode, Variable};
use super::{Class, Rule, RuleSet};
use crate::diag::{Diagnostic, Diagnostics, Span, did_you_mean};
use crate::graph::{BuildOptions, build_function, term};
use crate::lang::ast::{
    Ast, Attrs, BinaryOp, Block, DimExpr, Dims, ExprId, ExprKind, Item, LetNames, Rule as RuleAst, RuleFile, RuleParam,
    Side, TypeKind, UnaryOp,
};
use crate::op::{self, AttrKind, AttrValue, Default as AttrDefault, OpDef};

/// How deep an expression of a rule may be nested.
const MAX_RULE_DEPTH: usize = 200;

/// The checked rules and examples of a parsed file.
///
/// # Errors
/// Every problem found, with its place.
pub fn load_rules(file: RuleFile) -> Result<RuleSet, Diagnostics> {
    let ast = Arc::new(file.ast);
    let mut checker = Checker {
        ast: &ast,
        problems: Diagnostics::new(),
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
        let (Item::Example(example) | Item::NoExample(example)) = item else {
            continue;
        };
        if !names.contains_key(&example.name.name) {
            let problem = Diagnostic::error(
                "T0307",
                format!("there is no rule `{}` in this file", example.name.name),
            )
            .label(example.name.span, "");
            let close = did_you_mean(example.name.as_str(), names.keys().map(|n| &**n)).map(str::to_owned);
            checker.problems.push(match close {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help("an example has the name of its rule"),
            });
            continue;
        }
        let mut build = |function| match build_function(&ast, function, &BuildOptions::default()) {
            Ok(graph) => Some(graph),
            Err(problems) => {
                checker.problems.extend(problems);
                None
            }
        };
        let source = build(&example.source);
        let target = example.target.as_ref().map(&mut build);
        let Some(source) = source else { continue };
        let kind = match target {
            None => ExampleKind::MustNotFire,
            Some(Some(target)) => ExampleKind::Becomes(Box::new(target)),
            Some(None) => continue,
        };
        set.examples.push(Example {
            rule: example.name.name.clone(),
            source,
            kind,
        });
    }
    let mut problems = checker.problems.in_source(&ast.source);
    problems.sort();
    if !problems.has_errors() {
        set.warnings.clone_from(&problems);
    }
    problems.into_result(set)
}

struct Checker<'a> {
    ast: &'a Ast,
    problems: Diagnostics,
}

/// One side of a rule while it becomes a pattern.
struct SideState {
    pattern: Pattern,
    names: FxHashMap<Arc<str>, PatternId>,
    variables: FxHashMap<usize, PatternId>,
    bound: FxHashSet<Arc<str>>,
    rests: FxHashSet<Arc<str>>,
}

impl Checker<'_> {
    fn rule(&mut self, rule: &RuleAst, ast: &Arc<Ast>) -> Vec<Rule> {
        let before = self.problems.len();
        if self.unsupported(rule) {
            return Vec::new();
        }
        let variables: Vec<Variable> = rule
            .params
            .iter()
            .map(|p| Variable {
                name: p.name.name.clone(),
                class: p.class,
                ty: p.ty.clone(),
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
                    .help("say in one line what it does: `/// …`"),
            );
        }
        let class = rule.numerics.map_or(Class::Real, |n| n.class.into());
        let assuming: Vec<String> = rule
            .assuming
            .iter()
            .map(|&id| crate::lang::format_expr(ast, id))
            .collect();
        let mut out = Vec::new();
        let directions: &[(&Side, &Side, &str)] = if rule.both_ways {
            &[
                (&rule.source, &rule.target, ""),
                (&rule.target, &rule.source, "-reversed"),
            ]
        } else {
            &[(&rule.source, &rule.target, "")]
        };
        for (source, target, suffix) in directions {
            if let Some(pattern) = self.side(rule, source, target, &variables) {
                let outputs = pattern.outputs.len();
                out.push(Rule {
                    name: format!("{}{suffix}", rule.name.name).into(),
                    doc: rule.doc.clone().unwrap_or_default(),
                    class,
                    assuming: assuming.clone(),
                    variables: variables.clone(),
                    source: pattern,
                    conditions: rule.conditions.clone(),
                    target: Block {
                        lets: target.lets.clone(),
                        result: target.outputs,
                        span: target.span,
                    },
                    outputs,
                    ast: ast.clone(),
                });
            }
        }
        let failed = self
            .problems
            .iter()
            .skip(before)
            .any(|p| p.severity == crate::diag::Severity::Error);
        if failed { Vec::new() } else { out }
    }

    /// Forms of the rule language that the loader reads and cannot apply yet.
    fn unsupported(&mut self, rule: &RuleAst) -> bool {
        let before = self.problems.len();
        let refuse = |span: Span, what: &str| {
            Diagnostic::error("T0308", format!("{what} cannot be applied yet"))
                .label(span, "")
                .help("write the rule out for each case")
        };
        if let Some(ops) = &rule.ops {
            self.problems
                .push(refuse(ops.span, "a variable that stands for an operator"));
        }
        for param in rule.params.iter().filter(|p| p.index.is_some()) {
            self.problems.push(refuse(param.span, "an indexed variable"));
        }
        for side in [&rule.source, &rule.target] {
            if let ExprKind::Comprehension { .. } = self.ast.kind(side.outputs) {
                self.problems.push(refuse(side.span, "a number of outputs that varies"));
            }
        }
        self.problems.len() > before
    }

    fn side(&mut self, rule: &RuleAst, source: &Side, target: &Side, variables: &[Variable]) -> Option<Pattern> {
        let mut state = SideState {
            pattern: Pattern::default(),
            names: FxHashMap::default(),
            variables: FxHashMap::default(),
            bound: FxHashSet::default(),
            rests: FxHashSet::default(),
        };
        let mut ok = true;
        for item in &source.lets {
            let LetNames::One(name) = &item.names else {
                self.problems.push(
                    Diagnostic::error("T0308", "a pattern names one value at a time")
                        .label(item.span, "")
                        .help("name the tuple, and use `.0`, `.1`"),
                );
                return None;
            };
            match self.pattern(item.value, &mut state, variables, 0) {
                Some(id) => {
                    state.names.insert(name.name.clone(), id);
                    state.pattern.named.push((name.name.clone(), id));
                }
                None => ok = false,
            }
        }
        let roots = self.outputs(source.outputs);
        for root in &roots {
            match self.pattern(*root, &mut state, variables, 0) {
                Some(id) => state.pattern.outputs.push(id),
                None => ok = false,
            }
        }
        let given = self.outputs(target.outputs).len();
        if given != roots.len() {
            self.problems.push(
                Diagnostic::error(
                    "T0303",
                    format!("one side has {} outputs, the other {given}", roots.len()),
                )
                .label(self.ast.span(target.outputs), "")
                .secondary(self.ast.span(source.outputs), "")
                .help("the k-th output of one side replaces the k-th of the other"),
            );
            ok = false;
        }
        if !ok {
            return None;
        }
        self.check_names(rule, source, target, &mut state, variables);
        self.check_connected(source, &state.pattern);
        if state.pattern.outputs.iter().any(|&r| {
            matches!(
                state.pattern.node(r),
                PatternNode::Variable(_) | PatternNode::Wildcard | PatternNode::Literal(_)
            )
        }) {
            self.problems.push(
                Diagnostic::error(
                    "T0304",
                    "a source that is a lone variable or literal matches everywhere",
                )
                .label(self.ast.span(source.outputs), "")
                .help("a source begins with an operator"),
            );
        }
        Some(state.pattern)
    }

    fn outputs(&self, id: ExprId) -> Vec<ExprId> {
        match self.ast.kind(id) {
            ExprKind::Tuple(items) => items.clone(),
            _ => vec![id],
        }
    }

    /// Every name of the target and the conditions is bound by the source, and every variable occurs on both sides.
    fn check_names(
        &mut self,
        rule: &RuleAst,
        source: &Side,
        target: &Side,
        state: &mut SideState,
        variables: &[Variable],
    ) {
        let mut known: FxHashSet<Arc<str>> = state.bound.clone();
        known.extend(state.names.keys().cloned());
        for variable in variables {
            let at = rule
                .params
                .iter()
                .find(|p| p.name.name == variable.name)
                .map_or(rule.span, |p| p.span);
            let used = state.variables.contains_key(
                &variables
                    .iter()
                    .position(|v| v.name == variable.name)
                    .unwrap_or(usize::MAX),
            );
            if !used {
                self.problems.push(
                    Diagnostic::error(
                        "T0302",
                        format!("the variable `{}` does not occur in the source", variable.name),
                    )
                    .label(at, "declared here")
                    .secondary(self.ast.span(source.outputs), "the source")
                    .help("a match must bind every variable; remove it, or use it"),
                );
            }
            known.insert(variable.name.clone());
        }
        known.extend(dimension_names(self.ast, &rule.params));
        let mut roots: Vec<(ExprId, FxHashSet<Arc<str>>)> =
            rule.conditions.iter().map(|&c| (c, known.clone())).collect();
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
        let mut used: FxHashSet<Arc<str>> = FxHashSet::default();
        for (root, scope) in roots {
            self.names_in(root, &scope, state, &mut used, 0);
        }
    }

    fn names_in(
        &mut self,
        id: ExprId,
        scope: &FxHashSet<Arc<str>>,
        state: &SideState,
        used: &mut FxHashSet<Arc<str>>,
        depth: usize,
    ) {
        if depth > MAX_RULE_DEPTH {
            return;
        }
        let ast = self.ast;
        let span = ast.span(id);
        let mut children: Vec<ExprId> = Vec::new();
        match ast.kind(id) {
            ExprKind::Name(name) => {
                used.insert(name.clone());
                if !scope.contains(name) && &**name != "none" && name.parse::<crate::tensor::DType>().is_err() {
                    let problem =
                        Diagnostic::error("T0301", format!("`{name}` is not bound by the source")).label(span, "");
                    let close = did_you_mean(name, scope.iter().map(|n| &**n)).map(str::to_owned);
                    self.problems.push(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None => problem
                            .help("the source binds variables, and attributes by their names for them: `{axis = k}`"),
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
                if !quoted && op::lookup(&callee.name).is_none() && !term::TERM_FUNCTIONS.contains(&callee.as_str()) {
                    self.unknown_operator(&callee.name, callee.span);
                }
                children.extend(args);
                let spread = |&a: &ExprId| matches!(ast.kind(a), ExprKind::Comprehension { .. });
                if let Some(def) = op::lookup(&callee.name)
                    && !quoted
                    && !term::TERM_FUNCTIONS.contains(&callee.as_str())
                    && !args.iter().any(spread)
                {
                    self.arity(def, args.len(), span);
                }
                if let Some(attrs) = attrs {
                    children.extend(attrs.entries.iter().map(|a| a.value));
                    if let Some(rest) = &attrs.rest
                        && !state.rests.contains(&rest.name)
                    {
                        self.problems.push(
                            Diagnostic::error("T0301", format!("`..{}` is not bound by the source", rest.name))
                                .label(rest.span, "")
                                .help(format!("the source binds it by `{{..{}}}`", rest.name)),
                        );
                    }
                    if let Some(def) = op::lookup(&callee.name) {
                        self.attr_names(def, attrs);
                    }
                }
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                self.names_in(*iter, scope, state, used, depth + 1);
                let mut inner = scope.clone();
                inner.insert(var.name.clone());
                for id in [Some(*body), *cond].into_iter().flatten() {
                    self.names_in(id, &inner, state, used, depth + 1);
                }
            }
            ExprKind::If { cond, then, otherwise } | ExprKind::When { cond, then, otherwise } => {
                children.push(*cond);
                for block in [then, otherwise] {
                    let mut inner = scope.clone();
                    for item in &block.lets {
                        self.names_in(item.value, &inner, state, used, depth + 1);
                        if let LetNames::One(name) = &item.names {
                            inner.insert(name.name.clone());
                        }
                    }
                    self.names_in(block.result, &inner, state, used, depth + 1);
                }
            }
            ExprKind::List(items) | ExprKind::Tuple(items) => children.extend(items),
            ExprKind::Project { base, .. } | ExprKind::Field { base, .. } => children.push(*base),
            ExprKind::Index { base, index } => children.extend([*base, *index]),
            ExprKind::Slice { base, start, end } => children.extend([Some(*base), *start, *end].into_iter().flatten()),
            ExprKind::Range { start, end } => children.extend([*start, *end].into_iter().flatten()),
            ExprKind::Unary { operand, .. } => children.push(*operand),
            ExprKind::Binary { lhs, rhs, .. } => children.extend([*lhs, *rhs]),
            _ => {}
        }
        for child in children {
            self.names_in(child, scope, state, used, depth + 1);
        }
    }

    /// The seed's condition on several outputs: each reaches something that an earlier one reaches.
    fn check_connected(&mut self, source: &Side, pattern: &Pattern) {
        let reach = |root: PatternId| {
            let mut seen = FxHashSet::default();
            let mut stack = vec![root];
            while let Some(id) = stack.pop() {
                if seen.insert(id) {
                    stack.extend(pattern.operands(id));
                }
            }
            seen
        };
        let mut reached: FxHashSet<PatternId> = FxHashSet::default();
        for (k, &root) in pattern.outputs.iter().enumerate() {
            let own = reach(root);
            if k > 0 && reached.is_disjoint(&own) {
                self.problems.push(
                    Diagnostic::error("T0305", format!("output {k} of the source shares nothing with the outputs before it"))
                        .label(self.ast.span(self.outputs(source.outputs)[k]), "")
                        .help("outputs of one rule must have an operand in common with an earlier output; reorder them, or split the rule"),
                );
            }
            reached.extend(own);
        }
    }

    fn unknown_operator(&mut self, name: &str, span: Span) {
        let problem =
            Diagnostic::error("T0101", format!("unknown operator `{name}`")).label(span, "not in the operator table");
        self.problems
            .push(match did_you_mean(name, op::table().flat_map(OpDef::names)) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem,
            });
    }

    fn arity(&mut self, def: &'static OpDef, given: usize, span: Span) -> bool {
        let (least, most) = def.arity();
        if given >= least && most.is_none_or(|m| given <= m) {
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
        self.problems.push(
            Diagnostic::error(
                "T0102",
                format!(
                    "`{}`: takes {takes} ({}), and {given} {are} given",
                    def.name,
                    names.join(", ")
                ),
            )
            .label(span, ""),
        );
        false
    }

    fn attr_names(&mut self, def: &'static OpDef, attrs: &Attrs) -> bool {
        let mut ok = true;
        for entry in &attrs.entries {
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
            }
        }
        ok
    }

    fn pattern(
        &mut self,
        id: ExprId,
        state: &mut SideState,
        variables: &[Variable],
        depth: usize,
    ) -> Option<PatternId> {
        let ast = self.ast;
        let span = ast.span(id);
        if depth > MAX_RULE_DEPTH {
            self.problems.push(
                Diagnostic::error("T0604", format!("a pattern may be nested {MAX_RULE_DEPTH} deep")).label(span, ""),
            );
            return None;
        }
        let node = match ast.kind(id) {
            ExprKind::Name(name) => {
                if let Some(&known) = state.names.get(name) {
                    return Some(known);
                }
                if &**name == "none" {
                    PatternNode::Absent
                } else if let Some(at) = variables.iter().position(|v| v.name == *name) {
                    if let Some(&known) = state.variables.get(&at) {
                        return Some(known);
                    }
                    let known = state.pattern.push(PatternNode::Variable(at));
                    state.variables.insert(at, known);
                    return Some(known);
                } else {
                    let problem = Diagnostic::error("T0301", format!("unknown variable `{name}`")).label(span, "");
                    let close = did_you_mean(name, variables.iter().map(|v| &*v.name)).map(str::to_owned);
                    self.problems.push(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None => problem.help("variables are declared in the parentheses after the rule's name"),
                    });
                    return None;
                }
            }
            ExprKind::Wildcard => PatternNode::Wildcard,
            ExprKind::Int { value, .. } => PatternNode::Literal(*value as f64),
            ExprKind::Float { value, .. } => PatternNode::Literal(*value),
            ExprKind::Bool(value) => PatternNode::Literal(f64::from(u8::from(*value))),
            ExprKind::Tuple(items) => PatternNode::Tuple(
                items
                    .iter()
                    .map(|&i| self.pattern(i, state, variables, depth + 1))
                    .collect::<Option<_>>()?,
            ),
            ExprKind::Project { base, index } => {
                PatternNode::Proj(self.pattern(*base, state, variables, depth + 1)?, *index)
            }
            ExprKind::Unary { op, operand } => {
                let name = match op {
                    UnaryOp::Neg => "neg",
                    UnaryOp::Not => "not",
                    UnaryOp::BitNot => "bitwise_not",
                };
                return self.pattern_call(name, span, &[*operand], None, span, state, variables, depth);
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let name = match op {
                    BinaryOp::Add => "add",
                    BinaryOp::Sub => "sub",
                    BinaryOp::Mul => "mul",
                    BinaryOp::Div => "div",
                    BinaryOp::Rem => "mod",
                    BinaryOp::Pow => "pow",
                    BinaryOp::Eq => "equal",
                    BinaryOp::Lt => "less",
                    BinaryOp::Le => "less_or_equal",
                    BinaryOp::Gt => "greater",
                    BinaryOp::Ge => "greater_or_equal",
                    BinaryOp::And | BinaryOp::BitAnd => "and",
                    BinaryOp::Or => "or",
                    BinaryOp::BitXor => "xor",
                    BinaryOp::BitOr => {
                        self.problems.push(
                            Diagnostic::error("T0308", "alternatives in a source cannot be applied yet")
                                .label(span, "")
                                .help("write one rule for each"),
                        );
                        return None;
                    }
                    BinaryOp::Ne | BinaryOp::In | BinaryOp::Concat => {
                        self.problems.push(
                            Diagnostic::error("T0308", format!("`{}` has no place in a pattern", op.symbol()))
                                .label(span, ""),
                        );
                        return None;
                    }
                };
                return self.pattern_call(name, span, &[*lhs, *rhs], None, span, state, variables, depth);
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                return self.pattern_call(
                    &callee.name,
                    callee.span,
                    args,
                    attrs.as_deref(),
                    span,
                    state,
                    variables,
                    depth,
                );
            }
            ExprKind::If { cond, then, otherwise } if then.lets.is_empty() && otherwise.lets.is_empty() => {
                return self.pattern_call(
                    "where",
                    span,
                    &[*cond, then.result, otherwise.result],
                    None,
                    span,
                    state,
                    variables,
                    depth,
                );
            }
            _ => {
                self.problems.push(
                    Diagnostic::error("T0308", "this has no place in a pattern")
                        .label(span, "")
                        .help("patterns are made of variables, literals, calls, tuples and projections; conditions stand after `where`"),
                );
                return None;
            }
        };
        Some(state.pattern.push(node))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one call expression and the state of the walk"
    )]
    fn pattern_call(
        &mut self,
        name: &str,
        name_span: Span,
        args: &[ExprId],
        attrs: Option<&Attrs>,
        span: Span,
        state: &mut SideState,
        variables: &[Variable],
        depth: usize,
    ) -> Option<PatternId> {
        let Some(def) = op::lookup(name) else {
            self.unknown_operator(name, name_span);
            return None;
        };
        let fits = self.arity(def, args.len(), span);
        let operands = args
            .iter()
            .map(|&a| self.pattern(a, state, variables, depth + 1))
            .collect::<Vec<_>>();
        let attrs = self.pattern_attrs(def, attrs, state)?;
        let operands = operands.into_iter().collect::<Option<Vec<_>>>().filter(|_| fits)?;
        Some(state.pattern.push(PatternNode::Call { def, operands, attrs }))
    }

    fn pattern_attrs(
        &mut self,
        def: &'static OpDef,
        attrs: Option<&Attrs>,
        state: &mut SideState,
    ) -> Option<Vec<AttrPattern>> {
        if let Some(attrs) = attrs
            && !self.attr_names(def, attrs)
        {
            return None;
        }
        let rest = attrs.and_then(|a| a.rest.as_ref());
        if let Some(rest) = rest {
            state.rests.insert(rest.name.clone());
        }
        let mut out = Vec::with_capacity(def.attrs.len());
        for attr in def.attrs {
            let entry = attrs.and_then(|a| a.entries.iter().find(|e| e.name.as_str() == attr.name));
            out.push(match entry {
                None => match rest {
                    Some(rest) => AttrPattern::Rest(rest.name.clone()),
                    None if attr.default == AttrDefault::Required => {
                        // Left open: the pattern does not care.
                        AttrPattern::Rest("".into())
                    }
                    None => AttrPattern::Default,
                },
                Some(entry) => self.attr_pattern(attr, entry.value, state)?,
            });
        }
        Some(out)
    }

    fn attr_pattern(&mut self, attr: &op::AttrDef, id: ExprId, state: &mut SideState) -> Option<AttrPattern> {
        let ast = self.ast;
        let span = ast.span(id);
        match ast.kind(id) {
            ExprKind::Name(name) if name.parse::<crate::tensor::DType>().is_err() && &**name != "none" => {
                state.bound.insert(name.clone());
                return Some(AttrPattern::Bind(name.clone()));
            }
            ExprKind::Wildcard => return Some(AttrPattern::Rest("".into())),
            ExprKind::List(items)
                if items
                    .iter()
                    .any(|i| matches!(ast.kind(*i), ExprKind::Name(_) | ExprKind::Wildcard)) =>
            {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(match ast.kind(*item) {
                        ExprKind::Name(name) => {
                            state.bound.insert(name.clone());
                            ListItem::Bind(name.clone())
                        }
                        ExprKind::Wildcard => ListItem::Any,
                        ExprKind::Int { value, .. } => ListItem::Int(i64::try_from(*value).unwrap_or(i64::MAX)),
                        _ => {
                            self.problems.push(
                                Diagnostic::error("T0103", "a list pattern is made of integers and names")
                                    .label(ast.span(*item), ""),
                            );
                            return None;
                        }
                    });
                }
                return Some(AttrPattern::List(list));
            }
            _ => {}
        }
        let value = match term::eval(ast, id, &NoNames) {
            Ok(value) => value,
            Err(e) => {
                self.problems.push(Diagnostic::error("T0106", e.message).label(e.span, "").help("an attribute of a pattern is a value, a name to bind, or a list of these; computed values belong after `where`"));
                return None;
            }
        };
        match term::to_attr(&value).and_then(|v| attr.coerce(v)) {
            // Axes counted from the end depend on the rank of the match.
            Some(v) if matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_)) && is_negative(&v) => {
                Some(AttrPattern::Value(v))
            }
            Some(v) => Some(AttrPattern::Value(v)),
            None => {
                self.problems.push(
                    Diagnostic::error(
                        "T0103",
                        format!(
                            "`{}` takes {}, and this is {}",
                            attr.name,
                            attr.expects(),
                            term::kind(&value)
                        ),
                    )
                    .label(span, ""),
                );
                None
            }
        }
    }
}

fn is_negative(value: &AttrValue) -> bool {
    let negative = |d: &crate::tensor::Dim| d.as_const().is_some_and(|v| v < 0);
    match value {
        AttrValue::Int(d) => negative(d),
        AttrValue::Ints(list) => list.iter().any(negative),
        _ => false,
    }
}

/// Names that the types of variables bind.
pub(crate) fn dimension_names(ast: &Ast, params: &[RuleParam]) -> Vec<Arc<str>> {
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

/// A scope in which nothing is known.
struct NoNames;

impl term::Scope for NoNames {
    type V = ();
    fn name(&self, _: &str) -> Option<term::Term<()>> {
        None
    }
    fn ty(&self, (): &()) -> crate::tensor::Type {
        crate::tensor::Type::Absent
    }
    fn constant(&self, (): &()) -> Option<crate::tensor::Tensor> {
        None
    }
}
