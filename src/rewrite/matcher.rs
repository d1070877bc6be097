//! A rule made ready for an e-graph: egg's pattern matcher finds candidates, the rest is checked here.

use std::cell::Cell;
use std::sync::Arc;

use egg::{ENodeOrVar, Id, MultiPattern, PatternAst, RecExpr, Searcher, Subst, Var};
use rustc_hash::FxHashMap;

use super::EGraph;
use super::encode::EGraphSink;
use super::enode::{ENode, Facts, Head, Interner, attr_value};
use crate::graph::Sink;
use crate::graph::build::Builder;
use crate::graph::term::{self, Scope, Term};
use crate::lang::ast::{DimExpr, Dims, ExprKind, RuleClass, TypeKind};
use crate::op::{AttrDef, AttrKind, AttrValue, Default, Fact, OpDef, normalize};
use crate::rule::{AttrPattern, ListItem, PatternId, PatternNode, Rule};
use crate::tensor::{Dim, Tensor, Type};

/// A rule ready for an e-graph.
pub struct CompiledRule {
    /// The rule.
    pub rule: Arc<Rule>,
    searcher: MultiPattern<ENode>,
    vars: Vec<Var>,
    outputs: Vec<Var>,
    variables: Vec<Option<Var>>,
    named: Vec<(Arc<str>, Var)>,
    binds: Vec<(Arc<str>, Var)>,
    rests: Vec<(Arc<str>, Arc<str>, Var)>,
    checks: Vec<Check>,
}

/// What a candidate has to fulfil beyond its shape.
enum Check {
    /// The class is a constant, all elements of which are this number.
    Literal(Var, f64),
    /// The attribute is what the operator takes when it is left out.
    IsDefault {
        def: &'static OpDef,
        attr: usize,
        operands: Vec<Var>,
        attrs: Vec<AttrAt>,
    },
    /// The axis, counted from the end, is this one.
    Axis {
        attr: &'static AttrDef,
        value: AttrValue,
        var: Var,
        of: Var,
    },
    /// The attribute is a list with these elements.
    List(Var, Vec<ListItem>),
}

/// Where the value of an attribute is found.
#[derive(Clone)]
enum AttrAt {
    Fixed(AttrValue),
    Var(Var),
}

struct Compiler<'a> {
    rule: &'a Rule,
    interner: &'a mut Interner,
    fresh: usize,
    checks: Vec<Check>,
    binds: FxHashMap<Arc<str>, Var>,
    bind_order: Vec<(Arc<str>, Var)>,
    rests: Vec<(Arc<str>, Arc<str>, Var)>,
    variables: Vec<Option<Var>>,
    equations: Vec<(Var, PatternAst<ENode>)>,
    named: FxHashMap<PatternId, Var>,
}

fn var(name: &str) -> Var {
    // Names are made here of letters, digits and underscores, which egg accepts.
    format!("?{name}").parse().unwrap_or_else(|_| Var::from_u32(0))
}

