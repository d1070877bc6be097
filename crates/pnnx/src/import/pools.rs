//! Pools over windows, adaptive pools, and resizing.

use super::layers::Args;
use super::val::{Host, Typed, Val};
use super::{Done, Importer, few, spatial, unknown, wrong};
use crate::ElementType;
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, Real};
use tautomer_tensor::Tensor;

impl Importer<'_> {
    pub(super) fn is_pool(&self, kind: &str) -> bool {
        let name = kind
            .trim_start_matches("nn.")
            .trim_start_matches("F.")
            .to_lowercase()
            .replace('_', "");
        name != kind
            && (name.contains("pool") || name.starts_with("upsampl") || name == "interpolate")
            && !name.contains("unpool")
            && !name.contains("fractional")
    }

    pub(super) fn pool(&mut self, args: &Args<'_>, dims: usize) -> Done<Vec<Val>> {
        let name = args.op.kind.to_lowercase().replace('_', "");
        let mut x = self.operand(args, "input", 0)?;
        if name.contains("upsampl") || name.contains("interpolate") {
            return self.resize(args, x, &name);
        }
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        spatial(&self.shape(x.v)?, dims, "its input")?;
        let mut results = if name.contains("adaptivemax") {
            self.adaptive_max(args, x.v, dims)?
        } else if name.contains("adaptiveavg") {
            vec![self.adaptive_mean(args, x.v, dims)?]
        } else {
            self.window(args, x.v, dims, &name)?
        };
        let elements = [x.element, ElementType::I64];
        let mut out = Vec::new();
        for (v, element) in results.iter_mut().zip(elements) {
            if lone {
                *v = self.call("squeeze", &[*v], &[("axes", AttrValue::ints(&[0]))])?;
            }
            out.push(Val::Tensor(Typed::new(*v, element)));
        }
        Ok(if args.op.outputs.len() == 1 && out.len() > 1 {
            vec![Val::List(out)]
        } else {
            out
        })
    }

    fn window(&mut self, args: &Args<'_>, x: VertexId, dims: usize, name: &str) -> Done<Vec<VertexId>> {
        let kernel = args.ints("kernel_size", dims)?;
        let strides = match args.param("stride") {
            Val::Host(Host::None) => kernel.clone(),
            _ => args.ints("stride", dims)?,
        };
        let or = |name: &str, missing: i64| match args.param(name) {
            Val::Host(Host::None) => Ok(vec![missing; dims]),
            _ => args.ints(name, dims),
        };
        let pads = or("padding", 0)?;
        let attrs = [
            ("kernel_shape", AttrValue::ints(&kernel)),
            ("strides", AttrValue::ints(&strides)),
            ("pads", AttrValue::ints(&[pads.clone(), pads].concat())),
            ("ceil_mode", AttrValue::Bool(args.flag("ceil_mode"))),
            ("dilations", AttrValue::ints(&or("dilation", 1)?)),
        ];
        let count: i64 = kernel.iter().fold(1, |n, k| n.saturating_mul(*k));
        if name.contains("max") {
            if !args.flag("return_indices") {
                return Ok(vec![self.call("max_pool", &[x], &attrs)?]);
            }
            let mut results = self.calls("max_pool_with_indices", &[x], &attrs)?;
            // The operator's indices count all elements, while torch counts those of one channel.
            let plane = self.extents(x)?.iter().skip(2).fold(1i64, |n, k| n.saturating_mul(*k));
            let plane = self.graph.constant(Tensor::scalar(plane.max(1)));
            if let [_, places] = results.as_mut_slice() {
                *places = self.call("mod", &[*places, plane], &[])?;
            }
            return Ok(results);
        }
        if name.contains("avg") {
            let divisor = args.param("divisor_override");
            let counted = args.flag("count_include_pad") || !divisor.is_none();
            let attrs = [&attrs[..], &[("count_include_pad", AttrValue::Bool(counted))]].concat();
            let mut v = self.call("average_pool", &[x], &attrs)?;
            if let Some(divisor) = divisor.float() {
                if args.flag("ceil_mode") {
                    return unknown("a divisor for windows that extend beyond the end");
                }
                let factor = self.fill(self.dtype(x)?, &[], count as f64 / divisor)?;
                v = self.call("mul", &[v, factor], &[])?;
            }
            return Ok(vec![v]);
        }
        // Computes the norm as torch does, from the mean of powers.
        let Some(p) = args.param("norm_type").float() else {
            return unknown("unsupported order of the norm");
        };
        let dtype = self.dtype(x)?;
        let power = |importer: &mut Self, v: VertexId, p: f64| -> Done<VertexId> {
            let p = importer.fill(dtype, &[], p)?;
            importer.call("pow", &[v, p], &[])
        };
        let attrs = [&attrs[..], &[("count_include_pad", AttrValue::Bool(true))]].concat();
        let powers = power(self, x, p)?;
        let mean = self.call("average_pool", &[powers], &attrs)?;
        let sign = self.call("sign", &[mean], &[])?;
        let size = self.call("abs", &[mean], &[])?;
        let size = self.call("relu", &[size], &[])?;
        let product = self.call("mul", &[sign, size], &[])?;
        let count = self.fill(dtype, &[], count as f64)?;
        let sum = self.call("mul", &[product, count], &[])?;
        Ok(vec![power(self, sum, 1.0 / p)?])
    }

    /// The size of the result; 0 and none stand for the size of the operand.
    fn output_size(&self, args: &Args<'_>, input: &[i64]) -> Done<Vec<i64>> {
        let one = |value: &Val, own: i64| match value {
            Val::Host(Host::None) => Ok(own),
            other => match other.int().and_then(|d| d.as_const()) {
                Some(0) => Ok(own),
                Some(n) if n > 0 => few(n).map(|_| n),
                _ => unknown("`output_size` is unknown"),
            },
        };
        match args.param("output_size") {
            Val::List(items) if items.len() == input.len() => {
                items.iter().zip(input).map(|(v, &n)| one(v, n)).collect()
            }
            Val::List(_) => unknown("`output_size` has another rank"),
            value => input.iter().map(|&n| one(&value, n)).collect(),
        }
    }

    fn adaptive_mean(&mut self, args: &Args<'_>, x: VertexId, dims: usize) -> Done<VertexId> {
        if args
            .param("output_size")
            .const_ints()
            .is_some_and(|size| size.iter().all(|&n| n == 1))
        {
            return self.call("global_average_pool", &[x], &[]);
        }
        let extents = self.extents(x)?;
        let input = spatial(&extents, dims, "its input")?.to_vec();
        let output = self.output_size(args, &input)?;
        input.iter().try_for_each(|&n| few(n).map(drop))?;
        if input.iter().zip(&output).all(|(n, m)| *m > 0 && n % m == 0) {
            let kernel: Vec<i64> = input.iter().zip(&output).map(|(n, m)| n / m).collect();
            let attrs = [
                ("kernel_shape", AttrValue::ints(&kernel)),
                ("strides", AttrValue::ints(&kernel)),
            ];
            return self.call("average_pool", &[x], &attrs);
        }
        // If windows have different sizes, takes the mean along one axis at a time.
        let mut v = x;
        for (k, (&n, &m)) in input.iter().zip(&output).enumerate().filter(|(_, (n, m))| n != m) {
            let axis = (2 + k) as i64;
            let mut parts = Vec::new();
            for (start, end) in windows(n, m) {
                let list = |i: i64| AttrValue::ints(&[i]);
                let cut = self.call(
                    "slice",
                    &[v],
                    &[("starts", list(start)), ("ends", list(end)), ("axes", list(axis))],
                )?;
                parts.push(self.call(
                    "reduce_mean",
                    &[cut],
                    &[("axes", list(axis)), ("keepdims", AttrValue::Bool(true))],
                )?);
            }
            v = self.call("concat", &parts, &[("axis", AttrValue::int(axis))])?;
        }
        Ok(v)
    }

    /// The maxima and their indices in the plane. All windows are made as long as the longest by repeating their last
    /// positions, which changes no maximum.
    fn adaptive_max(&mut self, args: &Args<'_>, x: VertexId, dims: usize) -> Done<Vec<VertexId>> {
        let shape = self.extents(x)?;
        let input = spatial(&shape, dims, "its input")?.to_vec();
        let outer = shape.get(..2).unwrap_or_default().to_vec();
        let output = self.output_size(args, &input)?;
        few(input.iter().fold(1, |n, k| n.saturating_mul(*k)))?;
        few(output.iter().fold(1, |n, k| n.saturating_mul(*k)))?;
        let (mut v, mut lengths) = (x, Vec::new());
        // For each element of each window, its index in the plane.
        let mut places: Vec<i64> = vec![0];
        for (k, (&n, &m)) in input.iter().zip(&output).enumerate() {
            let spans: Vec<(i64, i64)> = windows(n, m).collect();
            let length = spans.iter().map(|(start, end)| end - start).max().unwrap_or(1);
            few((places.len() as i64).saturating_mul(m).saturating_mul(length))?;
            let along: Vec<i64> = spans
                .iter()
                .flat_map(|&(start, end)| (0..length).map(move |i| (start + i).min(end - 1)))
                .collect();
            places = places
                .iter()
                .flat_map(|&p| along.iter().map(move |&i| p * n + i))
                .collect();
            let index = self.graph.constant(Tensor::vector(along));
            v = self.call("gather", &[v, index], &[("axis", AttrValue::int((2 + k) as i64))])?;
            lengths.push(length);
        }
        // n, c, m0, l0, m1, l1, … to n, c, m0, m1, …, (l0 l1 …)
        let pairs: Vec<i64> = output.iter().zip(&lengths).flat_map(|(&m, &l)| [m, l]).collect();
        let order: Vec<i64> = (0..dims as i64)
            .map(|k| 2 * k)
            .chain((0..dims as i64).map(|k| 2 * k + 1))
            .collect();
        let whole = [outer.as_slice(), &pairs].concat();
        let perm: Vec<i64> = [0, 1].into_iter().chain(order.iter().map(|k| k + 2)).collect();
        let elements = lengths.iter().fold(1i64, |n, k| n.saturating_mul(*k));
        let inner = [output.as_slice(), &[elements]].concat();
        let target = [outer.as_slice(), &inner].concat();
        let arranged =
            |importer: &mut Self, v: VertexId, whole: &[i64], perm: &[i64], target: &[i64]| -> Done<VertexId> {
                let v = importer.call("reshape", &[v], &[("shape", AttrValue::ints(whole))])?;
                let v = importer.call("transpose", &[v], &[("perm", AttrValue::ints(perm))])?;
                importer.call("reshape", &[v], &[("shape", AttrValue::ints(target))])
            };
        let v = arranged(self, v, &whole, &perm, &target)?;
        let last = [("axes", AttrValue::ints(&[-1])), ("keepdims", AttrValue::Bool(false))];
        let largest = self.call("reduce_max", &[v], &last)?;
        if !args.flag("return_indices") {
            return Ok(vec![largest]);
        }
        let at = self.call(
            "argmax",
            &[v],
            &[("axis", AttrValue::int(-1)), ("keepdims", AttrValue::Bool(true))],
        )?;
        let places = self.graph.constant(Tensor::vector(places));
        let places = arranged(self, places, &pairs, &order, &inner)?;
        let places = self.call("expand", &[places], &[("shape", AttrValue::ints(&target))])?;
        let found = self.call("gather_elements", &[places, at], &[("axis", AttrValue::int(-1))])?;
        let found = self.call("squeeze", &[found], &[("axes", AttrValue::ints(&[-1]))])?;
        Ok(vec![largest, found])
    }

    fn resize(&mut self, args: &Args<'_>, x: Typed, name: &str) -> Done<Vec<Val>> {
        let rank = self.shape(x.v)?.len();
        let dims = rank.saturating_sub(2);
        let mode = match args.text("mode") {
            given if !given.is_empty() => given,
            _ if name.contains("bilinear") => "bilinear".to_owned(),
            _ => "nearest".to_owned(),
        };
        // The layer of that name aligns corners; the function does not.
        let aligned = args.flag("align_corners") || name.contains("upsamplingbilinear") || name == "f.upsamplebilinear";
        let (mode, place, rounding) = match mode.as_str() {
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
                    return Ok(vec![Typed::new(v, x.element).into()]);
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
        Ok(vec![Typed::new(v, x.element).into()])
    }
}

/// The start and end of each window of an adaptive pool.
fn windows(input: i64, output: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..output).map(move |i| (i * input / output, ((i + 1) * input + output - 1) / output))
}
