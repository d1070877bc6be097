//! Constant folding: computes values that depend only on parameters and constants ahead of time.
//!
//! Folding has two limits. Values that exceed the limit on memory or operations are left unchanged, and so are values
//! that cannot be computed. Unless everything is to be folded, the parameters do not grow: a computed value may take as
//! many bytes as the parameters and constants that only it uses. Quantized values stay quantized.

mod compute;
mod fill;
mod plan;

use serde::Serialize;

use fill::uniform;
use plan::Folder;
use tautomer_graph::{Graph, Node, Params, VertexId, Workload};
use tautomer_op::Op;
use tautomer_tensor::{DType, Type};

/// The limits of folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folding {
    /// If true, also computes values that make the parameters larger.
    pub all: bool,
    /// The maximum number of bytes held at one time, in addition to eight times the size of the parameters.
    pub bytes: u64,
    /// The maximum number of operations, in addition to sixteen for each byte of the parameters.
    pub operations: u64,
}

impl Default for Folding {
    fn default() -> Folding {
        Folding {
            all: false,
            bytes: 256 << 20,
            operations: 1_000_000_000,
        }
    }
}

/// The results of folding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoldReport {
    /// The number of values computed ahead of time.
    pub folded: usize,
    /// The number of values with all elements equal that are left to run time, where they take no bytes.
    pub kept: usize,
    /// Expressions of parameters and constants that were left to run time, with the reasons.
    pub notes: Vec<FoldNote>,
}

/// An expression of parameters and constants that is computed at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldNote {
    /// Its name, or the call that computes it.
    pub value: String,
    /// The reason why it was not computed.
    pub why: String,
    /// How to have it computed ahead of time.
    pub help: &'static str,
    /// The number of bytes by which the parameters would grow, if that is the reason.
    pub bytes: u64,
}

/// The maximum size of a constant in the graph; a larger one becomes a parameter.
pub(super) const CONSTANT_LIMIT: usize = 16;

/// The minimum number of bytes of a call in a file, for its names and its entry in the list of nodes.
const CALL_BYTES: i64 = 64;

/// The maximum number of times that expressions are split to find parts that may be computed.
const MOST_ROUNDS: usize = 64;

/// Parameters may grow by this many bytes for a value with equal elements, such as the bias of a layer, and for
/// expressions that share parameters. The limit applies to each of them and not to all together, so that a second run
/// finds nothing left to fold.
const SMALL_GROWTH: i64 = 64 << 10;

/// The number of bytes that a single call may add before it counts as enlarging its operands.
const SLACK: f64 = 4096.0;

/// True for a call that is not expected to be computed ahead of time, since its result takes more bytes than its
/// operands, or is a value that was quantized to take fewer.
pub(super) fn enlarges(op: &Op, operands: &[&Type], result: &Type) -> bool {
    let stored = |ty: &Type| stored_bytes(ty).map(|bytes| bytes as f64);
    if op.def().is_some_and(|def| def.unpacks) {
        return stored(result).is_none_or(|bytes| bytes > 4.0);
    }
    let Some(bytes) = stored(result).filter(|bytes| *bytes > SLACK) else {
        return false;
    };
    if operands.iter().all(|ty| stored(ty).is_some_and(|bytes| bytes <= 8.0)) && op.def().is_none_or(|def| !def.counts)
    {
        // All operands are single numbers, so the result has the same element throughout.
        return false;
    }
    let given: Option<Vec<f64>> = operands.iter().map(|ty| stored(ty)).collect();
    given.is_some_and(|given| bytes > given.iter().sum::<f64>() + SLACK)
}

/// The number of bytes of a value in a file, if all dimensions are known.
fn stored_bytes(ty: &Type) -> Option<u64> {
    match ty {
        Type::Tensor(tensor) => {
            let shape = tensor.shape.as_ref()?.to_concrete()?;
            let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d as u64));
            Some(match tensor.dtype {
                DType::I4 | DType::U4 | DType::F4E2M1 => elements.div_ceil(2),
                DType::I2 | DType::U2 => elements.div_ceil(4),
                dtype => elements.saturating_mul(dtype.size() as u64),
            })
        }
        Type::Tuple(items) => items
            .iter()
            .map(stored_bytes)
            .try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?))),
        Type::Absent => Some(0),
        _ => None,
    }
}

/// Replaces every maximal static expression that is within `limits` by its value: a constant if it is small, otherwise
/// a new parameter. Expressions of parameters without given values are not folded.
///
/// Results with all elements equal become fills (`constant_of_shape`), which take no bytes, unless there is room for
/// their values.
pub fn fold_static(workload: &mut Workload, limits: Folding) -> FoldReport {
    let mut folder = Folder::new(&workload.graph, &workload.params, limits);
    folder.plan(&workload.graph, &workload.params);
    folder.replace(workload)
}

/// The calls of static values that [`fold_static`] leaves to run time because parameters would grow; nothing is computed.
pub(super) fn left_to_run_time(graph: &Graph, params: &Params, limits: Folding) -> Vec<VertexId> {
    let mut folder = Folder::new(graph, params, limits);
    if limits.all {
        return Vec::new();
    }
    folder.leave_quantized(graph);
    let given: Vec<VertexId> = folder.stays.iter().copied().collect();
    for round in 0.. {
        let frontier = folder.frontier(graph, params);
        folder.fills = uniform(graph, &folder.order, &folder.is_static, params);
        if frontier.is_empty() || folder.accepted(graph, &frontier, round + 1 >= MOST_ROUNDS).is_some() {
            break;
        }
    }
    if folder.stays.len() == given.len() {
        return Vec::new();
    }
    let call = |v: &VertexId| matches!(graph.vertex(*v).node, Node::Call { .. });
    let left = |v: &VertexId| call(v) && !folder.is_static.contains(v);
    folder.order.iter().copied().filter(left).collect()
}

impl Folder {
    /// Decides which values to compute, and computes them.
    fn plan(&mut self, graph: &Graph, params: &Params) {
        if !self.limits.all {
            self.leave_quantized(graph);
        }
        for round in 0.. {
            let frontier = self.frontier(graph, params);
            if frontier.is_empty() {
                return;
            }
            self.fills = uniform(graph, &self.order, &self.is_static, params);
            let accepted = self.accepted(graph, &frontier, round + 1 >= MOST_ROUNDS);
            let Some(accepted) = accepted else { continue };
            if self.compute(graph, params, &accepted) || round > 2 * MOST_ROUNDS {
                return;
            }
        }
    }
}