impl Compiler<'_> {
    fn fresh(&mut self, prefix: &str) -> Var {
        self.fresh += 1;
        var(&format!("{prefix}{}", self.fresh))
    }

    /// The variable that stands for the value of a vertex, with an equation for it unless it is a variable itself.
    fn name_of(&mut self, id: PatternId) -> Var {
        if let Some(&v) = self.named.get(&id) {
            return v;
        }
        match self.rule.source.node(id) {
            PatternNode::Variable(i) => self.variable(*i),
            _ => {
                let v = self.fresh("n");
                self.named.insert(id, v);
                let mut ast = RecExpr::default();
                self.node(id, &mut ast, true);
                self.equations.push((v, ast));
                v
            }
        }
    }

    fn variable(&mut self, i: usize) -> Var {
        *self.variables[i].get_or_insert_with(|| var(&format!("v{i}")))
    }

    fn node(&mut self, id: PatternId, ast: &mut RecExpr<ENodeOrVar<ENode>>, top: bool) -> Id {
        if !top && let Some(&v) = self.named.get(&id) {
            return ast.add(ENodeOrVar::Var(v));
        }
        let rule = self.rule;
        match rule.source.node(id) {
            PatternNode::Variable(i) => {
                let v = self.variable(*i);
                ast.add(ENodeOrVar::Var(v))
            }
            PatternNode::Wildcard => {
                let v = self.fresh("w");
                ast.add(ENodeOrVar::Var(v))
            }
            PatternNode::Literal(value) => {
                let v = self.fresh("l");
                self.checks.push(Check::Literal(v, *value));
                ast.add(ENodeOrVar::Var(v))
            }
            PatternNode::Absent => ast.add(ENodeOrVar::ENode(ENode::leaf(Head::Absent))),
            PatternNode::Tuple(items) => {
                let children = items.iter().map(|&i| self.node(i, ast, false)).collect();
                ast.add(ENodeOrVar::ENode(ENode {
                    head: Head::Tuple,
                    children,
                }))
            }
            PatternNode::Proj(tuple, i) => {
                let child = self.node(*tuple, ast, false);
                ast.add(ENodeOrVar::ENode(ENode {
                    head: Head::Proj(*i),
                    children: [child].into_iter().collect(),
                }))
            }
            PatternNode::Call { def, operands, attrs } => {
                let needs_operands = attrs
                    .iter()
                    .zip(def.attrs)
                    .any(|(p, a)| self.depends_on_operands(def, p, a));
                let names: Vec<Var> = if needs_operands {
                    operands.iter().map(|&o| self.name_of(o)).collect()
                } else {
                    Vec::new()
                };
                let mut children: Vec<Id> = operands.iter().map(|&o| self.node(o, ast, false)).collect();
                let mut at = Vec::with_capacity(attrs.len());
                let mut defaults = Vec::new();
                for (i, (pattern, attr)) in attrs.iter().zip(def.attrs).enumerate() {
                    let place = self.attr(def, pattern, attr, &names);
                    if needs_operands && matches!(pattern, AttrPattern::Default) && matches!(place, AttrAt::Var(_)) {
                        defaults.push(i);
                    }
                    children.push(match &place {
                        AttrAt::Fixed(value) => {
                            let i = self.interner.attr(value);
                            ast.add(ENodeOrVar::ENode(ENode::leaf(Head::Attr(i))))
                        }
                        AttrAt::Var(v) => ast.add(ENodeOrVar::Var(*v)),
                    });
                    at.push(place);
                }
                for attr in defaults {
                    self.checks.push(Check::IsDefault {
                        def,
                        attr,
                        operands: names.clone(),
                        attrs: at.clone(),
                    });
                }
                let op = self.interner.known(def);
                ast.add(ENodeOrVar::ENode(ENode {
                    head: Head::Op(op),
                    children: children.into_iter().collect(),
                }))
            }
        }
    }

    /// True if what the pattern asks of the attribute depends on the rank or shape of the operands.
    fn depends_on_operands(&self, def: &OpDef, pattern: &AttrPattern, attr: &AttrDef) -> bool {
        let axis = matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_));
        match pattern {
            AttrPattern::Default => {
                axis || (def.canonical.is_some()
                    && !matches!(attr.default, Default::Bool(_) | Default::Float(_) | Default::Str(_)))
            }
            AttrPattern::Value(value) => axis && !is_non_negative(value),
            _ => false,
        }
    }

    fn attr(&mut self, def: &'static OpDef, pattern: &AttrPattern, attr: &'static AttrDef, operands: &[Var]) -> AttrAt {
        match pattern {
            AttrPattern::Value(value) if !self.depends_on_operands(def, pattern, attr) => AttrAt::Fixed(value.clone()),
            AttrPattern::Value(value) => {
                let v = self.fresh("x");
                if let Some(&of) = operands.first() {
                    self.checks.push(Check::Axis {
                        attr,
                        value: value.clone(),
                        var: v,
                        of,
                    });
                }
                AttrAt::Var(v)
            }
            AttrPattern::Default if !self.depends_on_operands(def, pattern, attr) => {
                AttrAt::Fixed(attr.default_value().unwrap_or(AttrValue::None))
            }
            AttrPattern::Default => AttrAt::Var(self.fresh("d")),
            AttrPattern::Bind(name) => {
                if let Some(&v) = self.binds.get(name) {
                    return AttrAt::Var(v);
                }
                let v = self.fresh("a");
                self.binds.insert(name.clone(), v);
                self.bind_order.push((name.clone(), v));
                AttrAt::Var(v)
            }
            AttrPattern::Rest(name) if name.is_empty() => AttrAt::Var(self.fresh("u")),
            AttrPattern::Rest(name) => {
                if let Some((.., v)) = self.rests.iter().find(|(n, a, _)| n == name && &**a == attr.name) {
                    return AttrAt::Var(*v);
                }
                let v = self.fresh("r");
                self.rests.push((name.clone(), attr.name.into(), v));
                AttrAt::Var(v)
            }
            AttrPattern::List(items) => {
                let v = self.fresh("i");
                self.checks.push(Check::List(v, items.clone()));
                AttrAt::Var(v)
            }
        }
    }
}

