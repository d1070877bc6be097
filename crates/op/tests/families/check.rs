//! Test helpers of the operator families: types, attributes and tensors as short strings.

use std::cell::Cell;

use tautomer_graph::evaluate_call;
use tautomer_op::{AttrValue, Fact, Normalized, Op, OpError, Real, lookup, normalize};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

/// `f32[n, 3]`, `f32` for a scalar, `f32[..]` for any rank, `none`.
fn ty(text: &str) -> Type {
    if text == "none" {
        return Type::Absent;
    }
    let (dtype, dims) = text.split_once('[').unwrap_or((text, "]"));
    let dtype: DType = dtype.parse().unwrap();
    let dims = dims.trim_end_matches(']');
    if dims == ".." {
        return TensorType::any_rank(dtype).into();
    }
    let dims = dims.split(',').map(str::trim).filter(|d| !d.is_empty());
    Type::tensor(dtype, dims.enumerate().map(|(i, d)| dim(i, d)).collect::<Shape>())
}

fn dim(i: usize, text: &str) -> Dim {
    match text.parse::<i64>() {
        Ok(n) => Dim::Const(n),
        Err(_) if text == "?" => Dim::unknown(1000 + i as u32),
        Err(_) => match text.split_once('*') {
            Some((k, d)) => dim(i, k) * dim(i, d),
            None => Dim::symbol(text),
        },
    }
}

/// `f32[2] 1 2.5`, or `none`.
pub(crate) fn tensor(text: &str) -> Option<Tensor> {
    let (head, tail) = match text.find(']') {
        Some(i) => text.split_at(i + 1),
        None => text.split_once(' ').unwrap_or((text, "")),
    };
    let ty = ty(head);
    let ty = ty.as_tensor()?;
    let shape = ty.shape.as_ref().unwrap().to_concrete().unwrap();
    let words: Vec<&str> = tail.split_whitespace().collect();
    Some(match ty.dtype {
        DType::Utf8 => Tensor::new(&shape, words.iter().map(|w| (*w).to_owned()).collect()),
        d if d.is_float() => {
            Tensor::from_f64s(d, &shape, &words.iter().map(|w| w.parse().unwrap()).collect::<Vec<_>>())
        }
        d => Tensor::from_ints(d, &shape, &words.iter().map(|w| w.parse().unwrap()).collect::<Vec<_>>()),
    })
    .map(|t| t.unwrap_or_else(|| panic!("{text}: the elements do not fill the shape")))
}

/// The string form of a tensor.
fn show(t: &Tensor) -> String {
    let words: Vec<String> = match t {
        Tensor::Utf8(a) => a.iter().cloned().collect(),
        _ if t.dtype().is_float() => t.to_f64s().unwrap().iter().map(|x| (*x as f32).to_string()).collect(),
        _ => t.to_ints().unwrap().iter().map(i128::to_string).collect(),
    };
    [vec![t.ty().to_string()], words].concat().join(" ")
}

fn value(text: &str) -> AttrValue {
    if let Some(list) = text.strip_prefix('[') {
        let words: Vec<&str> = list
            .trim_end_matches(']')
            .split(',')
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .collect();
        if words.iter().any(|w| w.starts_with('"')) {
            return AttrValue::Strs(words.iter().map(|w| w.trim_matches('"').into()).collect());
        }
        if words.iter().any(|w| w.contains('.')) {
            return AttrValue::Floats(words.iter().map(|w| Real(w.parse().unwrap())).collect());
        }
        return AttrValue::Ints(words.iter().map(|w| dim(0, w)).collect());
    }
    match text {
        "true" => AttrValue::Bool(true),
        "false" => AttrValue::Bool(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>(), text.parse::<DType>()) {
            (Ok(n), ..) => AttrValue::int(n),
            (_, Ok(x), _) => AttrValue::float(x),
            (.., Ok(d)) => AttrValue::DType(d),
            _ => AttrValue::str(text),
        },
    }
}

/// `axes=[0,1] keepdims=false`; no spaces inside a value.
fn attrs(text: &str) -> Vec<(&str, AttrValue)> {
    text.split_whitespace()
        .map(|entry| entry.split_once('=').unwrap())
        .map(|(name, text)| (name, value(text)))
        .collect()
}

fn normal(op: &str, types: &[Type], values: &[Option<&Tensor>], given: &str) -> Result<Normalized, OpError> {
    let facts: Vec<Fact<'_>> = types
        .iter()
        .zip(values)
        .map(|(ty, &value)| Fact::with(ty, value))
        .collect();
    let def = lookup(op).unwrap_or_else(|| panic!("no operator {op}"));
    normalize(def, &facts, &attrs(given), &Cell::new(0))
}

