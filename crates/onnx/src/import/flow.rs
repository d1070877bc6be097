//! `If`, `Loop`, `Scan`, `SequenceMap`, and values that are not tensors.
//!
//! A node that cannot be imported, for whatever reason, is carried along unread.

use std::collections::HashSet;
use std::sync::Arc;

use super::Importer;
use super::body::{Body, Captured, graph_attr};
use crate::dtype_of;
use crate::proto::{GraphProto, NodeProto, TypeProto, TypeValue};
use crate::types::is_foreign;
use tautomer_diag::{Diagnostic, Severity};
use tautomer_graph::{Graph, VertexId, graph_region, inline_region, known_value};
use tautomer_op::{AttrValue, Item, Op, OpError, RegionStep, join, known, lookup};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

/// The types of loop-carried values are widened this many times before their shapes are left open.
const ROUNDS: usize = 4;

type Results = Vec<Option<VertexId>>;

/// A call under construction: its operator, its operands, its attributes and its functions by name.
struct Call {
    op: &'static str,
    operands: Vec<VertexId>,
    attrs: Vec<(&'static str, AttrValue)>,
    bodies: Vec<(&'static str, Body)>,
}

/// The integer attribute of that name.
fn int(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|a| a.name.as_deref() == Some(name))?.i
}

/// The list attribute of that name.
fn ints(node: &NodeProto, name: &str) -> Vec<i64> {
    let attr = node.attribute.iter().find(|a| a.name.as_deref() == Some(name));
    attr.map_or_else(Vec::new, |a| a.ints.clone())
}

fn any_rank(ty: &Type) -> Type {
    match ty {
        Type::Tensor(t) => TensorType::any_rank(t.dtype).into(),
        Type::Sequence(item) => Type::Sequence(Box::new(any_rank(item))),
        Type::Optional(item) => Type::Optional(Box::new(any_rank(item))),
        other => other.clone(),
    }
}

/// True if every value of type `b` also has type `a`, where dimensions in `free` stand for any.
fn covers(a: &Type, b: &Type, free: &HashSet<Dim>) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && match (&a.shape, &b.shape) {
                    (None, _) => true,
                    (Some(a), Some(b)) => {
                        a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x == y || free.contains(x))
                    }
                    _ => false,
                }
        }
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => covers(a, b, free),
        _ => false,
    }
}

impl<'a> Importer<'a> {
    /// The results of a node with nested graphs, or of one whose operands or results are not tensors; `None` if it is
    /// not such a node, or cannot be imported.
    pub(super) fn no_tensors(
        &mut self,
        node: &'a NodeProto,
        op_type: &str,
        inputs: &[Option<VertexId>],
        captured: &[Option<VertexId>],
        captures: &[String],
    ) -> Option<Results> {
        let ty = |i: usize| inputs.get(i).copied().flatten().map(|v| self.graph.ty(v).clone());
        if inputs
            .iter()
            .chain(captured)
            .flatten()
            .any(|&v| is_foreign(self.graph.ty(v)))
        {
            return None;
        }
        match op_type {
            "Identity" if !matches!(ty(0)?, Type::Tensor(_)) => return Some(vec![inputs[0]]),
            "OptionalHasElement" if !matches!(ty(0), Some(Type::Optional(_))) => {
                // A value that is not optional is always present.
                return Some(vec![Some(self.graph.constant(Tensor::scalar(ty(0).is_some())))]);
            }
            "OptionalGetElement" if !matches!(ty(0)?, Type::Optional(_)) => return Some(vec![inputs[0]]),
            "Optional" => return self.optional(node, inputs),
            "If" | "Loop" | "Scan" | "SequenceMap" => {}
            _ => return None,
        }
        let captured = self.captured(captures, captured)?;
        let kept = self.carried.clone();
        if let ("If", Some(&Some(condition))) = (op_type, inputs.first())
            && let Some(holds) = known_value(&self.graph, condition).and_then(|t| t.to_ints()?.first().copied())
            && let Ok(Some(results)) = self.decided(node, holds != 0, &captured)
        {
            return Some(results);
        }
        let call = match op_type {
            "If" => self.branch(node, inputs, &captured),
            "Loop" => self.repeat(node, inputs, &captured),
            "Scan" => self.scan(node, inputs, &captured),
            _ => self.map(node, inputs, &captured),
        };
        let results = call.and_then(|call| self.finish(call, node, &captured));
        match results {
            Ok(results) => Some(results),
            Err(error) => {
                self.carried = kept;
                let label = match node.name.as_deref() {
                    None | Some("") => format!("`{op_type}`"),
                    Some(name) => format!("`{op_type}` {name:?}"),
                };
                let problem = Diagnostic::new(Severity::Note, "T0505", format!("{label} is not imported: {error}"));
                self.problems.push(problem);
                None
            }
        }
    }

