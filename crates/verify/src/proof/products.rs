//! Matrix products and convolutions.

use std::sync::Arc;

use super::case::{Res, Stop};
use super::expr::{Expr, Kind};
use super::fold::{Cases, fold, limits};
use super::laws;
use super::meaning::{At, Call, Meaning, open, single};
use super::windows::Windows;
use tautomer_graph::VertexId;
use tautomer_op::{Formula, Products};
use tautomer_tensor::Dim;

impl Meaning<'_> {
    /// The elements that `f` returns for all indices within `extents`, combined.
    pub(super) fn over(&self, kind: Kind, extents: &[Dim], f: &dyn Fn(&[Dim]) -> Res<Cases>) -> Res<Expr> {
        let cases = self.over_from(kind, extents, &mut Vec::new(), f)?;
        match cases.as_slice() {
            [(guards, value)] if guards.is_empty() => Ok(value.clone()),
            // Without ranges, but with conditions on outer symbols.
            several => {
                let symbol = self.case.fresh();
                fold(self.case, kind, &symbol, &Dim::Const(1), &several.to_vec())
            }
        }
    }

    fn over_from(
        &self,
        kind: Kind,
        extents: &[Dim],
        index: &mut Vec<Dim>,
        f: &dyn Fn(&[Dim]) -> Res<Cases>,
    ) -> Res<Cases> {
        let Some((extent, rest)) = extents.split_first() else {
            let cases = f(index)?;
            // Without ranges, the conditions are on outer symbols.
            return Ok(cases);
        };
        if *extent == Dim::Const(1) {
            index.push(Dim::Const(0));
            let cases = self.over_from(kind, rest, index, f);
            index.pop();
            return cases;
        }
        let symbol: Arc<str> = self.case.fresh();
        index.push(Dim::symbol(&symbol));
        let range = [(symbol.clone(), extent.clone())];
        let cases = self
            .case
            .within(&limits(&range), || self.over_from(kind, rest, index, f));
        index.pop();
        Ok(single(fold(self.case, kind, &symbol, extent, &cases?)?))
    }

    pub(super) fn product_of(&self, factors: &[Cases]) -> Res<Cases> {
        self.combined(factors, &|args| {
            Ok(args.iter().fold(Expr::int(1), |out, x| laws::multiply(&out, x)))
        })
    }

    pub(super) fn product_shape(&self, call: &Call) -> Res<Option<Vec<Dim>>> {
        let Formula::Product(product) = call.def.law() else {
            return Ok(None);
        };
        let shape = |i: usize| call.operands.get(i).map_or(Err(Stop::Empty), |v| self.shape(*v));
        let out = match product {
            Products::Matrices => {
                let (a, b) = (shape(0)?, shape(1)?);
                if a.is_empty() || b.is_empty() {
                    return Err(Stop::Empty);
                }
                let inner = b.len().saturating_sub(2);
                self.require_zero(&(a[a.len() - 1].clone() - b[inner].clone()))?;
                let batch = [a[..a.len().saturating_sub(2)].to_vec(), b[..inner].to_vec()];
                let mut out = self.broadcast_shapes(&batch)?;
                out.extend((a.len() > 1).then(|| a[a.len() - 2].clone()));
                out.extend((b.len() > 1).then(|| b[b.len() - 1].clone()));
                out
            }
            Products::Gemm => {
                let (a, b) = (shape(0)?, shape(1)?);
                if a.len() != 2 || b.len() != 2 {
                    return Err(Stop::Empty);
                }
                let (i, j) = (usize::from(call.flag("transA")), usize::from(!call.flag("transB")));
                self.require_zero(&(a[1 - i].clone() - b[1 - j].clone()))?;
                let out = vec![a[i].clone(), b[j].clone()];
                if let Some(c) = self.third(call) {
                    let c = self.shape(c)?;
                    if c.len() > 2 {
                        return Err(Stop::Empty);
                    }
                    for (d, whole) in c.iter().rev().zip(out.iter().rev()) {
                        if *d != Dim::Const(1) && !self.case.is_zero(&(d.clone() - Dim::Const(1)))? {
                            self.require_zero(&(d.clone() - whole.clone()))?;
                        }
                    }
                }
                out
            }
            Products::Convolution => {
                let (x, w) = (shape(0)?, shape(1)?);
                if x.len() != w.len() || x.len() < 3 {
                    return Err(Stop::Empty);
                }
                let group = self.group(call)?;
                self.require_zero(&(x[1].clone() - w[1].clone() * group.clone()))?;
                self.require_multiple(&w[0], &group)?;
                self.require_bias(call, &w[0])?;
                let windows = Windows::of(self, call, &w[2..])?;
                let mut out = vec![x[0].clone(), w[0].clone()];
                for (i, d) in x[2..].iter().enumerate() {
                    out.push(windows.count(self, i, d)?);
                }
                out
            }
            Products::TransposedConvolution => {
                let (x, w) = (shape(0)?, shape(1)?);
                if x.len() != w.len() || x.len() < 3 {
                    return Err(Stop::Empty);
                }
                let group = self.group(call)?;
                self.require_zero(&(x[1].clone() - w[0].clone()))?;
                self.require_multiple(&w[0], &group)?;
                let channels = w[1].clone() * group;
                self.require_bias(call, &channels)?;
                let mut out = vec![x[0].clone(), channels];
                out.extend(self.transposed(call, &x, &w)?);
                out
            }
            Products::Equation => self.einsum_shape(call)?,
        };
        Ok(Some(out))
    }

    fn third(&self, call: &Call) -> Option<VertexId> {
        call.operands.get(2).copied().filter(|v| self.is_given(*v))
    }

    fn group(&self, call: &Call) -> Res<Dim> {
        let group = call.int("group").unwrap_or(Dim::Const(1));
        self.require_at_least(&group, 1)?;
        Ok(group)
    }

    fn require_bias(&self, call: &Call, channels: &Dim) -> Res<()> {
        let Some(b) = self.third(call) else { return Ok(()) };
        match self.shape(b)?.as_slice() {
            [n] => self.require_zero(&(n.clone() - channels.clone())),
            _ => Err(Stop::Empty),
        }
    }

    /// The spatial dimensions of a transposed convolution.
    fn transposed(&self, call: &Call, x: &[Dim], w: &[Dim]) -> Res<Vec<Dim>> {
        if call.text("auto_pad") != "NOTSET" || call.ints("output_shape").is_some() {
            return Err(open("the pads depend on a dimension"));
        }
        let windows = Windows::of(self, call, &w[2..])?;
        let extra = call.ints("output_padding");
        let mut out = Vec::new();
        for (i, d) in x[2..].iter().enumerate() {
            let (before, after) = windows.pads(i);
            let more = extra.as_ref().and_then(|e| e.get(i)).cloned().unwrap_or(Dim::Const(0));
            self.require_at_least(&more, 0)?;
            let reach = windows.strides[i].clone() * (d.clone() - Dim::Const(1)) + windows.span(i) + more;
            let size = reach - before - after;
            self.require_at_least(&size, 0)?;
            out.push(if self.given {
                self.case.assume_named(&size)?
            } else {
                size
            });
        }
        Ok(out)
    }

    pub(super) fn product_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let Formula::Product(product) = call.def.law() else {
            return Ok(None);
        };
        Ok(Some(match product {
            Products::Matrices => single(self.matmul(call, shape, &self.index(at, shape))?),
            Products::Gemm => self.gemm(call, shape, at)?,
            Products::Convolution => self.conv(call, &self.index(at, shape))?,
            Products::TransposedConvolution => self.conv_transpose(call, shape, &self.index(at, shape))?,
            Products::Equation => single(self.einsum_element(call, &self.index(at, shape))?),
        }))
    }

    fn matmul(&self, call: &Call, shape: &[Dim], index: &[Dim]) -> Res<Expr> {
        let (a, b) = (call.operands[0], call.operands[1]);
        let (xs, ys) = (self.shape(a)?, self.shape(b)?);
        let batch = shape.len() - usize::from(xs.len() > 1) - usize::from(ys.len() > 1);
        // The index along an operand's leading axes.
        let leading = |own: &[Dim]| {
            let own = &own[..own.len().saturating_sub(2)];
            let skipped = batch - own.len();
            own.iter()
                .zip(&index[skipped..batch])
                .map(|(d, i)| {
                    let one = self.case.is_zero(&(d.clone() - Dim::Const(1)))?;
                    Ok(if one { Dim::Const(0) } else { i.clone() })
                })
                .collect::<Res<Vec<Dim>>>()
        };
        let (mut left, right) = (leading(&xs)?, leading(&ys)?);
        if xs.len() > 1 {
            left.push(index[batch].clone());
        }
        let column = (ys.len() > 1).then(|| index[index.len() - 1].clone());
        let inner = &xs[xs.len() - 1];
        self.over(Kind::Sum, std::slice::from_ref(inner), &|k| {
            let (mut left, mut right) = (left.clone(), right.clone());
            left.push(k[0].clone());
            right.push(k[0].clone());
            right.extend(column.clone());
            self.product_of(&[self.element(a, &At::Index(left))?, self.element(b, &At::Index(right))?])
        })
    }

    fn gemm(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Cases> {
        let index = self.index(at, shape);
        let (a, b) = (call.operands[0], call.operands[1]);
        let (ta, tb) = (call.flag("transA"), call.flag("transB"));
        let inner = self.shape(a)?[usize::from(!ta)].clone();
        let sum = self.over(Kind::Sum, &[inner], &|k| {
            let mut left = vec![index[0].clone(), k[0].clone()];
            let mut right = vec![k[0].clone(), index[1].clone()];
            if ta {
                left.reverse();
            }
            if tb {
                right.reverse();
            }
            self.product_of(&[self.element(a, &At::Index(left))?, self.element(b, &At::Index(right))?])
        })?;
        let scaled = sum.mul(&self.case.number(call.float("alpha").unwrap_or(1.0)));
        let Some(c) = self.third(call) else {
            return Ok(single(scaled));
        };
        let added = self.element(c, &self.broadcast_at(c, shape, at)?)?;
        let beta = self.case.number(call.float("beta").unwrap_or(1.0));
        self.combined(&[added], &|args| Ok(scaled.add(&args[0].mul(&beta))))
    }

    fn with_bias(&self, call: &Call, sum: Expr, channel: &Dim) -> Res<Cases> {
        let Some(b) = self.third(call) else {
            return Ok(single(sum));
        };
        let bias = self.element(b, &At::Index(vec![channel.clone()]))?;
        self.combined(&[bias], &|args| Ok(sum.add(&args[0])))
    }

    fn conv(&self, call: &Call, index: &[Dim]) -> Res<Cases> {
        let (x, w) = (call.operands[0], call.operands[1]);
        let (xs, ws) = (self.shape(x)?, self.shape(w)?);
        let windows = Windows::of(self, call, &ws[2..])?;
        let each = self.require_multiple(&ws[0], &self.group(call)?)?;
        let channel = &index[1];
        let part = self.case.divide(channel, &each).0;
        let mut extents = vec![ws[1].clone()];
        extents.extend(ws[2..].iter().cloned());
        let zero = single(Expr::zero());
        let sum = self.over(Kind::Sum, &extents, &|k| {
            let mut place = vec![index[0].clone(), part.clone() * ws[1].clone() + k[0].clone()];
            for (i, tap) in k[1..].iter().enumerate() {
                place.push(windows.place(self, i, &xs[2 + i], &index[2 + i], tap)?);
            }
            let weight = [std::slice::from_ref(channel), k].concat();
            self.inside(
                &place[2..],
                &xs[2..],
                0,
                &|| {
                    let x = self.element(x, &At::Index(place.clone()))?;
                    self.product_of(&[x, self.element(w, &At::Index(weight.clone()))?])
                },
                &zero,
            )
        })?;
        self.with_bias(call, sum, channel)
    }

    fn conv_transpose(&self, call: &Call, shape: &[Dim], index: &[Dim]) -> Res<Cases> {
        let (x, w) = (call.operands[0], call.operands[1]);
        let (xs, ws) = (self.shape(x)?, self.shape(w)?);
        let windows = Windows::of(self, call, &ws[2..])?;
        let inner = self.require_multiple(&ws[0], &self.group(call)?)?;
        let (part, channel) = self.case.divide(&index[1], &ws[1]);
        let axes = shape.len() - 2;
        // The channels of the group, the positions of the input, the positions in the kernel.
        let mut extents = vec![inner.clone()];
        extents.extend(xs[2..].iter().cloned());
        extents.extend(ws[2..].iter().cloned());
        let sum = self.over(Kind::Sum, &extents, &|k| {
            let c = part.clone() * inner.clone() + k[0].clone();
            let (places, taps) = k[1..].split_at(axes);
            let mut hits = Vec::new();
            for i in 0..axes {
                let place = windows.strides[i].clone() * places[i].clone()
                    + windows.dilations[i].clone() * taps[i].clone()
                    - windows.pads(i).0;
                hits.push(place - index[2 + i].clone());
            }
            let at = [&[index[0].clone(), c.clone()], places].concat();
            let weight = [&[c, channel.clone()], taps].concat();
            let value = self.product_of(&[self.element(x, &At::Index(at))?, self.element(w, &At::Index(weight))?])?;
            let hit = hits.into_iter().flat_map(|h| [h.clone(), -h]);
            let hit: Vec<Dim> = hit.collect();
            Ok(value
                .into_iter()
                .map(|(guards, v)| ([guards, hit.clone()].concat(), v))
                .collect())
        })?;
        self.with_bias(call, sum, &index[1])
    }
}
