//! The operator table: the name, operands, results, meaning and cost of each operator.
//!
//! An operator is defined once, as one [`OpDef`]: a primitive one in the file of its family, and one with a body by its
//! declaration in `ops/`, which the build script turns into a row. Parser, printer, importers, rule checker, e-graph,
//! verifier and executor read the table; none of them has its own list of operators.

mod attr;
mod call;
mod cost;
mod declarations;
mod declared;
mod def;
mod infer;
mod reference;
mod region;
mod value;

mod common;

mod activation;
mod along;
mod attention;
mod bits;
mod blocks;
mod bodies;
mod branch;
mod cache;
mod collection;
mod conv;
mod convert;
mod create;
mod detect;
mod einsum;
mod elementary;
mod elementwise;
mod formula;
mod geometry;
mod index;
mod integer;
#[doc(hidden)] // for the other crates of this workspace
pub mod known;
mod laws;
mod layer_norm;
mod layout;
mod like;
mod linear_attention;
mod loss;
mod matmul;
#[doc(hidden)] // for the other crates of this workspace
pub mod movement;
mod ngram;
mod norm;
mod order;
mod pad;
mod parts;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod resize;
mod rotary;
mod sample;
mod sequence;
mod shapes;
mod slice;
mod softmax;
mod sort;
mod spectral;
mod strided;
pub(crate) mod symbolic;
mod taper;
mod text;
mod unary;
mod unpool;
mod window;
mod work;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

pub use attr::{AttrDef, AttrKind, AttrValue, Attrs};
pub use cost::{Cost, Priced};
pub use declared::{Declared, Scope};
pub use def::{Body, OnnxName, OpDef, OpTraits, Operand, OperandKind, Semantics};
pub use infer::{Fact, Infer, OpError};
pub use region::Region;
pub use tautomer_number::Law;

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use attr::{AxisOf, Default, Real};
#[doc(hidden)]
pub use bodies::types_of_bodies;
#[doc(hidden)]
pub use branch::{always_true, join};
#[doc(hidden)]
pub use call::{Normalized, normalize};
#[doc(hidden)]
pub use cost::{ASSUMED_EXTENT, CostRule};
#[doc(hidden)]
pub use declared::{DeclaredResult, ForeignName};
#[doc(hidden)]
pub use def::{Canonical, Flow};
#[doc(hidden)]
pub use einsum::einsum_axes;
#[doc(hidden)]
pub use formula::{AxesRule, Each, Fold, Formula, Function, Made, Products, Reduction, Total};
#[doc(hidden)]
pub use movement::{Map, Movement};
#[doc(hidden)]
pub use reference::{Eval, Given, RefFn, Reference, System, evaluate, evaluate_tensors};
#[doc(hidden)]
pub use region::{Item, Step as RegionStep};
#[doc(hidden)]
pub use sample::{GridAxis, bin_samples};
#[doc(hidden)]
pub use shapes::{Cell, Channel, PerAxis, ShapeRule};
#[doc(hidden)]
pub use symbolic::known_ints;
#[doc(hidden)]
pub use tautomer_number::{
    Bounded, Choosable, Chosen, Exact, Field, Func, Lawful, Laws, NoSuchLaw, Number, Refused, Residue, Trace, choosing,
    under,
};
#[doc(hidden)]
pub use value::Value;
#[doc(hidden)]
pub use work::{Work, held_bytes, work};

use serde::{Deserialize, Serialize};

use tautomer_tensor::Type;

/// The primitive operators, by family, and those that files declare.
static FAMILIES: &[&[OpDef]] = &[
    elementwise::OPS,
    unary::OPS,
    convert::OPS,
    layout::OPS,
    parts::OPS,
    slice::OPS,
    pad::OPS,
    blocks::OPS,
    reduce::OPS,
    index::OPS,
    create::OPS,
    matmul::OPS,
    conv::OPS,
    pool::OPS,
    softmax::OPS,
    resize::OPS,
    bits::OPS,
    geometry::OPS,
    random::OPS,
    sequence::OPS,
    taper::OPS,
    text::OPS,
    recurrent::OPS,
    linear_attention::OPS,
    order::OPS,
    sample::OPS,
    detect::OPS,
    unpool::OPS,
    einsum::OPS,
    spectral::OPS,
    ngram::OPS,
    cache::OPS,
    strided::OPS,
    sort::OPS,
    branch::OPS,
    collection::OPS,
    declarations::ROWS,
];

