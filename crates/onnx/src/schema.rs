//! The signature of each version of each ONNX operator, from operator set 7 on; from 6 on for operators that changed
//! much.
//!
//! `schema.txt` has one line for each version with a change, extracted from the definitions of ONNX 1.22:
//! `name version | inputs | outputs | attributes | types`. An input is `name:types`, marked `?` if it is optional and
//! `*` if it repeats; types are a variable of the last column or a set, each set a hexadecimal mask where bit *i*
//! stands for data type *i*. An attribute is `name:kind=default`, marked `!` if it is required.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::data_type;
use tautomer_op::AttrValue;
use tautomer_tensor::DType;

/// The newest operator set in the table.
pub const NEWEST: i64 = 27;

/// An input or output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Formal {
    pub(super) name: &'static str,
    pub(super) optional: bool,
    pub(super) variadic: bool,
    /// The type variable, or `#` and a mask.
    pub(super) types: &'static str,
    /// Bit *i* is set if data type *i* is allowed.
    pub(super) mask: u32,
}

impl Formal {
    /// True if elements of that type are allowed.
    pub(super) fn allows(&self, dtype: DType) -> bool {
        data_type(dtype).is_some_and(|d| self.mask >> (d as u32) & 1 == 1)
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttrSchema {
    pub(super) name: &'static str,
    pub(super) required: bool,
    kind: u8,
    default: Option<&'static str>,
}

impl AttrSchema {
    /// The default value, if the schema has one.
    pub(super) fn default(&self) -> Option<AttrValue> {
        let text = self.default?;
        let items = || text.split(',').filter(|s| !s.is_empty());
        match self.kind {
            b'i' => text.parse().ok().map(AttrValue::int),
            b'f' => text.parse::<f32>().ok().map(|v| AttrValue::float(f64::from(v))),
            b's' => Some(AttrValue::str(text)),
            b'I' => items()
                .map(|s| s.parse().ok())
                .collect::<Option<Vec<i64>>>()
                .map(|v| AttrValue::ints(&v)),
            b'S' => Some(AttrValue::Strs(items().map(Into::into).collect())),
            _ => None,
        }
    }
}

/// One version of an operator.
#[derive(Debug)]
pub(super) struct Schema {
    /// The operator set that introduced it.
    pub(super) since: i64,
    /// From this version on, the operator no longer exists.
    pub(super) removed: bool,
    pub(super) inputs: Vec<Formal>,
    pub(super) outputs: Vec<Formal>,
    pub(super) attrs: Vec<AttrSchema>,
}

impl Schema {
    /// The attribute of that name.
    pub(super) fn attr(&self, name: &str) -> Option<&AttrSchema> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// The input at position `i`; the last one repeats if it is variadic.
    pub(super) fn input(&self, i: usize) -> Option<&Formal> {
        self.inputs.get(i).or_else(|| self.inputs.last().filter(|f| f.variadic))
    }
}

fn parse_line(line: &'static str) -> Option<(&'static str, Schema)> {
    let mut columns = line.split('|');
    let mut head = columns.next()?.split_whitespace();
    let (name, since) = (head.next()?, head.next()?.parse().ok()?);
    let (inputs, outputs, attrs, types) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let masks: HashMap<&str, u32> = types
        .split_whitespace()
        .filter_map(|t| t.split_once('='))
        .filter_map(|(var, mask)| Some((var, u32::from_str_radix(mask, 16).ok()?)))
        .collect();
    let formals = |text: &'static str| -> Option<Vec<Formal>> {
        let formal = |item: &'static str| {
            let (name, types) = item.split_once(':')?;
            let mask = match types.strip_prefix('#') {
                Some(mask) => u32::from_str_radix(mask, 16).ok()?,
                None => *masks.get(types)?,
            };
            Some(Formal {
                name: name.trim_end_matches(['?', '*']),
                optional: name.ends_with('?'),
                variadic: name.ends_with('*'),
                types,
                mask,
            })
        };
        text.split_whitespace().map(formal).collect()
    };
    let attr = |item: &'static str| {
        let (name, rest) = item.split_once(':')?;
        Some(AttrSchema {
            name: name.trim_end_matches('!'),
            required: name.ends_with('!'),
            kind: *rest.as_bytes().first()?,
            default: rest.split_once('=').map(|(_, default)| default),
        })
    };
    let schema = Schema {
        since,
        removed: name.ends_with('~'),
        inputs: formals(inputs)?,
        outputs: formals(outputs)?,
        attrs: attrs.split_whitespace().map(attr).collect::<Option<_>>()?,
    };
    Some((name.trim_end_matches('~'), schema))
}

/// The versions of an operator, which are read when it is first looked up: a model has few of all operators.
struct Versions {
    lines: Vec<&'static str>,
    read: OnceLock<Vec<Schema>>,
}

impl Versions {
    fn get(&self) -> &[Schema] {
        let read = || self.lines.iter().filter_map(|line| Some(parse_line(line)?.1)).collect();
        self.read.get_or_init(read)
    }
}

fn table() -> &'static HashMap<&'static str, Versions> {
    static TABLE: OnceLock<HashMap<&'static str, Versions>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Versions> = HashMap::new();
        for line in include_str!("schema.txt").lines() {
            let name = line.split_whitespace().next().unwrap_or_default().trim_end_matches('~');
            let versions = table.entry(name).or_insert_with(|| Versions {
                lines: Vec::new(),
                read: OnceLock::new(),
            });
            versions.lines.push(line);
        }
        table
    })
}

/// The versions of an operator of the default domain, in order.
fn versions(op: &str) -> &'static [Schema] {
    table().get(op).map_or(&[], Versions::get)
}

/// The operator of the default domain in operator set `opset`.
pub(super) fn schema(op: &str, opset: i64) -> Option<&'static Schema> {
    versions(op)
        .iter()
        .rev()
        .find(|s| s.since <= opset)
        .filter(|s| !s.removed)
}

/// The last version of the operator that is not a removal.
pub(super) fn newest(op: &str) -> Option<&'static Schema> {
    versions(op).iter().rev().find(|s| !s.removed)
}

/// The position of input `i` of `schema` in the newest version.
pub(super) fn newest_position(op: &str, schema: &Schema, i: usize) -> usize {
    let (Some(formal), Some(newest)) = (schema.inputs.get(i), newest(op)) else {
        return i;
    };
    newest.inputs.iter().position(|f| f.name == formal.name).unwrap_or(i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_parses() {
        let lines = include_str!("schema.txt").lines();
        for line in lines {
            assert!(parse_line(line).is_some(), "{line}");
        }
        for versions in table().values().map(Versions::get) {
            assert!(versions.is_sorted_by_key(|s| s.since));
            for attr in versions.iter().flat_map(|s| &s.attrs) {
                assert!(attr.default.is_none() || attr.default().is_some(), "{attr:?}");
            }
        }
    }

    #[test]
    fn versions_differ() {
        assert!(schema("Squeeze", 12).unwrap().attr("axes").is_some());
        assert!(schema("Squeeze", 13).unwrap().attr("axes").is_none());
        assert_eq!(
            schema("Softmax", 12).unwrap().attr("axis").unwrap().default(),
            Some(AttrValue::int(1))
        );
        assert!(schema("Upsample", 9).is_some() && schema("Upsample", 10).is_none());
        assert!(schema("HardSwish", 13).is_none());
        assert!(!schema("Relu", 13).unwrap().inputs[0].allows(DType::I32));
        assert_eq!(newest_position("Resize", schema("Resize", 10).unwrap(), 1), 2);
    }
}
