//! From graphs back to programs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use tautomer_diag::{Source, Span};
use tautomer_graph::{Graph, Node as Vertex, VertexId};
use tautomer_op::{Infer, Op};
use tautomer_tensor::{DType, Tensor, Type as GraphType};

use super::encode::Graphed;
use super::table::{column_type, element, function, is_exact_cast};
use crate::function::lookup;
use crate::options::Options;
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::Type;

/// True if a program can have this call: it is one that [`program`] writes.
pub(super) fn is_written(call: &Infer<'_>, result: &GraphType, options: &Options) -> bool {
    let ty = |ty: &GraphType| {
        let tensor = ty
            .as_tensor()
            .filter(|tensor| tensor.rank().is_some_and(|rank| rank <= 1));
        tensor.and_then(|tensor| column_type(tensor.dtype))
    };
    let operands: Option<Vec<Type>> = match call.def.name {
        "expand" => call.operands.first().map(|fact| ty(fact.ty)).into_iter().collect(),
        _ => call.operands.iter().map(|fact| ty(fact.ty)).collect(),
    };
    let (Some(operands), Some(result)) = (operands, ty(result)) else {
        return false;
    };
    match (call.def.name, operands.as_slice()) {
        ("where", [Type::Bool, a, b]) => *a == result && *b == result,
        ("and" | "or", [Type::Bool, Type::Bool]) => true,
        ("reciprocal", [of]) => of.is_float(),
        ("zeros_like", [_]) | ("expand", [_]) => true,
        ("cast", &[of]) => is_exact_cast(of, result),
        (name, [first, rest @ ..]) => rest.iter().all(|ty| ty == first) && function(name, *first, options).is_some(),
        _ => false,
    }
}

/// A program for the results of a graph, and the results among its nodes; `None` if the graph has a call that no program
/// has.
pub(super) fn program(
    graph: &Graph,
    from: &Graphed,
    options: &Options,
    place: (Span, &Arc<Source>),
) -> Option<(Program, Vec<NodeId>)> {
    let mut decoder = Decoder {
        graph,
        from,
        options,
        place,
        out: Program::default(),
        nodes: FxHashMap::default(),
    };
    for vertex in graph.rpo() {
        let node = decoder.vertex(vertex);
        if let Some(node) = node {
            decoder.nodes.insert(vertex, node);
        }
    }
    let roots = graph
        .outputs()
        .iter()
        .map(|output| decoder.nodes.get(&output.vertex).copied());
    let roots: Option<Vec<NodeId>> = roots.collect();
    Some((decoder.out, roots?))
}

struct Decoder<'a> {
    graph: &'a Graph,
    from: &'a Graphed,
    options: &'a Options,
    /// Where nodes are that rules made.
    place: (Span, &'a Arc<Source>),
    out: Program,
    nodes: FxHashMap<VertexId, NodeId>,
}