fn is_non_negative(value: &AttrValue) -> bool {
    let ok = |d: &Dim| d.as_const().is_none_or(|v| v >= 0);
    match value {
        AttrValue::Int(d) => ok(d),
        AttrValue::Ints(list) => list.iter().all(ok),
        _ => true,
    }
}

/// A match that fulfils everything but the conditions, with the meaning of all names.
pub(super) struct Match {
    /// The classes of the outputs.
    pub(super) outputs: Vec<Id>,
    names: FxHashMap<Arc<str>, Term<Id>>,
    rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
}

struct MatchScope<'a> {
    egraph: &'a EGraph,
    names: &'a FxHashMap<Arc<str>, Term<Id>>,
}

impl Scope for MatchScope<'_> {
    type V = Id;
    fn name(&self, name: &str) -> Option<Term<Id>> {
        self.names.get(name).cloned()
    }
    fn ty(&self, v: &Id) -> Type {
        self.egraph[*v].data.ty.clone()
    }
    fn constant(&self, v: &Id) -> Option<Tensor> {
        self.egraph[*v].data.value.clone()
    }
    fn is_static(&self, v: &Id) -> bool {
        self.egraph[*v].data.is_static
    }
}

/// What became of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The classes were made equal.
    Applied,
    /// They were equal already.
    NoEffect,
    /// The target could not be built, or its type is another.
    Refused,
}

impl CompiledRule {
    /// Compiles a rule; constants and operators are numbered by `interner`.
    pub fn new(rule: Arc<Rule>, interner: &mut Interner) -> CompiledRule {
        let mut compiler = Compiler {
            rule: &rule,
            interner,
            fresh: 0,
            checks: Vec::new(),
            binds: FxHashMap::default(),
            bind_order: Vec::new(),
            rests: Vec::new(),
            variables: vec![None; rule.variables.len()],
            equations: Vec::new(),
            named: FxHashMap::default(),
        };
        // Vertices that the rule names or that are outputs get an equation of their own.
        let mut outputs = Vec::new();
        let mut todo = Vec::new();
        for (k, &root) in rule.source.outputs.iter().enumerate() {
            let v = *compiler.named.entry(root).or_insert_with(|| {
                let v = var(&format!("o{k}"));
                todo.push((v, root));
                v
            });
            outputs.push(v);
        }
        let mut named = Vec::new();
        for (i, (name, id)) in rule.source.named.iter().enumerate() {
            if let PatternNode::Variable(_) = rule.source.node(*id) {
                continue;
            }
            let v = *compiler.named.entry(*id).or_insert_with(|| {
                let v = var(&format!("s{i}"));
                todo.push((v, *id));
                v
            });
            named.push((name.clone(), v));
        }
        let mut equations = Vec::new();
        for (v, id) in todo {
            let mut ast = RecExpr::default();
            compiler.node(id, &mut ast, true);
            equations.push((v, ast));
        }
        equations.extend(std::mem::take(&mut compiler.equations));
        let Compiler {
            checks,
            bind_order,
            rests,
            variables,
            ..
        } = compiler;
        let searcher = MultiPattern::new(equations);
        let vars = Searcher::<ENode, Facts>::vars(&searcher);
        CompiledRule {
            searcher,
            vars,
            outputs,
            variables,
            named,
            binds: bind_order,
            rests,
            checks,
            rule,
        }
    }

    /// Candidates in the e-graph, at most about `limit`.
    pub(super) fn search(&self, egraph: &EGraph, limit: usize) -> Vec<Subst> {
        self.searcher
            .search_with_limit(egraph, limit)
            .into_iter()
            .flat_map(|m| m.substs)
            .collect()
    }

    /// The classes a candidate binds, as a key for recognising it again.
    pub(super) fn key(&self, egraph: &EGraph, subst: &Subst) -> Vec<Id> {
        self.vars
            .iter()
            .filter_map(|&v| subst.get(v))
            .map(|&id| egraph.find(id))
            .collect()
    }