/// Every operator, in table order.
///
/// ```
/// assert!(tautomer_op::table().any(|op| op.name == "add"));
/// ```
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The operator of that name or alias.
///
/// ```
/// assert_eq!(tautomer_op::lookup("subtract").map(|op| op.name), Some("sub"));
/// ```
pub fn lookup(name: &str) -> Option<&'static OpDef> {
    static INDEX: OnceLock<HashMap<&'static str, &'static OpDef>> = OnceLock::new();
    INDEX
        .get_or_init(|| table().flat_map(|op| op.names().map(move |name| (name, op))).collect())
        .get(name)
        .copied()
}

/// The operator of that ONNX name in the default domain.
pub fn lookup_onnx(name: &str) -> Option<&'static OpDef> {
    static INDEX: OnceLock<HashMap<&'static str, &'static OpDef>> = OnceLock::new();
    INDEX
        .get_or_init(|| table().filter_map(|op| Some((op.onnx?.name, op))).collect())
        .get(name)
        .copied()
}

/// An operator of the table, or one whose meaning is unknown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "OpName", try_from = "OpName")]
pub enum Op {
    /// Defined in the table.
    Known(&'static OpDef),
    /// Unknown: it may be moved, but not executed.
    Opaque(Arc<OpaqueOp>),
}

/// An operator that the table does not define.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpaqueOp {
    /// The namespace; empty for the default one.
    pub domain: String,
    /// Its name there.
    pub name: String,
    /// Names of the attributes of this call, in the order of its attribute values.
    pub attr_names: Vec<Arc<str>>,
    /// The declared type of its value.
    pub result: Type,
}

/// The serialized form of an operator.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum OpName {
    Known(String),
    Opaque(OpaqueOp),
}

impl From<Op> for OpName {
    fn from(op: Op) -> OpName {
        match op {
            Op::Known(def) => OpName::Known(def.name.to_owned()),
            Op::Opaque(op) => OpName::Opaque((*op).clone()),
        }
    }
}

impl TryFrom<OpName> for Op {
    type Error = String;

    fn try_from(name: OpName) -> Result<Op, String> {
        match name {
            OpName::Known(name) => lookup(&name)
                .map(Op::Known)
                .ok_or_else(|| format!("there is no operator `{name}`")),
            OpName::Opaque(op) => Ok(Op::Opaque(op.into())),
        }
    }
}

impl PartialOrd for Op {
    fn partial_cmp(&self, other: &Op) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Op {
    fn cmp(&self, other: &Op) -> Ordering {
        match (self, other) {
            (Op::Known(a), Op::Known(b)) => a.name.cmp(b.name).then_with(|| {
                let of = |def: &OpDef| def.declared.map(|declared| declared.text);
                of(a).cmp(&of(b))
            }),
            (Op::Known(_), Op::Opaque(_)) => Ordering::Less,
            (Op::Opaque(_), Op::Known(_)) => Ordering::Greater,
            (Op::Opaque(a), Op::Opaque(b)) => a.cmp(b),
        }
    }
}

/// True if equal calls have equal values, and a call may be left out, repeated or computed ahead of time. Opaque
/// operators, random operators, and operators that call functions containing either are not pure.
pub fn is_pure(op: &Op, attrs: &[AttrValue]) -> bool {
    op.def()
        .is_some_and(|def| !def.traits.contains(OpTraits::NONDETERMINISTIC))
        && attrs.iter().all(|attr| match attr {
            AttrValue::Region(region) => region.is_pure(),
            _ => true,
        })
}

impl Op {
    /// The name in programs: `conv`, `com.microsoft::Gelu`.
    pub fn name(&self) -> String {
        match self {
            Op::Known(def) => def.name.to_owned(),
            Op::Opaque(op) if op.domain.is_empty() => op.name.clone(),
            Op::Opaque(op) => format!("{}::{}", op.domain, op.name),
        }
    }

    /// The definition, if the table has one.
    pub fn def(&self) -> Option<&'static OpDef> {
        match self {
            Op::Known(def) => Some(def),
            Op::Opaque(_) => None,
        }
    }

    /// Names of the attributes, in the order of a call's attribute values.
    pub fn attr_names(&self) -> Vec<&str> {
        match self {
            Op::Known(def) => def.attrs.iter().map(|a| a.name).collect(),
            Op::Opaque(op) => op.attr_names.iter().map(|n| &**n).collect(),
        }
    }

    /// True if it has all of `traits`; an opaque operator has none.
    pub fn has(&self, traits: OpTraits) -> bool {
        self.def().is_some_and(|def| def.traits.contains(traits))
    }

    /// True if it is the table's operator with that name.
    pub fn is(&self, name: &str) -> bool {
        self.def().is_some_and(|def| def.name == name)
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        match (self, other) {
            (Op::Known(a), Op::Known(b)) => std::ptr::eq(*a, *b),
            (Op::Opaque(a), Op::Opaque(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Op {}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Op::Known(def) => def.name.hash(state),
            Op::Opaque(op) => op.hash(state),
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
