//! Operators that create tensors, or describe them.

use super::case::{Res, Stop};
use super::expr::Expr;
use super::fold::Cases;
use super::meaning::{At, Call, Meaning, open, single};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, Formula, Made};
use tautomer_tensor::Dim;

impl Meaning<'_> {
    pub(super) fn layout_shapes(&self, call: &Call) -> Res<Option<Vec<Vec<Dim>>>> {
        let x = call.operands.first().copied();
        let shape = |v: Option<VertexId>| v.map_or_else(|| Err(open("an operand is missing")), |v| self.shape(v));
        let Formula::Made(made) = call.def.law() else {
            return Ok(None);
        };
        let out = match made {
            Made::Extents => {
                shape(x)?;
                return Ok(None);
            }
            Made::Count => {
                shape(x)?;
                Vec::new()
            }
            Made::Filled { like: false, .. } => call.ints("shape").ok_or_else(|| open("a shape is computed"))?,
            Made::Steps => return self.inferred(call.vertex).map(Some),
            Made::Filled { like: true, .. } | Made::Diagonals => shape(x)?,
        };
        Ok(Some(vec![out]))
    }

    pub(super) fn layout_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let x = || {
            call.operands
                .first()
                .copied()
                .ok_or_else(|| open("an operand is missing"))
        };
        let Formula::Made(made) = call.def.law() else {
            return Ok(None);
        };
        Ok(Some(match made {
            Made::Extents => {
                let own = self.shape(x()?)?;
                let start = call.int("start").and_then(|d| d.as_const()).unwrap_or(0);
                let start = if start < 0 { start + own.len() as i64 } else { start }.clamp(0, own.len() as i64);
                let i = self.case.simplified(&self.flat(at, shape));
                for (axis, d) in own.iter().enumerate().skip(start as usize) {
                    if self.case.is_zero(&(i.clone() - Dim::Const(axis as i64 - start)))? {
                        return Ok(Some(single(Expr::of_dim(d))));
                    }
                }
                return Err(Stop::Empty);
            }
            Made::Count => single(Expr::of_dim(&self.shape(x()?)?.into_iter().product())),
            Made::Filled { number, .. } => single(match number {
                Some(number) => Expr::int(number),
                None => match call.attr("value") {
                    AttrValue::Tensor(tensor) => return self.constant(call.vertex, tensor, at).map(Some),
                    _ => self.case.number(call.float("value").unwrap_or(0.0)),
                },
            }),
            Made::Steps => {
                let place = Expr::of_dim(&self.case.simplified(&self.flat(at, shape)));
                let [start, _, step] = call.operands.as_slice() else {
                    return Ok(None);
                };
                let only = |v: &VertexId| self.element(*v, &At::Flat(Dim::Const(0)));
                let (start, step) = (only(start)?, only(step)?);
                self.combined(&[start, step], &|args| Ok(args[0].add(&place.mul(&args[1]))))?
            }
            Made::Diagonals => {
                let index = self.index(at, shape);
                let [.., i, j] = index.as_slice() else {
                    return Err(Stop::Empty);
                };
                // How far above the diagonal the element is.
                let above = j.clone() - i.clone() - call.int("k").unwrap_or(Dim::Const(0));
                let below = -above.clone();
                let zero = || Ok(single(Expr::zero()));
                let kept = || self.element(x()?, at);
                match call.def.attr_index("upper") {
                    None => {
                        let one = || Ok(single(Expr::int(1)));
                        self.choose(&above, &|| self.choose(&below, &one, &zero), &zero)?
                    }
                    Some(_) if call.flag("upper") => self.choose(&above, &kept, &zero)?,
                    Some(_) => self.choose(&below, &kept, &zero)?,
                }
            }
        }))
    }

    /// `value` if the index is within the shape, else `outside`.
    pub(super) fn inside(
        &self,
        place: &[Dim],
        extents: &[Dim],
        axis: usize,
        value: &dyn Fn() -> Res<Cases>,
        outside: &Cases,
    ) -> Res<Cases> {
        if axis == place.len() {
            return value();
        }
        let last = extents[axis].clone() - Dim::Const(1) - place[axis].clone();
        let other = || Ok(outside.clone());
        self.choose(
            &place[axis],
            &|| self.choose(&last, &|| self.inside(place, extents, axis + 1, value, outside), &other),
            &other,
        )
    }
}
