//! Calls of operators that are declared in files, written as nodes of their domains.

use tautomer_graph::{Graph, Node, VertexId, region_graph};
use tautomer_op::{AttrValue, ForeignName, OpDef, Scope};
use tautomer_tensor::Type;

use super::emit::Emitter;
use super::known_calls;
use crate::attr::from_value;
use crate::proto::AttributeProto;

/// The declared operators of a graph that have a name in models, including those in called functions.
fn foreign_calls(graph: &Graph) -> Vec<&'static OpDef> {
    let mut out: Vec<&'static OpDef> = Vec::new();
    for (_, def, attrs) in known_calls(graph) {
        let inner = attrs
            .iter()
            .filter_map(AttrValue::region)
            .flat_map(|region| foreign_calls(&region_graph(region)));
        for def in inner.chain(def.foreign().map(|_| def)) {
            if !out.iter().any(|known| std::ptr::eq(*known, def)) {
                out.push(def);
            }
        }
    }
    out
}

/// The names in models of the declared operators of a graph.
pub(super) fn foreign_names(graph: &Graph) -> impl Iterator<Item = ForeignName> {
    foreign_calls(graph).into_iter().filter_map(OpDef::foreign)
}

/// The declared operators that the model of a graph mentions, for importing it again.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_graph::{BuildOptions, build_program};
/// use tautomer_lang::parse_program;
///
/// let text = "operator \"a::Twice\"(x) { x + x } fn main(x: f32[2]) { \"a::Twice\"(x) }";
/// let program = parse_program(Arc::new(Source::new("a.taut", text))).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// assert!(tautomer_onnx::declared_in(&graph).declared("a::Twice").is_some());
/// ```
pub fn declared_in(graph: &Graph) -> Scope {
    let mut scope = Scope::default();
    for def in foreign_calls(graph) {
        scope.insert(def.name, def);
    }
    scope
}

/// The attributes of a call.
pub(super) fn attributes(def: &OpDef, attrs: &[AttrValue]) -> Result<Vec<AttributeProto>, String> {
    let given = def.attrs.iter().zip(attrs).filter(|(_, value)| !value.is_none());
    given
        .map(|(attr, value)| match value.has_symbols() {
            true => Err(format!(
                "attribute `{}` depends on dimensions that are not known",
                attr.name
            )),
            false => from_value(attr.name, value),
        })
        .collect()
}

impl Emitter<'_> {
    /// Writes a call of a declared operator.
    pub(super) fn declared(&mut self, v: VertexId, def: &'static OpDef, attrs: &[AttrValue]) -> Result<(), String> {
        let Some(foreign) = def.foreign() else { return Ok(()) };
        let mut inputs = Vec::new();
        for operand in self.graph.pred(v) {
            inputs.push(self.operand(operand)?);
        }
        while inputs.last().is_some_and(String::is_empty) {
            inputs.pop();
        }
        let mut outputs = self.result_names(v, foreign.name);
        // An unused result is left out where the declaration allows it.
        if let (Type::Tuple(_), Some(declared)) = (self.graph.ty(v), def.declared) {
            let whole = self.graph.outputs().iter().any(|o| o.vertex == v);
            let used = |i: usize| {
                whole
                    || self.graph.users(v).any(|user| match self.graph.vertex(user).node {
                        Node::Proj(index) => index as usize == i && self.is_needed(user),
                        _ => true,
                    })
            };
            let optional = |i: usize| declared.results.get(i).is_some_and(|result| result.optional);
            for (i, output) in outputs.iter_mut().enumerate() {
                if optional(i) && !used(i) {
                    output.clear();
                }
            }
            while outputs.last().is_some_and(String::is_empty) {
                outputs.pop();
            }
        }
        let attributes = attributes(def, attrs)?;
        self.call_node(v, foreign.name, inputs, outputs, attributes);
        if let Some(node) = self.proto.node.last_mut() {
            node.domain = Some(foreign.domain.to_owned());
        }
        Ok(())
    }

    /// True if a result or another vertex uses `v`.
    fn is_needed(&self, v: VertexId) -> bool {
        self.graph.is_used(v) || self.graph.outputs().iter().any(|o| o.vertex == v)
    }
}
