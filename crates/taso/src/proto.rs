//! TASO's rule file: `RuleCollection` from its `rules.proto`.

use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use super::terms::{Id, MAX_OPERATORS, Node, Op, RuleTerms, Window, activation, axis, padding, permutation, positive};
use tautomer_diag::{Diagnostic, Diagnostics};

/// One rule.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RuleProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) src_op: Vec<OperatorProto>,
    #[prost(message, repeated, tag = "2")]
    pub(super) dst_op: Vec<OperatorProto>,
    #[prost(message, repeated, tag = "3")]
    pub(super) mapped_output: Vec<MapOutputProto>,
}

/// A call.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorProto {
    #[prost(int32, optional, tag = "1")]
    pub(super) r#type: Option<i32>,
    #[prost(message, repeated, tag = "2")]
    pub(super) input: Vec<TensorProto>,
    #[prost(message, repeated, tag = "3")]
    pub(super) para: Vec<ParameterProto>,
}

/// A result of an operator of the same side, or a variable if the operator's number is negative.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int32, optional, tag = "1")]
    pub(super) op_id: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) ts_id: Option<i32>,
}

/// An attribute.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ParameterProto {
    #[prost(int32, optional, tag = "1")]
    pub(super) key: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) value: Option<i32>,
}

/// An output: a result of the source and the one that replaces it.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct MapOutputProto {
    #[prost(int32, optional, tag = "1")]
    pub(super) src_op_id: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub(super) dst_op_id: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) src_ts_id: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) dst_ts_id: Option<i32>,
}

/// Attribute numbers.
mod key {
    pub(super) const KERNEL: [i32; 2] = [4, 5];
    pub(super) const STRIDE: [i32; 2] = [6, 7];
    pub(super) const PAD: i32 = 8;
    pub(super) const ACTIVATION: i32 = 9;
    pub(super) const RANK: i32 = 10;
    pub(super) const AXIS: i32 = 11;
    pub(super) const PERM: i32 = 12;
}

/// The rules of a file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Vec<RuleTerms>, Diagnostics> {
    let at = |left: &[u8]| bytes.len() - left.len();
    let refused = |at: usize, what: String| -> Diagnostics {
        Diagnostic::error("T0501", format!("{name}: byte {at}: {what}"))
            .help("a file of TASO's rules is a message `RuleCollection`, such as `graph_subst.pb`")
            .into()
    };
    let mut out = Vec::new();
    let mut left = bytes;
    while !left.is_empty() {
        let start = at(left);
        let (tag, wire) = decode_key(&mut left).map_err(|e| refused(start, e.to_string()))?;
        if (tag, wire) != (1, WireType::LengthDelimited) {
            return Err(refused(start, format!("expected a rule here, found field {tag}")));
        }
        let length = decode_varint(&mut left).map_err(|e| refused(start, e.to_string()))?;
        let body = usize::try_from(length).ok().and_then(|n| left.split_at_checked(n));
        let Some((body, rest)) = body else {
            let what = format!("rule {} has {length} bytes, but {} are left", out.len(), left.len());
            return Err(refused(start, what));
        };
        let problem = |what: String| refused(start, format!("rule {}: {what}", out.len()));
        let message = RuleProto::decode(body).map_err(|e| problem(e.to_string()))?;
        let rule = rule(&message).map_err(problem)?;
        out.push(rule);
        left = rest;
    }
    if out.is_empty() {
        return Err(refused(0, "there is no rule".to_owned()));
    }
    Ok(out)
}

fn rule(message: &RuleProto) -> Result<RuleTerms, String> {
    let mut terms = RuleTerms::default();
    let source = side(&message.src_op, &mut terms).map_err(|e| format!("source {e}"))?;
    let target = side(&message.dst_op, &mut terms).map_err(|e| format!("target {e}"))?;
    for (k, map) in message.mapped_output.iter().enumerate() {
        let from = tensor(map.src_op_id, map.src_ts_id, &source, &mut terms);
        let to = tensor(map.dst_op_id, map.dst_ts_id, &target, &mut terms);
        let output = |e| format!("output {k} {e}");
        terms.outputs.push((from.map_err(output)?, to.map_err(output)?));
    }
    if terms.outputs.is_empty() {
        return Err("there is no output".to_owned());
    }
    Ok(terms)
}

