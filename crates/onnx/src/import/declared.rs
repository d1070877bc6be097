//! Nodes whose operator is declared in a file.

use super::Importer;
use super::call::coerce;
use crate::attr::to_value;
use crate::proto::NodeProto;
use tautomer_diag::{Diagnostic, Severity};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, Op, OpDef, OpError};

impl<'a> Importer<'a> {
    /// The results of a node of a declared operator. `None` if the node is not a call of any declared operator; if it
    /// almost is, a note says what is different, and the node is carried along unread.
    pub(super) fn declared_node(
        &mut self,
        node: &'a NodeProto,
        inputs: &[Option<VertexId>],
    ) -> Option<Vec<Option<VertexId>>> {
        let domain = node.domain.as_deref().unwrap_or_default();
        let op_type = node.op_type.as_deref().unwrap_or_default();
        let def = self.scope.in_models(domain, op_type)?;
        match self.call_of_declared(def, node, inputs) {
            Ok(results) => Some(results),
            Err(error) => {
                let name = node
                    .output
                    .iter()
                    .find(|name| !name.is_empty())
                    .map_or("", String::as_str);
                let what = format!(
                    "node {name:?} does not fit the declaration of `{domain}::{op_type}`: {}",
                    error.message
                );
                let note = Diagnostic::new(Severity::Warning, "T0505", what);
                self.problems.push(match error.help {
                    Some(help) => note.help(help),
                    None => note.help("it is carried along unread; correct the declaration if the model is right"),
                });
                None
            }
        }
    }

    fn call_of_declared(
        &mut self,
        def: &'static OpDef,
        node: &'a NodeProto,
        inputs: &[Option<VertexId>],
    ) -> Result<Vec<Option<VertexId>>, OpError> {
        if let Some(foreign) = def.foreign()
            && let Some(version) = self.info.opsets.get(foreign.domain)
            && *version != i64::from(foreign.version)
        {
            return Err(OpError::new(format!(
                "the model has version {version} of the domain, and version {} is declared",
                foreign.version
            )));
        }
        let mut attrs: Vec<(&str, AttrValue)> = Vec::new();
        for attr in &node.attribute {
            let name = attr.name.as_deref().unwrap_or_default();
            let known = def.attrs.iter().find(|known| known.name == name);
            let Some(known) = known else {
                return Err(OpError::new(format!("attribute `{name}` is not declared")));
            };
            let value = coerce(known, &to_value(attr))
                .ok_or_else(|| OpError::new(format!("attribute `{name}` is not {}, as declared", known.expects())))?;
            attrs.push((known.name, value));
        }
        let operands: Vec<VertexId> = inputs
            .iter()
            .map(|v| v.unwrap_or_else(|| self.graph.absent()))
            .collect();
        let v = self.graph.call(Op::Known(def), &operands, &attrs)?;
        self.split_results(v, node)
            .ok_or_else(|| OpError::new("it has more results than are declared"))
    }
}
