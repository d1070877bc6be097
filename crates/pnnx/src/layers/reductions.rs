//! Functions along axes, reductions, norms and distances.

use super::{both, read, write};

/// Deviations from the mean, and the divisor of the sum of their squares for the variance.
macro_rules! deviations {
    () => {
        "let axes = when given(dim) { dim } else { range(0, input.rank) };
         let d = input - reduce_mean(input) {axes = axes, keepdims = true};
         let n = prod([input.shape[i] for i in axes]) - (when given(correction) { correction } else {
           when unbiased == false { 0 } else { 1 }
         });
         "
    };
}

/// The norm of order `p` along some axes.
macro_rules! norm {
    ($x:literal, $along:literal) => {
        concat!(
            "when not given(p) or p == 2 { reduce_l2(",
            $x,
            ") {",
            $along,
            "} } else {
             when p == 1 { reduce_l1(",
            $x,
            ") {",
            $along,
            "} } else {
             when p == inf { reduce_max(abs(",
            $x,
            ")) {",
            $along,
            "} } else {
             when p == -inf { reduce_min(abs(",
            $x,
            ")) {",
            $along,
            "} } else {
               pow(reduce_sum(pow(abs(",
            $x,
            "), p)) {",
            $along,
            "}, 1.0 / p)
             } } } }"
        )
    };
}

rows! {
    both("F.softmax nn.Softmax torch.softmax", "input dim dtype", "softmax", "input axis=dim"),
    read("nn.Softmax2d", "input", "softmax(input) {axis = -3}"),
    both("F.log_softmax nn.LogSoftmax", "input dim dtype", "log_softmax", "input axis=dim"),
    read("nn.Softmin F.softmin", "input dim dtype", "softmax(-input) {axis = dim}"),
    read("nn.GLU F.glu", "input dim", "let (a, b) = split(input) {axis = dim, num_outputs = 2}; a * sigmoid(b)"),
    both("torch.cumsum", "input dim dtype:sum", "cumsum", "input axis=dim"),
    both("torch.cumprod", "input dim dtype:sum", "cumprod", "input axis=dim"),
    both("torch.sum", "input dim keepdim dtype:sum", "reduce_sum", "input axes=dim keepdims=keepdim?"),
    both("torch.mean", "input dim keepdim dtype", "reduce_mean", "input axes=dim keepdims=keepdim?"),
    both("torch.amax", "input dim keepdim", "reduce_max", "input axes=dim keepdims=keepdim?"),
    both("torch.amin", "input dim keepdim", "reduce_min", "input axes=dim keepdims=keepdim?"),
    both("torch.prod", "input dim keepdim dtype:sum", "reduce_prod", "input axes=dim keepdims=keepdim?"),
    both("torch.logsumexp", "input dim keepdim", "reduce_log_sum_exp", "input axes=dim keepdims=keepdim?"),
    read("torch.norm torch.linalg.norm", "input dim keepdim p dtype",
        "when not given(p) or p == 2 { reduce_l2(input) {axes = dim, keepdims = keepdim == true} }
         else { when p == 1 { reduce_l1(input) {axes = dim, keepdims = keepdim == true} }
         else { pow(reduce_sum(pow(abs(input), p)) {axes = dim, keepdims = keepdim == true}, 1.0 / p) } }")
    .writes(&[
        write("reduce_l1", "input axes=dim keepdims=keepdim? 1=p"),
        write("reduce_l2", "input axes=dim keepdims=keepdim? 2=p"),
    ]),
    read("torch.std", "input dim keepdim correction unbiased",
        concat!(deviations!(), "sqrt(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n)")),
    read("torch.var", "input dim keepdim correction unbiased",
        concat!(deviations!(), "reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n")),
    read("torch.std_mean", "input dim keepdim correction:int unbiased",
        concat!(
            deviations!(),
            "(sqrt(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n),
              reduce_mean(input) {axes = axes, keepdims = keepdim == true})"
        )).positional("aten::std_mean=input,dim,correction,keepdim aten::std_mean/2=input,correction"),
    read("torch.var_mean", "input dim keepdim correction:int unbiased",
        concat!(
            deviations!(),
            "(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n,
              reduce_mean(input) {axes = axes, keepdims = keepdim == true})"
        )).positional("aten::var_mean=input,dim,correction,keepdim aten::var_mean/2=input,correction"),
    read("torch.argmax", "input dim keepdim",
        "when given(dim) { argmax(input) {axis = dim, keepdims = keepdim == true} } else {
           argmax(reshape(input) {shape = [-1]}) {axis = 0, keepdims = false}
         }")
    .writes(&[write("argmax", "input axis=dim keepdims=keepdim?")]),
    read("torch.argmin", "input dim keepdim",
        "when given(dim) { argmin(input) {axis = dim, keepdims = keepdim == true} } else {
           argmin(reshape(input) {shape = [-1]}) {axis = 0, keepdims = false}
         }")
    .writes(&[write("argmin", "input axis=dim keepdims=keepdim?")]),
    read("torch.max", "input dim keepdim",
        "when given(dim) {
           (reduce_max(input) {axes = [dim], keepdims = keepdim == true},
            argmax(input) {axis = dim, keepdims = keepdim == true})
         } else { reduce_max(input) {keepdims = false} }"),
    read("torch.min", "input dim keepdim",
        "when given(dim) {
           (reduce_min(input) {axes = [dim], keepdims = keepdim == true},
            argmin(input) {axis = dim, keepdims = keepdim == true})
         } else { reduce_min(input) {keepdims = false} }"),
    read("F.normalize", "input p dim eps",
        concat!(
            "let along = when given(dim) { dim } else { [1] };
             let n = ",
            norm!("input", "axes = along, keepdims = true"),
            ";
             input / max(n, when given(eps) { eps } else { 1e-12 })"
        )),
    read("nn.PairwiseDistance F.pairwise_distance", "x1 x2 p eps keepdim",
        concat!(
            "let d = x1 - x2 + (when given(eps) { eps } else { 1e-6 });
             ",
            norm!("d", "axes = [-1], keepdims = keepdim == true")
        )).positional("aten::pairwise_distance"),
    read("torch.cdist", "x1 x2 p compute_mode",
        concat!(
            "let d = unsqueeze(x1) {axes = [-2]} - unsqueeze(x2) {axes = [-3]};
             ",
            norm!("d", "axes = [-1], keepdims = false")
        )).positional("aten::cdist"),
    read("nn.CosineSimilarity F.cosine_similarity", "x1 x2 dim eps",
        "let a = when x1.shape == x2.shape { x1 } else { expand(x1) {shape = x2.shape} };
         let b = when a.shape == x2.shape { x2 } else { expand(x2) {shape = a.shape} };
         let axis = when given(dim) { dim } else { 1 };
         let least = when given(eps) { eps } else { 1e-8 };
         let m = max(reduce_l2(a) {axes = [axis], keepdims = true}, least);
         let n = max(reduce_l2(b) {axes = [axis], keepdims = true}, least);
         reduce_sum((a / m) * (b / n)) {axes = [axis], keepdims = false}").positional("aten::cosine_similarity"),
}
