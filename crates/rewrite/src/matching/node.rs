//! Matching one vertex of a pattern against one value: its kind, its form and its bindings.

use super::binding::SlotValue;
use super::program::AttrCheck;
use super::search::Searcher;
use super::stack::{Alternative, Goal, PLACE, Undo};
use super::trace::Reason;
use super::{Form, FormHead, Host};
use tautomer_rule::{PatternId, PatternNode, ProjIndex};
use tautomer_tensor::Tensor;

impl<'h, H: Host> Searcher<'h, H> {
    pub(super) fn fail(&mut self, at: PatternId, value: H::V, reason: impl FnOnce() -> Reason<H::V>) -> bool {
        let progress = self.trail.len();
        if let Some(trace) = &mut self.trace {
            trace.note(progress, &self.forms, at, value, reason);
        }
        false
    }

    /// Binds a vertex; `None` if it is already bound to something else.
    pub(super) fn bind(&mut self, at: PatternId, index: u32, value: H::V) -> Option<bool> {
        if self.program.rule.source.within(at).is_some() {
            return match self.rows.get(&(at.0, index)) {
                Some(old) => (*old == value).then_some(false),
                None => {
                    self.rows.insert((at.0, index), value);
                    self.trail.push(Undo::Row(at.0, index));
                    Some(true)
                }
            };
        }
        match self.one[at.0 as usize] {
            Some(old) => (old == value).then_some(false),
            None => {
                self.one[at.0 as usize] = Some(value);
                self.trail.push(Undo::One(at.0));
                Some(true)
            }
        }
    }

    pub(super) fn node(&mut self, at: PatternId, index: u32, value: H::V) -> bool {
        match self.bind(at, index, value) {
            None => return self.fail(at, value, || Reason::OtherValue),
            Some(false) => return true,
            Some(true) => {}
        }
        let rule = &self.program.rule;
        match rule.source.node(at) {
            PatternNode::Wildcard => true,
            PatternNode::Variable(i) => {
                self.host.admits(&rule.variables[*i], value) || self.fail(at, value, || Reason::Class)
            }
            PatternNode::Literal(number) => {
                self.host.constant(value).is_some_and(|t| equals_literal(t, *number))
                    || self.fail(at, value, || Reason::Literal)
            }
            PatternNode::Absent => {
                matches!(self.host.ty(value), tautomer_tensor::Type::Absent) || self.fail(at, value, || Reason::Given)
            }
            PatternNode::AnyOf(_) => self.any_of(at, index, value, 0),
            _ => self.forms(at, index, value, 0),
        }
    }

    pub(super) fn any_of(&mut self, at: PatternId, index: u32, value: H::V, next: usize) -> bool {
        let PatternNode::AnyOf(items) = self.program.rule.source.node(at) else {
            return false;
        };
        let Some(&item) = items.get(next) else { return false };
        if next + 1 < items.len() {
            self.choose(Alternative::Pattern {
                at,
                index,
                value,
                next: next + 1,
            });
        }
        self.push(Goal::Node { at: item, index, value });
        true
    }

    pub(super) fn forms(&mut self, at: PatternId, index: u32, value: H::V, mut from: usize) -> bool {
        let Some(want) = self.want(at) else { return false };
        let mut some = from > 0;
        while let Some((next, form)) = self.host.next_form(value, want, from) {
            some = true;
            from = next;
            // An operator occurs once in most classes, so an alternative is pushed only if there is another form.
            let more = self.host.next_form(value, want, next).is_some();
            if more {
                self.choose(Alternative::Form { at, index, value, next });
            }
            if self.form(at, index, value, form) {
                return true;
            }
            if !more {
                return false;
            }
            let Some(choice) = self.choices.pop() else { return false };
            self.undo(choice.trail);
            self.agenda.truncate(choice.agenda);
            self.goals = choice.goals;
        }
        if !some {
            return self.fail(at, value, || Reason::Operator);
        }
        false
    }

    pub(super) fn form(&mut self, at: PatternId, index: u32, value: H::V, form: Form<'h, H::V>) -> bool {
        let program = self.program;
        let rule = &program.rule;
        self.forms.push((value, form.place));
        self.trail.push(Undo::Form);
        match (rule.source.node(at), form.head) {
            (PatternNode::Call { operands, .. }, FormHead::Call(def)) => {
                for (place, check) in program.checks[at.0 as usize].iter().enumerate() {
                    if !self.attribute(def, place, check, value, &form, index) {
                        let attr = self.host.attr(&form, place);
                        return self.fail(at, value, || Reason::Attribute(def.attrs[place].name, attr));
                    }
                }
                self.operands(at, index, value, operands, form.operands)
            }
            (
                PatternNode::CallOf {
                    variable,
                    operands,
                    rest,
                },
                FormHead::Call(def),
            ) => {
                match self.ops[*variable] {
                    Some(bound) if !std::ptr::eq(bound, def) => {
                        return self.fail(at, value, || Reason::Operator);
                    }
                    Some(_) => {}
                    None => {
                        self.ops[*variable] = Some(def);
                        self.trail.push(Undo::Op(*variable as u32));
                    }
                }
                for place in 0..def.attrs.len() {
                    let fits = match (rest, program.rest_slot[at.0 as usize]) {
                        (Some(_), Some(first)) => {
                            self.attribute(def, place, &AttrCheck::Named(first + place), value, &form, index)
                        }
                        _ => self.attribute(def, place, &AttrCheck::Default, value, &form, index),
                    };
                    if !fits {
                        let attr = self.host.attr(&form, place);
                        return self.fail(at, value, || Reason::Attribute(def.attrs[place].name, attr));
                    }
                }
                self.operands(at, index, value, operands, form.operands)
            }
            (PatternNode::Tuple(items), FormHead::Tuple) => self.operands(at, index, value, items, form.operands),
            (PatternNode::Proj(tuple, wanted), FormHead::Proj(place)) => {
                let fits = match wanted {
                    ProjIndex::At(i) => *i == place,
                    ProjIndex::Running if self.by_place => self.bind_slot(PLACE, Some(index), SlotValue::Place(place)),
                    ProjIndex::Running => index == place,
                    ProjIndex::Bind(_) => match &program.checks[at.0 as usize][0] {
                        AttrCheck::SlotEach(slot) => self.bind_slot(*slot, Some(index), SlotValue::Place(place)),
                        AttrCheck::Slot(slot) => self.bind_slot(*slot, None, SlotValue::Place(place)),
                        _ => false,
                    },
                };
                if !fits {
                    return self.fail(at, value, || Reason::Element(place));
                }
                self.push(Goal::Node {
                    at: *tuple,
                    index,
                    value: form.operands[0],
                });
                true
            }
            _ => self.fail(at, value, || Reason::Operator),
        }
    }
}

/// True if all elements of a constant equal this number, rounded to its element type.
pub(super) fn equals_literal(value: &Tensor, number: f64) -> bool {
    if let Tensor::F32(elements) = value {
        return elements.first() == Some(&(number as f32)) && value.is_uniform();
    }
    let rounded = if value.dtype().is_float() {
        Tensor::from_f64s(value.dtype(), &[], &[number]).and_then(|t| t.to_f64s())
    } else {
        Some(vec![number])
    };
    // The first element decides for most constants, without a look at all the others.
    let first = value.first().and_then(|t| t.to_f64s());
    matches!((rounded.as_deref(), first.as_deref()), (Some([a]), Some([b])) if a == b) && value.is_uniform()
}
