//! Recipes made only from a pattern. Every choice is random, so inference usually rejects them until they are repaired.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::combine::combinations;
use super::mutate::RuleNumbers;
use super::random::Random;
use super::recipe::{Recipe, Step};
use tautomer_diag::Span;
use tautomer_lang::ast::{Dims, ExprKind, RuleClass, TypeKind};
use tautomer_op::AttrValue;
use tautomer_rewrite::Sides;
use tautomer_rule::{AttrPattern, Count, Item, ListItem, Pattern, PatternId, PatternNode, ProjIndex, Rule, given_list};
use tautomer_tensor::{DType, Dim, Tensor};

/// The steps that variables are bound to, by the number of the variable.
pub(crate) type Bindings = FxHashMap<usize, Step>;

/// The steps that the variables of the rule are bound to in a match.
pub(crate) fn bindings(rule: &Rule, sides: &Sides) -> Bindings {
    let mut out = Bindings::default();
    for &(at, v) in &sides.bound {
        let PatternNode::Variable(i) = rule.source.node(at) else {
            continue;
        };
        let vertex = sides.graph.vertex(v);
        let Some(ty) = vertex.ty.as_tensor() else { continue };
        let extents = ty
            .shape
            .as_ref()
            .and_then(|s| s.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>());
        let Some(shape) = extents else { continue };
        let dtype = ty.dtype;
        let number = vertex
            .constant()
            .and_then(|t| t.to_f64s())
            .filter(|all| all.windows(2).all(|w| w[0] == w[1]));
        let step = match number.as_ref().and_then(|all| all.first()) {
            Some(&value) => Step::Fill { dtype, shape, value },
            None => Step::Leaf {
                name: rule.variables[*i].name.clone(),
                param: rule.variables[*i].class != RuleClass::Any,
                dtype,
                shape,
            },
        };
        out.insert(*i, step);
    }
    out
}

/// A recipe for the source of the rule; inference may reject it.
pub(crate) fn sketch(rule: &Rule, numbers: &RuleNumbers, bindings: &Bindings, random: &mut Random) -> Option<Recipe> {
    let rank = random.pick(&[2, 4, 1, 3, 0])?;
    let mut sketch = Sketch {
        rule,
        numbers,
        base: (0..rank).map(|_| 1 + random.below(4) as i64).collect(),
        dtype: match bindings.values().next() {
            Some(Step::Leaf { dtype, .. } | Step::Fill { dtype, .. }) => *dtype,
            // Literals have the element type of the values beside them.
            _ => {
                let named = named_dtypes(rule);
                if !named.is_empty() && random.chance(1, 2) {
                    random.pick(&named)?
                } else {
                    random.pick(&[DType::F32, DType::F32, DType::F64, DType::I64, DType::Bool])?
                }
            }
        },
        bindings,
        members: 1 + random.below(3) as u32,
        recipe: Recipe::default(),
        made: FxHashMap::default(),
        extents: FxHashMap::default(),
        random,
    };
    let roots = sketch.items(&rule.source.outputs, 0)?;
    let mut recipe = sketch.recipe;
    recipe.roots = roots;
    Some(recipe)
}

/// The element types that variables of the rule declare, and those that its attributes and conditions name.
fn named_dtypes(rule: &Rule) -> Vec<DType> {
    let of = |kind: &TypeKind| match kind {
        TypeKind::Tensor { dtype, .. } => dtype.as_ref().map(|d| d.dtype),
        _ => None,
    };
    let declared = rule.variables.iter().filter_map(|v| of(&v.ty.as_ref()?.kind));
    let within = |span: Span| rule.span.start <= span.start && span.end <= rule.span.end;
    let written = rule.ast.iter().filter_map(|(_, expr)| match &expr.kind {
        ExprKind::Name(name) if within(expr.span) => name.parse().ok(),
        _ => None,
    });
    declared.chain(written).collect()
}

/// The rule restricted to each of its alternatives in turn.
pub(crate) fn alternatives(rule: &Rule) -> Vec<Arc<Rule>> {
    let mut out = Vec::new();
    for (at, node) in rule.source.nodes() {
        let PatternNode::AnyOf(items) = node else { continue };
        for &item in items {
            out.push(restricted(rule, &|id| (id == at).then_some(item)));
        }
    }
    out
}

