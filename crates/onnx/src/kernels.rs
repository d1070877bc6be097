//! The element types that the CPU kernels of ONNX Runtime support.
//!
//! `kernels.txt` is written by `tests/peers/kernels.py`, which describes its lines. A written model should load there
//! whenever the original does; see [`fits`](super::export::fits).

use std::collections::HashMap;
use std::sync::OnceLock;

use super::data_type;
use super::schema::{Formal, Schema};
use tautomer_tensor::DType;

/// The kernels of an operator starting with an operator set: type variables, or names of operands, with their possible
/// data types, where bit *i* stands for data type *i*.
struct Kernels {
    opset: i64,
    rows: Vec<Vec<(&'static str, u32)>>,
}

fn parse_line(line: &'static str) -> Option<(&'static str, Kernels)> {
    let (head, rest) = line.split_once('|')?;
    let (name, opset) = head.trim().split_once(' ')?;
    let mut rows = Vec::new();
    for row in rest.split(';').map(str::trim).filter(|row| !row.is_empty()) {
        let mut types = Vec::new();
        for item in row.split_whitespace().filter(|item| *item != "*") {
            let (variable, mask) = item.split_once('=')?;
            types.push((variable, u32::from_str_radix(mask, 16).ok()?));
        }
        rows.push(types);
    }
    Some((
        name,
        Kernels {
            opset: opset.parse().ok()?,
            rows,
        },
    ))
}

fn table() -> &'static HashMap<&'static str, Vec<Kernels>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Kernels>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Vec<Kernels>> = HashMap::new();
        for (name, kernels) in include_str!("kernels.txt").lines().filter_map(parse_line) {
            table.entry(name).or_default().push(kernels);
        }
        table
    })
}

/// True if there is a kernel in that operator set for operands and results of these element types; `None` stands for a
/// missing operand or one that is not a tensor.
pub(super) fn has_kernel(
    op: &str,
    schema: &Schema,
    opset: i64,
    operands: &[Option<DType>],
    results: &[Option<DType>],
) -> bool {
    if op == "Constant" {
        return true;
    }
    let found = table()
        .get(op)
        .and_then(|versions| versions.iter().rev().find(|k| k.opset <= opset));
    let Some(kernels) = found else { return false };
    let takes = |row: &[(&str, u32)], formal: Option<&Formal>, dtype: DType| {
        let Some(formal) = formal else { return true };
        let mask = row
            .iter()
            .find(|(variable, _)| *variable == formal.types || *variable == formal.name);
        mask.is_none_or(|(_, mask)| data_type(dtype).is_some_and(|d| mask >> (d as u32) & 1 == 1))
    };
    let result = |i: usize| {
        let last = schema.outputs.last().filter(|f| f.variadic);
        schema.outputs.get(i).or(last)
    };
    kernels.rows.iter().any(|row| {
        let given = |types: &[Option<DType>]| -> Vec<(usize, DType)> {
            types.iter().enumerate().filter_map(|(i, t)| Some((i, (*t)?))).collect()
        };
        given(operands).into_iter().all(|(i, t)| takes(row, schema.input(i), t))
            && given(results).into_iter().all(|(i, t)| takes(row, result(i), t))
    })
}

#[cfg(test)]
mod tests {
    use super::super::schema::schema;
    use super::*;

    fn unary(op: &str, opset: i64, dtype: DType) -> bool {
        let types = [Some(dtype)];
        has_kernel(op, schema(op, opset).unwrap(), opset, &types, &types)
    }

    #[test]
    fn every_line_parses() {
        for line in include_str!("kernels.txt").lines() {
            assert!(parse_line(line).is_some(), "{line}");
        }
        for versions in ["Relu", "Conv", "If", "Where"].map(|name| table().get(name)) {
            assert!(versions.unwrap().is_sorted_by_key(|k| k.opset));
        }
    }

    #[test]
    fn kernels_differ_by_type_and_operator_set() {
        assert!(unary("Relu", 13, DType::F64) && unary("Relu", 13, DType::F16) && !unary("Relu", 14, DType::BF16));
        assert!(unary("Relu", 14, DType::I32) && !unary("Relu", 14, DType::I64) && !unary("Relu", 17, DType::U8));
        for op in ["Softplus", "Softsign", "HardSigmoid"] {
            assert!(unary(op, 17, DType::F32) && !unary(op, 17, DType::F64), "{op}");
        }
        let one_hot = |indices, depth| {
            let types = [Some(indices), Some(depth), Some(DType::F32)];
            has_kernel("OneHot", schema("OneHot", 13).unwrap(), 13, &types, &[Some(DType::F32)])
        };
        assert!(one_hot(DType::I32, DType::I32) && !one_hot(DType::I32, DType::I64) && one_hot(DType::I64, DType::I64));
        assert!(!unary("RandomUniformLike", 22, DType::F32) && unary("RandomUniformLike", 21, DType::F32));
    }
}
