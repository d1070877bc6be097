//! Calls of an attempt: attributes are chosen, and names are bound to the normal form that the call has.

use super::build::{Attempt, Failure, Result};
use super::choices::{Blame, Key};
use super::forms::{Fixed, difference, is_fixed};
use super::{Mode, options};
use crate::{AttrPattern, Item, ListItem, PatternId};
use tautomer_graph::term::{self, Term};
use tautomer_graph::{Node, VertexId};
use tautomer_op::{AttrKind, AttrValue, Op, OpDef};
use tautomer_tensor::{Dim, TensorType, Type};

impl Attempt<'_> {
    pub(super) fn call(
        &mut self,
        at: PatternId,
        index: u32,
        def: &'static OpDef,
        operands: &[Item],
        attrs: &[AttrPattern],
    ) -> Result<(VertexId, Blame)> {
        let operands = self.items(operands, index)?;
        let mut given: Vec<(&str, AttrValue)> = Vec::new();
        let mut fixed: Vec<Fixed<'_>> = Vec::new();
        let mut blames: Vec<Blame> = vec![0; def.attrs.len()];
        for (i, pattern) in attrs.iter().enumerate() {
            let (value, blame) = self.attribute(at, def, i, pattern, index)?;
            if is_fixed(pattern) {
                let items = match pattern {
                    AttrPattern::List(items) => Some(items.as_slice()),
                    _ => None,
                };
                fixed.extend(value.clone().map(|value| Fixed { attr: i, value, items }));
            }
            given.extend(value.map(|v| (def.attrs[i].name, v)));
            blames[i] = blame;
        }
        let values: Vec<VertexId> = operands.iter().map(|(v, _)| *v).collect();
        let all = |list: &mut dyn Iterator<Item = Blame>| list.fold(0, |all, b| all | b);
        let free = attrs
            .iter()
            .any(|a| !matches!(a, AttrPattern::Value(_) | AttrPattern::Default));
        let vertex = match self.found.graph.call(Op::Known(def), &values, &given) {
            Ok(vertex) => vertex,
            Err(reason) => {
                let pointed: Vec<usize> = [reason.operand, reason.other].into_iter().flatten().collect();
                let own = all(&mut blames.iter().copied());
                let operands_to_blame = all(&mut operands.iter().map(|(_, b)| *b));
                let attr = reason.attr.as_ref().and_then(|name| def.attr_index(name));
                let wider = own | operands_to_blame;
                let blame = match attr {
                    _ if self.mode == Mode::AnyShape => wider,
                    Some(i) => blames[i],
                    None => all(&mut pointed.iter().filter_map(|i| operands.get(*i)).map(|(_, b)| *b)),
                };
                // Attributes without a choice might have had other values.
                self.choices.complete &= !free;
                return Err(Failure {
                    blame,
                    wider,
                    reason: Some(Box::new(reason)),
                    op: Some(def),
                    depth: self.known.len(),
                });
            }
        };
        let blame = all(&mut operands.iter().map(|(_, b)| *b).chain(blames.iter().copied()));
        let Node::Call { attrs: actual, .. } = self.found.graph.vertex(vertex).node.clone() else {
            return Ok((vertex, blame));
        };
        if self.mode == Mode::Shapes {
            let differs = difference(&mut self.found.graph, def, &values, &given, &fixed, &actual);
            self.found.rewritten.extend(differs);
        }
        for (i, pattern) in attrs.iter().enumerate() {
            let term = term::from_attr(&actual[i]);
            match pattern {
                AttrPattern::Bind(name) => self.bind(name, term, blame)?,
                AttrPattern::BindEach(name) => self.append(name, term, blame),
                AttrPattern::Rest(rest) => {
                    let value = (def.attrs[i].name.into(), actual[i].clone());
                    let list = self.found.rests.entry(rest.clone()).or_default();
                    match list.iter().find(|(name, _)| *name == value.0) {
                        Some(before) if *before != value => return Err(Failure::of(self.choices.all())),
                        Some(_) => {}
                        None => list.push(value),
                    }
                }
                AttrPattern::List(items) => {
                    let AttrValue::Ints(list) = &actual[i] else {
                        return Err(Failure::of(blame));
                    };
                    for (item, d) in items.iter().zip(list) {
                        if let ListItem::Bind(name) = item {
                            self.bind(name, Term::Int(d.clone()), blame)?;
                        }
                    }
                }
                _ => {}
            }
        }
        if free && self.mode == Mode::AnyShape {
            return Ok((self.widened(vertex), blame));
        }
        Ok((vertex, blame))
    }

    /// A value of any shape that the call may have with other attributes.
    fn widened(&mut self, vertex: VertexId) -> VertexId {
        match self.found.graph.ty(vertex).clone() {
            Type::Tensor(ty) => self
                .found
                .graph
                .input("_", Type::Tensor(TensorType::any_rank(ty.dtype))),
            // Other attributes may give another number of elements.
            _ => {
                self.choices.complete = false;
                vertex
            }
        }
    }

    fn attribute(
        &mut self,
        at: PatternId,
        def: &'static OpDef,
        i: usize,
        pattern: &AttrPattern,
        index: u32,
    ) -> Result<(Option<AttrValue>, Blame)> {
        let attr = &def.attrs[i];
        match pattern {
            AttrPattern::Value(v) => return Ok((Some(v.clone()), 0)),
            AttrPattern::Default => return Ok((None, 0)),
            AttrPattern::Rest(_) if attr.default_value().is_some() => {
                self.choices.complete &= attr.kind != AttrKind::DType;
                return Ok((None, 0));
            }
            AttrPattern::Computed(id) => {
                let all = self.choices.all();
                let value = term::eval(&self.rule.ast, *id, &self.found)
                    .ok()
                    .and_then(|t| attr.coerce(term::to_attr(&t)?));
                return value.map(|v| (Some(v), all)).ok_or_else(|| {
                    self.choices.complete = false;
                    Failure::of(all)
                });
            }
            AttrPattern::Bind(name) => {
                if let Some(term) = self.found.names.get(name) {
                    let blame = self.blame[name];
                    let value = term::to_attr(term).and_then(|v| attr.coerce(v));
                    return value.map(|v| (Some(v), blame)).ok_or_else(|| Failure::of(blame));
                }
            }
            AttrPattern::List(items) => {
                const FILLS: [fn(i64) -> i64; 4] = [|_| 1, |_| 0, |i| i, |_| 4];
                let (taken, blame) = self.take(Key::Attr(at, i), FILLS.len())?;
                let list = items.iter().enumerate().map(|(k, item)| match item {
                    ListItem::Int(v) => Dim::from(*v),
                    ListItem::Bind(name) => match self.found.names.get(name) {
                        Some(Term::Int(known)) => known.clone(),
                        _ => FILLS[taken](k as i64).into(),
                    },
                    ListItem::Any => FILLS[taken](k as i64).into(),
                });
                return Ok((Some(AttrValue::Ints(list.collect())), blame));
            }
            _ => {}
        }
        let mut options = options::attributes(attr);
        if self.mode == Mode::AnyShape && attr.kind != AttrKind::DType {
            options.truncate(1);
        }
        let place = i + def.attrs.len() * index as usize;
        let (taken, blame) = self.take(Key::Attr(at, place), options.len())?;
        Ok((options.swap_remove(taken), blame))
    }
}
