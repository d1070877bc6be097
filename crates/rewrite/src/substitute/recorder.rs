//! A graph in which targets are built, with a list of the new vertices.

use tautomer_graph::{Graph, Sink, VertexId};
use tautomer_op::{AttrValue, Op, OpError, OpaqueOp};
use tautomer_tensor::{Tensor, Type};

/// Builds in a graph and records the new vertices.
pub(super) struct Recorder<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) made: Vec<VertexId>,
}

impl Sink for Recorder<'_> {
    fn call(&mut self, op: Op, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> Result<VertexId, OpError> {
        let v = Graph::call(self.graph, op, operands, attrs)?;
        self.made.push(v);
        Ok(v)
    }

    fn opaque(&mut self, op: OpaqueOp, _: &[VertexId], _: Vec<AttrValue>) -> Result<VertexId, OpError> {
        Err(OpError::new(format!(
            "`{}` is opaque and cannot be built by a rule",
            op.name
        )))
    }

    fn constant(&mut self, value: Tensor) -> VertexId {
        let v = Graph::constant(self.graph, value);
        self.made.push(v);
        v
    }

    fn absent(&mut self) -> VertexId {
        let v = Graph::absent(self.graph);
        self.made.push(v);
        v
    }

    fn tuple(&mut self, items: &[VertexId]) -> VertexId {
        let v = Graph::tuple(self.graph, items);
        self.made.push(v);
        v
    }

    fn project(&mut self, tuple: VertexId, index: usize) -> Result<VertexId, OpError> {
        let v = Graph::project(self.graph, tuple, index)?;
        self.made.push(v);
        Ok(v)
    }

    fn ty(&self, v: VertexId) -> &Type {
        Graph::ty(self.graph, v)
    }

    fn value(&self, v: VertexId) -> Option<Tensor> {
        self.graph.vertex(v).constant().cloned()
    }

    fn size(&self) -> usize {
        self.graph.len()
    }
}
