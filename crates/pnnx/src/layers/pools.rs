//! Pools over windows, and pools to a given size.

use super::{Args, read_by, write};
use crate::ElementType;
use crate::import::{Done, Host, Importer, Typed, Val, few, spatial, unknown};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

rows! {
    read_by("F.max_pool#d nn.MaxPool#d", "input", |i, a| i.pool(a, Pool::Max)).writes(&[write("max_pool",
        "input pads=padding++padding strides=stride dilations=dilation ceil_mode=ceil_mode kernel_shape=kernel_size \
         False=return_indices")]),
    read_by("F.avg_pool#d nn.AvgPool#d", "input", |i, a| i.pool(a, Pool::Mean)).writes(&[write("average_pool",
        "input pads=padding++padding strides=stride dilations=1 ceil_mode=ceil_mode kernel_shape=kernel_size \
         count_include_pad=count_include_pad None=divisor_override")]),
    read_by("F.lp_pool#d nn.LPPool#d", "input", |i, a| i.pool(a, Pool::Norm)),
    read_by("F.adaptive_max_pool#d nn.AdaptiveMaxPool#d", "input", |i, a| i.pool(a, Pool::AdaptiveMax)),
    read_by("F.adaptive_avg_pool#d nn.AdaptiveAvgPool#d", "input", |i, a| i.pool(a, Pool::AdaptiveMean))
        .writes(&[write("global_average_pool", "input (1)=output_size")]),
}

/// What a pool computes of each window.
#[derive(Clone, Copy, PartialEq)]
enum Pool {
    Max,
    Mean,
    /// The root of the sum of powers.
    Norm,
    AdaptiveMax,
    AdaptiveMean,
}

impl Importer<'_> {
    fn pool(&mut self, args: &Args<'_>, pool: Pool) -> Done<Vec<Val>> {
        let dims = args.dims;
        let mut x = self.operand(args, "input", 0)?;
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        spatial(&self.shape(x.v)?, dims, "its input")?;
        let mut results = match pool {
            Pool::AdaptiveMax => self.adaptive_max(args, x.v, dims)?,
            Pool::AdaptiveMean => vec![self.adaptive_mean(args, x.v, dims)?],
            _ => self.window(args, x.v, dims, pool)?,
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

    fn window(&mut self, args: &Args<'_>, x: VertexId, dims: usize, pool: Pool) -> Done<Vec<VertexId>> {
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
        if pool == Pool::Max {
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
        if pool == Pool::Mean {
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
}

/// The start and end of each window of an adaptive pool.
fn windows(input: i64, output: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..output).map(move |i| (i * input / output, ((i + 1) * input + output - 1) / output))
}
