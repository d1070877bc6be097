//! Operators of torch that are one expression of the operator table.
//!
//! The names of an entry are those of its operands and parameters in the order of positional operands; what is not given
//! is left out. A parameter that an entry does not name makes the operator unknown, lest its meaning be lost.

/// Operators with the program that they are.
pub(super) struct Entry {
    /// Types of operators, separated by blanks.
    pub(super) kinds: &'static str,
    /// Names of operands and parameters, separated by blanks.
    pub(super) names: &'static str,
    /// The body of a function of them.
    pub(super) body: &'static str,
}

const fn entry(kinds: &'static str, names: &'static str, body: &'static str) -> Entry {
    Entry { kinds, names, body }
}

/// The entry of a type of operators.
pub(super) fn find(kind: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|entry| entry.kinds.split(' ').any(|known| known == kind))
}

/// A reduction of some axes.
macro_rules! reduced {
    ($op:literal) => {
        concat!($op, "(input) {axes = dim, keepdims = keepdim == true}")
    };
}

/// Distances from the mean, and what their squares are divided by for the variance.
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

const ENTRIES: &[Entry] = &[
    // Functions of each element.
    entry("nn.ReLU F.relu torch.relu", "input inplace", "relu(input)"),
    entry("nn.ReLU6 F.relu6", "input", "clip(input, 0, 6)"),
    entry("nn.Hardtanh F.hardtanh", "input min_val max_val", "clip(input, min_val, max_val)"),
    entry("nn.Sigmoid F.sigmoid torch.sigmoid", "input", "sigmoid(input)"),
    entry("nn.SiLU F.silu", "input inplace", "silu(input)"),
    entry("nn.Tanh F.tanh torch.tanh", "input", "tanh(input)"),
    entry("nn.Hardswish F.hardswish", "input inplace", "hard_swish(input)"),
    entry(
        "nn.Hardsigmoid F.hardsigmoid",
        "input",
        "hard_sigmoid(input) {alpha = 0.16666666666666666, beta = 0.5}",
    ),
    entry(
        "nn.GELU F.gelu",
        "input approximate",
        "gelu(input) {approximate = when given(approximate) { approximate } else { \"none\" }}",
    ),
    entry("nn.Mish F.mish", "input", "mish(input)"),
    entry("nn.ELU F.elu", "input alpha", "elu(input) {alpha = alpha}"),
    entry("nn.SELU F.selu", "input", "selu(input)"),
    entry("nn.CELU F.celu", "input alpha", "celu(input) {alpha = alpha}"),
    entry(
        "nn.LeakyReLU F.leaky_relu",
        "input negative_slope",
        "leaky_relu(input) {alpha = negative_slope}",
    ),
    entry(
        "nn.Softplus F.softplus",
        "input beta threshold",
        "where(input * beta > threshold, input, softplus(input * beta) / beta)",
    ),
    entry("nn.Softsign F.softsign", "input", "softsign(input)"),
    entry("nn.LogSigmoid F.logsigmoid", "input", "-softplus(-input)"),
    entry("nn.Tanhshrink F.tanhshrink", "input", "input - tanh(input)"),
    entry("nn.Hardshrink F.hardshrink", "input lambd", "shrink(input) {lambd = lambd, bias = 0.0}"),
    entry("nn.Softshrink F.softshrink", "input lambd", "shrink(input) {lambd = lambd, bias = lambd}"),
    entry("nn.Threshold F.threshold", "input threshold value", "where(input > threshold, input, value)"),
    entry(
        "nn.PReLU F.prelu",
        "input weight num_parameters",
        "when input.rank < 2 { prelu(input, weight) } else {
           prelu(input, reshape(weight) {shape = [-1] ++ [1 for i in range(2, input.rank)]})
         }",
    ),
    entry("torch.clamp", "input min max", "clip(input, min, max)"),
    entry("torch.logical_not", "input", "not input"),
    entry("torch.isnan", "input", "is_nan(input)"),
    entry("torch.where", "condition input other", "where(condition, input, other)"),
    entry("Tensor.masked_fill", "input mask value", "where(mask, value, input)"),
    entry(
        "nn.Dropout nn.Dropout2d nn.Dropout3d nn.AlphaDropout nn.FeatureAlphaDropout nn.Identity F.dropout F.dropout2d \
         F.dropout3d F.alpha_dropout F.feature_alpha_dropout torch.clone Tensor.clone Tensor.contiguous Tensor.detach",
        "input p inplace training memory_format",
        "input",
    ),
    entry("torch.zeros_like", "input dtype", "zeros_like(input)"),
    entry("torch.ones_like", "input dtype", "ones_like(input)"),
    // Along an axis.
    entry("nn.Softmax F.softmax torch.softmax", "input dim dtype", "softmax(input) {axis = dim}"),
    entry("nn.Softmax2d", "input", "softmax(input) {axis = -3}"),
    entry("nn.LogSoftmax F.log_softmax", "input dim dtype", "log_softmax(input) {axis = dim}"),
    entry("nn.Softmin F.softmin", "input dim dtype", "softmax(-input) {axis = dim}"),
    entry(
        "nn.GLU F.glu",
        "input dim",
        "let (a, b) = split(input) {axis = dim, num_outputs = 2}; a * sigmoid(b)",
    ),
    entry("torch.cumsum", "input dim dtype", "cumsum(input) {axis = dim}"),
    entry("torch.cumprod", "input dim dtype", "cumprod(input) {axis = dim}"),
    entry("torch.gather", "input dim index", "gather_elements(input, index) {axis = dim}"),
    entry("torch.index_select", "input dim index", "gather(input, index) {axis = dim}"),
    entry("nn.Embedding F.embedding", "input weight embedding_dim num_embeddings sparse scale_grad_by_freq padding_idx",
        "gather(weight, input) {axis = 0}"),
    // Reductions.
    entry("torch.sum", "input dim keepdim dtype", reduced!("reduce_sum")),
    entry("torch.mean", "input dim keepdim dtype", reduced!("reduce_mean")),
    entry("torch.amax", "input dim keepdim", reduced!("reduce_max")),
    entry("torch.amin", "input dim keepdim", reduced!("reduce_min")),
    entry("torch.prod", "input dim keepdim dtype", reduced!("reduce_prod")),
    entry("torch.logsumexp", "input dim keepdim", reduced!("reduce_log_sum_exp")),
    entry(
        "torch.norm torch.linalg.norm",
        "input dim keepdim p dtype",
        "when not given(p) or p == 2 { reduce_l2(input) {axes = dim, keepdims = keepdim == true} }
         else { when p == 1 { reduce_l1(input) {axes = dim, keepdims = keepdim == true} }
         else { pow(reduce_sum(pow(abs(input), p)) {axes = dim, keepdims = keepdim == true}, 1.0 / p) } }",
    ),
    entry(
        "torch.std",
        "input dim keepdim correction unbiased",
        concat!(deviations!(), "sqrt(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n)"),
    ),
    entry(
        "torch.var",
        "input dim keepdim correction unbiased",
        concat!(deviations!(), "reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n"),
    ),
    entry(
        "torch.argmax",
        "input dim keepdim",
        "when given(dim) { argmax(input) {axis = dim, keepdims = keepdim == true} } else {
           argmax(reshape(input) {shape = [-1]}) {axis = 0, keepdims = false}
         }",
    ),
    entry(
        "torch.argmin",
        "input dim keepdim",
        "when given(dim) { argmin(input) {axis = dim, keepdims = keepdim == true} } else {
           argmin(reshape(input) {shape = [-1]}) {axis = 0, keepdims = false}
         }",
    ),
    entry(
        "torch.max",
        "input dim keepdim",
        "when given(dim) {
           (reduce_max(input) {axes = [dim], keepdims = keepdim == true}, argmax(input) {axis = dim, keepdims = keepdim == true})
         } else { reduce_max(input) {keepdims = false} }",
    ),
    entry(
        "torch.min",
        "input dim keepdim",
        "when given(dim) {
           (reduce_min(input) {axes = [dim], keepdims = keepdim == true}, argmin(input) {axis = dim, keepdims = keepdim == true})
         } else { reduce_min(input) {keepdims = false} }",
    ),
    // Products.
    entry(
        "nn.Linear F.linear",
        "input weight bias in_features out_features",
        "when weight.rank == 1 { matmul(input, weight) } else {
           when given(bias) { dense(input, weight, bias) } else { dense(input, weight) }
         }",
    ),
    entry("torch.matmul", "input other", "matmul(input, other)"),
    entry("torch.bmm torch.mm", "input mat2", "matmul(input, mat2)"),
    entry("torch.mv", "input vec", "matmul(input, vec)"),
    entry(
        "torch.cross torch.linalg.cross",
        "input other dim",
        "let axis = when given(dim) { dim } else { index(input.shape, 3) };
         let a = split(input) {axis = axis, num_outputs = 3};
         let b = split(other) {axis = axis, num_outputs = 3};
         concat(a.1 * b.2 - a.2 * b.1, a.2 * b.0 - a.0 * b.2, a.0 * b.1 - a.1 * b.0) {axis = axis}",
    ),
    // Layout.
    entry("Tensor.permute torch.permute", "input dims", "transpose(input) {perm = dims}"),
    entry("torch.t Tensor.t", "input", "when input.rank < 2 { input } else { transpose(input) }"),
    entry(
        "torch.flip",
        "input dims",
        "slice(input) {
           starts = [-1 for d in dims], ends = [-9223372036854775807 for d in dims], axes = dims, steps = [-1 for d in dims]
         }",
    ),
    entry("torch.squeeze", "input dim", "squeeze(input) {axes = dim}"),
    entry("torch.unsqueeze", "input dim", "unsqueeze(input) {axes = [dim]}"),
    entry("torch.tile Tensor.repeat", "input dims sizes",
        "let n = when given(dims) { dims } else { sizes };
         tile(reshape(input) {shape = [1 for i in range(input.rank, len(n))] ++ input.shape}) {repeats = n}"),
    entry("Tensor.reshape_as Tensor.view_as", "input other", "reshape(input) {shape = other.shape}"),
    entry("Tensor.expand_as", "input other", "expand(input) {shape = other.shape}"),
    entry(
        "F.pixel_shuffle nn.PixelShuffle",
        "input upscale_factor",
        "depth_to_space(input) {blocksize = upscale_factor, mode = \"CRD\"}",
    ),
    entry(
        "F.pixel_unshuffle nn.PixelUnshuffle",
        "input downscale_factor",
        "let r = downscale_factor;
         let s = input.shape;
         let n = s[0]; let c = s[1]; let h = s[2]; let w = s[3];
         reshape(transpose(reshape(input) {shape = [n, c, h / r, r, w / r, r]}) {perm = [0, 1, 3, 5, 2, 4]}) {
           shape = [n, c * r * r, h / r, w / r]
         }",
    ),
    entry(
        "nn.ChannelShuffle F.channel_shuffle",
        "input groups",
        "channel_shuffle(input) {groups = groups}",
    ),
    entry(
        "nn.Fold F.fold",
        "input output_size kernel_size dilation padding stride",
        "col2im(input) {
           image_shape = output_size, block_shape = kernel_size, dilations = dilation, pads = padding ++ padding,
           strides = stride
         }",
    ),
    entry("aten::diagonal torch.diagonal", "input offset dim1 dim2",
        "diagonal(input) {offset = offset, dim1 = dim1, dim2 = dim2}"),
    entry("aten::unfold Tensor.unfold", "input dimension size step",
        "unfold(input) {axis = dimension, size = size, step = step}"),
    entry("torch.unique_consecutive", "input return_inverse return_counts dim",
        "unique_consecutive(input) {
           axis = dim, return_inverse = return_inverse == true, return_counts = return_counts == true
         }"),
    entry("aten::sort torch.sort", "input dim descending stable",
        "let s = sort(input) {axis = dim, descending = descending == true}; (s.0, s.1)"),
];
