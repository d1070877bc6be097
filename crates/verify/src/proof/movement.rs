//! Operators that move elements: finds the element at a symbolic position from the operator's map.

use std::cell::RefCell;
use std::rc::Rc;

use super::case::{Res, Stop, has_bound};
use super::expr::Expr;
use super::facts::Made;
use super::fold::Cases;
use super::meaning::{At, Call, Meaning, open, single};
use tautomer_op::movement::{Decide, Guard, Halt, Index, Map, Piece, Place, Places, Source};
use tautomer_tensor::Dim;

/// Decides questions about sizes by the facts of the case.
struct ByCase<'m, 'a> {
    meaning: &'m Meaning<'a>,
    /// Why the last question was not answered.
    stop: RefCell<Option<Stop>>,
}

impl ByCase<'_, '_> {
    fn answer<T>(&self, answer: Res<T>) -> Result<T, Halt> {
        answer.map_err(|stop| {
            self.stop.replace(Some(stop));
            Halt::Undecided
        })
    }
}

impl Decide for ByCase<'_, '_> {
    fn is_natural(&self, value: &Dim) -> Result<bool, Halt> {
        self.answer(self.meaning.case.is_at_least_zero(value))
    }

    fn is_zero(&self, value: &Dim) -> Result<bool, Halt> {
        self.answer(self.meaning.case.is_zero(value))
    }

    fn known_zero(&self, value: &Dim) -> Option<bool> {
        self.meaning.case.known_zero(value)
    }

    fn known_natural(&self, value: &Dim) -> Option<bool> {
        self.meaning.case.known_sign(value)
    }

    fn require_natural(&self, value: &Dim) -> Result<(), Halt> {
        self.answer(self.meaning.require_at_least(value, 0))
    }

    fn require_zero(&self, value: &Dim) -> Result<(), Halt> {
        self.answer(self.meaning.require_zero(value))
    }

    fn require_multiple(&self, value: &Dim, divisor: &Dim) -> Result<Dim, Halt> {
        self.answer(self.meaning.require_multiple(value, divisor))
    }

    fn quotient(&self, value: &Dim, divisor: &Dim) -> Dim {
        self.meaning.case.divide(value, divisor).0
    }

    fn simplified(&self, value: &Dim) -> Dim {
        self.meaning.case.simplified(value)
    }
}

/// A position in a result whose element is asked for.
struct Asked<'a> {
    call: &'a Call,
    output: usize,
    shape: &'a [Dim],
    at: &'a At,
}