/// The operators of a side, each using only earlier ones.
fn side(operators: &[OperatorProto], terms: &mut RuleTerms) -> Result<Vec<Id>, String> {
    if operators.len() > MAX_OPERATORS {
        return Err(format!(
            "has {} operators; at most {MAX_OPERATORS} are read",
            operators.len()
        ));
    }
    let mut known = Vec::with_capacity(operators.len());
    for (i, operator) in operators.iter().enumerate() {
        let called = |e: String| format!("operator {i} {e}");
        let mut operands = Vec::with_capacity(operator.input.len());
        for input in &operator.input {
            operands.push(tensor(input.op_id, input.ts_id, &known, terms).map_err(called)?);
        }
        let (op, around, takes) = meaning(operator).map_err(called)?;
        if let Some(takes) = takes
            && takes != operands.len()
        {
            return Err(called(format!(
                "takes {takes} operands, but {} are given",
                operands.len()
            )));
        }
        known.push(terms.activated(op, operands, around));
    }
    Ok(known)
}

fn tensor(op: Option<i32>, part: Option<i32>, known: &[Id], terms: &mut RuleTerms) -> Result<Id, String> {
    let (op, part) = (op.unwrap_or(0), part.unwrap_or(0));
    let Ok(at) = usize::try_from(op) else {
        return Ok(terms.add(Node::Variable(format!("{op}.{part}"))));
    };
    let Some(&id) = known.get(at) else {
        return Err(format!(
            "refers to operator {op}, but there are {} before it",
            known.len()
        ));
    };
    match (terms.node(id), usize::try_from(part)) {
        (Node::Call(Op::Split(_), _), Ok(part @ 0..=1)) => Ok(terms.add(Node::Part(id, part))),
        (Node::Call(Op::Split(_) | Op::NoForm(_), _), _) | (_, Ok(0)) => Ok(id),
        _ => Err(format!("refers to result {part} of operator {op}, which has one")),
    }
}

/// The operator, its activation, and the number of its operands if that is fixed.
type Meaning = (Op, Option<&'static str>, Option<usize>);

fn meaning(operator: &OperatorProto) -> Result<Meaning, String> {
    let Some(number) = operator.r#type else {
        return Err("has no type".to_owned());
    };
    let find = |key: i32| {
        let mut all = operator.para.iter().filter(|p| p.key == Some(key));
        all.next().map(|p| i64::from(p.value.unwrap_or(0)))
    };
    let get = |key: i32| find(key).ok_or_else(|| format!("of type {number} has no parameter {key}"));
    let pair = |keys: [i32; 2]| positive([get(keys[0])?, get(keys[1])?]);
    let around = activation(find(key::ACTIVATION).unwrap_or(0))?;
    let window = || -> Result<Window, String> {
        Ok(Window {
            kernel: Some(pair(key::KERNEL)?),
            strides: pair(key::STRIDE)?,
            padding: padding(get(key::PAD)?)?,
        })
    };
    let no_form = |what: &str| Ok((Op::NoForm(format!("{what} cannot be expressed")), None, None));
    let named = |name: &'static str, operands: usize| Ok((Op::Named(name), around, Some(operands)));
    match number {
        3 => Ok((Op::Conv(window()?), around, Some(2))),
        6 => Ok((Op::MaxPool(window()?), around, Some(1))),
        7 => Ok((Op::AveragePool(window()?), around, Some(1))),
        8 => named("relu", 1),
        9 => named("sigmoid", 1),
        10 => named("tanh", 1),
        11 => named("batch_normalization", 5),
        12 => {
            let rank = find(key::RANK).map(axis).transpose()?;
            Ok((Op::Concat(axis(get(key::AXIS)?)?, rank), around, None))
        }
        13 => Ok((Op::Split(axis(get(key::AXIS)?)?), around, Some(1))),
        15 => {
            let (mut digits, rank) = (get(key::PERM)?, axis(get(key::RANK)?)?);
            let mut perm = Vec::new();
            for _ in 0..rank {
                perm.insert(0, digits % rank.max(1));
                digits /= rank.max(1);
            }
            Ok((Op::Transpose(permutation(perm)?), around, Some(1)))
        }
        16 => named("add", 2),
        17 => named("mul", 2),
        18 => named("matmul", 2),
        19 => Ok((Op::Scale, around, Some(2))),
        20 => Ok((Op::Enlarge(pair(key::KERNEL)?), around, Some(1))),
        21 => no_form("a kernel whose groups are merged"),
        22 => no_form("an identity matrix, whose size follows from where it is used,"),
        23 => no_form("an identity kernel, whose channels follow from where it is used,"),
        24 => Ok((Op::Ones, around, Some(0))),
        25 => Ok((Op::Averages(pair(key::KERNEL)?), around, Some(0))),
        28 => named("sub", 2),
        29 => named("div", 2),
        30 => named("equal", 2),
        31 => named("greater", 2),
        32 => named("less", 2),
        33 => named("max", 2),
        34 => named("min", 2),
        _ => no_form(&format!("an operator of type {number}")),
    }
}
