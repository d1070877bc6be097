//! From programs to graphs.
//!
//! Columns are inputs of one axis, literals are constants without axes. What no operator computes is a call of an operator
//! that no rule knows, under a number: the place of its node among [`Graphed::calls`].

use std::sync::Arc;

use arrow_schema::Schema;

use tautomer_graph::{Graph, VertexId};
use tautomer_op::{AttrValue, Op, OpaqueOp, lookup};
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type as GraphType};

use super::needs::Treatment;
use super::table::{element, is_exact_cast, is_never_null, is_total, operator};
use crate::function;
use crate::options::Options;
use crate::program::{Kind, Literal, Node, NodeId, Program};
use crate::types::Type;

/// The longest list that becomes comparisons.
const MOST_MEMBERS: usize = 8;

/// A program as a graph.
pub(super) struct Graphed {
    pub(super) graph: Graph,
    /// The nodes that are inputs, and how they treat nulls.
    pub(super) inputs: Vec<Node>,
    pub(super) input_treatments: Vec<Treatment>,
    /// The nodes whose functions no operator computes.
    pub(super) calls: Vec<Node>,
    pub(super) call_treatments: Vec<Treatment>,
}

/// A vertex, and whether it may be null or fail.
#[derive(Clone, Copy)]
struct Value {
    vertex: VertexId,
    null: bool,
    fails: bool,
}

/// The graph of a program whose results are these nodes.
pub(super) fn graphed(program: &Program, roots: &[NodeId], schema: &Schema, options: &Options) -> Graphed {
    let mut encoder = Encoder {
        out: Graphed {
            graph: Graph::new(),
            inputs: Vec::new(),
            input_treatments: Vec::new(),
            calls: Vec::new(),
            call_treatments: Vec::new(),
        },
        schema,
        options,
        program,
        values: Vec::with_capacity(program.nodes().len()),
    };
    for node in program.nodes() {
        let value = encoder.node(node);
        encoder.out.graph.set_span(value.vertex, node.span);
        encoder.values.push(value);
    }
    for root in roots {
        let vertex = encoder.values[root.index()].vertex;
        encoder.out.graph.output(vertex, None);
    }
    encoder.out.graph.retain_reachable();
    encoder.out
}

struct Encoder<'a> {
    out: Graphed,
    schema: &'a Schema,
    options: &'a Options,
    program: &'a Program,
    values: Vec<Value>,
}

/// The type of a column.
fn graph_type(ty: Type) -> GraphType {
    // No operator computes with values of other types, and no rule for all types looks into bytes.
    GraphType::tensor(
        element(ty).unwrap_or(DType::Binary),
        Shape::from_iter([Dim::symbol("rows")]),
    )
}

