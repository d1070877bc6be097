//! Pictures of the changes that an application made.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::formats::{Drawing, Part, Shape};
use crate::graph::{Graph, Node, VertexId};

/// The maximum number of boxes in a picture.
const BOXES: usize = 40;

/// Both sides of an application, each without what the two share.
pub(crate) fn picture(sides: &Graph) -> Option<String> {
    let outputs: Vec<VertexId> = sides.outputs().iter().map(|o| o.vertex).collect();
    let (source, target) = outputs.split_at(outputs.len() / 2);
    let (before, after) = (reached(sides, source), reached(sides, target));
    let parts = vec![
        part(sides, "before", source, &before, &after),
        part(sides, "after", target, &after, &before),
    ];
    if parts.iter().any(|p| p.boxes.len() > BOXES) {
        return None;
    }
    let title = String::new();
    Some(Drawing { title, parts }.to_svg())
}

fn reached(graph: &Graph, roots: &[VertexId]) -> FxHashSet<VertexId> {
    let mut found: FxHashSet<VertexId> = FxHashSet::default();
    let mut waiting = roots.to_vec();
    while let Some(v) = waiting.pop() {
        if found.insert(v) {
            waiting.extend(graph.pred(v).iter().copied());
        }
    }
    found
}

fn part(
    graph: &Graph,
    title: &str,
    roots: &[VertexId],
    mine: &FxHashSet<VertexId>,
    theirs: &FxHashSet<VertexId>,
) -> Part {
    let own = |v: VertexId| (mine.contains(&v) && !theirs.contains(&v)) || roots.contains(&v);
    let mut part = Part::new(title);
    let mut boxes: FxHashMap<VertexId, usize> = FxHashMap::default();
    for v in graph.rpo() {
        if !own(v) {
            continue;
        }
        let shared = theirs.contains(&v);
        let operands: Vec<VertexId> = if shared {
            Vec::new()
        } else {
            graph.pred(v).iter().copied().collect()
        };
        for u in &operands {
            boxes.entry(*u).or_insert_with(|| {
                let (lines, shape) = label(graph, *u, true);
                part.add(lines, shape)
            });
        }
        let this = *boxes.entry(v).or_insert_with(|| {
            let (lines, shape) = label(graph, v, shared);
            part.add(lines, shape)
        });
        for u in operands {
            part.connect(boxes[&u], this, "");
        }
    }
    part
}

/// The text of a box; `outside` marks a value that both sides use.
fn label(graph: &Graph, v: VertexId, outside: bool) -> (Vec<String>, Shape) {
    let vertex = graph.vertex(v);
    let ty = vertex.ty.to_string();
    let name = vertex.name.as_ref().map(ToString::to_string);
    match &vertex.node {
        Node::Input | Node::Param => (vec![name.unwrap_or_default(), ty], Shape::Value),
        Node::Const(_) => (vec!["constant".to_owned(), ty], Shape::Constant),
        Node::Call { op, .. } if outside => (vec![name.unwrap_or_else(|| op.name().to_string()), ty], Shape::Value),
        Node::Call { op, .. } => (vec![op.name().to_string(), ty], Shape::Call),
        Node::Absent => (vec!["none".to_owned()], Shape::Plain),
        Node::Tuple => (vec!["tuple".to_owned()], Shape::Plain),
        Node::Proj(i) => (vec![format!("output {i}"), ty], Shape::Plain),
    }
}
