//! Diagonals, sorting, runs, blocks and broadcasting compared with torch and NumPy.

use std::cell::Cell;

use serde_json::Value as Json;
use tautomer::exec::kernels::{Call, Context, Operand, Value, of};
use tautomer::graph::evaluate_call;
use tautomer::op::{AttrValue, Fact, Op, lookup, normalize};
use tautomer::tensor::{DType, Tensor, Type};

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn ints(json: &Json) -> AttrValue {
    AttrValue::ints(&list(json).iter().map(|n| n.as_i64().unwrap()).collect::<Vec<_>>())
}

fn tensor(json: &Json) -> Tensor {
    let shape: Vec<usize> = list(&json["shape"])
        .iter()
        .map(|d| d.as_u64().unwrap() as usize)
        .collect();
    let data = list(&json["data"]);
    let float = |x: &Json| x.as_f64().unwrap_or_else(|| x.as_str().unwrap().parse().unwrap());
    let int = |x: &Json| x.as_bool().map_or_else(|| i128::from(x.as_i64().unwrap()), i128::from);
    match json["dtype"].as_str().unwrap() {
        "float32" => Tensor::from_f64s(DType::F32, &shape, &data.iter().map(float).collect::<Vec<_>>()),
        "int64" => Tensor::from_ints(DType::I64, &shape, &data.iter().map(int).collect::<Vec<_>>()),
        "bool" => Tensor::from_ints(DType::Bool, &shape, &data.iter().map(int).collect::<Vec<_>>()),
        other => panic!("elements of {other}"),
    }
    .unwrap()
}

/// The operator, its operands and its attributes, as named in the case.
fn call(case: &Json) -> (&'static str, Vec<Tensor>, Vec<(&'static str, AttrValue)>) {
    let args = &case["args"];
    let int = |name: &str| AttrValue::int(args[name].as_i64().unwrap());
    let flag = |name: &str| AttrValue::Bool(args[name].as_bool().unwrap());
    let x = tensor(&case["x"]);
    let both = || vec![tensor(&case["x"]), tensor(&args["y"])];
    match case["op"].as_str().unwrap() {
        "diagonal" => {
            let attrs = vec![("offset", int("offset")), ("dim1", int("dim1")), ("dim2", int("dim2"))];
            ("diagonal", vec![x], attrs)
        }
        "sort" => {
            let attrs = vec![
                ("axis", int("dim")),
                ("descending", flag("descending")),
                ("stable", flag("stable")),
            ];
            ("sort", vec![x], attrs)
        }
        "unique_consecutive" => {
            let mut attrs = vec![
                ("return_inverse", flag("return_inverse")),
                ("return_counts", flag("return_counts")),
            ];
            if !args["dim"].is_null() {
                attrs.push(("axis", int("dim")));
            }
            ("unique_consecutive", vec![x], attrs)
        }
        "permute" => ("transpose", vec![x], vec![("perm", ints(&args["dims"]))]),
        "tf_slice" => {
            let attrs = vec![("begin", ints(&args["begin"])), ("size", ints(&args["size"]))];
            ("dice", vec![x], attrs)
        }
        "numpy_slice" => {
            let (mut starts, mut ends, mut steps) = (Vec::new(), Vec::new(), Vec::new());
            for range in list(&args["slices"]) {
                let step = range[2].as_i64().unwrap_or(1);
                // An omitted bound means the respective end.
                let (first, last) = if step > 0 { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
                starts.push(range[0].as_i64().unwrap_or(first));
                ends.push(range[1].as_i64().unwrap_or(last));
                steps.push(step);
            }
            let attrs = [("starts", starts), ("ends", ends), ("steps", steps)];
            let attrs = attrs.iter().map(|(name, list)| (*name, AttrValue::ints(list)));
            ("slice", vec![x], attrs.collect())
        }
        "broadcast_add" => ("add", both(), Vec::new()),
        "broadcast_sub" => ("sub", both(), Vec::new()),
        "broadcast_mul" => ("mul", both(), Vec::new()),
        "tensordot1" => ("tensordot", both(), Vec::new()),
        other => panic!("no operator for {other}"),
    }
}

/// The results by the reference semantics, compared with those of the kernel if there is one.
fn run(name: &str, operands: Vec<Tensor>, attrs: &[(&str, AttrValue)]) -> Result<Vec<Tensor>, String> {
    let def = lookup(name).unwrap();
    let types: Vec<Type> = operands.iter().map(|t| t.ty().into()).collect();
    let facts: Vec<Fact<'_>> = types.iter().map(Fact::of).collect();
    let normal = normalize(def, &facts, attrs, &Cell::new(0)).map_err(|e| e.message)?;
    let operands: Vec<Option<Tensor>> = operands.into_iter().map(Some).collect();
    let out = evaluate_call(&Op::Known(def), &operands, &normal.attrs).map_err(|e| e.message)?;
    let declared = match &normal.ty {
        Type::Tuple(items) => items.clone(),
        single => vec![single.clone()],
    };
    for (ty, tensor) in declared.iter().zip(&out) {
        assert!(
            ty.admits(&tensor.ty().into()),
            "{name}: declared {ty}, and is {}",
            tensor.ty()
        );
    }
    let given: Vec<Operand<'_>> = operands.iter().map(Operand::from).collect();
    let prepared = Call::new(def, &given, &normal.attrs, Context::default()).map_err(|e| e.message)?;
    let dtype = operands[0].as_ref().map(Tensor::dtype);
    for kernel in of(name).iter().filter(|k| k.dtype.is_none() || k.dtype == dtype) {
        if let Some(fast) = (kernel.run)(&prepared).map_err(|e| e.message)? {
            assert_eq!(fast.len(), out.len(), "{name}");
            for (a, b) in fast.iter().zip(&out) {
                let same = matches!(a, Value::Tensor(a) if a.same_bits(b));
                assert!(same, "{name}: the kernel gives {a:?}, the reference {b:?}");
            }
        }
    }
    Ok(out)
}

#[test]
fn operators_agree_with_torch_and_numpy() {
    let Some(path) = tautomer_testing::shared_data("vectors/tensor_ops_torch_numpy.json") else {
        return;
    };
    let cases: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for case in list(&cases) {
        count += 1;
        let (name, operands, attrs) = call(case);
        let asked = format!("{} {} of {}", case["op"], case["args"], case["x"]["shape"]);
        let expected: Vec<Tensor> = list(&case["out"]).iter().map(tensor).collect();
        match run(name, operands, &attrs) {
            Ok(out) if case.get("error").is_some() => wrong.push(format!("{asked}: {out:?} in place of an error")),
            Ok(out) => {
                let same = out.len() == expected.len() && out.iter().zip(&expected).all(|(a, b)| a.same_bits(b));
                if !same {
                    wrong.push(format!("{asked}: {out:?} in place of {expected:?}"));
                }
            }
            Err(message) if case.get("error").is_none() => wrong.push(format!("{asked}: {message}")),
            Err(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(count, 1089);
}
