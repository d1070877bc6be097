//! Operators whose lines depend on their attributes and types.

use super::{Call, Done, Exporter, Line, truth, tuple};
use crate::{ElementType, float_text};
use tautomer_graph::{Node, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

/// The operators handled here.
pub(super) const NAMES: &[&str] = &[
    "conv",
    "conv_transpose",
    "max_pool",
    "average_pool",
    "global_average_pool",
    "batch_normalization",
    "instance_normalization",
    "group_normalization",
    "layer_normalization",
    "rms_normalization",
    "reshape",
    "expand",
    "unsqueeze",
    "concat",
    "split",
    "slice",
    "gather",
    "pad",
    "clip",
    "cast",
    "hard_sigmoid",
    "equal",
    "less",
    "less_or_equal",
    "greater",
    "greater_or_equal",
    "depth_to_space",
    "einsum",
    "reduce_l1",
    "reduce_l2",
    "resize",
    "shrink",
];

const EPS: &str = "epsilon";

impl Exporter<'_> {
    /// The line of a call; `None` if torch has no operator for it.
    pub(super) fn layer(&mut self, call: &Call<'_>) -> Done<Option<Line>> {
        let operands = call.operands;
        let Some(&x) = operands.first() else { return Ok(None) };
        if operands
            .iter()
            .any(|&v| matches!(self.graph.vertex(v).node, Node::Absent))
        {
            return Ok(None);
        }
        let rank = self.graph.ty(x).as_tensor().and_then(|t| t.rank());
        Ok(match call.def.name {
            "conv" => windows(call, rank, "conv", &["stride", "dilation", "groups"]),
            "conv_transpose" if call.attr("output_shape").is_none() => windows(
                call,
                rank,
                "conv_transpose",
                &["stride", "dilation", "groups", "output_padding"],
            ),
            "max_pool" => windows(
                call,
                rank,
                "max_pool",
                &["kernel_size", "stride", "dilation", "ceil_mode"],
            )
            .map(|line| line.param("return_indices", "False")),
            "average_pool" if call.ints("dilations").is_none_or(|d| d.iter().all(|&n| n == 1)) => {
                windows(call, rank, "avg_pool", &["kernel_size", "stride", "ceil_mode"]).map(|line| {
                    line.param("count_include_pad", truth(call.flag("count_include_pad")))
                        .param("divisor_override", "None")
                })
            }
            "global_average_pool" => rank.filter(|r| (3..=5).contains(r)).map(|r| {
                let kind = format!("F.adaptive_avg_pool{}d", r - 2);
                Line::new(kind, operands)
                    .named(&["input"])
                    .param("output_size", tuple(&vec![1; r - 2]))
            }),
            "batch_normalization" if call.plain_but(&[EPS]) => {
                let [x, scale, shift, mean, var] = operands else {
                    return Ok(None);
                };
                let names = ["input", "running_mean", "running_var", "weight", "bias"];
                let line = Line::new("F.batch_norm", &[*x, *mean, *var, *scale, *shift]).named(&names);
                Some(line.param("eps", epsilon(call)))
            }
            "instance_normalization" => {
                let line = Line::new("F.instance_norm", operands).named(&["input", "weight", "bias"]);
                Some(line.param("eps", epsilon(call)))
            }
            "group_normalization" => call.int("num_groups").map(|groups| {
                let line = Line::new("F.group_norm", operands).named(&["input", "weight", "bias"]);
                line.param("eps", epsilon(call)).param("num_groups", groups.to_string())
            }),
            "layer_normalization" | "rms_normalization" if call.plain_but(&[EPS, "axis"]) => {
                self.over_last_axes(call, rank)
            }
            "reshape" | "expand" => self.reshaped(call)?,
            "unsqueeze" => match call.ints("axes").as_deref() {
                Some([axis]) if operands.len() == 1 => Some(
                    Line::new("torch.unsqueeze", operands)
                        .named(&["input"])
                        .param("dim", axis.to_string()),
                ),
                _ => None,
            },
            "concat" => call
                .int("axis")
                .map(|axis| Line::new("torch.cat", operands).param("dim", axis.to_string())),
            "split" => self.parts(call),
            "slice" => self.range(call)?,
            "gather" => self.chosen(call),
            "pad" => padding(call, rank),
            "clip" if operands.len() == 1 => {
                let text = |name: &str| super::attr_text(call.attr(name));
                match (text("min"), text("max")) {
                    (Some(min), Some(max)) => Some(
                        Line::new("torch.clamp", operands)
                            .named(&["input"])
                            .param("min", min)
                            .param("max", max),
                    ),
                    _ => None,
                }
            }
            "cast" => {
                let to = match call.attr("to") {
                    AttrValue::DType(dtype) => ElementType::of_dtype(*dtype),
                    _ => None,
                };
                let from = self
                    .graph
                    .ty(x)
                    .as_tensor()
                    .and_then(|t| ElementType::of_dtype(t.dtype));
                // A cast to the type that the operand already has would not be read as a cast.
                to.filter(|_| call.plain_but(&["to"]) && from.is_some() && to != from)
                    .map(|to| {
                        let line = Line::new("Tensor.to", operands).named(&["input"]);
                        line.param("dtype", format!("torch.{}", to.torch_name()))
                            .param("copy", "False")
                    })
            }
            "hard_sigmoid" => {
                let usual = call.float("alpha") == Some(1.0 / 6.0) && call.float("beta") == Some(0.5);
                usual.then(|| Line::new("F.hardsigmoid", operands).named(&["input"]))
            }
            "equal" => self.comparison("torch.eq", operands),
            "less" => self.comparison("torch.lt", operands),
            "less_or_equal" => self.comparison("torch.le", operands),
            "greater" => self.comparison("torch.gt", operands),
            "greater_or_equal" => self.comparison("torch.ge", operands),
            "depth_to_space" if call.text("mode") == "CRD" => call.int("blocksize").map(|n| {
                Line::new("F.pixel_shuffle", operands)
                    .named(&["input"])
                    .param("upscale_factor", n.to_string())
            }),
            "einsum" => {
                let equation = call.text("equation");
                let plain = !equation.contains(char::is_whitespace) && !equation.is_empty();
                plain.then(|| Line::new("torch.einsum", operands).param("equation", equation))
            }
            "reduce_l1" | "reduce_l2" if call.plain_but(&["axes", "keepdims"]) && operands.len() == 1 => {
                let dim = match call.attr("axes") {
                    AttrValue::None => Some("None".to_owned()),
                    _ => call
                        .ints("axes")
                        .filter(|axes| !axes.is_empty())
                        .map(|axes| tuple(&axes)),
                };
                dim.map(|dim| {
                    let p = if call.def.name == "reduce_l1" { "1" } else { "2" };
                    let line = Line::new("torch.norm", operands).named(&["input"]);
                    line.param("dim", dim)
                        .param("keepdim", truth(call.flag("keepdims")))
                        .param("p", p)
                })
            }
            "shrink" => match (call.float("lambd"), call.float("bias")) {
                (Some(lambd), Some(bias)) if bias == 0.0 || bias == lambd => {
                    let kind = if bias == 0.0 { "F.hardshrink" } else { "F.softshrink" };
                    Some(
                        Line::new(kind, operands)
                            .named(&["input"])
                            .param("lambd", float_text(lambd)),
                    )
                }
                _ => None,
            },
            "resize" => resizing(call, rank),
            _ => None,
        })
    }

    fn over_last_axes(&self, call: &Call<'_>, rank: Option<usize>) -> Option<Line> {
        let shape = self.graph.ty(*call.operands.first()?).as_tensor()?.shape.as_ref()?;
        let axis = usize::try_from(call.int("axis")?).ok()?;
        let last: Option<Vec<i64>> = shape.get(axis..)?.iter().map(Dim::as_const).collect();
        let last = last.filter(|last| !last.is_empty() && rank.is_some())?;
        // When read back, the scale has the shape of these axes.
        let scale = self
            .graph
            .ty(*call.operands.get(1)?)
            .as_tensor()?
            .shape
            .as_ref()?
            .to_concrete()?;
        if scale.iter().map(|&n| n as i64).ne(last.iter().copied()) {
            return None;
        }
        let kind = if call.def.name == "rms_normalization" {
            "F.rms_norm"
        } else {
            "F.layer_norm"
        };
        let line = Line::new(kind, call.operands).named(["input", "weight", "bias"].get(..call.operands.len())?);
        Some(line.param("normalized_shape", tuple(&last)).param("eps", epsilon(call)))
    }

    fn reshaped(&mut self, call: &Call<'_>) -> Done<Option<Line>> {
        let (kind, key) = if call.def.name == "reshape" {
            ("Tensor.reshape", "shape")
        } else {
            ("Tensor.expand", "sizes")
        };
        let (AttrValue::Ints(dims), [x]) = (call.attr("shape"), call.operands) else {
            return Ok(None);
        };
        let dims = dims.clone();
        let zero = dims.iter().any(|d| d.as_const() == Some(0));
        if dims.is_empty() || call.flag("allowzero") != (zero && call.def.name == "reshape") {
            return Ok(None);
        }
        let line = Line::new(kind, &[*x]);
        match self.integers(&dims) {
            Ok(Ok(text)) => Ok(Some(line.named(&["input"]).param(key, text))),
            Ok(Err(list)) => {
                let mut line = line.named(&["input"]);
                line.lists.push((key, list));
                Ok(Some(line))
            }
            Err(_) => Ok(None),
        }
    }

    fn parts(&self, call: &Call<'_>) -> Option<Line> {
        let (axis, sizes) = (call.int("axis")?, call.ints("sizes")?);
        if call.operands.len() != 1 || sizes.len() < 2 {
            return None;
        }
        let line = Line::new("torch.split", call.operands).named(&["tensor"]);
        Some(
            line.param("dim", axis.to_string())
                .param("split_size_or_sections", tuple(&sizes)),
        )
    }

    fn range(&mut self, call: &Call<'_>) -> Done<Option<Line>> {
        let (AttrValue::Ints(starts), AttrValue::Ints(ends), [x]) =
            (call.attr("starts"), call.attr("ends"), call.operands)
        else {
            return Ok(None);
        };
        let (starts, ends) = (starts.clone(), ends.clone());
        let (Some(axes), Some(steps)) = (call.ints("axes"), call.ints("steps")) else {
            return Ok(None);
        };
        if steps.iter().any(|&step| step < 1) {
            let all = |list: &[Dim], value: i64| list.iter().all(|d| d.as_const() == Some(value));
            let flipped = steps.iter().all(|&step| step == -1)
                && all(&starts, -1)
                && ends
                    .iter()
                    .all(|d| d.as_const().is_some_and(|end| end <= i64::from(i32::MIN)));
            return Ok(flipped.then(|| {
                Line::new("torch.flip", call.operands)
                    .named(&["input"])
                    .param("dims", tuple(&axes))
            }));
        }
        let none = vec![crate::NO_END; axes.len()];
        let line = Line::new("Tensor.slice", &[*x]).named(&["input"]);
        let mut line = line
            .param("dims", tuple(&axes))
            .param("steps", tuple(&steps))
            .param("selects", tuple(&none));
        for (key, dims) in [("starts", starts), ("ends", ends)] {
            match self.integers(&dims) {
                Ok(Ok(text)) => line = line.param(key, text),
                Ok(Err(list)) => line.lists.push((key, list)),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(line))
    }

    fn chosen(&self, call: &Call<'_>) -> Option<Line> {
        let [x, index] = call.operands else { return None };
        let axis = call.int("axis")?;
        if let Some(text) = self.literal(*index).filter(|_| {
            self.graph
                .ty(*index)
                .as_tensor()
                .is_some_and(|t| t.dtype == tautomer_tensor::DType::I64)
        }) {
            let line = Line::new("Tensor.select", &[*x]).named(&["input"]);
            return Some(line.param("dim", axis.to_string()).param("index", text));
        }
        let rank = self.graph.ty(*index).as_tensor()?.rank()?;
        match rank {
            1 => {
                let line = Line::new("torch.index_select", &[*x, *index]).named(&["input", "index"]);
                Some(line.param("dim", axis.to_string()))
            }
            _ if axis == 0 && rank > 1 => Some(Line::new("F.embedding", &[*index, *x]).named(&["input", "weight"])),
            _ => None,
        }
    }

    fn comparison(&self, kind: &str, operands: &[VertexId]) -> Option<Line> {
        let [a, b] = operands else { return None };
        match self.literal(*b) {
            Some(text) if self.literal(*a).is_none() => {
                Some(Line::new(kind, &[*a]).named(&["input"]).param("other", text))
            }
            _ => Some(Line::new(kind, operands).named(&["input", "other"])),
        }
    }
}

fn epsilon(call: &Call<'_>) -> String {
    float_text(call.float(EPS).unwrap_or(1e-5))
}

/// A convolution or pool, if its pads are the same at both ends.
fn windows(call: &Call<'_>, rank: Option<usize>, name: &str, params: &[&str]) -> Option<Line> {
    let dims = rank
        .and_then(|rank| rank.checked_sub(2))
        .filter(|dims| (1..=3).contains(dims))?;
    if !matches!(call.text("auto_pad"), "" | "NOTSET") {
        return None;
    }
    let pads = call.ints("pads")?;
    let (before, after) = pads.split_at_checked(dims)?;
    if before != after {
        return None;
    }
    let names = ["input", "weight", "bias"];
    let names = names.get(..call.operands.len())?;
    let mut line = Line::new(format!("F.{name}{dims}d"), call.operands)
        .named(names)
        .param("padding", tuple(before));
    for key in params {
        let attr = match *key {
            "stride" => "strides",
            "dilation" => "dilations",
            "groups" => "group",
            "kernel_size" => "kernel_shape",
            other => other,
        };
        let value = call.attr(attr);
        let text = match value {
            AttrValue::None if attr == "output_padding" => tuple(&vec![0; dims]),
            other => super::attr_text(other)?,
        };
        line = line.param(key, text);
    }
    Some(line)
}

fn padding(call: &Call<'_>, rank: Option<usize>) -> Option<Line> {
    let (pads, rank) = (call.ints("pads")?, rank?);
    if call.operands.len() != 1 || pads.len() != 2 * rank {
        return None;
    }
    let mode = match call.text("mode") {
        "reflect" => "reflect",
        "edge" => "replicate",
        "wrap" => "circular",
        _ => "constant",
    };
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
    let line = Line::new("F.pad", call.operands).named(&["input"]);
    Some(
        line.param("mode", mode)
            .param("pad", tuple(&pairs))
            .param("value", value),
    )
}

fn resizing(call: &Call<'_>, rank: Option<usize>) -> Option<Line> {
    let dims = rank?.checked_sub(2)?;
    let known = [
        "mode",
        "coordinate_transformation_mode",
        "nearest_mode",
        "scales",
        "sizes",
        "axes",
    ];
    if call.operands.len() != 1 || !call.plain_but(&known) {
        return None;
    }
    let linear = *["linear", "bilinear", "trilinear"].get(dims.checked_sub(1)?)?;
    let place = call.text("coordinate_transformation_mode");
    let (mode, aligned) = match (call.text("mode"), place, call.text("nearest_mode")) {
        ("nearest", "asymmetric", "floor") => ("nearest", "None"),
        ("linear", "half_pixel", _) => (linear, "False"),
        ("linear", "align_corners", _) => (linear, "True"),
        _ => return None,
    };
    let line = Line::new("F.interpolate", call.operands)
        .named(&["input"])
        .param("mode", mode)
        .param("align_corners", aligned);
    match (call.attr("scales"), call.ints("sizes"), call.ints("axes")) {
        (AttrValue::Floats(scales), None, None) if scales.len() == dims + 2 => {
            let factors: Vec<String> = scales.iter().skip(2).map(|s| float_text(s.0)).collect();
            let whole = scales.iter().take(2).all(|s| s.0 == 1.0);
            whole.then(|| line.param("scale_factor", tuple(&factors)).param("size", "None"))
        }
        (AttrValue::None, Some(sizes), Some(axes)) if axes.iter().copied().eq(2..rank? as i64) => {
            Some(line.param("size", tuple(&sizes)).param("scale_factor", "None"))
        }
        _ => None,
    }
}
