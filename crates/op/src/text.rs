//! Operators on strings.

use super::common::{Out, build, count, flat, map, typed};
use super::elementwise::zip;
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System,
    Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, TensorType, Type};

const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "string_concat",
        "Concatenates the strings of `a` and `b`, with broadcasting.",
    )
    .operands(&[Operand::one("a"), Operand::one("b")])
    .infer(infer_concat)
    .reference(reference!(concat))
    .traits(OpTraits::ELEMENTWISE.and(OpTraits::BINARY))
    .onnx("StringConcat", 20),
    OpDef::new(
        "string_split",
        "The parts of each string along a new last axis, padded with empty strings, and their numbers.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "delimiter",
            AttrKind::Str,
            Default::None,
            "the separator of the parts; any white space if left out or empty",
        ),
        AttrDef::new(
            "maxsplit",
            AttrKind::Int,
            Default::None,
            "the maximum number of splits of each string",
        ),
    ])
    .infer(infer_split)
    .reference(reference!(split))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(8.0))
    .onnx("StringSplit", 20),
    OpDef::new(
        "string_normalizer",
        "Changes the case of strings, and removes stop words and empty strings.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "case_change_action",
            AttrKind::OneOf(&["NONE", "LOWER", "UPPER"]),
            Default::Str("NONE"),
            "the case of the result",
        ),
        AttrDef::new(
            "is_case_sensitive",
            AttrKind::Bool,
            Default::Bool(false),
            "whether stop words are compared case-sensitively",
        ),
        AttrDef::new("locale", AttrKind::Str, Default::None, "has no effect"),
        AttrDef::new("stopwords", AttrKind::Strs, Default::None, "strings to remove"),
    ])
    .infer(infer_normalizer)
    .reference(reference!(normalizer))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(8.0))
    .onnx("StringNormalizer", 10),
];

fn is_text(call: &Infer<'_>, i: usize) -> Result<DType, OpError> {
    call.expect_dtype(i, |d| d == DType::Utf8, "a string")
}

fn texts<'e, S: System>(e: &'e Eval<'_, S>, i: usize) -> Result<&'e Nd<String>, OpError> {
    match e.operand(i)? {
        Value::Text(a) => Ok(a),
        _ => Err(OpError::new("expected string elements")),
    }
}

fn infer_concat(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = is_text(call, 0)?;
    is_text(call, 1)?;
    let shape = call.broadcast(0..2)?;
    Ok(TensorType { dtype, shape }.into())
}

fn concat<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let joined = zip(texts(e, 0)?, texts(e, 1)?, &e.out_shape(0)?, |a, b| {
        Ok(format!("{a}{b}"))
    })?;
    Ok(vec![Value::Text(joined)])
}

fn infer_split(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = is_text(call, 0)?;
    let shape = call.shape(0)?.cloned();
    let parts = shape
        .as_ref()
        .map(|shape| -> Shape { shape.iter().cloned().chain([call.unknown()]).collect() });
    Ok(Type::Tuple(vec![typed(dtype, parts), typed(DType::I64, shape)]))
}

/// The parts of a string, split at runs of white space or at each delimiter.
fn parts(text: &str, delimiter: &str, most: usize) -> Vec<String> {
    if !delimiter.is_empty() {
        return text
            .splitn(most.saturating_add(1), delimiter)
            .map(str::to_owned)
            .collect();
    }
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        match rest.find(char::is_whitespace).filter(|_| out.len() < most) {
            Some(end) => {
                out.push(rest[..end].to_owned());
                rest = rest[end..].trim_start();
            }
            None => {
                // The last part keeps its inner white space.
                out.push(rest.to_owned());
                break;
            }
        }
    }
    out
}

fn split<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = texts(e, 0)?;
    let most = e
        .int("maxsplit")
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(usize::MAX);
    let delimiter = e.text("delimiter").to_owned();
    let all = map(x, |text| Ok(parts(text, &delimiter, most)))?;
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let shape: Vec<usize> = x.shape().iter().copied().chain([longest]).collect();
    count(&shape)?;
    let padded = all
        .iter()
        .flat_map(|parts| (0..longest).map(|i| parts.get(i).cloned().unwrap_or_default()))
        .collect();
    let number = map(&all, |parts| Ok(parts.len() as i128))?;
    Ok(vec![Value::Text(shaped(&shape, padded)?), Value::Int(number)])
}

fn infer_normalizer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = is_text(call, 0)?;
    let shape = match call.shape(0)?.map(|s| &s[..]) {
        None => None,
        Some([_]) => Some([call.unknown()].into_iter().collect()),
        Some([rows @ (Dim::Const(1) | Dim::Expr(_)), _]) => Some([rows.clone(), call.unknown()].into_iter().collect()),
        Some(_) => {
            let x = call.tensor(0)?;
            return Err(OpError::new(format!("`x` must be a list or have one row, but is {x}")).at(0));
        }
    };
    Ok(typed(dtype, shape))
}

fn normalizer<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = texts(e, 0)?;
    let change = |text: &str| match e.text("case_change_action") {
        "LOWER" => text.to_lowercase(),
        "UPPER" => text.to_uppercase(),
        _ => text.to_owned(),
    };
    let stop: Vec<String> = match e.attr("stopwords") {
        AttrValue::Strs(words) => words.iter().map(|w| w.to_string()).collect(),
        _ => Vec::new(),
    };
    let exact = e.flag("is_case_sensitive");
    let folded: Vec<String> = stop.iter().map(|w| w.to_lowercase()).collect();
    let stopped = |text: &String| match exact {
        true => stop.contains(text),
        false => folded.contains(&text.to_lowercase()),
    };
    let mut kept: Vec<String> = flat(x).iter().filter(|t| !stopped(t)).map(|t| change(t)).collect();
    kept.retain(|text| !text.is_empty());
    if kept.is_empty() {
        kept.push(String::new());
    }
    let mut shape = x.shape().to_vec();
    match shape.as_mut_slice() {
        [n] | [1, n] => *n = kept.len(),
        _ => return Err(OpError::new(format!("a list or one row is needed, but the shape is {shape:?}")).at(0)),
    }
    let mut texts = kept.into_iter();
    Ok(vec![Value::Text(build(&shape, |_| {
        Ok(texts.next().unwrap_or_default())
    })?)])
}
