//! Pads.

use super::{Args, read_by, write_by};
use crate::export::{Call, Exporter, Line, tuple};
use crate::float_text;
use crate::import::{Done, Importer, Val, unknown, wrong};
use tautomer_op::AttrValue;

/// Modes of padding in torch, and in the operator table.
const MODES: &[(&str, &str)] = &[
    ("constant", "constant"),
    ("reflect", "reflect"),
    ("replicate", "edge"),
    ("circular", "wrap"),
];

rows! {
    read_by("F.pad", "input", |i, a| {
        i.real_operand(a)?;
        match a.param("pad").const_ints() {
            Some(pads) => i.pad(a, &pads, &a.text("mode")),
            None => unknown("`pad` is unknown"),
        }
    })
    .writes(&[write_by("pad", padded)]),
    read_by("nn.ConstantPad#d nn.ZeroPad#d", "input", |i, a| i.pad_layer(a, "constant")),
    read_by("nn.ReflectionPad#d", "input", |i, a| i.pad_layer(a, "reflect")),
    read_by("nn.ReplicationPad#d", "input", |i, a| i.pad_layer(a, "replicate")),
    read_by("nn.CircularPad#d", "input", |i, a| i.pad_layer(a, "circular")),
}

impl Importer<'_> {
    /// A pad by pairs of widths, of which the first is for the last axis.
    fn pad(&mut self, args: &Args<'_>, pads: &[i64], mode: &str) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let rank = shape.len();
        if !pads.len().is_multiple_of(2) || pads.len() / 2 > rank {
            return wrong("the pads are not in pairs, or there are too many");
        }
        let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
        let places = before.iter_mut().rev().zip(after.iter_mut().rev());
        for (pair, (first, last)) in pads.chunks_exact(2).zip(places) {
            if let &[a, b] = pair {
                (*first, *last) = (a, b);
            }
        }
        let whole = [before, after].concat();
        let mut attrs = vec![
            ("pads", AttrValue::ints(&whole)),
            ("mode", AttrValue::str(pad_mode(mode)?)),
        ];
        if let Some(value) = args.param("value").float() {
            attrs.push(("value", AttrValue::float(value)));
        }
        let v = self.call("pad", &[x.v], &attrs)?;
        self.one(v, x.element)
    }

    fn pad_layer(&mut self, args: &Args<'_>, mode: &str) -> Done<Vec<Val>> {
        self.real_operand(args)?;
        self.pad(args, &args.ints("padding", 2 * args.dims)?, mode)
    }
}

/// The mode of the operator for one of torch.
pub(super) fn pad_mode(mode: &str) -> Done<&'static str> {
    match MODES.iter().find(|(torch, _)| *torch == mode) {
        Some((_, own)) => Ok(own),
        None if matches!(mode, "" | "zeros") => Ok("constant"),
        None => unknown(format!("padding `{mode}`")),
    }
}

fn padded(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let (pads, rank) = (call.ints("pads")?, exporter.rank(*call.operands.first()?)?);
    if call.operands.len() != 1 || pads.len() != 2 * rank {
        return None;
    }
    let own = call.text("mode");
    let mode = MODES
        .iter()
        .find(|(_, known)| *known == own)
        .map_or("constant", |(torch, _)| *torch);
    let (before, after) = pads.split_at_checked(rank)?;
    let pairs: Vec<(i64, i64)> = before.iter().copied().zip(after.iter().copied()).collect();
    let first = pairs
        .iter()
        .position(|&pair| pair != (0, 0))
        .unwrap_or(rank.saturating_sub(1));
    let pairs: Vec<i64> = pairs.iter().skip(first).rev().flat_map(|&(a, b)| [a, b]).collect();
    let value = call.float("value").unwrap_or(0.0);
    let value = if value == 0.0 {
        "None".to_owned()
    } else {
        float_text(value)
    };
    Some(
        line.named(&["input"])
            .param("mode", mode)
            .param("pad", tuple(&pairs))
            .param("value", value),
    )
}