    /// The results of a branch whose condition is known; the other branch is not imported. Nodes that are carried along
    /// may not be moved out of it.
    fn decided(
        &mut self,
        node: &NodeProto,
        holds: bool,
        captured: &[Captured<'_>],
    ) -> Result<Option<Results>, OpError> {
        let name = if holds { "then_branch" } else { "else_branch" };
        let mut bodies = [self.body(graph_attr(node, name)?, &[], captured)?];
        let operands = self.outer_operands(captured, &mut bodies);
        let region = &bodies[0].region;
        let opaque = |item: &Item| matches!(&item.step, RegionStep::Call { op: Op::Opaque(_), .. });
        if region.items.iter().any(opaque) || region.outputs.len() < node.output.len() {
            return Ok(None);
        }
        let taken: HashSet<Arc<str>> = self
            .graph
            .ids()
            .filter_map(|v| self.graph.vertex(v).name.clone())
            .collect();
        let name = |inner: &Arc<str>| (!taken.contains(inner)).then(|| inner.clone());
        let results = inline_region(&mut self.graph, region, &operands, &name)?;
        Ok(Some(results.into_iter().map(Some).collect()))
    }

    /// Adds the call to the graph.
    fn finish(&mut self, call: Call, node: &NodeProto, captured: &[Captured<'_>]) -> Result<Results, OpError> {
        let (names, mut bodies): (Vec<&str>, Vec<Body>) = call.bodies.into_iter().unzip();
        let mut operands = call.operands;
        operands.extend(self.outer_operands(captured, &mut bodies));
        let last = node.output.iter().rposition(|name| !name.is_empty());
        let needed = last.map_or(0, |i| i + 1);
        let mut attrs = call.attrs;
        for (name, body) in names.into_iter().zip(bodies) {
            attrs.push((name, AttrValue::Region(body.region.into())));
        }
        let def = lookup(call.op).ok_or_else(|| OpError::new("there is no such operator"))?;
        let v = self.graph.call(Op::Known(def), &operands, &attrs)?;
        let count = match self.graph.ty(v) {
            Type::Tuple(items) => items.len(),
            _ => {
                return if needed <= 1 {
                    Ok(vec![Some(v)])
                } else {
                    Err(OpError::new("it has one result"))
                };
            }
        };
        if needed > count {
            return Err(OpError::new(format!("it has {count} results")));
        }
        (0..needed)
            .map(|i| match node.output[i].is_empty() {
                true => Ok(None),
                false => self.graph.project(v, i).map(Some),
            })
            .collect()
    }

    fn branch(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Captured<'_>],
    ) -> Result<Call, OpError> {
        let condition = inputs.first().copied().flatten();
        let condition = condition.ok_or_else(|| OpError::new("the condition is missing"))?;
        let mut bodies = Vec::new();
        for name in ["then_branch", "else_branch"] {
            bodies.push((name, self.body(graph_attr(node, name)?, &[], captured)?));
        }
        Ok(Call {
            op: known::BRANCH,
            operands: vec![condition],
            attrs: Vec::new(),
            bodies,
        })
    }

    /// The body of a loop or a scan, for carried types that also cover what it passes to the next iteration; `fixed`
    /// come before the carried inputs, `sliced` after them, and `skip` results come before those for the next
    /// iteration.
    fn carrying(
        &mut self,
        proto: &GraphProto,
        (fixed, carried, sliced): (&[Type], &[Type], &[Type]),
        skip: usize,
        captured: &[Captured<'_>],
    ) -> Result<Body, OpError> {
        let mut types = carried.to_vec();
        let mut free: HashSet<Dim> = HashSet::new();
        let kept = self.carried.clone();
        for round in 0..=ROUNDS {
            let inputs: Vec<Type> = fixed.iter().chain(&types).chain(sliced).cloned().collect();
            let body = self.body(proto, &inputs, captured);
            let body = match body {
                Ok(body) => body,
                // Types of any rank may fit all iterations even if those of the first do not.
                Err(_) if round == 0 => {
                    self.carried.clone_from(&kept);
                    types = types.iter().map(any_rank).collect();
                    continue;
                }
                Err(error) => return Err(error),
            };
            let next: Vec<Type> = body
                .region
                .output_types()
                .skip(skip)
                .take(types.len())
                .cloned()
                .collect();
            if next.len() < types.len() {
                return Err(OpError::new("the body returns fewer carried values than it takes"));
            }
            if types.iter().zip(&next).all(|(a, b)| covers(a, b, &free)) {
                return Ok(body);
            }
            self.carried.clone_from(&kept);
            let wider = types.iter().zip(&next).map(|(a, b)| {
                if covers(a, b, &free) {
                    return Some(a.clone());
                }
                if round + 1 >= ROUNDS {
                    return join(a, b, &mut || Dim::Const(0)).map(|ty| any_rank(&ty));
                }
                join(a, b, &mut || {
                    let dim = self.graph.unknown_dim();
                    free.insert(dim.clone());
                    dim
                })
            });
            let wider: Option<Vec<Type>> = wider.collect();
            types = wider.ok_or_else(|| OpError::new("a carried value changes its element type"))?;
        }
        Err(OpError::new("the types of carried values cannot be found"))
    }

    fn repeat(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Captured<'_>],
    ) -> Result<Call, OpError> {
        let proto = graph_attr(node, "body")?;
        // A vector of one element is accepted where the body declares one.
        let single = |i: usize, dtype: DType| {
            let declared = proto.input.get(i).and_then(|v| v.r#type.as_ref());
            let rank = match declared.and_then(|t| t.value.as_ref()) {
                Some(TypeValue::TensorType(t)) => t.shape.as_ref().map_or(0, |s| s.dim.len()),
                _ => 0,
            };
            Type::tensor(dtype, (0..rank.min(1)).map(|_| Dim::Const(1)).collect::<Shape>())
        };
        let fixed = [single(0, DType::I64), single(1, DType::Bool)];
        let carried = inputs.get(2..).unwrap_or_default();
        let carried: Option<Vec<VertexId>> = carried.iter().copied().collect();
        let carried = carried.ok_or_else(|| OpError::new("a carried value is missing"))?;
        let types: Vec<Type> = carried.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let body = self.carrying(proto, (&fixed, &types, &[]), 1, captured)?;
        let mut operands: Vec<VertexId> = Vec::new();
        for i in 0..2 {
            let given = inputs.get(i).copied().flatten();
            operands.push(given.unwrap_or_else(|| self.graph.absent()));
        }
        operands.extend(&carried);
        Ok(Call {
            op: known::LOOP,
            operands,
            attrs: vec![("carried", AttrValue::int(carried.len() as i64))],
            bodies: vec![("body", body)],
        })
    }

    fn scan(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Captured<'_>],
    ) -> Result<Call, OpError> {
        if self.opset < 9 {
            return self.scan_of_batches(node, inputs, captured);
        }
        let operands: Option<Vec<VertexId>> = inputs.iter().copied().collect();
        let operands = operands.ok_or_else(|| OpError::new("an operand is missing"))?;
        let scanned = int(node, "num_scan_inputs").and_then(|n| usize::try_from(n).ok());
        let scanned = scanned.filter(|n| (1..=operands.len()).contains(n));
        let scanned = scanned.ok_or_else(|| OpError::new("`num_scan_inputs` is not a valid number of operands"))?;
        let carried = operands.len() - scanned;
        let axes = ints(node, "scan_input_axes");
        let types: Vec<Type> = operands.iter().map(|&v| self.graph.ty(v).clone()).collect();
        let mut sliced = Vec::with_capacity(scanned);
        for (i, ty) in types[carried..].iter().enumerate() {
            let t = ty.as_tensor().ok_or_else(|| OpError::new("only tensors have slices"))?;
            let Some(shape) = &t.shape else {
                sliced.push(any_rank(ty));
                continue;
            };
            let axis = axes.get(i).copied().unwrap_or(0);
            let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
            let mut dims: Vec<Dim> = shape.iter().cloned().collect();
            if !(0..dims.len() as i64).contains(&axis) {
                return Err(OpError::new(format!("there is no axis {axis} in {ty}")));
            }
            dims.remove(axis as usize);
            sliced.push(Type::tensor(t.dtype, dims.into_iter().collect::<Shape>()));
        }
        let proto = graph_attr(node, "body")?;
        let body = self.carrying(proto, (&[], &types[..carried], &sliced), 0, captured)?;
        Ok(Call {
            op: known::SCAN,
            operands,
            attrs: vec![
                ("carried", AttrValue::int(carried as i64)),
                ("scanned", AttrValue::int(scanned as i64)),
                ("input_axes", AttrValue::ints(&axes)),
                (
                    "input_directions",
                    AttrValue::ints(&ints(node, "scan_input_directions")),
                ),
                ("output_axes", AttrValue::ints(&ints(node, "scan_output_axes"))),
                (
                    "output_directions",
                    AttrValue::ints(&ints(node, "scan_output_directions")),
                ),
            ],
            bodies: vec![("body", body)],
        })
    }

    /// The first version of `Scan` has a batch along the first axis of everything: one scan for each batch element.
    fn scan_of_batches(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Captured<'_>],
    ) -> Result<Call, OpError> {
        let (lengths, operands) = inputs.split_first().ok_or_else(|| OpError::new("it has no operands"))?;
        if lengths.is_some() || ints(node, "directions").iter().any(|&d| d != 0) {
            return Err(OpError::new(
                "lengths and directions of the first version of `Scan` are not supported",
            ));
        }
        let operands: Option<Vec<VertexId>> = operands.iter().copied().collect();
        let operands = operands.ok_or_else(|| OpError::new("an operand is missing"))?;
        let scanned = int(node, "num_scan_inputs").and_then(|n| usize::try_from(n).ok());
        let scanned = scanned.filter(|n| (1..=operands.len()).contains(n));
        let scanned = scanned.ok_or_else(|| OpError::new("`num_scan_inputs` is not a valid number of operands"))?;
        let carried = operands.len() - scanned;
        let without_first = |ty: &Type| -> Result<Type, OpError> {
            let t = ty.as_tensor().ok_or_else(|| OpError::new("only tensors have slices"))?;
            let shape = t.shape.as_ref().filter(|s| !s.is_empty());
            let shape = shape.ok_or_else(|| OpError::new(format!("{ty} has no batch")))?;
            Ok(Type::tensor(t.dtype, shape.iter().skip(1).cloned().collect::<Shape>()))
        };
        let each: Vec<Type> = operands
            .iter()
            .map(|&v| without_first(self.graph.ty(v)))
            .collect::<Result<_, _>>()?;
        let sliced: Vec<Type> = each[carried..].iter().map(without_first).collect::<Result<_, _>>()?;
        let inner = self.carrying(graph_attr(node, "body")?, (&[], &each[..carried], &sliced), 0, captured)?;
        let mut graph = Graph::new();
        graph.reserve_unknown(self.graph.next_unknown());
        let given = captured
            .iter()
            .filter(|c| c.constant.is_none())
            .map(|c| self.graph.ty(c.vertex).clone());
        let weights = inner.weights.iter().map(|(_, t)| Type::from(t.ty()));
        let types: Vec<Type> = each.into_iter().chain(given).chain(weights).collect();
        let given: Vec<VertexId> = types.into_iter().map(|ty| graph.input("", ty)).collect();
        let attrs = |carried: usize, scanned: usize| {
            let number = |n: usize| AttrValue::int(n as i64);
            vec![("carried", number(carried)), ("scanned", number(scanned))]
        };
        let mut all = attrs(carried, scanned);
        all.push(("body", AttrValue::Region(inner.region.into())));
        let def = lookup(known::SCAN).ok_or_else(|| OpError::new("there is no such operator"))?;
        let v = graph.call(Op::Known(def), &given, &all)?;
        match graph.ty(v).clone() {
            Type::Tuple(items) => {
                for i in 0..items.len() {
                    let part = graph.project(v, i)?;
                    graph.output(part, None);
                }
            }
            _ => graph.output(v, None),
        }
        self.graph.reserve_unknown(graph.next_unknown());
        let body = Body {
            region: graph_region(&graph),
            weights: inner.weights,
        };
        Ok(Call {
            op: known::SCAN,
            attrs: attrs(0, operands.len()),
            operands,
            bodies: vec![("body", body)],
        })
    }

    fn map(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Captured<'_>],
    ) -> Result<Call, OpError> {
        let operands: Option<Vec<VertexId>> = inputs.iter().copied().collect();
        let operands = operands.ok_or_else(|| OpError::new("an operand is missing"))?;
        let item = |&v: &VertexId| match self.graph.ty(v) {
            Type::Sequence(item) => (**item).clone(),
            other => other.clone(),
        };
        let types: Vec<Type> = operands.iter().map(item).collect();
        let body = self.body(graph_attr(node, "body")?, &types, captured)?;
        Ok(Call {
            op: known::SEQUENCE_MAP,
            attrs: vec![("mapped", AttrValue::int(operands.len() as i64))],
            operands,
            bodies: vec![("body", body)],
        })
    }

    /// An optional value with the given content, or a missing one.
    fn optional(&mut self, node: &NodeProto, inputs: &[Option<VertexId>]) -> Option<Results> {
        if let Some(v) = inputs.first().copied().flatten() {
            let v = self.graph.call(Op::Known(lookup(known::OPTIONAL)?), &[v], &[]).ok()?;
            return Some(vec![Some(v)]);
        }
        let attr = node.attribute.iter().find(|a| a.name.as_deref() == Some("type"))?;
        let elements = |ty: &TypeProto| match ty.value.as_ref()? {
            TypeValue::TensorType(t) => dtype_of(t.elem_type.unwrap_or(0)).ok(),
            _ => None,
        };
        let (dtype, sequence) = match attr.tp.as_ref()?.value.as_ref()? {
            TypeValue::SequenceType(nested) => (elements(nested.elem_type.as_ref()?)?, true),
            _ => (elements(attr.tp.as_ref()?)?, false),
        };
        let attrs = [
            ("dtype", AttrValue::DType(dtype)),
            ("sequence", AttrValue::Bool(sequence)),
        ];
        let v = self
            .graph
            .call(Op::Known(lookup(known::OPTIONAL_MISSING)?), &[], &attrs)
            .ok()?;
        Some(vec![Some(v)])
    }
}
