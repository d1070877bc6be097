//! Random graphs over chosen operators: operands and attributes are drawn, then adjusted to the shape rule of the
//! operator.

use super::random::Random;
use super::recipe::{Recipe, Step};
use super::solve::solved;
use tautomer_graph::{Graph, VertexId};
use tautomer_op::{AttrDef, AttrKind, AttrValue, OpDef, OpTraits, Operand, OperandKind};
use tautomer_tensor::{DType, Dim, Type};

/// How often a call is tried with other operands and attributes before it is left out.
const ATTEMPTS: usize = 8;

/// The maximum number of elements of a value.
const MOST_ELEMENTS: i64 = 256;

/// The random numbers for one call: for the operator, for the first operand, and for everything else.
pub type Decision = (u16, u16, u16);

/// The parts from which a graph is made.
#[derive(Debug, Clone, Copy)]
pub struct Growth<'a> {
    /// The operators.
    pub operators: &'a [&'static OpDef],
    /// The element type of the inputs `x` and `y`.
    pub dtype: DType,
    /// Their shape.
    pub shape: &'a [usize],
}

impl Growth<'_> {
    /// The graph for these decisions. Each is a call with an earlier value as first operand; the other operands are
    /// earlier values, or parameters with shapes that fit. Calls that cannot be made are left out.
    pub fn graph(&self, decisions: &[Decision]) -> Graph {
        let shape: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        let input = |name: &str| leaf(name, false, self.dtype, shape.clone());
        let mut recipe = Recipe {
            steps: vec![input("x"), input("y")],
            roots: Vec::new(),
        };
        let mut pool = vec![0, 1];
        for &decision in decisions {
            if let Some((longer, value)) = self.extended(&recipe, &pool, decision) {
                recipe = longer;
                pool.push(value);
            }
        }
        recipe.roots.extend(pool.last());
        recipe.prune();
        recipe.build().map(|(graph, _)| graph).unwrap_or_default()
    }

    /// The recipe with one more call, and the step of its value.
    fn extended(&self, recipe: &Recipe, pool: &[usize], (op, a, b): Decision) -> Option<(Recipe, usize)> {
        let def = *self.operators.get(usize::from(op) % self.operators.len().max(1))?;
        if def.traits.contains(OpTraits::NONDETERMINISTIC) {
            return None;
        }
        let (graph, _, made) = recipe.build_steps().ok()?;
        let types: Vec<&Type> = made.iter().map(|&v| graph.ty(v)).collect();
        let mut random = Random::part(u64::from(b), def.name);
        // Recent values first, so that smaller decisions make chains.
        let first = pool[pool.len() - 1 - usize::from(a) % pool.len()];
        (0..ATTEMPTS).find_map(|attempt| {
            let mut call = Call {
                recipe: recipe.clone(),
                pool,
                types: &types,
                dtype: self.dtype,
                random: &mut random,
            };
            call.add(def, first, attempt)
        })
    }
}

fn leaf(name: &str, param: bool, dtype: DType, shape: Vec<i64>) -> Step {
    Step::Leaf {
        name: name.into(),
        param,
        dtype,
        shape,
    }
}

/// A call in the making.
struct Call<'a> {
    recipe: Recipe,
    pool: &'a [usize],
    /// The type of each step so far.
    types: &'a [&'a Type],
    dtype: DType,
    random: &'a mut Random,
}