impl Encoder<'_> {
    fn node(&mut self, node: &Node) -> Value {
        let known = match &node.kind {
            Kind::Field(column) => return self.input(node, self.schema.field(*column).is_nullable()),
            Kind::Literal(Literal::Null) => return self.input(node, true),
            Kind::Literal(literal) => match constant(literal, node.ty) {
                Some(tensor) => Some(self.constant(tensor)),
                None => return self.input(node, false),
            },
            Kind::Call(function, args) => self.call(function.name(), args, node),
            Kind::Cast(of) => self.cast(*of, node),
            Kind::If(parts) => self.choice(*parts, node),
            Kind::And(parts) => self.operator("and", parts),
            Kind::Or(parts) => self.operator("or", parts),
            Kind::In(of, members) => self.membership(*of, members),
        };
        match known {
            Some(value) => value,
            None => self.opaque(node),
        }
    }

    fn input(&mut self, node: &Node, null: bool) -> Value {
        // The name is a place: it keeps the inputs in their order.
        let name = format!("_{}", self.out.inputs.len());
        let vertex = self.out.graph.input(&name, graph_type(node.ty));
        self.out.inputs.push(node.clone());
        self.out.input_treatments.push(match null {
            true => Treatment::Missing { fails: false },
            false => Treatment::Total,
        });
        Value {
            vertex,
            null,
            fails: false,
        }
    }

    fn constant(&mut self, tensor: Tensor) -> Value {
        Value {
            vertex: self.out.graph.constant(tensor),
            null: false,
            fails: false,
        }
    }

    fn ty(&self, id: NodeId) -> Type {
        self.program.get(id).ty
    }

    /// A call of an operator on values that exist.
    fn apply(&mut self, name: &str, operands: &[Value], attrs: &[(&str, AttrValue)]) -> Option<Value> {
        let vertices: Vec<VertexId> = operands.iter().map(|value| value.vertex).collect();
        Some(Value {
            vertex: self.out.graph.call(Op::Known(lookup(name)?), &vertices, attrs).ok()?,
            null: operands.iter().any(|value| value.null),
            fails: operands.iter().any(|value| value.fails),
        })
    }

    fn operator(&mut self, name: &str, args: &[NodeId]) -> Option<Value> {
        let operands: Vec<Value> = args.iter().map(|arg| self.values[arg.index()]).collect();
        self.apply(name, &operands, &[])
    }

    fn call(&mut self, name: &str, args: &[NodeId], node: &Node) -> Option<Value> {
        let ty = self.ty(*args.first()?);
        match (name, args) {
            ("not_equal", [_, _]) => {
                let equal = self.operator(operator("equal", ty, self.options)?, args)?;
                self.apply("not", &[equal], &[])
            }
            ("castINT" | "castBIGINT" | "castFLOAT4" | "castFLOAT8", &[of]) => self.cast(of, node),
            ("positive", &[of]) => Some(self.values[of.index()]),
            ("log", [_]) => self.operator(operator("ln", ty, self.options)?, args),
            _ => {
                let name = operator(name, ty, self.options)?;
                // `floor` and others take integers, too.
                args.iter()
                    .all(|&arg| self.ty(arg) == ty)
                    .then(|| self.operator(name, args))?
            }
        }
    }

    fn cast(&mut self, of: NodeId, node: &Node) -> Option<Value> {
        let (from, value) = (self.ty(of), self.values[of.index()]);
        let narrows = (from, node.ty) == (Type::Float64, Type::Float32);
        if from == node.ty {
            return Some(value);
        }
        let to = element(node.ty).filter(|_| narrows || is_exact_cast(from, node.ty))?;
        self.apply("cast", &[value], &[("to", AttrValue::DType(to))])
    }

    fn choice(&mut self, parts: [NodeId; 3], node: &Node) -> Option<Value> {
        let [mut condition, then, otherwise] = parts.map(|part| self.values[part.index()]);
        element(node.ty)?;
        if condition.fails {
            return None;
        }
        if condition.null {
            // A null takes the second branch.
            let truth = function::lookup("istrue")?;
            condition = self.opaque(&Node {
                kind: Kind::Call(truth, vec![parts[0]]),
                ty: Type::Bool,
                span: node.span,
                source: Arc::clone(&node.source),
            });
        }
        self.apply("where", &[condition, then, otherwise], &[])
    }

    fn membership(&mut self, of: NodeId, members: &[Literal]) -> Option<Value> {
        let (ty, value) = (self.ty(of), self.values[of.index()]);
        let equal = operator("equal", ty, self.options)?;
        let members: Vec<Tensor> = members
            .iter()
            .map(|member| constant(member, ty))
            .collect::<Option<_>>()?;
        if members.len() > MOST_MEMBERS {
            return None;
        }
        let mut any = None;
        for member in members {
            let member = self.constant(member);
            let one = self.apply(equal, &[value, member], &[])?;
            any = Some(match any {
                Some(any) => self.apply("or", &[any, one], &[])?,
                None => one,
            });
        }
        any
    }

    fn opaque(&mut self, node: &Node) -> Value {
        let uses: Vec<NodeId> = match &node.kind {
            Kind::Field(_) | Kind::Literal(_) => Vec::new(),
            Kind::Call(_, args) => args.clone(),
            Kind::Cast(of) | Kind::In(of, _) => vec![*of],
            Kind::If(parts) => parts.to_vec(),
            Kind::And(parts) | Kind::Or(parts) => parts.to_vec(),
        };
        let operands: Vec<Value> = uses.iter().map(|of| self.values[of.index()]).collect();
        let fails = operands.iter().any(|value| value.fails);
        let treatment = match &node.kind {
            Kind::Call(function, args) => match args.first() {
                Some(&arg) if is_total(function.name(), self.ty(arg)) => Treatment::Total,
                Some(_) if is_never_null(function.name()) => Treatment::Never,
                _ => Treatment::Missing { fails: true },
            },
            Kind::In(_, members) if !members.contains(&Literal::Null) => Treatment::Total,
            Kind::In(..) | Kind::If(_) => Treatment::Missing { fails },
            _ => Treatment::Missing { fails: true },
        };
        let op = OpaqueOp {
            domain: "columns".to_owned(),
            name: self.out.calls.len().to_string(),
            attr_names: Vec::new(),
            result: graph_type(node.ty),
        };
        let vertices: Vec<VertexId> = operands.iter().map(|value| value.vertex).collect();
        let vertex = self.out.graph.opaque(op, &vertices, Vec::new());
        self.out.calls.push(node.clone());
        self.out.call_treatments.push(treatment);
        let (null, fails) = match treatment {
            Treatment::Total => (operands.iter().any(|value| value.null), fails),
            Treatment::Never => (false, fails),
            Treatment::Missing { fails } => (true, fails),
        };
        Value { vertex, null, fails }
    }
}

/// A literal as a constant, if operators compute with its type and it has exactly this value there.
fn constant(literal: &Literal, ty: Type) -> Option<Tensor> {
    let dtype = element(ty)?;
    match literal {
        Literal::Bool(value) => Some(Tensor::scalar(*value)).filter(|_| ty == Type::Bool),
        Literal::Int(value) => {
            let (low, high) = ty.range()?;
            (low..=high)
                .contains(value)
                .then(|| Tensor::from_ints(dtype, &[], &[*value]))?
        }
        Literal::Float(bits) => {
            let value = f64::from_bits(*bits);
            let exact = ty == Type::Float64 || f64::from(value as f32).to_bits() == *bits;
            (ty.is_float() && exact).then(|| Tensor::from_f64s(dtype, &[], &[value]))?
        }
        Literal::Null | Literal::Str(_) => None,
    }
}
