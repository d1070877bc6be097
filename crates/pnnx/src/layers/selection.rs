//! Selection, sorting, and unique elements.

use super::{read, write};

rows! {
    read("torch.take_along_dim", "input indices dim",
        concat!(
            axis!("input"),
            "let wide = [when k == axis { indices.shape[k] } else { input.shape[k] } for k in range(0, input.rank)];
             let places = when indices.shape == wide { indices } else { expand(indices) {shape = wide} };
             gather_elements(input, places) {axis = dim}"
        )).positional("aten::take_along_dim"),
    read("torch.masked_select", "input mask",
        "let x = when input.shape == mask.shape { input } else { expand(input) {shape = mask.shape} };
         let m = when x.shape == mask.shape { mask } else { expand(mask) {shape = x.shape} };
         compress(reshape(x) {shape = [-1]}, reshape(m) {shape = [-1]}) {axis = 0}")
        .positional("aten::masked_select"),
    read("torch.nonzero", "input", "transpose(non_zero(input)) {perm = [1, 0]}").positional("aten::nonzero"),
    read("torch.sort aten::sort", "input dim descending stable",
        "let s = sort(input) {axis = dim, descending = descending == true}; (s.0, s.1)")
        .positional("aten::sort/4=input,stable,dim,descending")
    .writes(&[write("sort", "input axis=dim descending=descending?")]),
    read("torch.topk", "input k dim largest sorted",
        "let axis = when given(dim) { dim } else { -1 };
         let t = top_k(input) {k = k, axis = axis, largest = not (given(largest) and largest == false)};
         (t.0, t.1)").positional("aten::topk"),
    read("torch.argsort", "input dim descending stable",
        "let s = sort(input) {axis = when given(dim) { dim } else { -1 }, descending = descending == true}; s.1")
        .positional("aten::argsort=input,dim,descending aten::argsort/4=input,stable,dim,descending"),
    read("torch.kthvalue", "input k dim keepdim",
        "let axis = when given(dim) { dim } else { -1 };
         let s = sort(input) {axis = axis};
         let v = slice(s.0) {starts = [k - 1], ends = [k], axes = [axis]};
         let i = slice(s.1) {starts = [k - 1], ends = [k], axes = [axis]};
         when keepdim == true { (v, i) } else { (squeeze(v) {axes = [axis]}, squeeze(i) {axes = [axis]}) }")
        .positional("aten::kthvalue"),
    // The lower of the two middle elements; NaN sorts last, and is the result if it occurs.
    read("torch.median", "input dim keepdim",
        "let x = when given(dim) { input } else { reshape(input) {shape = [-1]} };
         let axis = when given(dim) { dim } else { 0 };
         let n = x.shape[axis];
         let s = sort(x) {axis = axis};
         let v = slice(s.0) {starts = [(n - 1) / 2], ends = [(n - 1) / 2 + 1], axes = [axis]};
         let i = slice(s.1) {starts = [(n - 1) / 2], ends = [(n - 1) / 2 + 1], axes = [axis]};
         let last = slice(s.0) {starts = [n - 1], ends = [n], axes = [axis]};
         let value = when input.dtype in [f16, bf16, f32, f64] { where(is_nan(last), last, v) } else { v };
         let place = when input.dtype in [f16, bf16, f32, f64] {
           where(is_nan(last), argmax(cast(is_nan(x)) {to = i32}) {axis = axis, keepdims = true}, i)
         } else { i };
         when not given(dim) { reshape(value) {shape = []} } else {
           when keepdim == true { (value, place) } else {
             (squeeze(value) {axes = [axis]}, squeeze(place) {axes = [axis]}) }
         }").positional("aten::median"),
    read("aten::unique_flat", "input sorted return_inverse return_counts",
        "let u = unique(input); (u.0, reshape(u.2) {shape = input.shape}, u.3)").positional("aten::_unique2"),
    read("aten::unique_slices", "input dim sorted return_inverse return_counts",
        "let u = unique(input) {axis = dim}; (u.0, u.2, u.3)").positional("aten::unique_dim"),
    read("torch.unique", "input sorted return_inverse return_counts dim",
        "let u = unique(input) {axis = dim};
         let inverse = when given(dim) { u.2 } else { reshape(u.2) {shape = input.shape} };
         when return_inverse == true {
           when return_counts == true { (u.0, inverse, u.3) } else { (u.0, inverse) }
         } else { when return_counts == true { (u.0, u.3) } else { u.0 } }"),
    read("torch.unique_consecutive", "input return_inverse return_counts dim",
        "unique_consecutive(input) {
           axis = dim, return_inverse = return_inverse == true, return_counts = return_counts == true
         }"),
    read("F.one_hot", "input num_classes", "one_hot(input, [0i64, 1i64]) {depth = num_classes}")
        .positional("aten::one_hot"),
    read("torch.tril Tensor.tril", "input diagonal",
        "trilu(input) {k = when given(diagonal) { diagonal } else { 0 }, upper = false}").positional("aten::tril"),
    read("torch.triu Tensor.triu", "input diagonal",
        "trilu(input) {k = when given(diagonal) { diagonal } else { 0 }, upper = true}").positional("aten::triu"),
}
