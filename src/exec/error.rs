//! Why a graph has no plan, and why a run fails.

use std::sync::Arc;

use crate::graph::VertexId;
use crate::op::OpError;
use crate::tensor::Type;

/// Why a graph has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An operator that the table does not define.
    #[error("`{op}` cannot be executed: it has no definition")]
    Opaque {
        /// Its name.
        op: String,
        /// Where it is called.
        vertex: VertexId,
    },
    /// A tuple where a tensor is needed.
    #[error("{place} is a tuple ({ty}), and only tensors can stand there")]
    Tuple {
        /// Where.
        place: String,
        /// Its type.
        ty: Type,
        /// The vertex.
        vertex: VertexId,
    },
    /// An operand that was left out stands for a value.
    #[error("a value is left out where one is needed")]
    Absent {
        /// The vertex that needs it.
        vertex: VertexId,
    },
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The wrong number of inputs.
    #[error("{expected} inputs expected, {given} given")]
    Count {
        /// How many the plan has.
        expected: usize,
        /// How many came.
        given: usize,
    },
    /// An input or a parameter without a value.
    #[error("{what} `{name}` of type {expected} has no value")]
    Missing {
        /// `input` or `parameter`.
        what: &'static str,
        /// Its name.
        name: Arc<str>,
        /// Its type.
        expected: Box<Type>,
    },
    /// A value for an input that there is none of.
    #[error("there is no input `{name}`; the inputs are {known}")]
    Unknown {
        /// The name that came.
        name: Arc<str>,
        /// The names of the inputs.
        known: String,
    },
    /// A value of the wrong element type, rank or extent.
    #[error("{what} `{name}` must be {expected}, and is {given}")]
    Type {
        /// `input` or `parameter`.
        what: &'static str,
        /// Its name.
        name: Arc<str>,
        /// Its type.
        expected: Box<Type>,
        /// The type of the value.
        given: Box<Type>,
    },
    /// Two values disagree about a dimension.
    #[error("dimension `{symbol}` is {first} in `{first_place}` and {second} in `{second_place}`")]
    Symbol {
        /// The dimension.
        symbol: Arc<str>,
        /// Its value at first.
        first: i64,
        /// The input or parameter that gave it.
        first_place: Arc<str>,
        /// Its other value.
        second: i64,
        /// The input or parameter that gave that.
        second_place: Arc<str>,
    },
    /// A step failed.
    #[error("step {step}, `{op}({operands})`: {source}")]
    Step {
        /// Its place in the plan.
        step: usize,
        /// The operator.
        op: String,
        /// Types of its operands.
        operands: String,
        /// What is wrong.
        source: Box<OpError>,
    },
    /// An operator that the table does not define.
    #[error("`{op}` cannot be executed: it has no definition")]
    Opaque {
        /// Its name.
        op: String,
    },
    /// A result that is no tensor, where only tensors are taken.
    #[error("result `{name}` is no tensor: {ty}")]
    NoTensor {
        /// Its name.
        name: Arc<str>,
        /// Its type.
        ty: Box<Type>,
    },
    /// A plan that does not hold together; only one that was read from elsewhere can.
    #[error("the plan is broken: {0}")]
    Broken(String),
}
