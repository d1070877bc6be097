//! The target into which expressions are built: a graph, or any other structure of typed values.

use std::sync::Arc;

use super::{Graph, VertexId};
use tautomer_diag::Span;
use tautomer_op::{AttrValue, Op, OpError, OpaqueOp};
use tautomer_tensor::{Tensor, Type};

/// Identifies a value in a [`Sink`]: a vertex of a graph, or whatever else the sink numbers.
pub type ValueId = VertexId;

/// Receives the calls that an expression consists of.
pub trait Sink {
    /// Adds a call in normal form.
    ///
    /// # Errors
    /// If operands or attributes do not fit the operator.
    fn call(&mut self, op: Op, operands: &[ValueId], attrs: &[(&str, AttrValue)]) -> Result<ValueId, OpError>;
    /// Adds a call of an operator that the table does not define.
    ///
    /// # Errors
    /// If such calls are not supported here.
    fn opaque(&mut self, op: OpaqueOp, operands: &[ValueId], attrs: Vec<AttrValue>) -> Result<ValueId, OpError>;
    /// Adds a constant.
    fn constant(&mut self, value: Tensor) -> ValueId;
    /// Adds the marker of an omitted operand.
    fn absent(&mut self) -> ValueId;
    /// Adds a tuple.
    fn tuple(&mut self, items: &[ValueId]) -> ValueId;
    /// Adds a projection.
    ///
    /// # Errors
    /// If the value is not a tuple or has no such element.
    fn project(&mut self, tuple: ValueId, index: usize) -> Result<ValueId, OpError>;
    /// The type of a value.
    fn ty(&self, v: ValueId) -> &Type;
    /// The constant value, if it is one.
    fn value(&self, v: ValueId) -> Option<Tensor>;
    /// True if the value depends only on parameters and constants.
    fn is_static(&self, _v: ValueId) -> bool {
        false
    }
    /// Records the span that a value comes from.
    fn place(&mut self, _v: ValueId, _span: Span) {}
    /// Records the name of a value in the text.
    fn name(&mut self, _v: ValueId, _name: &Arc<str>) {}
    /// The number of values so far, for limits.
    fn size(&self) -> usize;
}

impl Sink for Graph {
    fn call(&mut self, op: Op, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> Result<VertexId, OpError> {
        Graph::call(self, op, operands, attrs)
    }

    fn opaque(&mut self, op: OpaqueOp, operands: &[VertexId], attrs: Vec<AttrValue>) -> Result<VertexId, OpError> {
        Ok(Graph::opaque(self, op, operands, attrs))
    }

    fn constant(&mut self, value: Tensor) -> VertexId {
        Graph::constant(self, value)
    }

    fn absent(&mut self) -> VertexId {
        Graph::absent(self)
    }

    fn tuple(&mut self, items: &[VertexId]) -> VertexId {
        Graph::tuple(self, items)
    }

    fn project(&mut self, tuple: VertexId, index: usize) -> Result<VertexId, OpError> {
        Graph::project(self, tuple, index)
    }

    fn ty(&self, v: VertexId) -> &Type {
        Graph::ty(self, v)
    }

    fn value(&self, v: VertexId) -> Option<Tensor> {
        self.vertex(v).constant().cloned()
    }

    fn place(&mut self, v: VertexId, span: Span) {
        self.set_span(v, span);
    }

    fn name(&mut self, v: VertexId, name: &Arc<str>) {
        self.vertex_mut(v).name.get_or_insert_with(|| name.clone());
    }

    fn size(&self) -> usize {
        self.len()
    }
}
