//! Networks for benchmarks, as program text that is always the same.

#![allow(dead_code, reason = "each benchmark uses the networks it needs")]

pub(crate) mod inception;
pub(crate) mod nasnet;
pub(crate) mod shapes;
pub(crate) mod transformer;

use std::fmt::Write as _;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, build_program};
use tautomer::lang::{parse_program, parse_rules};
use tautomer::rule::{Rule, load_rules};

/// The graph of a program.
pub(crate) fn graph_of(text: &str) -> Graph {
    let source = Arc::new(Source::new("bench.taut", text));
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e.render(false)));
    build_program(&program, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// The rules of a rule file.
pub(crate) fn rules_of(text: &str) -> Vec<Arc<Rule>> {
    let source = Arc::new(Source::new("bench.rules", text));
    let file = parse_rules(source).unwrap_or_else(|e| panic!("{}", e.render(false)));
    load_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false))).rules
}

/// A program under construction: definitions with numbered names, and parameters added as needed.
pub(crate) struct Text {
    params: String,
    body: String,
    count: usize,
}

/// A value of the program: its name and its shape.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
}

impl Text {
    pub(crate) fn new() -> Text {
        Text {
            params: String::new(),
            body: String::new(),
            count: 0,
        }
    }

    /// A new parameter.
    pub(crate) fn param(&mut self, shape: &[usize]) -> String {
        let name = format!("p{}", self.params.matches("param").count());
        let _ = write!(self.params, ", param {name}: f32{shape:?}");
        name
    }

    /// A definition.
    pub(crate) fn let_(&mut self, expr: &str, shape: &[usize]) -> Value {
        let name = format!("v{}", self.count);
        self.count += 1;
        let _ = writeln!(self.body, "  let {name} = {expr};");
        Value {
            name,
            shape: shape.to_vec(),
        }
    }

    /// A definition that keeps the shape of `x`.
    pub(crate) fn same(&mut self, expr: &str, x: &Value) -> Value {
        self.let_(expr, &x.shape)
    }

    /// Concatenates values along axis 1.
    pub(crate) fn concat(&mut self, parts: &[&Value]) -> Value {
        let names: Vec<&str> = parts.iter().map(|v| v.name.as_str()).collect();
        let mut shape = parts[0].shape.clone();
        shape[1] = parts.iter().map(|v| v.shape[1]).sum();
        self.let_(&format!("concat({}) {{axis = 1}}", names.join(", ")), &shape)
    }

    /// The whole program, with one input `x` and one result.
    pub(crate) fn finish(self, input: &[usize], result: &Value) -> String {
        let Text { params, body, .. } = self;
        format!("fn main(x: f32{input:?}{params}) {{\n{body}  {}\n}}\n", result.name)
    }
}

/// The input of a program.
pub(crate) fn input(shape: &[usize]) -> Value {
    Value {
        name: "x".to_owned(),
        shape: shape.to_vec(),
    }
}

/// A window that slides over two axes: size, stride, zero padding at both ends of each axis.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: usize,
    pub(crate) pad: [usize; 2],
}

impl Window {
    /// A square window.
    pub(crate) const fn square(kernel: usize, stride: usize, pad: usize) -> Window {
        Window {
            kernel: [kernel; 2],
            stride,
            pad: [pad; 2],
        }
    }

    /// The shape of the result when the window slides over a tensor with two spatial axes.
    pub(crate) fn over(self, shape: &[usize], channels: usize) -> Vec<usize> {
        let extent = |axis: usize| (shape[axis + 2] + 2 * self.pad[axis] - self.kernel[axis]) / self.stride + 1;
        vec![shape[0], channels, extent(0), extent(1)]
    }

    /// The attributes that `conv` needs.
    pub(crate) fn attrs(self) -> String {
        let ([p, q], s) = (self.pad, self.stride);
        format!("strides = [{s}, {s}], pads = [{p}, {q}, {p}, {q}]")
    }

    /// The attributes that pools need.
    pub(crate) fn pool_attrs(self) -> String {
        format!("kernel_shape = {:?}, {}", self.kernel, self.attrs())
    }
}
