//! Scatter layers.

use super::read;

/// `axis` is `dim` counted from the front.
macro_rules! axis {
    ($x:literal) => {
        concat!("let axis = when dim < 0 { dim + ", $x, ".rank } else { dim };")
    };
}

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
}