/// The type of a call, or the message of its error.
pub(crate) fn infer(op: &str, given: &str, types: &[&str]) -> String {
    let types: Vec<Type> = types.iter().map(|t| ty(t)).collect();
    match normal(op, &types, &vec![None; types.len()], given) {
        Ok(call) => {
            let text = call.ty.to_string();
            // Normalizing a call again must not change it.
            let def = lookup(op).unwrap();
            let again: Vec<(&str, AttrValue)> = def.attrs.iter().map(|a| a.name).zip(call.attrs.clone()).collect();
            let facts: Vec<Fact<'_>> = types.iter().map(Fact::of).collect();
            let second = normalize(def, &facts, &again, &Cell::new(0)).unwrap();
            assert_eq!(second.attrs, call.attrs, "{op} {given}");
            assert_eq!(second.ty.to_string(), text, "{op} {given}");
            text
        }
        Err(error) => error.message,
    }
}

/// The attributes of a call in normal form.
pub(crate) fn canonical(op: &str, given: &str, types: &[&str]) -> String {
    let types: Vec<Type> = types.iter().map(|t| ty(t)).collect();
    let call = normal(op, &types, &vec![None; types.len()], given).unwrap();
    let names = lookup(op).unwrap().attrs.iter().map(|a| a.name);
    let words: Vec<String> = names.zip(&call.attrs).map(|(n, v)| format!("{n}={v}")).collect();
    words.join(" ")
}

/// The results of a call, or the message of its error. Operands in attribute position are given once as constants and
/// once as values known only at run time; both must have the same outcome.
pub(crate) fn eval(op: &str, given: &str, operands: &[&str]) -> String {
    let tensors: Vec<Option<Tensor>> = operands.iter().map(|t| tensor(t)).collect();
    let types: Vec<Type> = tensors
        .iter()
        .map(|t| t.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    let def = lookup(op).unwrap_or_else(|| panic!("no operator {op}"));
    let run = |constants: bool| -> String {
        let values: Vec<Option<&Tensor>> = tensors
            .iter()
            .enumerate()
            .map(|(i, t)| {
                t.as_ref()
                    .filter(|_| constants && def.operand(i).is_some_and(|o| o.attr.is_some()))
            })
            .collect();
        let result = normal(op, &types, &values, given).and_then(|call| {
            let operands: Vec<Option<Tensor>> = call
                .operands
                .iter()
                .map(|p| p.and_then(|i| tensors[i].clone()))
                .collect();
            let out = evaluate_call(&Op::Known(def), &operands, &call.attrs)?;
            if constants {
                let declared = match &call.ty {
                    Type::Tuple(items) => items.clone(),
                    single => vec![single.clone()],
                };
                let actual: Vec<Type> = out.iter().map(|t| t.ty().into()).collect();
                assert_eq!(declared.len(), actual.len(), "{op} {given}");
                for (d, a) in declared.iter().zip(&actual) {
                    assert!(d.admits(a), "{op} {given}: declared {d}, and is {a}");
                }
            }
            Ok(out)
        });
        match result {
            Ok(out) => out.iter().map(show).collect::<Vec<_>>().join("; "),
            Err(error) => error.message,
        }
    };
    let (fixed, dynamic) = (run(true), run(false));
    let has_dynamic = def.operands.iter().any(|o| o.attr.is_some());
    if has_dynamic && tensor(&fixed_head(&fixed)).is_some() {
        assert_eq!(fixed, dynamic, "{op} {given}: constant and computed attributes differ");
    }
    fixed
}

/// The first result of an outcome, or `none` if it is an error.
fn fixed_head(outcome: &str) -> String {
    let first = outcome.split(';').next().unwrap_or_default();
    let word = first.split(['[', ' ']).next().unwrap_or_default();
    if word.parse::<DType>().is_ok() {
        first.to_owned()
    } else {
        "none".to_owned()
    }
}

/// Checks a table of calls: operator, attributes, operands, and the expected outcome.
pub(crate) fn table(check: fn(&str, &str, &[&str]) -> String, rows: &[(&str, &str, &[&str], &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(op, given, operands, expected)| (op, given, operands, expected, check(op, given, operands)))
        .filter(|(.., expected, actual)| *expected != actual)
        .map(|(op, given, operands, expected, actual)| {
            format!("{op} {given} {operands:?}\n  expected {expected}\n  is       {actual}")
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