/// The rule restricted to each combination of its alternatives; `None` if there are more than `most`.
pub(crate) fn combined_alternatives(rule: &Rule, most: usize) -> Option<Vec<Arc<Rule>>> {
    let choices = combinations(&rule.source).filter(|all| all.len() <= most)?;
    let with = |choice: Vec<Option<usize>>| {
        restricted(rule, &|id| match rule.source.node(id) {
            PatternNode::AnyOf(items) => choice[id.0 as usize].map(|i| items[i]),
            _ => None,
        })
    };
    Some(choices.into_iter().map(with).collect())
}

/// The rule with one alternative at the vertices that have been chosen for.
fn restricted(rule: &Rule, chosen: &dyn Fn(PatternId) -> Option<PatternId>) -> Arc<Rule> {
    let mut source = Pattern::default();
    source.families.clone_from(&rule.source.families);
    source.outputs.clone_from(&rule.source.outputs);
    source.named.clone_from(&rule.source.named);
    for (id, node) in rule.source.nodes() {
        let node = match chosen(id) {
            Some(item) => PatternNode::AnyOf(vec![item]),
            None => node.clone(),
        };
        source.push(node, rule.source.within(id));
    }
    Arc::new(Rule { source, ..rule.clone() })
}

struct Sketch<'a> {
    rule: &'a Rule,
    numbers: &'a RuleNumbers,
    bindings: &'a Bindings,
    base: Vec<i64>,
    dtype: DType,
    members: u32,
    recipe: Recipe,
    made: FxHashMap<(PatternId, u32), usize>,
    /// The dimensions chosen for names in declared types.
    extents: FxHashMap<String, i64>,
    random: &'a mut Random,
}

