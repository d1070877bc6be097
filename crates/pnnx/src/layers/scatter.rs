//! Layers that write elements at listed indices.

use super::{Args, read, read_by};
use crate::ElementType;
use crate::import::{Done, Host, Importer, Typed, Val, axis_of, element, few, unknown, wrong};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

/// `s` is `src`, broadcast or sliced to the shape of the index list.
macro_rules! scattered {
    () => {
        "let s = when src.shape == index.shape { src } else {
         when src.rank == 0 { expand(src) {shape = index.shape} } else {
           slice(src) {starts = [0 for d in index.shape], ends = index.shape, axes = range(0, index.rank)}
         } };"
    };
}

/// `places` is a list of indices along one axis, repeated along the other axes of `source`.
macro_rules! places {
    () => {
        "let axis = when dim < 0 { dim + input.rank } else { dim };
         let column = reshape(index) {shape = [when k == axis { -1 } else { 1 } for k in range(0, input.rank)]};
         let places = expand(column) {shape = source.shape};"
    };
}

rows! {
    read("torch.scatter_add", "input dim index src",
        concat!(scattered!(), "scatter_elements(input, index, s) {axis = dim, reduction = \"add\"}"))
        .positional("aten::scatter_add"),
    read("torch.scatter", "input dim index src:tensor value:tensor reduce",
        concat!(
            "let src = when given(src) { src } else { value };",
            scattered!(),
            "scatter_elements(input, index, s) {
               axis = dim,
               reduction = when not given(reduce) { \"none\" } else {
                 when reduce == \"add\" { \"add\" } else { \"mul\" } }
             }"
        )).positional("aten::scatter=input,dim,index,src,reduce"),
    read("torch.scatter_reduce", "input dim index src reduce include_self",
        concat!(
            scattered!(),
            "let base = when not given(include_self) or include_self == true { input } else {
               scatter_elements(input, index, when reduce == \"sum\" { zeros_like(s) } else {
                 when reduce == \"prod\" { ones_like(s) } else { s }
               }) {axis = dim}
             };
             scatter_elements(base, index, s) {
               axis = dim,
               reduction = when reduce == \"sum\" { \"add\" } else { when reduce == \"prod\" { \"mul\" } else {
                 when reduce == \"amax\" { \"max\" } else { when reduce == \"amin\" { \"min\" } else { reduce } }
               } }
             }"
        )).positional("aten::scatter_reduce"),
    read("torch.index_add", "input dim index source alpha",
        concat!(
            places!(),
            "let s = when not given(alpha) or alpha == 1 { source } else { source * alpha };
             scatter_elements(input, places, s) {axis = dim, reduction = \"add\"}"
        )).positional("aten::index_add"),
    read("torch.index_copy", "input dim index source",
        concat!(places!(), "scatter_elements(input, places, source) {axis = dim}")).positional("aten::index_copy"),
    read("torch.index_fill", "input dim index value:tensor",
        concat!(
            axis!("input"),
            "let source = expand(value) {
               shape = [when k == axis { index.shape[0] } else { input.shape[k] } for k in range(0, input.rank)]
             };",
            places!(),
            "scatter_elements(input, places, source) {axis = dim}"
        )).positional("aten::index_fill"),
    read("torch.masked_scatter", "input mask source",
        "let x = when input.shape == mask.shape { input } else { expand(input) {shape = mask.shape} };
         let m = when x.shape == mask.shape { mask } else { expand(mask) {shape = x.shape} };
         let before = cumsum(cast(reshape(m) {shape = [-1]}) {to = i64}) {axis = 0} - 1;
         let chosen = gather(reshape(source) {shape = [-1]}, max(before, 0)) {axis = 0};
         where(m, reshape(chosen) {shape = x.shape}, x)").positional("aten::masked_scatter"),
    read_by("Tensor.index_put", "input indices values", |i, a| i.mapped(a, |i, x, _| i.index_put(a, x))),
    read_by("Tensor.slice_copy torch.slice_scatter", "input src", |i, a| {
        i.mapped(a, |i, x, shape| i.write_slice(a, x, axis_of(a.int("dim")?, shape.len())?))
    }),
}

