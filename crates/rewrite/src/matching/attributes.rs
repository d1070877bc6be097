//! Matching the attributes of a call against the pattern.

use std::cell::Cell;

use super::binding::SlotValue;
use super::program::AttrCheck;
use super::search::Searcher;
use super::stack::Undo;
use super::{AttrRefs, Form, Host};
use tautomer_op::{AttrDef, AttrKind, AttrValue, AxesRule, AxisOf, Fact, OpDef, ShapeRule, normalize};
use tautomer_rule::ListItem;
use tautomer_tensor::Dim;

impl<'h, H: Host> Searcher<'h, H> {
    pub(super) fn bind_slot(&mut self, slot: usize, index: Option<u32>, value: SlotValue) -> bool {
        let old = match index {
            None => self.attrs[slot],
            Some(i) => self.attr_rows.get(&(slot as u32, i)).copied(),
        };
        match (old, index) {
            (Some(old), _) => {
                let number = |v: SlotValue| match v {
                    SlotValue::Place(i) => Some(i64::from(i)),
                    SlotValue::Attr(a) => match self.host.attr_value(a) {
                        AttrValue::Int(d) => d.as_const(),
                        _ => None,
                    },
                };
                let same = || match (old, value) {
                    (SlotValue::Attr(a), SlotValue::Attr(b)) => self.host.attr_value(a).equals(self.host.attr_value(b)),
                    _ => false,
                };
                old == value || same() || number(old).is_some_and(|n| number(value) == Some(n))
            }
            (None, None) => {
                self.attrs[slot] = Some(value);
                self.trail.push(Undo::Attr(slot as u32));
                true
            }
            (None, Some(i)) => {
                self.attr_rows.insert((slot as u32, i), value);
                self.trail.push(Undo::AttrRow(slot as u32, i));
                true
            }
        }
    }

    pub(super) fn attribute(
        &mut self,
        def: &'static OpDef,
        place: usize,
        check: &AttrCheck,
        value: H::V,
        form: &Form<'h, H::V>,
        index: u32,
    ) -> bool {
        let number = self.host.attr(form, place);
        match check {
            AttrCheck::Free => true,
            AttrCheck::Slot(slot) => self.bind_slot(*slot, None, SlotValue::Attr(number)),
            AttrCheck::Named(slot) => {
                self.is_normal(def, place, number, form) && self.bind_slot(*slot, None, SlotValue::Attr(number))
            }
            AttrCheck::SlotEach(slot) => {
                self.is_normal(def, place, number, form) && self.bind_slot(*slot, Some(index), SlotValue::Attr(number))
            }
            AttrCheck::Fixed(value) => self.host.attr_value(number).equals(value),
            AttrCheck::Axis(value) => self.is_axis(&def.attrs[place], value, number, form),
            AttrCheck::Default => {
                let at = (value, form.place, place as u32);
                self.host.has_default(at, &|| self.is_default(def, place, number, form))
            }
            AttrCheck::List(slot, items) => {
                let AttrValue::Ints(list) = self.host.attr_value(number) else {
                    return false;
                };
                let fits = list.len() == items.len()
                    && items.iter().zip(list).all(|(item, d)| match item {
                        ListItem::Int(value) => d.equals(&Dim::Const(*value)) == Some(true),
                        ListItem::Bind(_) | ListItem::Any => true,
                    });
                fits && self.is_normal(def, place, number, form)
                    && (def.shapes != ShapeRule::Reshape || self.is_resolved(items, list, form))
                    && self.bind_slot(*slot, None, SlotValue::Attr(number))
            }
        }
    }

    /// False if a name stands for a -1 or a 0 that means another dimension, which is not known.
    fn is_resolved(&self, items: &[ListItem], list: &[Dim], form: &Form<'h, H::V>) -> bool {
        let first = form.operands.first().and_then(|&v| self.host.ty(v).as_tensor());
        let shape = first.and_then(|ty| ty.shape.as_ref());
        let is_open = || shape.is_none_or(|shape| shape.iter().any(Dim::has_unknown));
        items.iter().zip(list).all(|(item, d)| match (item, d.as_const()) {
            (ListItem::Bind(_), Some(0)) => !is_open(),
            (ListItem::Bind(_), Some(n)) => n > 0,
            _ => true,
        })
    }