impl Meaning<'_> {
    /// The map of each result, if the operator moves elements and everything that its maps depend on is known.
    pub(super) fn maps(&self, call: &Call) -> Res<Option<Rc<[Map]>>> {
        let Some(movement) = call.def.moves() else {
            return Ok(None);
        };
        if let Some(known) = self.maps.borrow().get(&call.vertex) {
            return Ok(known.clone());
        }
        let shape = |&v| {
            if self.is_given(v) {
                self.shape(v).map(Some)
            } else {
                Ok(None)
            }
        };
        let operands = call.operands.iter().map(shape).collect::<Res<Vec<_>>>()?;
        let decide = ByCase {
            meaning: self,
            stop: RefCell::default(),
        };
        let made = movement(&Places {
            def: call.def,
            attrs: &call.attrs,
            operands: &operands,
            results: None,
            decide: &decide,
        });
        let maps: Option<Rc<[Map]>> = match made {
            Ok(maps) => Some(maps.into()),
            Err(Halt::Invalid(_)) => return Err(Stop::Empty),
            Err(Halt::Undecided) => return Err(decide.stop.take().unwrap_or(Stop::Empty)),
            // The call may still be a function that both sides have.
            Err(Halt::Unknown(_)) if self.inferred(call.vertex).is_ok() => None,
            Err(Halt::Unknown(what)) => return Err(open(what)),
        };
        self.maps.borrow_mut().insert(call.vertex, maps.clone());
        Ok(maps)
    }

    /// An element of a result of an operator that moves elements.
    pub(super) fn moved_element(&self, call: &Call, output: usize, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let Some(maps) = self.maps(call)? else { return Ok(None) };
        let map = maps.get(output).ok_or(Stop::Empty)?;
        let asked = Asked {
            call,
            output,
            shape,
            at,
        };
        self.pieces(&asked, &map.pieces).map(Some)
    }

    /// The element of the first piece whose guards hold.
    fn pieces(&self, asked: &Asked<'_>, pieces: &[Piece]) -> Res<Cases> {
        let (piece, others) = pieces.split_first().ok_or(Stop::Empty)?;
        self.guarded(asked, &piece.guards, &piece.source, others)
    }

    /// The element of `source` if the guards hold, else that of the other pieces.
    fn guarded(&self, asked: &Asked<'_>, guards: &[Guard], source: &Source, others: &[Piece]) -> Res<Cases> {
        let Some((guard, guards)) = guards.split_first() else {
            return self.source(asked, source);
        };
        let (Guard::Natural(index) | Guard::Below(index, _)) = guard;
        let position = self.index(asked.at, asked.shape);
        let (_, values) = match self.values(asked, &position, std::slice::from_ref(index))? {
            Some((guards, values)) if guards.is_empty() => (guards, values),
            _ => return self.whole(asked.call, asked.output, asked.shape, asked.at),
        };
        let value = values.into_iter().next().ok_or(Stop::Empty)?;
        let holds = || self.guarded(asked, guards, source, others);
        let fails = || self.pieces(asked, others);
        match guard {
            Guard::Natural(_) => self.choose(&value, &holds, &fails),
            Guard::Below(_, bound) => self.choose(&(value - bound.clone()), &fails, &holds),
        }
    }

    fn source(&self, asked: &Asked<'_>, source: &Source) -> Res<Cases> {
        let given = |i: usize| asked.call.operands.get(i).copied().filter(|v| self.is_given(*v));
        let (operand, place) = match source {
            Source::Element(operand, place) => (given(*operand).ok_or_else(|| open("an operand is missing"))?, place),
            Source::Fill(fill) if fill.operand.and_then(given).is_some() => {
                return Err(open("the padding is computed"));
            }
            Source::Fill(fill) => return Ok(single(self.case.number(fill.number))),
        };
        let indices = match (place, asked.at) {
            (Place::Kept(_), At::Flat(_)) => return self.element(operand, asked.at),
            (Place::Flat(Index::Row), at) => return self.element(operand, &At::Flat(self.flat(at, asked.shape))),
            (Place::Flat(index), _) => std::slice::from_ref(index),
            (Place::Kept(indices) | Place::At(indices), _) => indices,
        };
        let position = self.index(asked.at, asked.shape);
        let Some((guards, mut values)) = self.values(asked, &position, indices)? else {
            return self.whole(asked.call, asked.output, asked.shape, asked.at);
        };
        let at = match place {
            Place::Flat(_) => At::Flat(values.pop().ok_or(Stop::Empty)?),
            _ => At::Index(values),
        };
        let value = self.element(operand, &at)?;
        if guards.is_empty() {
            return Ok(value);
        }
        let joined = |(more, v): (Vec<Dim>, Expr)| ([guards.as_slice(), &more].concat(), v);
        Ok(value.into_iter().map(joined).collect())
    }

    /// The values of indices at a position, and the conditions under which they are; `None` if they are not expressions
    /// over dimensions.
    fn values(&self, asked: &Asked<'_>, position: &[Dim], indices: &[Index]) -> Res<Option<(Vec<Dim>, Vec<Dim>)>> {
        let mut guards = Vec::new();
        let mut values = Vec::with_capacity(indices.len());
        for index in indices {
            match self.value(asked, position, index, &mut guards)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some((guards, values)))
    }

    fn value(&self, asked: &Asked<'_>, position: &[Dim], index: &Index, guards: &mut Vec<Dim>) -> Res<Option<Dim>> {
        let mut of = |index: &Index| self.value(asked, position, index, guards);
        Ok(match index {
            Index::Axis(axis) => Some(position.get(*axis).cloned().ok_or(Stop::Empty)?),
            Index::Row => Some(self.flat(asked.at, asked.shape)),
            Index::Const(d) => Some(d.clone()),
            Index::Sum(parts) => {
                let mut sum = Some(Dim::Const(0));
                for part in parts {
                    sum = sum.zip(of(part)?).map(|(a, b)| a + b);
                }
                sum
            }
            Index::Times(x, d) => of(x)?.map(|x| x * d.clone()),
            Index::Div(x, d) => of(x)?.map(|x| self.case.divide(&x, d).0),
            Index::Mod(x, d) => of(x)?.map(|x| self.case.divide(&x, d).1),
            Index::Min(..) | Index::Max(..) => None,
            Index::Datum { operand, at, extent } => {
                let Some((more, at)) = self.values(asked, position, at)? else {
                    return Ok(None);
                };
                guards.extend(more);
                let operand = *asked.call.operands.get(*operand).ok_or(Stop::Empty)?;
                let chosen = self.element(operand, &At::Index(at))?;
                let [(more, number)] = chosen.as_slice() else {
                    return Ok(None);
                };
                guards.extend(more.iter().cloned());
                self.counted(number, extent)?
            }
        })
    }

    /// An index that is data, counted from the front of an axis.
    fn counted(&self, number: &Expr, extent: &Dim) -> Res<Option<Dim>> {
        let Some(i) = number.as_dim() else {
            // An index that is not an integer expression gets a symbol.
            let made = || self.case.symbol(Made::Datum(number.clone(), extent.clone()));
            return Ok((!is_bound(number)).then(made));
        };
        if has_bound(&i) && self.case.known_sign(&i).is_none() {
            return Ok(None);
        }
        let at = if self.case.is_at_least_zero(&i)? {
            i
        } else {
            i + extent.clone()
        };
        if self.given {
            self.require_at_least(&at, 0)?;
            self.require_at_least(&(extent.clone() - at.clone()), 1)?;
        }
        Ok(Some(at))
    }
}

fn is_bound(number: &Expr) -> bool {
    let mut found = false;
    number.visit(&mut |dim| found |= has_bound(dim));
    found
}