impl Decoder<'_> {
    fn vertex(&mut self, vertex: VertexId) -> Option<NodeId> {
        let operands: Option<Vec<NodeId>> = self
            .graph
            .pred(vertex)
            .iter()
            .map(|of| self.nodes.get(of).copied())
            .collect();
        match &self.graph.vertex(vertex).node {
            Vertex::Input => {
                let at = self.graph.inputs().iter().position(|&input| input == vertex)?;
                let node = self.from.inputs.get(at)?;
                Some(self.out.add(node.kind.clone(), node.ty, node.span, &node.source))
            }
            Vertex::Const(value) => {
                let ty = column_type(value.dtype())?;
                let literal = literal(value)?;
                Some(self.add(vertex, Kind::Literal(literal), ty))
            }
            Vertex::Call { op: Op::Opaque(op), .. } => {
                let node = self.from.calls.get(op.name.parse::<usize>().ok()?)?;
                let operands = operands?;
                let kind = match &node.kind {
                    Kind::Call(function, _) => Kind::Call(function, operands),
                    Kind::Cast(_) => Kind::Cast(*operands.first()?),
                    Kind::In(_, members) => Kind::In(*operands.first()?, Arc::clone(members)),
                    Kind::If(_) => Kind::If(operands.try_into().ok()?),
                    Kind::And(_) => Kind::And(operands.try_into().ok()?),
                    Kind::Or(_) => Kind::Or(operands.try_into().ok()?),
                    leaf @ (Kind::Field(_) | Kind::Literal(_)) => leaf.clone(),
                };
                Some(self.out.add(kind, node.ty, node.span, &node.source))
            }
            Vertex::Call { op: Op::Known(def), .. } => self.call(vertex, def.name, operands),
            _ => None,
        }
    }

    /// A node for a vertex, at the place of what the vertex was made from.
    fn add(&mut self, vertex: VertexId, kind: Kind, ty: Type) -> NodeId {
        let span = self.graph.vertex(vertex).span.unwrap_or(self.place.0);
        self.out.add(kind, ty, span, self.place.1)
    }

    fn ty(&self, vertex: VertexId) -> Option<Type> {
        column_type(self.graph.ty(vertex).as_tensor()?.dtype)
    }

    fn call(&mut self, vertex: VertexId, name: &str, operands: Option<Vec<NodeId>>) -> Option<NodeId> {
        let ty = self.ty(vertex)?;
        if name == "zeros_like" {
            return Some(self.add(vertex, Kind::Literal(number(0, ty)), ty));
        }
        if name == "expand" {
            // A number is one for every row already.
            return self.nodes.get(self.graph.pred(vertex).first()?).copied();
        }
        let operands = operands?;
        let first = self.out.get(*operands.first()?).ty;
        let kind = match name {
            "where" => {
                let [condition, a, b] = operands.try_into().ok()?;
                // `if` takes a null for false itself.
                let condition = match &self.out.get(condition).kind {
                    Kind::Call(function, args) if function.name() == "istrue" => *args.first()?,
                    _ => condition,
                };
                Kind::If([condition, a, b])
            }
            "and" => Kind::And(operands.try_into().ok()?),
            "or" => return self.or(vertex, operands.try_into().ok()?),
            "cast" => Kind::Cast(operands[0]),
            "reciprocal" => {
                let one = self.add(vertex, Kind::Literal(number(1, ty)), ty);
                Kind::Call(lookup("divide")?, vec![one, operands[0]])
            }
            "not" => match &self.out.get(operands[0]).kind {
                Kind::Call(function, args) if function.name() == "equal" => {
                    Kind::Call(lookup("not_equal")?, args.clone())
                }
                _ => Kind::Call(lookup("not")?, operands),
            },
            _ => Kind::Call(lookup(function(name, first, self.options)?)?, operands),
        };
        Some(self.add(vertex, kind, ty))
    }

    /// An `or`; comparisons of one value with several literals are a list.
    fn or(&mut self, vertex: VertexId, parts: [NodeId; 2]) -> Option<NodeId> {
        let member = |id: NodeId| match &self.out.get(id).kind {
            Kind::Call(function, args) if function.name() == "equal" => match &self.out.get(args[1]).kind {
                Kind::Literal(literal) => Some((args[0], vec![literal.clone()])),
                _ => None,
            },
            Kind::In(of, members) => Some((*of, members.to_vec())),
            _ => None,
        };
        let kind = match parts.map(member) {
            [Some((a, mut members)), Some((b, more))] if a == b && element(self.out.get(a).ty).is_some() => {
                for literal in more {
                    if !members.contains(&literal) {
                        members.push(literal);
                    }
                }
                Kind::In(a, members.into())
            }
            _ => Kind::Or(parts),
        };
        Some(self.add(vertex, kind, Type::Bool))
    }
}

fn number(value: i8, ty: Type) -> Literal {
    match ty {
        Type::Bool => Literal::Bool(value != 0),
        _ if ty.is_float() => Literal::Float(f64::from(value).to_bits()),
        _ => Literal::Int(value.into()),
    }
}

/// The literal of a constant with one element.
fn literal(value: &Tensor) -> Option<Literal> {
    if value.len() != 1 {
        return None;
    }
    Some(match value.dtype() {
        DType::Bool => Literal::Bool(*value.to_ints()?.first()? != 0),
        DType::F32 | DType::F64 => Literal::Float(value.to_f64s()?.first()?.to_bits()),
        _ => Literal::Int(*value.to_ints()?.first()?),
    })
}