    /// The match behind a candidate, or `None` if it fails a check.
    pub(super) fn check(&self, egraph: &EGraph, subst: &Subst) -> Option<Match> {
        let class = |v: &Var| subst.get(*v).copied();
        let mut names: FxHashMap<Arc<str>, Term<Id>> = FxHashMap::default();
        for (variable, v) in self.rule.variables.iter().zip(&self.variables) {
            let id = class(v.as_ref()?)?;
            let data = &egraph[id].data;
            match variable.class {
                RuleClass::Param if !data.is_static => return None,
                RuleClass::Const if data.value.is_none() => return None,
                _ => {}
            }
            names.insert(variable.name.clone(), Term::Value(id));
            if let Some(ty) = &variable.ty
                && !self.bind_type(&ty.kind, &data.ty, &mut names)
            {
                return None;
            }
        }
        for (name, v) in &self.named {
            names.insert(name.clone(), Term::Value(class(v)?));
        }
        for (name, v) in &self.binds {
            names.insert(name.clone(), term::from_attr(&attr_value(egraph, class(v)?)));
        }
        for check in &self.checks {
            if !self.holds(check, egraph, subst, &mut names)? {
                return None;
            }
        }
        let mut rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>> = FxHashMap::default();
        for (rest, attr, v) in &self.rests {
            let value = attr_value(egraph, class(v)?);
            rests.entry(rest.clone()).or_default().push((attr.clone(), value));
        }
        let outputs = self.outputs.iter().map(class).collect::<Option<Vec<_>>>()?;
        // Outputs stand for different values: one value on both places is no pair.
        if (1..outputs.len()).any(|k| outputs[..k].iter().any(|&o| egraph.find(o) == egraph.find(outputs[k]))) {
            return None;
        }
        Some(Match { outputs, names, rests })
    }

    /// Binds the dimension names of a variable's type; false if the type does not fit.
    fn bind_type(&self, wanted: &TypeKind, actual: &Type, names: &mut FxHashMap<Arc<str>, Term<Id>>) -> bool {
        let (TypeKind::Tensor { dtype, dims }, Type::Tensor(actual)) = (wanted, actual) else {
            return false;
        };
        if dtype.is_some_and(|d| d.dtype != actual.dtype) {
            return false;
        }
        let dims = match dims {
            Dims::AnyRank => return true,
            Dims::Scalar => return actual.rank() == Some(0),
            Dims::List(dims) => dims,
        };
        let Some(shape) = actual.shape.as_ref().filter(|s| s.len() == dims.len()) else {
            return false;
        };
        let ast = &self.rule.ast;
        dims.iter().zip(shape.iter()).all(|(dim, extent)| match dim {
            DimExpr::Unknown(_) => true,
            DimExpr::Expr(id) => match ast.kind(*id) {
                ExprKind::Name(name) => match names.get(name) {
                    Some(Term::Int(before)) => before == extent,
                    _ => names.insert(name.clone(), Term::Int(extent.clone())).is_none(),
                },
                ExprKind::Int { value, .. } => extent.as_const().is_some_and(|e| i128::from(e) == *value),
                _ => false,
            },
        })
    }

