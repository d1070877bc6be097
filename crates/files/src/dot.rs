//! Graphs as DOT text, for drawing.

use std::fmt::Write as _;

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::Op;
use tautomer_tensor::Tensor;

/// The default maximum number of vertices in a drawing.
pub const DOT_LIMIT: usize = 2000;

/// Attribute values longer than this are truncated.
const MAX_VALUE: usize = 40;

/// The graph as DOT text: operators as boxes with their types and attributes, parameters and constants as small notes.
/// If the graph has more than `limit` vertices, only the first ones in reverse post-order are drawn, and a note says
/// how many are missing.
///
/// ```
/// use tautomer_files::{DOT_LIMIT, to_dot};
/// use tautomer_graph::Graph;
/// use tautomer_tensor::{DType, Type};
///
/// let mut graph = Graph::new();
/// let x = graph.input("x", Type::tensor(DType::F32, [2]));
/// graph.output(x, None);
/// assert!(to_dot(&graph, DOT_LIMIT).starts_with("digraph"));
/// ```
pub fn to_dot(graph: &Graph, limit: usize) -> String {
    let mut order = graph.rpo();
    // Unused inputs are shown as well.
    let reached: rustc_hash::FxHashSet<VertexId> = order.iter().copied().collect();
    order.extend(graph.inputs().iter().copied().filter(|v| !reached.contains(v)));
    let hidden = order.len().saturating_sub(limit);
    order.truncate(limit);
    let shown: rustc_hash::FxHashMap<VertexId, usize> = order.iter().enumerate().map(|(i, &v)| (v, i)).collect();
    let mut out = String::new();
    let name = if graph.name.is_empty() { "main" } else { &graph.name };
    let _ = writeln!(out, "digraph {} {{", quoted(name));
    out.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n");
    out.push_str("  edge [arrowsize=0.6, fontsize=9];\n");
    for (i, &v) in order.iter().enumerate() {
        let _ = writeln!(out, "  n{i} [label={}{}];", label(graph, v), style(graph, v));
    }
    for (i, &v) in order.iter().enumerate() {
        let operands = graph.pred(v);
        for (place, u) in operands.iter().enumerate() {
            let Some(from) = shown.get(u) else { continue };
            if operands.len() > 1 {
                let _ = writeln!(out, "  n{from} -> n{i} [headlabel=\"{place}\"];");
            } else {
                let _ = writeln!(out, "  n{from} -> n{i};");
            }
        }
    }
    for (k, output) in graph.outputs().iter().enumerate() {
        let Some(from) = shown.get(&output.vertex) else {
            continue;
        };
        let name = output
            .name
            .as_deref()
            .map_or_else(|| format!("result {k}"), str::to_owned);
        let _ = writeln!(out, "  out{k} [label={}, shape=ellipse];", quoted(&name));
        let _ = writeln!(out, "  n{from} -> out{k};");
    }
    if hidden > 0 {
        let text = format!("{hidden} more vertices are not shown");
        let _ = writeln!(out, "  hidden [label={}, shape=note];", quoted(&text));
    }
    out.push_str("}\n");
    out
}

fn label(graph: &Graph, v: VertexId) -> String {
    let vertex = graph.vertex(v);
    let mut lines = Vec::new();
    match &vertex.node {
        Node::Call { op, attrs } => {
            lines.push(op.name());
            for (name, value) in op.attr_names().iter().zip(attrs.iter()) {
                let default = match op {
                    Op::Known(def) => def.attr_index(name).and_then(|i| def.attrs[i].default_value()),
                    Op::Opaque(_) => None,
                };
                if !value.is_none() && default.as_ref() != Some(value) {
                    lines.push(format!("{name} = {}", cut(value.to_string())));
                }
            }
        }
        Node::Const(value) => lines.push(constant(value)),
        Node::Absent => lines.push("none".into()),
        Node::Tuple => lines.push("tuple".into()),
        Node::Proj(i) => lines.push(format!(".{i}")),
        Node::Input => lines.push("input".into()),
        Node::Param => lines.push("param".into()),
    }
    if let Some(name) = &vertex.name {
        lines[0] = format!("{name}: {}", lines[0]);
    }
    if !matches!(vertex.node, Node::Absent) {
        lines.push(vertex.ty.to_string());
    }
    quoted(&lines.join("\n"))
}

fn constant(value: &Tensor) -> String {
    if value.len() > 8 {
        return "constant".into();
    }
    match (value.to_ints(), value.to_f64s()) {
        (Some(ints), _) if !value.dtype().is_float() => cut(format!("{ints:?}")),
        (_, Some(numbers)) => cut(format!("{numbers:?}")),
        _ => "constant".into(),
    }
}

fn cut(text: String) -> String {
    if text.chars().count() <= MAX_VALUE {
        return text;
    }
    let mut out: String = text.chars().take(MAX_VALUE).collect();
    out.push('…');
    out
}

fn style(graph: &Graph, v: VertexId) -> &'static str {
    match graph.vertex(v).node {
        Node::Input => ", shape=ellipse",
        Node::Param => ", shape=note, fontsize=9",
        Node::Const(_) | Node::Absent => ", shape=note, fontsize=9, color=gray40",
        Node::Tuple | Node::Proj(_) => ", shape=plaintext",
        Node::Call { .. } => "",
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::lookup;
    use tautomer_tensor::{DType, Type};

    fn chain(n: usize) -> Graph {
        let mut graph = Graph::new();
        let mut v = graph.input("x \"y\"", Type::tensor(DType::F32, [2]));
        for _ in 0..n {
            v = graph.call(Op::Known(lookup("add").unwrap()), &[v, v], &[]).unwrap();
        }
        graph.output(v, None);
        graph
    }

    #[test]
    fn every_vertex_and_edge_is_drawn() {
        let text = to_dot(&chain(3), DOT_LIMIT);
        assert_eq!(text.matches("label=\"add\\nf32[2]\"").count(), 3);
        assert_eq!(text.matches(" -> ").count(), 7);
        assert!(text.contains(r#"x \"y\": input"#));
    }

    #[test]
    fn large_graphs_are_cut_with_a_note() {
        let text = to_dot(&chain(30), 10);
        assert!(text.contains("21 more vertices are not shown"));
        assert!(!text.contains("n10"));
    }
}
