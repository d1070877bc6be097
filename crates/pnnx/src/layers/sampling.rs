//! Resizing, and sampling at computed positions.

use super::{Args, read, read_by, write_by};
use crate::export::{Call, Exporter, Line, tuple};
use crate::float_text;
use crate::import::{Done, Host, Importer, Val, spatial, unknown, wrong};
use tautomer_op::{AttrValue, Real};

const GRID_SAMPLE: &str = "grid_sample(input, grid) {
    mode = when not given(mode) or mode == \"bilinear\" { \"linear\" } else {
      when mode == \"bicubic\" { \"cubic\" } else { mode }
    },
    padding_mode = when given(padding_mode) { padding_mode } else { \"zeros\" },
    align_corners = align_corners == true
}";

rows! {
    read_by("F.interpolate F.upsample F.upsample_nearest nn.Upsample nn.UpsamplingNearest2d", "input",
        |i, a| i.resize(a, "nearest", false)).writes(&[write_by("resize", resizing)]),
    // The layer aligns corners, and the function of its name as well; the general function does not.
    read_by("F.upsample_bilinear nn.UpsamplingBilinear2d", "input", |i, a| i.resize(a, "bilinear", true)),
    read_by("F.grid_sample", "input grid mode padding_mode align_corners", |i, a| i.grid_sample(a)),
    read("aten::grid_sampler aten::grid_sampler_2d aten::grid_sampler_3d", "input grid mode padding_mode align_corners",
        "grid_sample(input, grid) {
           mode = [\"linear\", \"nearest\", \"cubic\"][mode],
           padding_mode = [\"zeros\", \"border\", \"reflection\"][padding_mode],
           align_corners = align_corners == true
         }"),
    read("F.affine_grid", "theta size align_corners",
        "affine_grid(theta) {size = size, align_corners = align_corners == true}")
        .positional("aten::affine_grid_generator"),
    read(
        "torchvision.ops.RoIAlign torchvision.ops.roi_align",
        "input boxes output_size spatial_scale sampling_ratio aligned",
        "let batch = cast(reshape(slice(boxes) {starts = [0], ends = [1], axes = [1]}) {shape = [-1]}) {to = i64};
         roi_align(input, slice(boxes) {starts = [1], ends = [5], axes = [1]}, batch) {
           spatial_scale = when given(spatial_scale) { spatial_scale } else { 1.0 },
           output_height = output_size[0], output_width = output_size[1],
           sampling_ratio = when given(sampling_ratio) { max(sampling_ratio, 0) } else { 0 },
           coordinate_transformation_mode = when aligned == true { \"half_pixel\" } else { \"output_half_pixel\" }
         }",
    ),
    read("pnnx.custom_op.torchvision.roi_align", "arg_0 arg_1 arg_2 arg_3 arg_4 arg_5 arg_6",
        "let batch = cast(reshape(slice(arg_1) {starts = [0], ends = [1], axes = [1]}) {shape = [-1]}) {to = i64};
             roi_align(arg_0, slice(arg_1) {starts = [1], ends = [5], axes = [1]}, batch) {
               spatial_scale = arg_2, output_height = arg_3, output_width = arg_4, sampling_ratio = max(arg_5, 0),
               coordinate_transformation_mode = when arg_6 == true { \"half_pixel\" } else { \"output_half_pixel\" }
             }"),
    read("pnnx.custom_op.torchvision.nms", "arg_0 arg_1 arg_2",
        "let picked = non_max_suppression(unsqueeze(arg_0) {axes = [0]}, reshape(arg_1) {shape = [1, 1, -1]}) {
           max_output_boxes_per_class = 9223372036854775807, iou_threshold = arg_2
         };
         reshape(slice(picked) {starts = [2], ends = [3], axes = [1]}) {shape = [-1]}"),
}

impl Importer<'_> {
    /// Resizes by factors or to sizes; `mode` and `aligned` are used unless the line says otherwise.
    fn resize(&mut self, args: &Args<'_>, mode: &'static str, aligned: bool) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let rank = self.shape(x.v)?.len();
        let dims = rank.saturating_sub(2);
        let given = args.text("mode");
        let mode = if given.is_empty() { mode } else { given.as_str() };
        let aligned = aligned || args.flag("align_corners");
        let (mode, place, rounding) = match mode {
            "nearest" => ("nearest", "asymmetric", "floor"),
            "nearest-exact" => ("nearest", "half_pixel", "round_prefer_ceil"),
            "linear" | "bilinear" | "trilinear" => ("linear", if aligned { "align_corners" } else { "half_pixel" }, ""),
            "bicubic" => ("cubic", if aligned { "align_corners" } else { "half_pixel" }, ""),
            other => return unknown(format!("resizing by `{other}`")),
        };
        let mut attrs = vec![
            ("mode", AttrValue::str(mode)),
            ("coordinate_transformation_mode", AttrValue::str(place)),
        ];
        if !rounding.is_empty() {
            attrs.push(("nearest_mode", AttrValue::str(rounding)));
        }
        let axes: Vec<i64> = (2..rank as i64).collect();
        match (args.param("size"), args.param("scale_factor")) {
            (Val::Host(Host::None), Val::Host(Host::None)) => return wrong("it has neither a size nor a factor"),
            (Val::Host(Host::None), factor) => {
                let factors: Option<Vec<f64>> = match &factor {
                    Val::List(items) => items.iter().map(Val::float).collect(),
                    one => one.float().map(|f| vec![f; dims]),
                };
                let Some(factors) = factors.filter(|f| f.len() == dims) else {
                    return unknown("unsupported factors");
                };
                if args.flag("recompute_scale_factor") {
                    // The factors determine the sizes, from which the effective factors are computed.
                    let shape = self.extents(x.v)?;
                    let sizes = spatial(&shape, dims, "its input")?.iter().zip(&factors);
                    let sizes: Vec<i64> = sizes.map(|(&n, factor)| (n as f64 * factor).floor() as i64).collect();
                    attrs.push(("sizes", AttrValue::ints(&sizes)));
                    attrs.push(("axes", AttrValue::ints(&axes)));
                    let v = self.call("resize", &[x.v], &attrs)?;
                    return self.one(v, x.element);
                }
                let scales = [1.0, 1.0].into_iter().chain(factors).map(Real).collect();
                attrs.push(("scales", AttrValue::Floats(scales)));
            }
            (size, _) => {
                let Some(sizes) = size.ints() else {
                    return unknown("the size is unknown");
                };
                let sizes = match sizes.as_slice() {
                    [one] => vec![one.clone(); dims],
                    _ => sizes,
                };
                if sizes.len() != dims {
                    return wrong(format!(
                        "`size` has length {}, but length {dims} is required",
                        sizes.len()
                    ));
                }
                attrs.push(("sizes", AttrValue::Ints(sizes)));
                attrs.push(("axes", AttrValue::ints(&axes)));
            }
        }
        let v = self.call("resize", &[x.v], &attrs)?;
        self.one(v, x.element)
    }

    fn grid_sample(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        if args.text("mode") == "bicubic" && args.text("padding_mode") == "border" {
            // Torch repeats the border for each element of the cubic kernel, while the operator clamps the sampling
            // position.
            return unknown("cubic sampling with a repeated border");
        }
        self.inlined(args, GRID_SAMPLE)
    }
}

fn resizing(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let rank = exporter.rank(*call.operands.first()?)?;
    let dims = rank.checked_sub(2)?;
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
    let line = line
        .named(&["input"])
        .param("mode", mode)
        .param("align_corners", aligned);
    match (call.attr("scales"), call.ints("sizes"), call.ints("axes")) {
        (AttrValue::Floats(scales), None, None) if scales.len() == dims + 2 => {
            let factors: Vec<String> = scales.iter().skip(2).map(|s| float_text(s.0)).collect();
            let whole = scales.iter().take(2).all(|s| s.0 == 1.0);
            whole.then(|| line.param("scale_factor", tuple(&factors)).param("size", "None"))
        }
        (AttrValue::None, Some(sizes), Some(axes)) if axes.iter().copied().eq(2..rank as i64) => {
            Some(line.param("size", tuple(&sizes)).param("scale_factor", "None"))
        }
        _ => None,
    }
}