impl Call<'_> {
    /// The recipe with the call, and the step of its value, if inference accepts it.
    fn add(&mut self, def: &'static OpDef, first: usize, attempt: usize) -> Option<(Recipe, usize)> {
        let before = self.recipe.steps.len();
        let mut operands = Vec::new();
        for (i, operand) in def.operands.iter().enumerate() {
            for _ in 0..self.count(operand, i) {
                // Conditions are not among the values of other element types.
                operands.push(match (operands.is_empty(), attempt) {
                    (true, 0..=5) => first,
                    (true, _) => self.parameter(DType::Bool, first),
                    (false, 0) => self.random.pick(self.pool)?,
                    (false, _) if self.random.chance(1, 3) => self.random.pick(self.pool)?,
                    (false, _) => self.parameter(self.dtype, first),
                });
            }
        }
        let rank = self.types.get(first)?.as_tensor()?.shape.as_ref()?.len();
        let attrs = def.attrs.iter().map(|attr| self.attribute(attr, rank));
        let attrs = attrs.collect::<Option<_>>()?;
        let value = self.recipe.steps.len();
        self.recipe.steps.push(Step::Call { def, operands, attrs });
        // What the operator asks for, without changing what others have used.
        let mut next = solved(&self.recipe, value, self.random);
        next.steps[..before].clone_from_slice(&self.recipe.steps[..before]);
        let (graph, _, made) = next.build_steps().ok()?;
        let value = match graph.ty(made[value]) {
            Type::Tuple(items) => {
                let item = self.random.below(items.len());
                next.steps.push(Step::Proj(value, item));
                value + 1
            }
            _ => value,
        };
        let (graph, _, made) = next.build_steps().ok()?;
        is_usual(&graph, made[value]).then_some((next, value))
    }

    /// How many values an operand takes.
    fn count(&mut self, operand: &Operand, place: usize) -> usize {
        match operand.kind {
            OperandKind::One => 1,
            OperandKind::Variadic => 1 + self.random.below(2),
            // Only what follows the first ones can be left out without a mark, and attributes stand for some.
            OperandKind::Optional => usize::from(place == 1 && operand.attr.is_none() && self.random.chance(1, 2)),
        }
    }

    /// A new parameter with the shape of the first operand.
    fn parameter(&mut self, dtype: DType, first: usize) -> usize {
        let shape = self.types.get(first).and_then(|ty| ty.as_tensor()?.shape.as_ref());
        let shape = shape.map_or_else(Vec::new, |dims| dims.iter().filter_map(Dim::as_const).collect());
        let at = self.recipe.steps.len();
        self.recipe.steps.push(leaf(&format!("w{at}"), true, dtype, shape));
        at
    }

    /// A value of an attribute; the inner `None` stands for its default, the outer for an attribute that has none and is
    /// not drawn.
    fn attribute(&mut self, attr: &AttrDef, rank: usize) -> Option<Option<AttrValue>> {
        let is_optional = attr.default_value().is_some();
        if is_optional && self.random.chance(1, 2) {
            return Some(None);
        }
        let axis = |random: &mut Random| random.below(rank) as i64;
        Some(match attr.kind {
            AttrKind::Bool => Some(AttrValue::Bool(self.random.chance(1, 2))),
            AttrKind::Axis(_) => Some(AttrValue::int(axis(self.random))),
            AttrKind::Axes(_) => Some(AttrValue::ints(&[axis(self.random)])),
            // Of the length that the shape rule asks for.
            AttrKind::Ints => Some(AttrValue::ints(&[1, self.random.below(2) as i64])),
            _ if is_optional => None,
            AttrKind::Int => Some(AttrValue::int(1)),
            AttrKind::Float => Some(AttrValue::float(0.5)),
            AttrKind::OneOf(words) => Some(AttrValue::Str(self.random.pick(words)?.into())),
            AttrKind::DType => Some(AttrValue::DType(self.dtype)),
            _ => return None,
        })
    }
}

/// True for a tensor of some elements, but not many.
fn is_usual(graph: &Graph, v: VertexId) -> bool {
    let shape = graph.ty(v).as_tensor().and_then(|ty| ty.shape.as_ref());
    let elements = shape.and_then(|dims| dims.iter().map(Dim::as_const).product::<Option<i64>>());
    elements.is_some_and(|n| (1..=MOST_ELEMENTS).contains(&n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::lookup;

    fn grown(names: &[&str], dtype: DType, decisions: &[Decision]) -> Graph {
        let operators: Vec<_> = names.iter().map(|name| lookup(name).unwrap()).collect();
        let growth = Growth {
            operators: &operators,
            dtype,
            shape: &[2, 2, 3, 3],
        };
        growth.graph(decisions)
    }

    #[test]
    fn operators_with_operands_and_attributes_of_their_own_are_called() {
        let names = [
            "conv",
            "gemm",
            "concat",
            "split",
            "reduce_sum",
            "where",
            "batch_normalization",
            "max_pool",
            "pad",
            "slice",
            "reshape",
            "unsqueeze",
            "cast",
            "layer_normalization",
            "clip",
            "transpose",
        ];
        for name in names {
            let found = (0..40).any(|b| {
                let graph = grown(&[name], DType::F32, &[(0, 0, b)]);
                let mut called = graph.ids().filter_map(|v| graph.vertex(v).op());
                called.any(|op| op.name().as_str() == name)
            });
            // A matrix product of two axes takes no operand of four.
            assert_eq!(found, name != "gemm", "{name}");
        }
    }

    #[test]
    fn the_same_decisions_make_the_same_graph() {
        let decisions: Vec<Decision> = (0..12).map(|i| (i * 7, 0, i * 11)).collect();
        let text = |graph: Graph| tautomer_lang::format_program(&tautomer_graph::to_program(&graph));
        let one = || text(grown(&["add", "relu", "conv", "softmax"], DType::F32, &decisions));
        assert_eq!(one(), one());
        assert!(one().contains("softmax"), "{}", one());
    }
}
