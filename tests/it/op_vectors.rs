//! Every operator against results of the ONNX reference evaluator; `tests/peers/op_vectors.py` writes the file.

use std::cell::Cell;

use serde_json::Value as Json;
use tautomer::graph::evaluate_call;
use tautomer::op::{AttrValue, Fact, Op, OpDef, Real, lookup, lookup_onnx, normalize};
use tautomer::tensor::{DType, Dim, Tensor, Type};

const VECTORS: &str = include_str!("../data/op_vectors.json");

/// How far a floating-point result may be off, relative to its magnitude plus one.
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

/// The results of the call in normal form: constants stand for attributes wherever they may.
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
