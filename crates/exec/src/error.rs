//! Errors of planning and of running.

use std::sync::Arc;

use tautomer_graph::VertexId;
use tautomer_op::OpError;
use tautomer_tensor::Type;

/// The reason why a graph has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An operator that the table does not define.
    #[error("`{op}` cannot be executed: it has no definition")]
    Opaque {
        /// Its name.
        op: String,
        /// The vertex that calls it.
        vertex: VertexId,
    },
    /// A tuple where a tensor is needed.
    #[error("{place} is a tuple ({ty}), but only tensors are possible there")]
    Tuple {
        /// The location, in words.
        place: String,
        /// Its type.
        ty: Type,
        /// The vertex.
        vertex: VertexId,
    },
    /// A missing operand is used as a value.
    #[error("a value is missing where one is required")]
    Absent {
        /// The vertex that needs it.
        vertex: VertexId,
    },
}

/// The reason why a run failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The wrong number of inputs.
    #[error("{expected} inputs expected, {given} given")]
    Count {
        /// The number of inputs of the plan.
        expected: usize,
        /// The number of inputs given.
        given: usize,
    },
    /// The wrong number of tensors for results.
    #[error("{expected} results, but tensors for {given}")]
    Outputs {
        /// The number of outputs of the plan.
        expected: usize,
        /// The number of tensors given.
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
    /// An unknown input name.
    #[error("there is no input `{name}`; the inputs are {known}")]
    Unknown {
        /// The unknown name.
        name: Arc<str>,
        /// The names of the inputs.
        known: String,
    },
    /// A value of the wrong element type, rank or dimensions.
    #[error("{what} `{name}` must be {expected}, but is {given}")]
    Type {
        /// `input`, `parameter` or `output`.
        what: &'static str,
        /// Its name.
        name: Arc<str>,
        /// Its type.
        expected: Box<Type>,
        /// The type of the value.
        given: Box<Type>,
    },
    /// Two values disagree about a symbolic dimension.
    #[error("dimension `{symbol}` is {first} in `{first_place}` and {second} in `{second_place}`")]
    Symbol {
        /// The dimension.
        symbol: Arc<str>,
        /// Its first value.
        first: i64,
        /// The input or parameter that gave it.
        first_place: Arc<str>,
        /// Its other value.
        second: i64,
        /// The input or parameter that gave the other value.
        second_place: Arc<str>,
    },
    /// A step failed.
    #[error("step {step}, `{op}({operands})`: {source}")]
    Step {
        /// Its index in the plan.
        step: usize,
        /// The operator.
        op: String,
        /// Types of its operands.
        operands: String,
        /// The cause.
        source: Box<OpError>,
    },
    /// An operator that the table does not define.
    #[error("`{op}` cannot be executed: it has no definition")]
    Opaque {
        /// Its name.
        op: String,
    },
    /// A result that is not a tensor, where only tensors are possible.
    #[error("result `{name}` is not a tensor: {ty}")]
    NoTensor {
        /// Its name.
        name: Arc<str>,
        /// Its type.
        ty: Box<Type>,
    },
    /// An inconsistent plan; only a plan that was read from elsewhere can be one.
    #[error("the plan is broken: {0}")]
    Broken(String),
}
