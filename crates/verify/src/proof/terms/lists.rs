//! Lists in the attributes of a rule, in a normal form: parts of shapes, ranges, and repeated numbers, one after the
//! other.

use std::rc::Rc;

use super::numbers::Sum;
use super::parts::{function, list, value};
use super::{Function, Maker, Term};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

/// Limit on the length of a list that is written out.
const WRITTEN: i64 = 16;

fn int(n: i64) -> Rc<Term> {
    value(AttrValue::int(n))
}

/// The entries of a list that is written out.
pub(super) fn entries(term: &Term) -> Option<Vec<Rc<Term>>> {
    match term {
        Term::Value(AttrValue::Ints(list)) => Some(list.iter().map(|d| value(AttrValue::Int(d.clone()))).collect()),
        Term::Function(Function::List, items) => Some(items.clone()),
        _ => None,
    }
}

/// The parts of a list, one after the other.
pub(super) fn segments(term: &Rc<Term>) -> Vec<Rc<Term>> {
    match &**term {
        Term::Function(Function::Concat, parts) => parts.clone(),
        _ => vec![term.clone()],
    }
}

impl Maker {
    /// True for lists of integers.
    pub(super) fn has_integers(&self, term: &Term) -> bool {
        match term {
            Term::Value(AttrValue::Ints(_)) => true,
            Term::Bound(key) => self.known.lists.contains(key),
            Term::Function(Function::Field(name), _) => name == "shape",
            Term::Function(Function::Range, _) => true,
            Term::Function(Function::Slice | Function::For, parts) => self.has_integers(&parts[0]),
            Term::Function(Function::Concat, parts) => parts.iter().all(|part| self.has_integers(part)),
            Term::Function(Function::List, parts) => parts.iter().all(|part| self.is_integer(part)),
            Term::Function(Function::Repeat, parts) => self.is_integer(&parts[0]),
            _ => false,
        }
    }

    /// The number of entries of a list.
    pub(super) fn length(&self, term: &Rc<Term>) -> Option<Rc<Term>> {
        if let Some(entries) = entries(term) {
            return Some(int(i64::try_from(entries.len()).ok()?));
        }
        match &**term {
            Term::Function(Function::Field(name), parts) if name == "shape" => Some(self.rank(&parts[0])),
            Term::Function(Function::Range, parts) => {
                let n = self.sum(&parts[1])?.plus(&self.sum(&parts[0])?, -1)?;
                self.is_at_least(&n, 0).then(|| n.term())
            }
            Term::Function(Function::Repeat, parts) => {
                let n = self.sum(&parts[1])?;
                self.is_at_least(&n, 0).then(|| n.term())
            }
            // Both ends lie within the list.
            Term::Function(Function::Slice, parts) => {
                let whole = self.sum(&self.length(&parts[0])?)?;
                let (from, to) = (self.sum(&parts[1])?, self.sum(&parts[2])?);
                let n = to.plus(&from, -1)?;
                let inside = self.is_at_least(&from, 0) && self.is_at_least(&whole.plus(&to, -1)?, 0);
                (inside && self.is_at_least(&n, 0)).then(|| n.term())
            }
            Term::Function(Function::Concat, parts) => {
                let mut out = Sum::constant(0);
                for part in parts {
                    out = out.plus(&self.sum(&self.length(part)?)?, 1)?;
                }
                Some(out.term())
            }
            _ => None,
        }
    }

    /// `len(list)`
    pub(super) fn len(&self, term: Rc<Term>) -> Rc<Term> {
        self.length(&term)
            .unwrap_or_else(|| function(Function::Named("len"), vec![term]))
    }

    /// The integers from one up to another.
    pub(super) fn range(&self, from: Rc<Term>, to: Rc<Term>) -> Rc<Term> {
        let from = if *from == Term::Absent { int(0) } else { from };
        let n = self
            .sum(&to)
            .zip(self.sum(&from))
            .and_then(|(to, from)| to.plus(&from, -1));
        match n.as_ref().and_then(Sum::as_constant) {
            Some(n) if n <= WRITTEN => {
                let items: Option<Vec<Rc<Term>>> = (0..n).map(|i| self.plus(&from, &int(i), 1)).collect();
                items.map_or_else(|| function(Function::Range, vec![from.clone(), to.clone()]), list)
            }
            // Nothing is in a range that ends before it begins.
            _ if n
                .as_ref()
                .and_then(|n| Sum::constant(0).plus(n, -1))
                .is_some_and(|n| self.is_at_least(&n, 0)) =>
            {
                list(Vec::new())
            }
            _ => function(Function::Range, vec![from, to]),
        }
    }

    /// A list of `n` times the same entry.
    pub(super) fn repeat(&self, entry: Rc<Term>, n: Rc<Term>) -> Rc<Term> {
        match &*n {
            Term::Value(AttrValue::Int(Dim::Const(n))) if *n <= WRITTEN => {
                list((0..*n).map(|_| entry.clone()).collect())
            }
            _ => function(Function::Repeat, vec![entry, n]),
        }
    }