impl Sketch<'_> {
    fn push(&mut self, step: Step) -> usize {
        self.recipe.steps.push(step);
        self.recipe.steps.len() - 1
    }

    fn items(&mut self, items: &[Item], index: u32) -> Option<Vec<usize>> {
        let mut out = Vec::new();
        for item in items {
            match *item {
                Item::One(id) => out.push(self.vertex(id, index)?),
                Item::Each(body, family) => {
                    let count = match self.rule.source.family(family).count {
                        Count::Exactly(n) => n,
                        Count::Bind(_) => self.members,
                    };
                    for i in 0..count {
                        out.push(self.vertex(body, i)?);
                    }
                }
            }
        }
        Some(out)
    }

    fn vertex(&mut self, id: PatternId, index: u32) -> Option<usize> {
        // A vertex outside of comprehensions is shared by all members.
        let key = (
            id,
            if self.rule.source.within(id).is_some() {
                index
            } else {
                0
            },
        );
        if let Some(&step) = self.made.get(&key) {
            return Some(step);
        }
        let step = match self.rule.source.node(id) {
            PatternNode::Variable(i) => self.variable(*i)?,
            PatternNode::Wildcard => self.leaf("x", false, Vec::new()),
            PatternNode::Literal(value) => {
                let dtype = if value.fract() == 0.0 { self.dtype } else { DType::F32 };
                Step::Fill {
                    dtype,
                    shape: Vec::new(),
                    value: *value,
                }
            }
            PatternNode::Absent => Step::Absent,
            PatternNode::Call { def, operands, attrs } => {
                let operands = self.items(operands, index)?;
                let attrs = attrs.iter().map(|a| self.attribute(a)).collect();
                Step::Call { def, operands, attrs }
            }
            PatternNode::CallOf { variable, operands, .. } => {
                let def = self.random.pick(&self.rule.operators.get(*variable)?.choices)?;
                let operands = self.items(operands, index)?;
                Step::Call {
                    def,
                    operands,
                    attrs: vec![None; def.attrs.len()],
                }
            }
            PatternNode::Tuple(items) => Step::Tuple(self.items(items, index)?),
            PatternNode::Proj(tuple, place) => {
                let tuple = self.vertex(*tuple, index)?;
                let place = match place {
                    ProjIndex::At(i) => *i as usize,
                    ProjIndex::Running => index as usize,
                    ProjIndex::Bind(_) => self.random.below(2),
                };
                Step::Proj(tuple, place)
            }
            PatternNode::AnyOf(items) => {
                let chosen = self.random.pick(items)?;
                return self.vertex(chosen, index);
            }
        };
        let step = self.push(step);
        self.made.insert(key, step);
        Some(step)
    }

    fn leaf(&mut self, name: &str, param: bool, declared: Vec<i64>) -> Step {
        let shape = if !declared.is_empty() || self.random.chance(2, 3) {
            if declared.is_empty() {
                self.base.clone()
            } else {
                declared
            }
        } else {
            let rank = self.random.below(5);
            (0..rank).map(|_| 1 + self.random.below(3) as i64).collect()
        };
        Step::Leaf {
            name: name.into(),
            param,
            dtype: self.dtype,
            shape,
        }
    }

    fn variable(&mut self, i: usize) -> Option<Step> {
        if let Some(step) = self.bindings.get(&i) {
            return Some(step.clone());
        }
        let rule = self.rule;
        let variable = rule.variables.get(i)?;
        let mut shape = Vec::new();
        let mut dtype = None;
        if let Some(TypeKind::Tensor { dtype: d, dims }) = variable.ty.as_ref().map(|t| &t.kind) {
            dtype = d.map(|d| d.dtype);
            if let Dims::List(dims) = dims {
                for dim in dims {
                    let extent = match dim {
                        tautomer_lang::ast::DimExpr::Expr(id) => match rule.ast.kind(*id) {
                            ExprKind::Int { value, .. } => i64::try_from(*value).ok()?,
                            ExprKind::Name(name) => {
                                let fresh = 1 + self.random.below(4) as i64;
                                *self.extents.entry(name.to_string()).or_insert(fresh)
                            }
                            _ => 2,
                        },
                        tautomer_lang::ast::DimExpr::Unknown(_) => 2,
                    };
                    shape.push(extent);
                }
            }
        }
        if variable.class == RuleClass::Const {
            let scalar = variable.ty.is_none() && self.random.chance(1, 2);
            let declared = if shape.is_empty() && !scalar {
                self.base.clone()
            } else {
                shape
            };
            let dtype = dtype.unwrap_or(self.dtype);
            if let Some(list) = given_list(rule, &variable.name) {
                let whole: Vec<i128> = list.iter().map(|x| *x as i128).collect();
                let tensor = if dtype.is_float() {
                    Tensor::from_f64s(dtype, &[list.len()], &list)
                } else {
                    Tensor::from_ints(dtype, &[list.len()], &whole)
                };
                return tensor.map(Step::Const);
            }
            let value = self.numbers.number(&[0.0, 1.0, 2.0], self.random);
            let value = if dtype.is_float() { value } else { value.trunc() };
            return Some(Step::Fill {
                dtype,
                shape: declared,
                value,
            });
        }
        let mut step = self.leaf(&variable.name, variable.class != RuleClass::Any, shape);
        if let (Some(declared), Step::Leaf { dtype, .. }) = (dtype, &mut step) {
            *dtype = declared;
        }
        Some(step)
    }

    fn attribute(&mut self, pattern: &AttrPattern) -> Option<AttrValue> {
        match pattern {
            AttrPattern::Value(value) => Some(value.clone()),
            AttrPattern::List(items) => {
                let one = |(k, item): (usize, &ListItem)| match item {
                    ListItem::Int(v) => Dim::from(*v),
                    ListItem::Bind(_) | ListItem::Any => Dim::from(k as i64),
                };
                Some(AttrValue::Ints(items.iter().enumerate().map(one).collect()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::verify;
    use crate::verdict::options::Options;
    use crate::verdict::report::Verdict;
    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;
    use tautomer_rule::load_rules;

    #[test]
    fn rules_for_rare_element_types_have_instances() {
        let verdict = |text: &str| {
            let set = parse_rules(Arc::new(Source::new("test.rules", text))).and_then(load_rules);
            let set = set.expect("the rule is well formed");
            verify(&set.rules[0], &set.examples, &Options::default()).verdict
        };
        let exact = "rule exact(x) { cast(cast(x) {to = f32}) {to = i16} => x where x.dtype == i16 numerics bitwise }";
        assert!(!matches!(verdict(exact), Verdict::Undecided(_) | Verdict::Refuted(_)));
        let wraps = "rule wraps(x) { cast(cast(x) {to = i8}) {to = i16} => x where x.dtype == i16 numerics bitwise }";
        assert!(matches!(verdict(wraps), Verdict::Refuted(_)));
    }
}