impl Importer<'_> {
    fn index_put(&mut self, args: &Args<'_>, x: Typed) -> Done<VertexId> {
        let Val::List(indices) = args.get("indices", Some(1)) else {
            return unknown("its indices are not a list");
        };
        if let [Val::Tensor(mask)] = indices.as_slice()
            && mask.element == ElementType::Bool
        {
            return self.put_where_true(args, x, mask.v);
        }
        let mut places = Vec::new();
        for index in &indices {
            let Val::Tensor(t) = index else {
                return unknown("an axis without an index");
            };
            if t.element == ElementType::Bool {
                return unknown("boolean indices");
            }
            let rank = self.shape(t.v)?.len() as i64;
            places.push(self.call("unsqueeze", &[t.v], &[("axes", AttrValue::ints(&[rank]))])?);
        }
        let Some(&first) = places.first() else {
            return wrong("it has no indices");
        };
        let rank = self.shape(first)?.len() as i64;
        let joined = match places.as_slice() {
            [one] => *one,
            many => self.call("concat", many, &[("axis", AttrValue::int(rank - 1))])?,
        };
        let (shape, mut target) = (self.shape(x.v)?, self.shape(first)?);
        target.pop();
        target.extend_from_slice(shape.get(indices.len()..).unwrap_or_default());
        let values = args.get("values", Some(2));
        let mut values = self.tensor_of(&values, x.element)?.v;
        if self.shape(values)? != target {
            values = self.call("expand", &[values], &[("shape", AttrValue::Ints(target))])?;
        }
        let reduction = if args.flag("accumulate") { "add" } else { "none" };
        self.call(
            "scatter_nd",
            &[x.v, joined, values],
            &[("reduction", AttrValue::str(reduction))],
        )
    }

    /// A copy with one value written where a mask over the first axes is true.
    fn put_where_true(&mut self, args: &Args<'_>, x: Typed, mask: VertexId) -> Done<VertexId> {
        let values = args.get("values", Some(2));
        let value = self.tensor_of(&values, x.element)?;
        if self.shape(value.v)?.iter().any(|d| d.as_const() != Some(1)) || args.flag("accumulate") {
            return unknown("more than one value is written by a boolean mask");
        }
        let (rank, own) = (self.shape(x.v)?.len(), self.shape(mask)?.len());
        let value = self.call("reshape", &[value.v], &[("shape", AttrValue::Ints(Vec::new()))])?;
        let added: Vec<i64> = (own..rank).map(|axis| axis as i64).collect();
        let mask = match added.is_empty() {
            true => mask,
            false => self.call("unsqueeze", &[mask], &[("axes", AttrValue::ints(&added))])?,
        };
        self.call("where", &[mask, value, x.v], &[])
    }

    /// A copy in which a slice along one axis is replaced.
    fn write_slice(&mut self, args: &Args<'_>, x: Typed, axis: usize) -> Done<VertexId> {
        let source = args.get("src", Some(1));
        let source = self.tensor_of(&source, x.element)?.v;
        let extents = self.extents(x.v)?;
        let length = *element(&extents, axis, "the shape")?;
        let place = |name: &str, missing: i64| -> Done<i64> {
            match (args.param(name), args.param(name).int().and_then(|d| d.as_const())) {
                (Val::Host(Host::None), _) => Ok(missing),
                (_, Some(i)) if i < 0 => Ok(i.saturating_add(length).max(0)),
                (_, Some(i)) => Ok(i.min(length)),
                _ => unknown(format!("`{name}` is unknown")),
            }
        };
        few(length)?;
        let (start, end) = (place("start", 0)?, place("end", length)?);
        let step = args.param("step").int().and_then(|d| d.as_const()).unwrap_or(1).max(1);
        let written: Vec<i64> = (start..end).step_by(usize::try_from(step).unwrap_or(1)).collect();
        let mut target = extents.clone();
        if let Some(extent) = target.get_mut(axis) {
            *extent = written.len() as i64;
        }
        let source = if self.extents(source)? == target {
            source
        } else {
            self.call("expand", &[source], &[("shape", AttrValue::ints(&target))])?
        };
        if written.len() as i64 == length {
            return Ok(source);
        }
        let mut places: Vec<i64> = (0..few(length)? as i64).collect();
        for (k, &i) in written.iter().enumerate() {
            if let Some(place) = usize::try_from(i).ok().and_then(|i| places.get_mut(i)) {
                *place = length + k as i64;
            }
        }
        let axis = [("axis", AttrValue::int(axis as i64))];
        let both = self.call("concat", &[x.v, source], &axis)?;
        let places = self.graph.constant(Tensor::vector(places));
        self.call("gather", &[both, places], &axis)
    }
}
