//! Random graphs full of patterns that rules match.
//!
//! Values stay moderate and nothing is ill-conditioned: roots, quotients and logarithms are taken only of numbers away
//! from zero, and comparisons only of inputs, so a difference between two graphs is a defect and not rounding.

use proptest::prelude::*;
use tautomer::graph::{Graph, VertexId};
use tautomer::op::{AttrValue, Op, lookup};
use tautomer::tensor::{DType, Tensor, Type};

use super::Seeds;

/// A random graph of up to `most` motifs.
pub(crate) fn graph(most: usize) -> impl Strategy<Value = Graph> {
    prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>()), 1..most).prop_map(|seeds| grow(&seeds))
}

/// The graph for these decisions; inapplicable decisions are skipped.
pub(crate) fn grow(seeds: &Seeds) -> Graph {
    let mut g = Grower::default();
    let inputs: [(&str, DType, &[usize]); 6] = [
        ("x", DType::F32, &[2, 4]),
        ("d", DType::F64, &[3, 4]),
        ("i", DType::I64, &[2, 4]),
        ("image", DType::F32, &[1, 2, 4, 4]),
        ("y", DType::F32, &[2, 4]),
        ("signal", DType::F64, &[2, 2, 5]),
    ];
    for (name, dtype, shape) in inputs {
        let v = g.graph.input(name, Type::tensor(dtype, shape));
        g.pool.push(v);
    }
    let used = g.pool.len();
    for &seed in seeds {
        g.step(seed);
    }
    let (_, _, last) = seeds.last().copied().unwrap_or_default();
    let n = g.pool.len();
    g.graph.output(g.pool[n - 1], None);
    for k in 0..usize::from(last % 4) {
        let at = usize::from(last / 4).wrapping_mul(k + 1) % n;
        if at >= used {
            g.graph.output(g.pool[at], None);
        }
    }
    g.graph.retain_reachable();
    g.graph
}

#[derive(Default)]
struct Grower {
    graph: Graph,
    pool: Vec<VertexId>,
    params: usize,
}

type Attr<'a> = (&'a str, AttrValue);

fn ints(values: impl IntoIterator<Item = usize>) -> AttrValue {
    AttrValue::ints(&values.into_iter().map(|i| i as i64).collect::<Vec<_>>())
}

impl Grower {
    fn dtype(&self, v: VertexId) -> DType {
        self.graph.ty(v).as_tensor().map_or(DType::Bool, |t| t.dtype)
    }

    fn shape(&self, v: VertexId) -> Option<Vec<usize>> {
        let dims = self.graph.ty(v).as_tensor()?.shape.as_ref()?;
        dims.iter()
            .map(|d| d.as_const().and_then(|n| usize::try_from(n).ok()))
            .collect()
    }

