//! Compares every operator with results of the ONNX reference evaluator; `tests/peers/op_vectors.py` writes the file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value as Json;
use tautomer::graph::evaluate_call;
use tautomer::op::{AttrKind, AttrValue, Fact, Normalized, Op, OpDef, Real, lookup, lookup_onnx, normalize, table};
use tautomer::tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

const VECTORS: &str = include_str!("../data/op_vectors.json");

/// The allowed error of a floating-point result, relative to its magnitude plus one.
const TOLERANCE: f64 = 1e-5;

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn number(json: &Json) -> f64 {
    match json {
        Json::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

fn tensor(json: &Json) -> Option<Tensor> {
    let dtype: DType = json.get("dtype")?.as_str()?.parse().ok()?;
    let shape: Vec<usize> = list(&json["shape"])
        .iter()
        .map(|d| d.as_u64().unwrap() as usize)
        .collect();
    let data = list(&json["data"]);
    let made = if dtype.is_float() {
        Tensor::from_f64s(dtype, &shape, &data.iter().map(number).collect::<Vec<_>>())
    } else {
        let integer = |x: &Json| x.as_bool().map_or_else(|| i128::from(x.as_i64().unwrap()), i128::from);
        Tensor::from_ints(dtype, &shape, &data.iter().map(integer).collect::<Vec<_>>())
    };
    Some(made.unwrap_or_else(|| panic!("the elements do not fill {shape:?}")))
}

fn attr(json: &Json) -> AttrValue {
    match json {
        Json::Bool(v) => AttrValue::Bool(*v),
        Json::String(text) => AttrValue::str(text),
        Json::Number(n) => n
            .as_i64()
            .map_or_else(|| AttrValue::float(n.as_f64().unwrap()), AttrValue::int),
        Json::Array(items) => match items.iter().map(Json::as_i64).collect::<Option<Vec<_>>>() {
            Some(ints) => AttrValue::Ints(ints.into_iter().map(Dim::Const).collect()),
            None => AttrValue::Floats(items.iter().map(|x| Real(number(x))).collect()),
        },
        Json::Object(_) => AttrValue::DType(json["dtype"].as_str().unwrap().parse().unwrap()),
        Json::Null => AttrValue::None,
    }
}

/// The results of the call in normal form: operands are replaced by attributes wherever possible.
fn run(def: &'static OpDef, case: &Json) -> Result<Vec<Tensor>, String> {
    let inputs: Vec<Option<Tensor>> = list(&case["inputs"]).iter().map(tensor).collect();
    let types: Vec<Type> = inputs
        .iter()
        .map(|t| t.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    let facts: Vec<Fact<'_>> = types
        .iter()
        .zip(&inputs)
        .enumerate()
        .map(|(i, (ty, value))| {
            let for_attr = def.operand(i).is_some_and(|o| o.attr.is_some());
            Fact::with(ty, value.as_ref().filter(|_| for_attr))
        })
        .collect();
    let given: Vec<(&str, AttrValue)> = case["attrs"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), attr(value)))
        .collect();
    let call = normalize(def, &facts, &given, &Cell::new(0)).map_err(|e| e.message)?;
    let operands: Vec<Option<Tensor>> = call
        .operands
        .iter()
        .map(|p| p.and_then(|i| inputs[i].clone()))
        .collect();
    let out = evaluate_call(&Op::Known(def), &operands, &call.attrs).map_err(|e| e.message)?;
    let declared = match call.ty {
        Type::Tuple(items) => items,
        single => vec![single],
    };
    for (declared, actual) in declared.iter().zip(&out) {
        if !declared.admits(&actual.ty().into()) {
            return Err(format!("inferred {declared}, and is {}", actual.ty()));
        }
    }
    Ok(out)
}

fn near(expected: &Tensor, actual: &Tensor, tolerance: f64) -> bool {
    if expected.ty() != actual.ty() {
        return false;
    }
    if !expected.dtype().is_float() {
        return expected == actual;
    }
    let (expected, actual) = (expected.to_f64s().unwrap(), actual.to_f64s().unwrap());
    expected
        .iter()
        .zip(&actual)
        .all(|(e, a)| e == a || (e.is_nan() && a.is_nan()) || (e - a).abs() <= tolerance * (1.0 + e.abs()))
}

fn check(case: &Json) -> Result<(), String> {
    let onnx = case["onnx"].as_str().unwrap();
    let def = case["op"].as_str().map_or_else(|| lookup_onnx(onnx), lookup);
    let def = def.ok_or("no such operator")?;
    let expected: Vec<Tensor> = list(&case["outputs"]).iter().filter_map(tensor).collect();
    let actual = run(def, case)?;
    let tolerance = case["tolerance"].as_f64().unwrap_or(TOLERANCE);
    let agree = expected.len() == actual.len() && expected.iter().zip(&actual).all(|(e, a)| near(e, a, tolerance));
    if agree {
        return Ok(());
    }
    let show = |tensors: &[Tensor]| -> Vec<String> {
        let one = |t: &Tensor| format!("{} {:?}", t.ty(), t.to_f64s().unwrap_or_default());
        tensors.iter().map(one).collect()
    };
    Err(format!(
        "expected {}\n    is       {}",
        show(&expected).join("; "),
        show(&actual).join("; ")
    ))
}

#[test]
fn operators_agree_with_onnx() {
    let cases: Json = serde_json::from_str(VECTORS).unwrap();
    let cases = list(&cases);
    assert!(cases.len() > 150);
    let failures: Vec<String> = cases
        .iter()
        .enumerate()
        .filter_map(|(i, case)| {
            let problem = check(case).err()?;
            Some(format!("{}: {} {}\n    {problem}", i + 1, case["onnx"], case["attrs"]))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Pseudo-random numbers from a seed.
struct Random(u64);

impl Random {
    /// A number from 0 to `n - 1`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// A call: operands with values, and attributes.
#[derive(Debug, Clone)]
struct Call {
    def: &'static OpDef,
    operands: Vec<Option<Tensor>>,
    attrs: Vec<(&'static str, AttrValue)>,
}

/// A tensor of that shape that repeats these elements.
fn filled(like: &Tensor, shape: &[usize]) -> Option<Tensor> {
    let n: usize = shape.iter().product();
    if n > 4096 {
        return None;
    }
    match like.to_ints() {
        Some(all) => Tensor::from_ints(
            like.dtype(),
            shape,
            &all.iter().copied().chain([1]).cycle().take(n).collect::<Vec<_>>(),
        ),
        None => {
            let all = like.to_f64s()?;
            let values: Vec<f64> = all.iter().copied().chain([1.0]).cycle().take(n).collect();
            Tensor::from_f64s(like.dtype(), shape, &values)
        }
    }
}

/// Calls of operators that are not in the file: the ONNX name, operands with their first elements, attributes.
const MORE: &[(&str, &str, &str)] = &[
    ("AffineGrid", "f32[2,2,3]; i64[4] 2 3 4 5", ""),
    ("Attention", "f32[1,2,3,4]; f32[1,2,5,4]; f32[1,2,5,4]", ""),
    (
        "Attention",
        "f32[1,3,8]; f32[1,5,4]; f32[1,5,4]",
        r#"{"q_num_heads": 4, "kv_num_heads": 2}"#,
    ),
    ("BitShift", "u8[3]; u8[3]", r#"{"direction": "LEFT"}"#),
    ("BlackmanWindow", "i64[] 5", ""),
    ("CausalConvWithState", "f32[2,4,8]; f32[4,1,3]; f32[4]; f32[2,4,2]", ""),
    ("CausalConvWithState", "f32[2,4,8]; f32[4,1,3]", ""),
    ("CenterCropPad", "f32[4,5]; i64[2] 3 7", ""),
    ("Col2Im", "f32[1,8,6]; i64[2] 3 4; i64[2] 2 2", ""),
    ("Compress", "f32[3,2]; bool[2]", ""),
    ("ConvInteger", "u8[1,1,4,4]; u8[1,1,2,2]", ""),
    ("CumProd", "f32[2,3]; i64[] 0", ""),
    ("DFT", "f32[1,5,1]", ""),
    ("DeformConv", "f32[1,1,3,3]; f32[1,1,2,2]; f32[1,8,2,2]", ""),
    ("DequantizeLinear", "u8[2,3]; f32[]; u8[]", ""),
    ("Det", "f32[2,3,3]", ""),
    ("DynamicQuantizeLinear", "f32[2,3]", ""),
    ("Einsum", "f32[2,3]; f32[3,4]", r#"{"equation": "ij,jk->ik"}"#),
    ("Einsum", "f32[2,3,3]", r#"{"equation": "...ii->...i"}"#),
    ("GRU", "f32[3,2,4]; f32[1,6,4]; f32[1,6,2]", r#"{"hidden_size": 2}"#),
    ("LSTM", "f32[3,2,4]; f32[1,8,4]; f32[1,8,2]", r#"{"hidden_size": 2}"#),
    ("RNN", "f32[3,2,4]; f32[1,2,4]; f32[1,2,2]", r#"{"hidden_size": 2}"#),
    ("GridSample", "f32[1,1,3,3]; f32[1,2,2,2]", ""),
    (
        "LinearAttention",
        "f32[1,3,4]; f32[1,3,4]; f32[1,3,4]",
        r#"{"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}"#,
    ),
    ("MatMulInteger", "u8[2,3]; u8[3,4]", ""),
    (
        "MaxUnpool",
        "f32[1,1,2,2]; i64[1,1,2,2] 0 3 8 10",
        r#"{"kernel_shape": [2, 2], "strides": [2, 2]}"#,
    ),
    (
        "MelWeightMatrix",
        "i64[] 3; i64[] 16; i64[] 8000; f32[] 0; f32[] 4000",
        "",
    ),
    ("NegativeLogLikelihoodLoss", "f32[3,5]; i64[3] 1 2 0", ""),
    ("NonMaxSuppression", "f32[1,3,4]; f32[1,1,3]; i64[1] 2", ""),
    (
        "QLinearConv",
        "u8[1,1,3,3]; f32[]; u8[]; u8[1,1,2,2]; f32[]; u8[]; f32[]; u8[]",
        "",
    ),
    (
        "QLinearMatMul",
        "u8[2,3]; f32[]; u8[]; u8[3,2]; f32[]; u8[]; f32[]; u8[]",
        "",
    ),
    ("QuantizeLinear", "f32[2,3]; f32[]; u8[]", ""),
    ("RMSNormalization", "f32[2,3]; f32[3]", ""),
    ("ReverseSequence", "f32[4,3]; i64[3] 1 2 3", ""),
    (
        "RoiAlign",
        "f32[1,1,6,6]; f32[2,4] 0 0 3 3; i64[2] 0 0",
        r#"{"output_height": 2, "output_width": 2}"#,
    ),
    (
        "RotaryEmbedding",
        "f32[1,2,3,4]; f32[5,2]; f32[5,2]; i64[1,3] 0 1 2",
        "",
    ),
    ("STFT", "f32[1,16,1]; i64[] 4; f32[8]", ""),
    ("SoftmaxCrossEntropyLoss", "f32[3,5]; i64[3] 1 2 0", ""),
    ("TensorScatter", "f32[2,3,1]; f32[2,2,1]", ""),
    ("TopK", "f32[3,4]; i64[1] 2", ""),
    ("Unique", "f32[5] 1 2 1 3", ""),
];

/// An operand of [`MORE`].
fn operand(text: &str) -> Tensor {
    let (ty, elements) = text.trim().split_once(']').unwrap();
    let (dtype, extents) = ty.split_once('[').unwrap();
    let extents = extents.split(',').filter(|e| !e.is_empty());
    let shape: Vec<usize> = extents.map(|e| e.trim().parse().unwrap()).collect();
    let values: Vec<i128> = elements.split_whitespace().map(|e| e.parse().unwrap()).collect();
    let values = if values.is_empty() { vec![1, 0] } else { values };
    let some = Tensor::from_ints(dtype.parse().unwrap(), &[values.len()], &values).unwrap();
    filled(&some, &shape).unwrap()
}

/// Attributes in JSON.
fn attrs_of(def: &'static OpDef, json: &Json) -> Vec<(&'static str, AttrValue)> {
    let given = json.as_object().into_iter().flatten();
    given
        .filter_map(|(name, value)| Some((def.attrs[def.attr_index(name)?].name, attr(value))))
        .collect()
}

impl Call {
    /// The calls of the file, and for each operator of the table some calls with operands of a few shapes.
    fn all() -> Vec<Call> {
        let cases: Json = serde_json::from_str(VECTORS).unwrap();
        let mut out: Vec<Call> = list(&cases)
            .iter()
            .filter_map(|case| {
                let onnx = case["onnx"].as_str().unwrap();
                let def = case["op"].as_str().map_or_else(|| lookup_onnx(onnx), lookup)?;
                Some(Call {
                    def,
                    operands: list(&case["inputs"]).iter().map(tensor).collect(),
                    attrs: attrs_of(def, &case["attrs"]),
                })
            })
            .collect();
        out.extend(MORE.iter().map(|(onnx, operands, attrs)| {
            let def = lookup_onnx(onnx).unwrap_or_else(|| panic!("there is no {onnx}"));
            Call {
                def,
                operands: operands.split(';').map(|text| Some(operand(text))).collect(),
                attrs: attrs_of(def, &serde_json::from_str(attrs).unwrap_or_default()),
            }
        }));
        let shapes: [&[usize]; 5] = [&[2, 4, 8], &[2, 4, 6, 5], &[4, 4], &[4], &[]];
        for def in table() {
            for (i, shape) in shapes.iter().enumerate() {
                for dtype in [DType::F32, DType::I64, DType::Bool] {
                    let (least, most) = def.arity();
                    let count = most.unwrap_or(least + 2).clamp(least, least + 2);
                    let one = Tensor::from_ints(dtype, &[2], &[1, 0]).unwrap();
                    let operands = (0..count).map(|k| {
                        let shape = if k == 0 {
                            shape
                        } else {
                            shapes[(i + k * (i % 2)) % shapes.len()]
                        };
                        filled(&one, shape)
                    });
                    let attrs = def.attrs.iter().filter(|a| a.default_value().is_none());
                    let attrs = attrs.map(|a| (a.name, some_value(a.kind, &mut Random(i as u64 + 1), &[1, 2])));
                    out.push(Call {
                        def,
                        operands: operands.collect(),
                        attrs: attrs.collect(),
                    });
                }
            }
        }
        out
    }

    /// The call with one change: a dimension, all dimensions of one size, an operand, an attribute.
    fn change(&mut self, random: &mut Random, numbers: &[i64]) {
        let operand = random.below(self.operands.len());
        match random.below(6) {
            0 | 1 => {
                let Some(Some(t)) = self.operands.get(operand) else {
                    return;
                };
                let mut shape = t.shape().to_vec();
                let (axis, extent) = (random.below(shape.len()), random.below(6));
                if let Some(slot) = shape.get_mut(axis) {
                    *slot = extent;
                }
                self.operands[operand] = filled(t, &shape).or(self.operands[operand].take());
            }
            2 => {
                let extents: Vec<usize> = self
                    .operands
                    .iter()
                    .flatten()
                    .flat_map(|t| t.shape().to_vec())
                    .collect();
                let (Some(&from), to) = (extents.get(random.below(extents.len())), random.below(6)) else {
                    return;
                };
                for slot in self.operands.iter_mut().flatten() {
                    let shape: Vec<usize> = slot.shape().iter().map(|&n| if n == from { to } else { n }).collect();
                    if let Some(t) = filled(slot, &shape) {
                        *slot = t;
                    }
                }
            }
            3 => match random.below(4) {
                0 => drop(self.operands.pop()),
                1 if !self.operands.is_empty() => self.operands[operand] = None,
                _ if !self.operands.is_empty() => {
                    // One axis more or less.
                    let Some(t) = &self.operands[operand] else { return };
                    let mut shape = t.shape().to_vec();
                    if random.below(2) == 0 {
                        shape.insert(random.below(shape.len() + 1), 1 + random.below(2));
                    } else {
                        shape.pop();
                    }
                    self.operands[operand] = filled(t, &shape).or(self.operands[operand].take());
                }
                _ => {}
            },
            _ => {
                let Some(declared) = self.def.attrs.get(random.below(self.def.attrs.len())) else {
                    return;
                };
                let before = self.attrs.iter().position(|(name, _)| *name == declared.name);
                let value = match before.map(|i| self.attrs.remove(i).1) {
                    Some(AttrValue::Ints(mut all)) if random.below(4) > 0 && !all.is_empty() => {
                        let at = random.below(all.len());
                        all[at] = Dim::Const(numbers[random.below(numbers.len())]);
                        AttrValue::Ints(all)
                    }
                    Some(_) if random.below(4) == 0 => return,
                    _ => some_value(declared.kind, random, numbers),
                };
                if !value.is_none() {
                    self.attrs.push((declared.name, value));
                }
            }
        }
    }

    /// The types of the operands; some dimensions are symbols or unknown, the others are unchanged.
    fn types(&self, mut open: impl FnMut(usize, usize) -> Option<Dim>) -> Vec<Type> {
        let mut ty = |i: usize, t: &Tensor| {
            let dims = t.shape().iter().enumerate();
            Type::tensor(
                t.dtype(),
                dims.map(|(axis, &n)| open(i * 100 + axis, n).unwrap_or(Dim::from(n)))
                    .collect::<Shape>(),
            )
        };
        let all = self.operands.iter().enumerate();
        all.map(|(i, t)| t.as_ref().map_or(Type::Absent, |t| ty(i, t)))
            .collect()
    }

    /// The call in normal form; the values of operands that stand for attributes are known or unknown.
    fn normal(&self, types: &[Type], values: bool) -> Option<Normalized> {
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(&self.operands)
            .enumerate()
            .map(|(i, (ty, value))| {
                let for_attr = values && self.def.operand(i).is_some_and(|o| o.attr.is_some());
                Fact::with(ty, value.as_ref().filter(|_| for_attr))
            })
            .collect();
        let given: Vec<(&str, AttrValue)> = self.attrs.iter().map(|(n, v)| (*n, v.clone())).collect();
        normalize(self.def, &facts, &given, &Cell::new(0)).ok()
    }
}

/// A value of that kind.
fn some_value(kind: AttrKind, random: &mut Random, numbers: &[i64]) -> AttrValue {
    let number = |random: &mut Random| numbers[random.below(numbers.len())];
    match kind {
        AttrKind::Bool => AttrValue::Bool(random.below(2) == 1),
        AttrKind::Int | AttrKind::Axis(_) => AttrValue::int(number(random)),
        AttrKind::Ints | AttrKind::Axes(_) => {
            AttrValue::Ints((0..random.below(5)).map(|_| Dim::Const(number(random))).collect())
        }
        AttrKind::Float => AttrValue::float([0.5, 1.0, -1.0, 0.0, 2.0][random.below(5)]),
        AttrKind::Floats => AttrValue::Floats((0..random.below(5)).map(|i| Real(0.5 * (1.0 + i as f64))).collect()),
        AttrKind::OneOf(words) => words
            .get(random.below(words.len()))
            .map_or(AttrValue::None, |w| AttrValue::str(w)),
        AttrKind::DType => AttrValue::DType([DType::F32, DType::I64, DType::Bool, DType::U8][random.below(4)]),
        AttrKind::Tensor => AttrValue::Tensor(Tensor::scalar(1.0f32)),
        AttrKind::Str | AttrKind::Strs | AttrKind::Region => AttrValue::None,
    }
}

/// The number of changed calls made from each given one.
fn cases() -> usize {
    std::env::var("TAUTOMER_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(24)
}

/// The types of the computed values, if they can be computed.
fn computed(call: &Call, normal: &Normalized) -> Option<Vec<TensorType>> {
    let operands: Vec<Option<Tensor>> = normal
        .operands
        .iter()
        .map(|p| p.and_then(|i| call.operands[i].clone()))
        .collect();
    let results = evaluate_call(&Op::Known(call.def), &operands, &normal.attrs).ok()?;
    Some(results.iter().map(Tensor::ty).collect())
}

/// Whether an inferred type, with these values for its symbols, matches the computed one.
fn says(inferred: &Type, computed: &[TensorType], value: &dyn Fn(&str) -> Option<i64>) -> bool {
    let items = match inferred {
        Type::Tuple(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.len() >= computed.len()
        && items.iter().zip(computed).all(|(ty, is)| {
            let bound = ty.map_dims(&|d| d.bind(value));
            bound.admits(&is.clone().into())
        })
}

#[test]
fn results_have_the_inferred_types() {
    let (mut compared, mut operators) = (0, std::collections::BTreeSet::new());
    let mut wrong = Vec::new();
    for (which, base) in Call::all().into_iter().enumerate() {
        let mut random = Random(which as u64 + 1);
        let mut call = base.clone();
        for case in 0..cases() {
            if case > 0 {
                if random.below(3) == 0 {
                    call = base.clone();
                }
                call.change(&mut random, &[-2, -1, 0, 1, 2, 3, 4]);
            }
            let tried = catch_unwind(AssertUnwindSafe(|| {
                let normal = call.normal(&call.types(|_, _| None), true)?;
                let results = computed(&call, &normal)?;
                if !says(&normal.ty, &results, &|_| None) {
                    return Some(Err(format!("{} is inferred, and {results:?} computed", normal.ty)));
                }
                // A type inferred from less information must also be correct.
                let left_open = |values: bool, random: &mut Random, symbols: bool| {
                    // Symbols stand for dimensions of at least 1, so the broadcast size is the larger of the two.
                    let types = call.types(|place, n| match random.below(3) {
                        0 if symbols && n == 0 => None,
                        0 if symbols => Some(Dim::symbol(&format!("s{place}_{n}"))),
                        0 => Some(Dim::unknown(place as u32)),
                        _ => None,
                    });
                    let inferred = call.normal(&types, values)?.ty;
                    let value = |name: &str| name.split_once('_')?.1.parse().ok();
                    let known = types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
                    (!says(&inferred, &results, &value))
                        .then(|| format!("({known}): {inferred} is inferred, and {results:?} computed"))
                };
                let problems = [
                    left_open(false, &mut random, false),
                    left_open(true, &mut random, true),
                    left_open(true, &mut random, false),
                ];
                Some(problems.into_iter().flatten().next().map_or(Ok(()), Err))
            }));
            match tried {
                Ok(None) => {}
                Ok(Some(Ok(()))) => {
                    compared += 1;
                    operators.insert(call.def.name);
                }
                Ok(Some(Err(problem))) => wrong.push(format!("{}: {problem}: {:?}", call.def.name, call.attrs)),
                Err(_) => wrong.push(format!(
                    "{}: panics: {:?} {:?}",
                    call.def.name,
                    call.types(|_, _| None),
                    call.attrs
                )),
            }
        }
    }
    wrong.sort();
    wrong.dedup_by_key(|text| text.split(':').next().map(str::to_owned));
    assert!(wrong.is_empty(), "{} operators:\n{}", wrong.len(), wrong.join("\n"));
    let missing = table().map(|def| def.name).filter(|name| !operators.contains(name));
    let missing: Vec<&str> = missing.collect();
    assert!(
        compared > 3000 && missing.len() < 60,
        "{compared} calls; never computed: {missing:?}"
    );
}

/// Integers at which arithmetic overflows, and some valid ones.
const EXTREMES: [i64; 12] = [
    i64::MIN,
    i64::MIN + 1,
    -(1 << 32),
    -1,
    0,
    1,
    2,
    3,
    1 << 31,
    1 << 62,
    i64::MAX - 1,
    i64::MAX,
];

#[test]
fn extreme_integers_are_refused_or_inferred() {
    let (mut inferred, mut wrong) = (0, Vec::new());
    for (which, base) in Call::all().into_iter().enumerate() {
        let mut random = Random(which as u64 + 1000);
        let mut call = base.clone();
        for _ in 0..2 * cases() {
            if random.below(3) == 0 {
                call = base.clone();
            }
            call.change(&mut random, &EXTREMES);
            let types = call.types(|place, _| match random.below(6) {
                0 | 1 => Some(Dim::Const(EXTREMES[3 + random.below(9)].max(0))),
                2 => Some(Dim::symbol(&format!("s{place}"))),
                _ => None,
            });
            for values in [true, false] {
                match catch_unwind(AssertUnwindSafe(|| {
                    call.normal(&types, values).map(|normal| normal.ty.to_string())
                })) {
                    Ok(done) => inferred += usize::from(done.is_some()),
                    Err(_) => wrong.push(format!("{}: {types:?} {:?}", call.def.name, call.attrs)),
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup_by_key(|text| text.split(':').next().map(str::to_owned));
    assert!(
        wrong.is_empty(),
        "{} operators panic:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(inferred > 3000, "{inferred}");
}