    fn holds(
        &self,
        check: &Check,
        egraph: &EGraph,
        subst: &Subst,
        names: &mut FxHashMap<Arc<str>, Term<Id>>,
    ) -> Option<bool> {
        let class = |v: &Var| subst.get(*v).copied();
        Some(match check {
            Check::Literal(v, number) => egraph[class(v)?]
                .data
                .value
                .as_ref()
                .is_some_and(|value| equals_literal(value, *number)),
            Check::Axis { attr, value, var, of } => {
                let actual = attr_value(egraph, class(var)?);
                let rank = egraph[class(of)?].data.ty.as_tensor()?.rank()? as i64;
                let rank = match (attr.kind, value) {
                    (AttrKind::Axes(crate::op::AxisOf::Output), AttrValue::Ints(list)) => rank + list.len() as i64,
                    (AttrKind::Axis(crate::op::AxisOf::Output), _) => rank + 1,
                    _ => rank,
                };
                let resolve = |d: &Dim| {
                    d.as_const()
                        .map_or_else(|| d.clone(), |v| Dim::Const(if v < 0 { v + rank } else { v }))
                };
                let resolved = match value {
                    AttrValue::Int(d) => AttrValue::Int(resolve(d)),
                    AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(resolve).collect()),
                    other => other.clone(),
                };
                resolved == actual
            }
            Check::IsDefault {
                def,
                attr,
                operands,
                attrs,
            } => {
                let at = |a: &AttrAt| match a {
                    AttrAt::Fixed(value) => Some(value.clone()),
                    AttrAt::Var(v) => Some(attr_value(egraph, class(v)?)),
                };
                let values: Vec<AttrValue> = attrs.iter().map(at).collect::<Option<_>>()?;
                let given: Vec<(&str, AttrValue)> = def
                    .attrs
                    .iter()
                    .zip(&values)
                    .enumerate()
                    .filter(|(i, (_, v))| i != attr && !v.is_none())
                    .map(|(_, (a, v))| (a.name, v.clone()))
                    .collect();
                let classes = operands.iter().map(class).collect::<Option<Vec<_>>>()?;
                let facts: Vec<Fact<'_>> = classes
                    .iter()
                    .map(|&id| {
                        let data = &egraph[id].data;
                        Fact {
                            ty: &data.ty,
                            value: data.value.as_ref(),
                        }
                    })
                    .collect();
                let fresh = Cell::new(egraph.analysis.fresh);
                normalize(def, &facts, &given, &fresh).is_ok_and(|n| n.attrs[*attr] == values[*attr])
            }
            Check::List(v, items) => {
                let AttrValue::Ints(list) = attr_value(egraph, class(v)?) else {
                    return Some(false);
                };
                list.len() == items.len()
                    && items.iter().zip(list).all(|(item, d)| match item {
                        ListItem::Any => true,
                        ListItem::Int(value) => d.as_const() == Some(*value),
                        ListItem::Bind(name) => match names.get(name) {
                            Some(Term::Int(before)) => *before == d,
                            Some(_) => false,
                            None => names.insert(name.clone(), Term::Int(d)).is_none(),
                        },
                    })
            }
        })
    }

    /// True if all conditions hold; one that cannot be decided does not.
    pub(super) fn conditions_hold(&self, egraph: &EGraph, found: &Match) -> bool {
        let scope = MatchScope {
            egraph,
            names: &found.names,
        };
        self.rule
            .conditions
            .iter()
            .all(|&c| term::condition(&self.rule.ast, c, &scope).unwrap_or(false))
    }

    /// Builds the target of a match and makes it equal to the source; e-nodes that did not exist before are pushed
    /// to `created`.
    pub(super) fn apply(&self, egraph: &mut EGraph, found: &Match, created: &mut Vec<ENode>) -> Outcome {
        let mut sink = EGraphSink {
            egraph,
            created: Vec::new(),
        };
        let mut builder = Builder::new(&self.rule.ast, &mut sink);
        builder.fold_terms = true;
        #[expect(clippy::iter_over_hash_type, reason = "names are bound in any order")]
        for (name, value) in &found.names {
            builder.bind(name, Some(value.clone()));
        }
        #[expect(clippy::iter_over_hash_type, reason = "names are bound in any order")]
        for (name, attrs) in &found.rests {
            builder.bind_rest(name, attrs.clone());
        }
        let built = if let [output] = found.outputs.as_slice() {
            let wanted = builder.sink.ty(output).as_tensor().map(|t| t.dtype);
            let value = builder.block(&self.rule.target);
            let wanted = wanted.map_or(crate::graph::literal::Wanted::Any, crate::graph::literal::Wanted::Like);
            value
                .and_then(|t| builder.vertex_as(t, wanted, self.rule.target.span))
                .map(|v| vec![v])
        } else {
            let span = self.rule.target.span;
            builder.block_items(&self.rule.target).and_then(|items| {
                items
                    .into_iter()
                    .map(|t| builder.vertex(t, span))
                    .collect::<Option<Vec<_>>>()
            })
        };
        let failed = builder.problems.has_errors();
        created.append(&mut sink.created);
        let Some(targets) = built.filter(|t| !failed && t.len() == found.outputs.len()) else {
            return Outcome::Refused;
        };
        let same = found
            .outputs
            .iter()
            .zip(&targets)
            .all(|(a, b)| same_type(&egraph[*a].data.ty, &egraph[*b].data.ty));
        if !same {
            return Outcome::Refused;
        }
        let mut changed = false;
        for (&a, &b) in found.outputs.iter().zip(&targets) {
            changed |= egraph.union(a, b);
        }
        if changed { Outcome::Applied } else { Outcome::NoEffect }
    }
}

/// True if a constant holds this number everywhere, rounded to its element type.
fn equals_literal(value: &Tensor, number: f64) -> bool {
    if value.is_empty() || !value.is_uniform() {
        return false;
    }
    let rounded = if value.dtype().is_float() {
        Tensor::from_f64s(value.dtype(), &[], &[number]).and_then(|t| t.to_f64s())
    } else {
        Some(vec![number])
    };
    let first = value.first().and_then(|t| t.to_f64s());
    matches!((rounded.as_deref(), first.as_deref()), (Some([a]), Some([b])) if a == b)
}

/// True if the types are the same; two extents that are both unknown count as the same.
fn same_type(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && match (&a.shape, &b.shape) {
                    (Some(a), Some(b)) => {
                        a.len() == b.len()
                            && a.iter()
                                .zip(b.iter())
                                .all(|(x, y)| x == y || (x.is_unknown() && y.is_unknown()))
                    }
                    (None, None) => true,
                    _ => false,
                }
        }
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same_type(x, y)),
        (Type::Absent, Type::Absent) => true,
        _ => false,
    }
}
