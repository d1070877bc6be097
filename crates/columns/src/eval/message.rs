//! Results of several tiles as one array, and messages about rows that fail.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_select::concat::concat;

use tautomer_diag::{Diagnostic, Diagnostics};

use super::machine::Places;
use super::nodes::Nodes;
use crate::kernels::cell;
use crate::kernels::column::Context;
use crate::options::Options;
use crate::program::{Kind, NodeId, Program};
use crate::types::Type;

/// The tiles of a result as one array; a column that is passed on is not copied.
pub(super) fn joined(
    nodes: &Nodes,
    places: Places<'_>,
    root: NodeId,
    batch: &RecordBatch,
    parts: Vec<ArrayRef>,
) -> Result<ArrayRef, Diagnostic> {
    let node = nodes.program.get(root);
    Ok(match (&node.kind, parts.as_slice()) {
        (Kind::Field(column), _) => Arc::clone(batch.column(*column)),
        (_, []) => new_empty_array(&node.ty.arrow()),
        (_, [one]) => Arc::clone(one),
        (_, parts) => {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            concat(&parts).map_err(|error| {
                let program = places();
                let node = program.get(root);
                Diagnostic::error("T0602", format!("the texts of a batch are too long: {error}"))
                    .label(node.span, "")
                    .in_source(&node.source)
                    .help("evaluate batches of fewer rows")
            })?
        }
    })
}

/// The message for a row, from the values of all nodes there: the first node that fails though what it uses does
/// not. The program says where nodes are written.
pub(super) fn failure(
    nodes: &Nodes,
    places: Places<'_>,
    root: NodeId,
    batch: &RecordBatch,
    (row, first_row): (usize, u64),
    shown_row: u64,
) -> Diagnostics {
    let program = &places();
    let states = &nodes.all(&batch.slice(row, 1), first_row + row as u64);
    let fails = |id: NodeId| {
        let state = states[id.index()].as_ref();
        state.is_some_and(|state| state.failed.as_ref().is_some_and(|failed| failed.value(0)))
    };
    let mut at = root;
    while let Some(next) = program.uses(at).into_iter().find(|&next| fails(next)) {
        at = next;
    }
    let node = program.get(at);
    let reason = states[at.index()].as_ref().and_then(|state| state.reason.clone());
    let reason = reason.unwrap_or("the function has no result".into());
    let mut problem = Diagnostic::error("T0707", format!("row {shown_row}: {reason}"))
        .label(node.span, reason)
        .in_source(&node.source);
    for id in fields_below(program, at) {
        if let Kind::Field(column) = program.get(id).kind {
            let value = states[id.index()]
                .as_ref()
                .map(|state| shown(program.get(id).ty, &state.array));
            let name = batch.schema_ref().field(column).name();
            problem = problem.note(format!("{name} = {}", value.unwrap_or_default()));
        }
    }
    problem.into()
}

/// The columns that a node reads, at most eight, in order.
fn fields_below(program: &Program, id: NodeId) -> Vec<NodeId> {
    let mut seen = vec![false; program.nodes().len()];
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut seen[id.index()], true) {
            stack.extend(program.uses(id));
        }
    }
    let fields = (0..seen.len() as u32).map(NodeId).filter(|id| seen[id.index()]);
    let fields = fields.filter(|&id| matches!(program.get(id).kind, Kind::Field(_)));
    fields.take(8).collect()
}

/// The text of the only value of an array.
fn shown(ty: Type, array: &ArrayRef) -> String {
    let context = Context {
        args: &[ty],
        result: Type::Utf8,
        rows: 1,
        first_row: 0,
        options: &Options::default(),
    };
    if array.is_null(0) {
        return "null".to_owned();
    }
    let column = cell::run(&context, std::slice::from_ref(array), true, |context, cells| {
        crate::kernels::cast::to_text(context.args[0], &cells[0])
    });
    let text = column.array.as_string::<i32>();
    let text = if text.is_null(0) { "bytes" } else { text.value(0) };
    text.chars().take(80).collect()
}