    fn call(&mut self, name: &str, operands: &[VertexId], attrs: &[Attr<'_>]) -> Option<VertexId> {
        let v = self.graph.call(Op::Known(lookup(name)?), operands, attrs).ok()?;
        (self.shape(v).is_none_or(|s| s.iter().product::<usize>() <= 256)).then_some(v)
    }

    /// A parameter of that type; one in three is an existing one.
    fn param(&mut self, kind: &str, dtype: DType, shape: &[usize], seed: u16) -> VertexId {
        let ty = Type::tensor(dtype, shape);
        if seed.is_multiple_of(3) {
            let same = |&&v: &&VertexId| {
                *self.graph.ty(v) == ty
                    && self
                        .graph
                        .vertex(v)
                        .name
                        .as_deref()
                        .is_some_and(|n| n.starts_with(kind))
            };
            if let Some(&v) = self.graph.params().iter().find(same) {
                return v;
            }
        }
        self.params += 1;
        self.graph.param(&format!("{kind}{}", self.params), ty)
    }

    fn number(&mut self, dtype: DType, value: f64) -> Option<VertexId> {
        let tensor = if dtype.is_float() {
            Tensor::from_f64s(dtype, &[], &[value])
        } else {
            Tensor::from_ints(dtype, &[], &[value as i128])
        };
        tensor.map(|t| self.graph.constant(t))
    }

    fn step(&mut self, (kind, a, b): (u16, u16, u16)) {
        let n = self.pool.len();
        let pick = |k: u16| n - 1 - (usize::from(k) % n).min(usize::from(k) / 11 % n);
        let (p, q) = (self.pool[pick(a)], self.pool[pick(b)]);
        let fresh = self.motif(kind, p, q, a, b);
        self.pool.extend(fresh);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each motif")]
    fn motif(&mut self, kind: u16, p: VertexId, q: VertexId, a: u16, b: u16) -> Option<VertexId> {
        let dtype = self.dtype(p);
        let shape = self.shape(p)?;
        let rank = shape.len();
        let float = dtype.is_float();
        let axis = if rank == 0 { 0 } else { usize::from(b) % rank };
        let pick = usize::from(kind) / 24;
        match kind % 24 {
            // Identities.
            0 => {
                let (op, value, left) = [
                    ("add", 0.0, false),
                    ("add", 0.0, true),
                    ("sub", 0.0, false),
                    ("mul", 1.0, false),
                    ("mul", 1.0, true),
                    ("div", 1.0, false),
                    ("pow", 1.0, false),
                    ("mul", -1.0, false),
                ][pick % 8];
                let c = self.number(dtype, value)?;
                self.call(op, &if left { [c, p] } else { [p, c] }, &[])
            }
            1 | 2 => self.call(["add", "sub", "mul", "max", "min"][pick % 5], &[p, q], &[]),
            3 => {
                const UNARY: [&str; 12] = [
                    "relu", "neg", "abs", "tanh", "sigmoid", "identity", "silu", "gelu", "relu", "neg", "abs",
                    "softplus",
                ];
                self.call(UNARY[pick % UNARY.len()], &[p], &[])
            }
            // Transposes, alone and in pairs.
            4 | 5 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                if rank > 1 {
                    perm.rotate_left(usize::from(a) % rank);
                    perm.swap(axis, usize::from(a / 5) % rank);
                }
                let t = self.call("transpose", &[p], &[("perm", ints(perm.iter().copied()))])?;
                match pick % 5 {
                    0 => {
                        let back = (0..rank).map(|i| perm.iter().position(|&j| j == i).unwrap_or(i));
                        self.call("transpose", &[t], &[("perm", ints(back))])
                    }
                    1 => {
                        let relu = self.call("relu", &[t], &[])?;
                        self.pool.push(t);
                        Some(relu)
                    }
                    2 => {
                        let other = self.call("transpose", &[q], &[("perm", ints(perm))])?;
                        self.call("add", &[t, other], &[])
                    }
                    _ => Some(t),
                }
            }
            // Reshapes, alone and in chains.
            6 | 7 => {
                let flat: usize = shape.iter().product();
                let once = match pick % 6 {
                    0 => self.call("reshape", &[p], &[("shape", ints([flat]))])?,
                    1 => self.call("flatten", &[p], &[("axis", AttrValue::int(axis as i64))])?,
                    2 => self.call("unsqueeze", &[p], &[("axes", ints([axis]))])?,
                    3 => self.call("reshape", &[p], &[("shape", ints(shape.iter().rev().copied()))])?,
                    4 => self.call("squeeze", &[p], &[("axes", ints([axis]))])?,
                    _ => self.call("reshape", &[p], &[("shape", AttrValue::ints(&[2, -1]))])?,
                };
                match b % 5 {
                    0 => self.call("reshape", &[once], &[("shape", ints(shape))]),
                    1 => self.call("squeeze", &[once], &[("axes", ints([axis]))]),
                    2 => self.call("reshape", &[once], &[("shape", AttrValue::ints(&[-1]))]),
                    _ => Some(once),
                }
            }
            8 => {
                let pair = self.call("concat", &[p, q], &[("axis", AttrValue::int(axis as i64))])?;
                if pick.is_multiple_of(2) {
                    let third = self.pool[usize::from(a) % self.pool.len()];
                    let operands = if a.is_multiple_of(2) {
                        [pair, third]
                    } else {
                        [third, pair]
                    };
                    return self
                        .call("concat", &operands, &[("axis", AttrValue::int(axis as i64))])
                        .or(Some(pair));
                }
                Some(pair)
            }
            // A split whose parts are joined again, or are not.
            9 | 10 => {
                let extent = *shape.get(axis)?;
                let cut = 1 + usize::from(a) % extent.max(1);
                let at = AttrValue::int(axis as i64);
                let parts = self.call(
                    "split",
                    &[p],
                    &[("axis", at.clone()), ("sizes", ints([cut, extent.checked_sub(cut)?]))],
                )?;
                let (l, r) = (self.graph.project(parts, 0).ok()?, self.graph.project(parts, 1).ok()?);
                match pick % 4 {
                    0 => self.call("concat", &[l, r], &[("axis", at)]),
                    1 => self.call("concat", &[r, l], &[("axis", at)]),
                    2 => {
                        let l = self.call("relu", &[l], &[])?;
                        self.call("concat", &[l, r], &[("axis", at)])
                    }
                    _ => {
                        self.pool.push(l);
                        Some(r)
                    }
                }
            }
            // Chains of clips.
            11 => {
                let low = f64::from(b % 7) - 3.0;
                let high = low + f64::from(a % 5);
                let inner = match pick % 3 {
                    0 => self.call("relu", &[p], &[])?,
                    _ => p,
                };
                match pick / 3 % 5 {
                    0 => self.call(
                        "clip",
                        &[inner],
                        &[("min", AttrValue::float(low)), ("max", AttrValue::float(high))],
                    ),
                    1 => self.call("clip", &[inner], &[("min", AttrValue::float(0.0))]),
                    2 => {
                        let zero = self.number(dtype, 0.0)?;
                        self.call(
                            "max",
                            &if a.is_multiple_of(2) {
                                [inner, zero]
                            } else {
                                [zero, inner]
                            },
                            &[],
                        )
                    }
                    3 => {
                        let (low, high) = (self.number(dtype, low)?, self.number(dtype, high)?);
                        let min = self.call("min", &[inner, high], &[])?;
                        self.call("max", &[min, low], &[])
                    }
                    _ => {
                        let (low, high) = (self.number(dtype, low)?, self.number(dtype, high)?);
                        let max = self.call("max", &[inner, low], &[])?;
                        self.call("min", &[max, high], &[])
                    }
                }
            }
            // Products with static operands.
            12 | 13 => {
                let inner = *shape.last().filter(|_| float && rank > 0)?;
                let width = 2 + usize::from(a) % 3;
                let w = self.param("w", dtype, &[inner, width], b);
                let product = self.call("matmul", &[p, w], &[])?;
                match pick % 7 {
                    0 => {
                        let c = self.param("c", dtype, &[width], b);
                        self.call("add", &[product, c], &[])
                    }
                    1 => {
                        let c = self.param("c", dtype, &[width], b);
                        self.call("mul", &[product, c], &[])
                    }
                    2 => {
                        let w = self.param("w", dtype, &[width, 3], a);
                        self.call("matmul", &[product, w], &[])
                    }
                    3 => {
                        let w = self.param("w", dtype, &[inner, 2], a);
                        let other = self.call("matmul", &[p, w], &[])?;
                        self.pool.push(other);
                        Some(product)
                    }
                    4 => {
                        let c = self.param("c", dtype, &[width], b);
                        let alpha = ("alpha", AttrValue::float(f64::from(a % 3) / 2.0));
                        let gemm = self.call("gemm", &[p, w, c], &[alpha])?;
                        let d = self.param("c", dtype, &[1, width], a);
                        self.call("add", &[gemm, d], &[])
                    }
                    5 => {
                        let t = self.call("transpose", &[p], &[("perm", ints((0..rank).rev()))])?;
                        let w = self.param("w", dtype, &[*shape.first()?, width], b);
                        let c = self.param("c", dtype, &[width], b);
                        self.call("gemm", &[t, w, c], &[])
                    }
                    _ => Some(product),
                }
            }
            // Convolutions and the operators that follow them.
            14..=17 => self.convolution(p, &shape, pick, a, b),
            // Normalization with given statistics, alone.
            18 if b.is_multiple_of(2) => self.batch_norm(p, b),
            18 => {
                let c = self.param("c", dtype, &[*shape.last()?], a);
                match pick % 4 {
                    0 => {
                        let sum = self.call("add", &[p, c], &[])?;
                        let d = self.param("c", dtype, &[], b);
                        self.call(["add", "mul", "sub"][usize::from(a) % 3], &[sum, d], &[])
                    }
                    1 => {
                        let product = self.call("mul", &[p, c], &[])?;
                        let d = self.number(dtype, f64::from(b % 5) - 2.0)?;
                        self.call(["mul", "add"][usize::from(a) % 2], &[product, d], &[])
                    }
                    2 => {
                        let other = self.call("mul", &[p, q], &[])?;
                        let product = self.call("mul", &[p, c], &[])?;
                        self.call("add", &[product, other], &[])
                    }
                    _ => self.call("sub", &[p, c], &[]),
                }
            }
            19 => {
                let name = ["reduce_sum", "reduce_mean", "reduce_max"][pick % 3];
                let keep = ("keepdims", AttrValue::Bool(!a.is_multiple_of(3)));
                let once = self.call(name, &[p], &[("axes", ints([axis])), keep.clone()])?;
                let left = self.shape(once)?.len();
                if b.is_multiple_of(3) && left > 0 {
                    return self.call(name, &[once], &[("axes", ints([usize::from(a) % left])), keep]);
                }
                Some(once)
            }
            20 if float => {
                let keep = ("keepdims", AttrValue::Bool(a.is_multiple_of(2)));
                let axes = ("axes", ints([axis]));
                match pick % 5 {
                    0 => {
                        let square = self.call("mul", &[p, p], &[])?;
                        self.call("reduce_sum", &[square], &[axes, keep])
                    }
                    1 => {
                        let abs = self.call("abs", &[p], &[])?;
                        self.call("reduce_sum", &[abs], &[axes, keep])
                    }
                    2 => {
                        let t = self.call("tanh", &[p], &[])?;
                        let e = self.call("exp", &[t], &[])?;
                        let s = self.call("reduce_sum", &[e], &[axes, keep])?;
                        if b.is_multiple_of(2) {
                            self.call("log", &[s], &[])
                        } else {
                            self.call("div", &[e, s], &[])
                        }
                    }
                    3 => {
                        let t = self.call("tanh", &[p], &[])?;
                        let s = self.call("softmax", &[t], &[("axis", AttrValue::int(axis as i64))])?;
                        if b.is_multiple_of(2) {
                            self.call("log", &[s], &[])
                        } else {
                            Some(s)
                        }
                    }
                    _ => {
                        let last = rank.checked_sub(1)?;
                        let (axes, keep) = (("axes", ints([last])), ("keepdims", AttrValue::Bool(true)));
                        let mean = self.call("reduce_mean", &[p], &[axes.clone(), keep.clone()])?;
                        let diff = self.call("sub", &[p, mean], &[])?;
                        let square = self.call("mul", &[diff, diff], &[])?;
                        let var = self.call("reduce_mean", &[square], &[axes, keep])?;
                        let eps = self.number(dtype, 0.5)?;
                        let sum = self.call("add", &[var, eps], &[])?;
                        let root = self.call("sqrt", &[sum], &[])?;
                        let norm = self.call("div", &[diff, root], &[])?;
                        let (s, c) = (
                            self.param("s", dtype, &[shape[last]], a),
                            self.param("c", dtype, &[shape[last]], b),
                        );
                        let scaled = self.call("mul", &[norm, s], &[])?;
                        self.call("add", &[scaled, c], &[])
                    }
                }
            }
            // Activations in expanded form.
            21 if float => {
                let one = self.number(dtype, 1.0)?;
                match pick % 5 {
                    0 | 1 => {
                        let neg = self.call("neg", &[p], &[])?;
                        let exp = self.call("exp", &[neg], &[])?;
                        let sum = self.call("add", &if a.is_multiple_of(2) { [one, exp] } else { [exp, one] }, &[])?;
                        match a / 2 % 3 {
                            0 => self.call("div", &[one, sum], &[]),
                            1 => self.call("div", &[p, sum], &[]),
                            _ => self.call("reciprocal", &[sum], &[]),
                        }
                    }
                    2 => {
                        let (three, six) = (self.number(dtype, 3.0)?, self.number(dtype, 6.0)?);
                        let sum = self.call("add", &[p, three], &[])?;
                        let clip = self.call(
                            "clip",
                            &[sum],
                            &[("min", AttrValue::float(0.0)), ("max", AttrValue::float(6.0))],
                        )?;
                        let product = if a.is_multiple_of(2) {
                            self.call("mul", &[p, clip], &[])?
                        } else {
                            clip
                        };
                        self.call("div", &[product, six], &[])
                    }
                    3 => {
                        let sigmoid = self.call(["sigmoid", "hard_sigmoid"][usize::from(a) % 2], &[p], &[])?;
                        self.call("mul", &[p, sigmoid], &[])
                    }
                    _ => {
                        let slope = self.number(dtype, [0.1, 0.5, 1.5, -0.5][usize::from(a) % 4])?;
                        let product = self.call("mul", &[p, slope], &[])?;
                        self.call("max", &[p, product], &[])
                    }
                }
            }
            // Conversions.
            22 => {
                let to = match dtype {
                    DType::F32 if a.is_multiple_of(2) => DType::F64,
                    DType::F64 if a.is_multiple_of(4) => DType::F32,
                    DType::I64 if a.is_multiple_of(2) => DType::F64,
                    same => same,
                };
                let cast = self.call("cast", &[p], &[("to", AttrValue::DType(to))])?;
                if b.is_multiple_of(2) {
                    self.call("cast", &[cast], &[("to", AttrValue::DType(dtype))])
                } else {
                    Some(cast)
                }
            }
            23 => match pick % 5 {
                0 => {
                    let c = self.call("less", &[self.pool[0], self.pool[4]], &[])?;
                    let other = if b.is_multiple_of(2) { p } else { q };
                    self.call("where", &[c, p, other], &[])
                }
                1 => {
                    let once = self.call("neg", &[p], &[])?;
                    self.call(["neg", "abs"][usize::from(a) % 2], &[once], &[])
                }
                2 => {
                    let once = self.call("neg", &[q], &[])?;
                    self.call(["add", "sub"][usize::from(a) % 2], &[p, once], &[])
                }
                3 => {
                    let two = self.number(dtype, 2.0)?;
                    self.call(["pow", "div"][usize::from(a) % 2], &[p, two], &[])
                        .filter(|_| float)
                }
                _ => {
                    let pads: Vec<i64> = (0..2 * rank)
                        .map(|i| i64::from(i % rank == axis) * i64::from(a % 2))
                        .collect();
                    self.call("pad", &[p], &[("pads", AttrValue::ints(&pads))])
                }
            },
            _ => None,
        }
    }

    fn batch_norm(&mut self, p: VertexId, seed: u16) -> Option<VertexId> {
        let dtype = self.dtype(p);
        let channels = [*self.shape(p)?.get(1)?];
        let mut operands = vec![p];
        for kind in ["s", "c", "m", "variance"] {
            operands.push(self.param(kind, dtype, &channels, seed));
        }
        let attrs = [("epsilon", AttrValue::float(f64::from(seed % 3 + 1) * 1e-3))];
        self.call("batch_normalization", &operands, &attrs)
    }

    fn convolution(&mut self, p: VertexId, shape: &[usize], pick: usize, a: u16, b: u16) -> Option<VertexId> {
        let dtype = self.dtype(p);
        if !(3..=4).contains(&shape.len()) || !dtype.is_float() || shape.contains(&0) {
            return None;
        }
        let spatial = shape.len() - 2;
        let group = if a.is_multiple_of(3) && shape[1].is_multiple_of(2) {
            2
        } else {
            1
        };
        let outputs = 2 + 2 * (usize::from(a) / 3 % 2);
        let edge = if pick.is_multiple_of(4) {
            1
        } else {
            1 + usize::from(b) % 3
        };
        let mut kernel = vec![outputs, shape[1] / group];
        kernel.extend(std::iter::repeat_n(edge, spatial));
        let w = self.param("k", dtype, &kernel, b);
        let mut operands = vec![p, w];
        if a.is_multiple_of(2) {
            operands.push(self.param("c", dtype, &[outputs], b));
        }
        let pads: Vec<i64> = (0..2 * spatial).map(|i| i64::from((a >> (i % 8)) & 1)).collect();
        let strides: Vec<i64> = vec![1 + i64::from(b.is_multiple_of(5)); spatial];
        let mut attrs = vec![
            ("group", AttrValue::int(group as i64)),
            ("strides", AttrValue::ints(&strides)),
        ];
        if !b.is_multiple_of(3) {
            attrs.push(("pads", AttrValue::ints(&pads)));
        }
        let mut per_channel = vec![outputs];
        per_channel.extend(std::iter::repeat_n(1, spatial));
        match pick % 10 {
            0 | 1 => {
                let conv = self.call("conv", &operands, &attrs)?;
                self.batch_norm(conv, b)
            }
            2 | 3 => {
                let conv = self.call("conv", &operands, &attrs)?;
                let c = match b % 3 {
                    0 => self.number(dtype, 0.5)?,
                    _ => self.param("c", dtype, &per_channel, b),
                };
                self.call(["mul", "add", "sub", "div"][usize::from(b) / 3 % 3], &[conv, c], &[])
            }
            4 | 5 => {
                let mut wanted = vec![shape[1]];
                wanted.extend(std::iter::repeat_n(1, spatial));
                let c = self.param("c", dtype, &wanted, b);
                operands[0] = self.call(["mul", "add"][usize::from(b) % 2], &[p, c], &[])?;
                self.call("conv", &operands, &attrs)
            }
            6 => {
                let around: Vec<i64> = (0..2 * shape.len())
                    .map(|i| i64::from(i % shape.len() >= 2) * i64::from((b >> (i % 8)) & 1))
                    .collect();
                let value = if b.is_multiple_of(7) { 1.0 } else { 0.0 };
                let value = self.number(dtype, value)?;
                operands[0] = self
                    .call("pad", &[p, value], &[("pads", AttrValue::ints(&around))])
                    .or_else(|| self.call("pad", &[p], &[("pads", AttrValue::ints(&around))]))?;
                self.call("conv", &operands, &attrs)
            }
            7 => {
                let other = self.param("k", dtype, &kernel, a);
                let left = self.call("conv", &[p, w], &attrs)?;
                let right = self.call("conv", &[p, other], &attrs)?;
                self.call("add", &[left, right], &[])
            }
            8 => {
                let mut kernel = vec![shape[1], outputs];
                kernel.extend(std::iter::repeat_n(edge, spatial));
                operands[1] = self.param("k", dtype, &kernel, b);
                let conv = self.call("conv_transpose", &operands, &[("strides", AttrValue::ints(&strides))])?;
                self.batch_norm(conv, b)
            }
            _ => self.call("conv", &operands, &attrs),
        }
    }
}
