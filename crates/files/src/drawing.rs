//! Drawings: boxes with edges between them, in parts placed side by side.

use std::fmt::Write as _;

use super::dot::quoted;

/// The shape of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A call: a rounded box.
    Call,
    /// A value from outside: an ellipse.
    Value,
    /// A constant: a small grey box.
    Constant,
    /// Something that only connects others: text without a frame.
    Plain,
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnBox {
    /// Its lines; the first one is set in bold.
    pub lines: Vec<String>,
    /// Its shape.
    pub shape: Shape,
}

/// An edge between two boxes of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The box where it starts.
    pub from: usize,
    /// The box where it ends.
    pub to: usize,
    /// Its label; may be empty.
    pub text: String,
}

/// A group of boxes under one title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The title.
    pub title: String,
    /// The boxes.
    pub boxes: Vec<DrawnBox>,
    /// The edges; each leads from a box to one added later, so the graph is acyclic.
    pub edges: Vec<Edge>,
}

impl Part {
    /// An empty part.
    pub fn new(title: impl Into<String>) -> Part {
        Part {
            title: title.into(),
            ..Part::default()
        }
    }

    /// Adds a box and returns its index.
    pub fn add(&mut self, lines: Vec<String>, shape: Shape) -> usize {
        self.boxes.push(DrawnBox { lines, shape });
        self.boxes.len() - 1
    }

    /// Adds an edge.
    pub fn connect(&mut self, from: usize, to: usize, text: impl Into<String>) {
        self.edges.push(Edge {
            from,
            to,
            text: text.into(),
        });
    }
}

/// Several parts under one title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The title.
    pub title: String,
    /// The parts, from left to right.
    pub parts: Vec<Part>,
}

impl Drawing {
    /// The drawing as DOT text, with each part as a cluster.
    ///
    /// ```
    /// use tautomer_files::{Drawing, Part, Shape};
    ///
    /// let mut part = Part::new("source");
    /// let x = part.add(vec!["x".into()], Shape::Value);
    /// let y = part.add(vec!["relu".into()], Shape::Call);
    /// part.connect(x, y, "");
    /// let drawing = Drawing { title: "rule".into(), parts: vec![part] };
    /// assert!(drawing.to_dot().contains("p0n0 -> p0n1;"));
    /// assert!(drawing.to_svg().starts_with("<svg "));
    /// ```
    pub fn to_dot(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "digraph {} {{", quoted(&self.title));
        out.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n");
        out.push_str("  edge [arrowsize=0.6, fontsize=9];\n");
        for (k, part) in self.parts.iter().enumerate() {
            let _ = writeln!(out, "  subgraph cluster_{k} {{\n    label={};", quoted(&part.title));
            for (i, drawn) in part.boxes.iter().enumerate() {
                let style = match drawn.shape {
                    Shape::Call => "",
                    Shape::Value => ", shape=ellipse",
                    Shape::Constant => ", shape=note, fontsize=9, color=gray40",
                    Shape::Plain => ", shape=plaintext",
                };
                let _ = writeln!(out, "    p{k}n{i} [label={}{style}];", quoted(&drawn.lines.join("\n")));
            }
            for edge in &part.edges {
                let _ = match edge.text.as_str() {
                    "" => writeln!(out, "    p{k}n{} -> p{k}n{};", edge.from, edge.to),
                    text => writeln!(
                        out,
                        "    p{k}n{} -> p{k}n{} [label={}];",
                        edge.from,
                        edge.to,
                        quoted(text)
                    ),
                };
            }
            out.push_str("  }\n");
        }
        out.push_str("}\n");
        out
    }
}