    /// `a ++ b`
    pub(super) fn concat(&self, a: &Rc<Term>, b: &Rc<Term>) -> Rc<Term> {
        let mut out: Vec<Rc<Term>> = Vec::new();
        for part in segments(a).into_iter().chain(segments(b)) {
            let own = entries(&part);
            if own.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            match (out.last().and_then(|last| entries(last)), own) {
                (Some(mut before), Some(own)) => {
                    before.extend(own);
                    out.pop();
                    out.push(list(before));
                }
                _ => out.push(part),
            }
        }
        match out.as_slice() {
            [] => list(Vec::new()),
            [one] => one.clone(),
            _ => function(Function::Concat, out),
        }
    }

    /// A position in a list of that length, counted from the front.
    fn at_front(&self, position: &Rc<Term>, length: Option<&Rc<Term>>) -> Option<Rc<Term>> {
        let sum = self.sum(position)?;
        if self.is_at_least(&sum, 0) {
            return Some(position.clone());
        }
        match (&**position, length) {
            (Term::Value(AttrValue::Int(Dim::Const(n))), Some(length)) if *n < 0 => {
                // Before the first entry, a written number is cut off, but a sum below 0 counts from the end: of a list
                // with two entries, `l[-3..]` is the whole list, and `l[len(l) - 3..]` its last entry.
                let sum = self.sum(length)?.plus(&sum, 1)?;
                (*n >= -2 || self.is_at_least(&sum, 0)).then(|| sum.term())
            }
            _ => None,
        }
    }

    /// `list[i]`
    pub(super) fn element(&self, base: Rc<Term>, index: Rc<Term>) -> Option<Rc<Term>> {
        let index = self.at_front(&index, self.length(&base).as_ref()).unwrap_or(index);
        if let Term::Value(AttrValue::Int(Dim::Const(i))) = &*index
            && let Ok(i) = usize::try_from(*i)
        {
            // An entry of a list that begins with enough written ones.
            if let Some(first) = segments(&base).first().and_then(|first| entries(first)) {
                match first.get(i) {
                    Some(entry) => return Some(entry.clone()),
                    None if segments(&base).len() == 1 => return None,
                    None => {}
                }
            }
        }
        Some(function(Function::Element, vec![base, index]))
    }

    /// `list[i..j]`
    pub(super) fn slice(&self, base: Rc<Term>, start: Rc<Term>, end: Rc<Term>) -> Rc<Term> {
        let length = self.length(&base);
        let from = if *start == Term::Absent { int(0) } else { start.clone() };
        let ends = (|| {
            let length = length.as_ref()?;
            let to = if *end == Term::Absent {
                length.clone()
            } else {
                end.clone()
            };
            Some((self.at_front(&from, Some(length))?, self.at_front(&to, Some(length))?))
        })();
        let Some((from, to)) = ends else {
            return function(Function::Slice, vec![base, start, end]);
        };
        let at = |term: &Rc<Term>| match &**term {
            Term::Value(AttrValue::Int(Dim::Const(n))) => usize::try_from(*n).ok(),
            _ => None,
        };
        if let (Some(all), Some(from), Some(to)) = (entries(&base), at(&from), at(&to)) {
            return list(all.get(from..to.min(all.len())).unwrap_or(&[]).to_vec());
        }
        if at(&from) == Some(0) && Some(&to) == length.as_ref() {
            return base;
        }
        function(Function::Slice, vec![base, from, to])
    }

    /// `body for local in iter if cond`, where `local` is the term of the variable.
    pub(super) fn comprehension(
        &mut self,
        body: Rc<Term>,
        local: usize,
        iter: Rc<Term>,
        cond: Rc<Term>,
    ) -> Option<Rc<Term>> {
        let variable = Rc::new(Term::Local(local));
        if let (Some(items), Term::Absent) = (entries(&iter), &*cond)
            && self.has_integers(&iter)
        {
            let items: Option<Vec<Rc<Term>>> = items.iter().map(|item| self.replaced(&body, &variable, item)).collect();
            return Some(list(items?));
        }
        if let Term::Function(Function::Range, ends) = &*iter {
            match &*cond {
                Term::Absent if body == variable => return Some(iter),
                Term::Absent if !body.mentions(&variable) => {
                    let n = self.plus(&ends[1], &ends[0], -1)?;
                    return Some(self.repeat(body, n));
                }
                // All but the first.
                Term::Function(Function::NotEqual, parts)
                    if body == variable && parts.contains(&variable) && parts.contains(&ends[0]) =>
                {
                    let next = self.plus(&ends[0], &int(1), 1)?;
                    return Some(self.range(next, ends[1].clone()));
                }
                _ => {}
            }
        }
        Some(function(Function::For, vec![body, iter, cond]))
    }
}
