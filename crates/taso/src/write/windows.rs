//! Convolutions, pools and enlarged kernels: everything with a window.

use super::super::terms::{Id, Node, Op, Padding, Window};
use super::{Why, Writer, no_form};

impl Writer<'_> {
    pub(super) fn conv(&mut self, window: &Window, x: Id, kernel: Id) -> Result<String, Why> {
        let known = window.kernel.map(|k| k.map(|extent| extent.to_string()));
        if let Node::Call(Op::Averages([h, w]), _) = self.rule.node(kernel) {
            if self.in_source {
                return Err(no_form(
                    "an averaging kernel cannot be expressed except as a kernel in a target",
                ));
            }
            let x = self.name(x)?;
            let pads = self.pads(window, &[h.to_string(), w.to_string()], &x);
            let fill = format!(
                "full() {{shape = [{x}.shape[1], 1, {h}, {w}], value = 1.0 / {}, dtype = {x}.dtype}}",
                h.saturating_mul(*w)
            );
            let [sh, sw] = window.strides;
            return Ok(format!(
                "conv({x}, {fill}) {{strides = [{sh}, {sw}]{pads}, group = {x}.shape[1]}}"
            ));
        }
        let same = window.padding == Padding::Same;
        let wide = window.strides != [1, 1];
        let kernel_text = if self.in_source && !(same && (wide || known.is_none())) {
            self.term(kernel)?
        } else {
            self.name(kernel)?
        };
        let x = if self.in_source && !(same && wide) {
            self.term(x)?
        } else {
            self.name(x)?
        };
        let extents = known.unwrap_or_else(|| [2, 3].map(|axis| format!("{kernel_text}.shape[{axis}]")));
        let pads = self.pads(window, &extents, &x);
        let group = if self.in_source {
            "_".to_owned()
        } else {
            format!("{x}.shape[1] / {kernel_text}.shape[1]")
        };
        let [sh, sw] = window.strides;
        Ok(format!(
            "conv({x}, {kernel_text}) {{strides = [{sh}, {sw}]{pads}, group = {group}}}"
        ))
    }

    pub(super) fn pool(&mut self, name: &str, more: &str, window: &Window, x: Id) -> Result<String, Why> {
        let Some([h, w]) = window.kernel else {
            return Err(no_form("the size of the pool's window is unknown"));
        };
        let wide = window.padding == Padding::Same && window.strides != [1, 1];
        let x = if wide { self.name(x)? } else { self.term(x)? };
        let pads = self.pads(window, &[h.to_string(), w.to_string()], &x);
        let [sh, sw] = window.strides;
        Ok(format!(
            "{name}({x}) {{kernel_shape = [{h}, {w}], strides = [{sh}, {sw}]{pads}{more}}}"
        ))
    }

    /// The `pads` attribute of a window of this size over `x`.
    fn pads(&mut self, window: &Window, kernel: &[String; 2], x: &str) -> String {
        let Window {
            strides,
            padding: Padding::Same,
            ..
        } = window
        else {
            return ", pads = [0, 0, 0, 0]".to_owned();
        };
        let fixed: Option<Vec<i64>> = kernel.iter().map(|k| k.parse().ok()).collect();
        if let (Some(k), [1, 1]) = (fixed, strides) {
            return format!(
                ", pads = [{}, {}, {}, {}]",
                (k[0] - 1) / 2,
                (k[1] - 1) / 2,
                k[0] / 2,
                k[1] / 2
            );
        }
        let around = |i: usize| {
            let (k, s, axis) = (&kernel[i], strides[i], i + 2);
            if s == 1 {
                return (format!("({k} - 1) / 2"), format!("{k} / 2"));
            }
            let total = format!("max(({x}.shape[{axis}] - 1) / {s} * {s} + {k} - {x}.shape[{axis}], 0)");
            (format!("{total} / 2"), format!("({total} + 1) / 2"))
        };
        let ((top, bottom), (left, right)) = (around(0), around(1));
        let pads = format!("[{top}, {left}, {bottom}, {right}]");
        format!(", {}", self.computed("pads", pads))
    }

    pub(super) fn enlarge(&mut self, kernel: Id, to: [String; 2]) -> Result<String, Why> {
        let kernel = self.name(kernel)?;
        let [h, w] = [0, 1].map(|i| format!("({} - {kernel}.shape[{}])", to[i], i + 2));
        let pads = format!("[0, 0, {h} / 2, {w} / 2, 0, 0, ({h} + 1) / 2, ({w} + 1) / 2]");
        let axes = if self.in_source { ", axes = _" } else { "" };
        Ok(format!("pad({kernel}) {{{}{axes}}}", self.computed("pads", pads)))
    }
}