    /// True if the attribute is as it would be if the rank of the first operand were known. Where it is not known, axes
    /// may be counted from the end, or be in another order, and what an operator fills in may be left out; the text of
    /// a rule may look at a name, and proofs assume that it stands for the normal form.
    fn is_normal(&self, def: &OpDef, place: usize, number: u32, form: &Form<'h, H::V>) -> bool {
        let first = form.operands.first().and_then(|&v| self.host.ty(v).as_tensor());
        if first.is_none_or(|ty| ty.rank().is_some()) {
            return true;
        }
        let attr = &def.attrs[place];
        let is_axis = matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_));
        let front = |d: &Dim| d.as_const().is_none_or(|n| n >= 0);
        match self.host.attr_value(number) {
            AttrValue::None => def.canonical.is_none(),
            AttrValue::Int(axis) if is_axis => front(axis),
            AttrValue::Ints(axes) if is_axis => {
                let is_order = def.axes_rule() == AxesRule::Permuted;
                axes.iter().all(front) && (is_order || axes.iter().map(Dim::as_const).is_sorted())
            }
            _ => true,
        }
    }

    /// True if the attribute equals these axes, with negative ones counted from the end.
    pub(super) fn is_axis(&self, attr: &AttrDef, value: &AttrValue, number: u32, form: &Form<'h, H::V>) -> bool {
        let rank = form.operands.first().and_then(|&v| self.host.ty(v).as_tensor()?.rank());
        let Some(rank) = rank else { return false };
        let rank = match (attr.kind, value) {
            (AttrKind::Axes(AxisOf::Output), AttrValue::Ints(list)) => rank + list.len(),
            (AttrKind::Axis(AxisOf::Output), _) => rank + 1,
            _ => rank,
        } as i64;
        let resolve = |d: &Dim| {
            let front = |v: i64| Dim::Const(if v < 0 { v + rank } else { v });
            d.as_const().map_or_else(|| d.clone(), front)
        };
        let resolved = match value {
            AttrValue::Int(d) => AttrValue::Int(resolve(d)),
            AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(resolve).collect()),
            other => other.clone(),
        };
        resolved.equals(self.host.attr_value(number))
    }

    /// True if the attribute has the default of the operator for this call.
    pub(super) fn is_default(&self, def: &'static OpDef, place: usize, number: u32, form: &Form<'h, H::V>) -> bool {
        let values: Vec<&AttrValue> = (0..def.attrs.len())
            .map(|i| self.host.attr_value(self.host.attr(form, i)))
            .collect();
        let given: Vec<(&str, AttrValue)> = def
            .attrs
            .iter()
            .zip(&values)
            .enumerate()
            .filter(|(i, (_, v))| *i != place && !v.is_none())
            .map(|(_, (a, v))| (a.name, (*v).clone()))
            .collect();
        let facts: Vec<Fact<'_>> = form
            .operands
            .iter()
            .map(|&v| Fact {
                ty: self.host.ty(v),
                value: self.host.constant(v),
                ints: None,
            })
            .collect();
        let fresh = Cell::new(u32::MAX / 2);
        normalize(def, &facts, &given, &fresh).is_ok_and(|n| n.attrs[place].equals(self.host.attr_value(number)))
    }
}

/// The attribute number at index `i`, for either representation of attributes.
pub(crate) fn attr_ref<V: Copy>(attrs: &AttrRefs<'_, V>, i: usize, number: impl Fn(V) -> u32) -> u32 {
    match attrs {
        AttrRefs::Numbers(all) => all[i],
        AttrRefs::Values(all) => number(all[i]),
    }
}
