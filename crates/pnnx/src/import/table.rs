//! Torch operators that can be written as one expression of the operator table.
//!
//! The names of an entry are those of its operands and parameters in positional order; missing ones are left out. A
//! parameter that an entry does not name makes the operator unsupported, so that its meaning is not lost. After a name,
//! `:tensor` turns a number into a tensor with the element type of the first operand, and `:int` turns a boolean into
//! an integer.

/// Operators and the program that computes them.
pub(super) struct Entry {
    /// Operator types, separated by blanks.
    pub(super) kinds: &'static str,
    /// Names of operands and parameters, separated by blanks.
    pub(super) names: &'static str,
    /// The body of a function of these names.
    pub(super) body: &'static str,
}

const fn entry(kinds: &'static str, names: &'static str, body: &'static str) -> Entry {
    Entry { kinds, names, body }
}

/// The entry for an operator type.
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

/// A product added to the first operand, both scaled. A factor of 0 drops the first operand, even if it is NaN.
macro_rules! added {
    ($product:literal) => {
        concat!(
            "let p = ",
            $product,
            ";
             let q = when not given(alpha) or alpha == 1 { p } else { p * alpha };
             when not given(beta) or beta == 1 { input + q } else { when beta == 0 { q } else { input * beta + q } }"
        )
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

/// `axis` is `dim` counted from the front.
macro_rules! axis {
    ($x:literal) => {
        concat!("let axis = when dim < 0 { dim + ", $x, ".rank } else { dim };")
    };
}

/// `s` is `src`, broadcast or sliced to the shape of the index list.
macro_rules! scattered {
    () => {
        "let s = when src.shape == index.shape { src } else { when src.rank == 0 { expand(src) {shape = index.shape} } else {
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

/// The elements along an axis in reverse order.
macro_rules! flipped {
    ($x:literal, $axis:literal) => {
        concat!(
            "slice(",
            $x,
            ") {starts = [-1], ends = [-9223372036854775807], axes = [",
            $axis,
            "], steps = [-1]}"
        )
    };
}

const ENTRIES: &[Entry] = &[
    // Elementwise functions.
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
    // Products added to something.
    entry("torch.addmm", "input mat1 mat2 beta alpha", added!("matmul(mat1, mat2)")),
    entry("torch.baddbmm", "input batch1 batch2 beta alpha", added!("matmul(batch1, batch2)")),
    entry(
        "torch.addbmm",
        "input batch1 batch2 beta alpha",
        added!("reduce_sum(matmul(batch1, batch2)) {axes = [0], keepdims = false}"),
    ),
    entry("torch.addmv", "input mat vec beta alpha", added!("matmul(mat, vec)")),
    entry(
        "torch.addr",
        "input vec1 vec2 beta alpha",
        added!("unsqueeze(vec1) {axes = [1]} * unsqueeze(vec2) {axes = [0]}"),
    ),
    entry(
        "torch.addcmul",
        "input tensor1 tensor2 value",
        "let p = tensor1 * tensor2; input + (when not given(value) or value == 1 { p } else { p * value })",
    ),
    entry(
        "torch.addcdiv",
        "input tensor1 tensor2 value",
        "let t = when not given(value) or value == 1 { tensor1 } else { tensor1 * value }; input + t / tensor2",
    ),
    entry("torch.lerp", "input end weight", "input + (end - input) * weight"),
    entry("torch.dot", "input other", "matmul(input, other)"),
    entry(
        "torch.outer torch.ger",
        "input vec2",
        "unsqueeze(input) {axes = [1]} * unsqueeze(vec2) {axes = [0]}",
    ),
    entry(
        "nn.Bilinear F.bilinear",
        "input1 input2 weight bias in1_features in2_features out_features",
        "let y = einsum(input1, weight, input2) {equation = \"...i,oij,...j->...o\"};
         when given(bias) { y + bias } else { y }",
    ),
    // Outside of training, the slope is the middle of its range.
    entry(
        "nn.RReLU F.rrelu torch.rrelu",
        "input lower upper inplace",
        "let a = when given(lower) { lower } else { 0.125 };
         let b = when given(upper) { upper } else { 0.3333333333333333 };
         leaky_relu(input) {alpha = (a + b) / 2.0}",
    ),
    entry("torch.isinf", "input", "is_inf(input)"),
    // Sampling.
    entry(
        "F.grid_sample",
        "input grid mode padding_mode align_corners",
        "grid_sample(input, grid) {
           mode = when not given(mode) or mode == \"bilinear\" { \"linear\" } else {
             when mode == \"bicubic\" { \"cubic\" } else { mode }
           },
           padding_mode = when given(padding_mode) { padding_mode } else { \"zeros\" },
           align_corners = align_corners == true
         }",
    ),
    entry(
        "aten::grid_sampler aten::grid_sampler_2d aten::grid_sampler_3d",
        "input grid mode padding_mode align_corners",
        "grid_sample(input, grid) {
           mode = [\"linear\", \"nearest\", \"cubic\"][mode],
           padding_mode = [\"zeros\", \"border\", \"reflection\"][padding_mode],
           align_corners = align_corners == true
         }",
    ),
    entry(
        "F.affine_grid",
        "theta size align_corners",
        "affine_grid(theta) {size = size, align_corners = align_corners == true}",
    ),
    entry(
        "pnnx.custom_op.torchvision.roi_align",
        "arg_0 arg_1 arg_2 arg_3 arg_4 arg_5 arg_6",
        "let batch = cast(reshape(slice(arg_1) {starts = [0], ends = [1], axes = [1]}) {shape = [-1]}) {to = i64};
             roi_align(arg_0, slice(arg_1) {starts = [1], ends = [5], axes = [1]}, batch) {
               spatial_scale = arg_2, output_height = arg_3, output_width = arg_4, sampling_ratio = max(arg_5, 0),
               coordinate_transformation_mode = when arg_6 == true { \"half_pixel\" } else { \"output_half_pixel\" }
             }",
    ),
    entry(
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
    entry(
        "pnnx.custom_op.torchvision.deform_conv2d",
        "arg_0 arg_1 arg_2 arg_3 arg_4 arg_5 arg_6 arg_7 arg_8 arg_9 arg_10 arg_11 arg_12 arg_13",
        "when arg_13 == true {
           deform_conv(arg_0, arg_1, arg_2, arg_4, arg_3) {
             strides = [arg_5, arg_6], pads = [arg_7, arg_8, arg_7, arg_8], dilations = [arg_9, arg_10], group = arg_11,
             offset_group = arg_12
           }
         } else {
           deform_conv(arg_0, arg_1, arg_2, arg_4) {
             strides = [arg_5, arg_6], pads = [arg_7, arg_8, arg_7, arg_8], dilations = [arg_9, arg_10], group = arg_11,
             offset_group = arg_12
           }
         }",
    ),
    entry(
        "torchvision.ops.DeformConv2d",
        "input offset mask weight bias stride padding dilation groups kernel_size in_channels out_channels",
        "deform_conv(input, weight, offset, bias, mask) {
           strides = stride, pads = padding ++ padding, dilations = dilation, group = groups,
           offset_group = offset.shape[1] / (2 * weight.shape[2] * weight.shape[3])
         }",
    ),
    entry(
        "pnnx.custom_op.torchvision.nms",
        "arg_0 arg_1 arg_2",
        "let picked = non_max_suppression(unsqueeze(arg_0) {axes = [0]}, reshape(arg_1) {shape = [1, 1, -1]}) {
           max_output_boxes_per_class = 9223372036854775807, iou_threshold = arg_2
         };
         reshape(slice(picked) {starts = [2], ends = [3], axes = [1]}) {shape = [-1]}",
    ),
    // Scatter operators.
    entry(
        "torch.scatter_add",
        "input dim index src",
        concat!(scattered!(), "scatter_elements(input, index, s) {axis = dim, reduction = \"add\"}"),
    ),
    entry(
        "torch.scatter",
        "input dim index src:tensor value:tensor reduce",
        concat!(
            "let src = when given(src) { src } else { value };",
            scattered!(),
            "scatter_elements(input, index, s) {
               axis = dim,
               reduction = when not given(reduce) { \"none\" } else { when reduce == \"add\" { \"add\" } else { \"mul\" } }
             }"
        ),
    ),
    entry(
        "torch.scatter_reduce",
        "input dim index src reduce include_self",
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
        ),
    ),
    entry(
        "torch.index_add",
        "input dim index source alpha",
        concat!(
            places!(),
            "let s = when not given(alpha) or alpha == 1 { source } else { source * alpha };
             scatter_elements(input, places, s) {axis = dim, reduction = \"add\"}"
        ),
    ),
    entry(
        "torch.index_copy",
        "input dim index source",
        concat!(places!(), "scatter_elements(input, places, source) {axis = dim}"),
    ),
    entry(
        "torch.index_fill",
        "input dim index value:tensor",
        concat!(
            axis!("input"),
            "let source = expand(value) {
               shape = [when k == axis { index.shape[0] } else { input.shape[k] } for k in range(0, input.rank)]
             };",
            places!(),
            "scatter_elements(input, places, source) {axis = dim}"
        ),
    ),
    entry(
        "torch.masked_scatter",
        "input mask source",
        "let x = when input.shape == mask.shape { input } else { expand(input) {shape = mask.shape} };
         let m = when x.shape == mask.shape { mask } else { expand(mask) {shape = x.shape} };
         let before = cumsum(cast(reshape(m) {shape = [-1]}) {to = i64}) {axis = 0} - 1;
         let chosen = gather(reshape(source) {shape = [-1]}, max(before, 0)) {axis = 0};
         where(m, reshape(chosen) {shape = x.shape}, x)",
    ),
    // Gather and selection.
    entry(
        "torch.take_along_dim",
        "input indices dim",
        concat!(
            axis!("input"),
            "let wide = [when k == axis { indices.shape[k] } else { input.shape[k] } for k in range(0, input.rank)];
             gather_elements(input, when indices.shape == wide { indices } else { expand(indices) {shape = wide} }) {axis = dim}"
        ),
    ),
    entry(
        "torch.masked_select",
        "input mask",
        "let x = when input.shape == mask.shape { input } else { expand(input) {shape = mask.shape} };
         let m = when x.shape == mask.shape { mask } else { expand(mask) {shape = x.shape} };
         compress(reshape(x) {shape = [-1]}, reshape(m) {shape = [-1]}) {axis = 0}",
    ),
    entry("torch.nonzero", "input", "transpose(non_zero(input)) {perm = [1, 0]}"),
    entry(
        "torch.topk",
        "input k dim largest sorted",
        "let t = top_k(input) {k = k, axis = when given(dim) { dim } else { -1 }, largest = not (given(largest) and largest == false)};
         (t.0, t.1)",
    ),
    entry(
        "torch.argsort",
        "input dim descending stable",
        "let s = sort(input) {axis = when given(dim) { dim } else { -1 }, descending = descending == true}; s.1",
    ),
    entry(
        "torch.kthvalue",
        "input k dim keepdim",
        "let axis = when given(dim) { dim } else { -1 };
         let s = sort(input) {axis = axis};
         let v = slice(s.0) {starts = [k - 1], ends = [k], axes = [axis]};
         let i = slice(s.1) {starts = [k - 1], ends = [k], axes = [axis]};
         when keepdim == true { (v, i) } else { (squeeze(v) {axes = [axis]}, squeeze(i) {axes = [axis]}) }",
    ),
    // The lower of the two middle elements; NaN sorts last, and is the result if it occurs.
    entry(
        "torch.median",
        "input dim keepdim",
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
           when keepdim == true { (value, place) } else { (squeeze(value) {axes = [axis]}, squeeze(place) {axes = [axis]}) }
         }",
    ),
    entry(
        "aten::unique_flat",
        "input sorted return_inverse return_counts",
        "let u = unique(input); (u.0, reshape(u.2) {shape = input.shape}, u.3)",
    ),
    entry(
        "aten::unique_slices",
        "input dim sorted return_inverse return_counts",
        "let u = unique(input) {axis = dim}; (u.0, u.2, u.3)",
    ),
    entry(
        "torch.unique",
        "input sorted return_inverse return_counts dim",
        "let u = unique(input) {axis = dim};
         let inverse = when given(dim) { u.2 } else { reshape(u.2) {shape = input.shape} };
         when return_inverse == true {
           when return_counts == true { (u.0, inverse, u.3) } else { (u.0, inverse) }
         } else { when return_counts == true { (u.0, u.3) } else { u.0 } }",
    ),
    entry("F.one_hot", "input num_classes", "one_hot(input, [0i64, 1i64]) {depth = num_classes}"),
    entry(
        "torch.tril Tensor.tril",
        "input diagonal",
        "trilu(input) {k = when given(diagonal) { diagonal } else { 0 }, upper = false}",
    ),
    entry(
        "torch.triu Tensor.triu",
        "input diagonal",
        "trilu(input) {k = when given(diagonal) { diagonal } else { 0 }, upper = true}",
    ),
    entry(
        "torch.rot90",
        "input k dims",
        concat!(
            "let n = when given(k) { k % 4 } else { 1 };
             let d = when given(dims) { dims } else { [0, 1] };
             let a = when d[0] < 0 { d[0] + input.rank } else { d[0] };
             let b = when d[1] < 0 { d[1] + input.rank } else { d[1] };
             let perm = [when i == a { b } else { when i == b { a } else { i } } for i in range(0, input.rank)];
             when n == 0 { input } else {
             when n == 1 { transpose(",
            flipped!("input", "b"),
            ") {perm = perm} } else {
             when n == 2 { ",
            "slice(input) {starts = [-1, -1], ends = [-9223372036854775807, -9223372036854775807], axes = [a, b], steps = [-1, -1]}",
            " } else { transpose(",
            flipped!("input", "a"),
            ") {perm = perm} } } }"
        ),
    ),
    entry(
        "Tensor.unflatten torch.unflatten nn.Unflatten",
        "input dim sizes unflattened_size",
        concat!(
            axis!("input"),
            "let parts = when given(sizes) { sizes } else { unflattened_size };
             reshape(input) {shape = input.shape[0..axis] ++ parts ++ input.shape[axis + 1..]}"
        ),
    ),
    // Norms and distances.
    entry(
        "F.normalize",
        "input p dim eps",
        concat!(
            "let along = when given(dim) { dim } else { [1] };
             let n = ",
            norm!("input", "axes = along, keepdims = true"),
            ";
             input / max(n, when given(eps) { eps } else { 1e-12 })"
        ),
    ),
    entry(
        "nn.PairwiseDistance F.pairwise_distance",
        "x1 x2 p eps keepdim",
        concat!(
            "let d = x1 - x2 + (when given(eps) { eps } else { 1e-6 });
             ",
            norm!("d", "axes = [-1], keepdims = keepdim == true")
        ),
    ),
    entry(
        "torch.cdist",
        "x1 x2 p compute_mode",
        concat!(
            "let d = unsqueeze(x1) {axes = [-2]} - unsqueeze(x2) {axes = [-3]};
             ",
            norm!("d", "axes = [-1], keepdims = false")
        ),
    ),
    entry(
        "nn.CosineSimilarity F.cosine_similarity",
        "x1 x2 dim eps",
        "let a = when x1.shape == x2.shape { x1 } else { expand(x1) {shape = x2.shape} };
         let b = when a.shape == x2.shape { x2 } else { expand(x2) {shape = a.shape} };
         let axis = when given(dim) { dim } else { 1 };
         let least = when given(eps) { eps } else { 1e-8 };
         let m = max(reduce_l2(a) {axes = [axis], keepdims = true}, least);
         let n = max(reduce_l2(b) {axes = [axis], keepdims = true}, least);
         reduce_sum((a / m) * (b / n)) {axes = [axis], keepdims = false}",
    ),
    // With an even number of channels, the window reaches one further down, while ONNX's reaches one further up.
    entry(
        "nn.LocalResponseNorm F.local_response_norm",
        "input size alpha beta k",
        "let a = when given(alpha) { alpha } else { 0.0001 };
         let b = when given(beta) { beta } else { 0.75 };
         let c = when given(k) { k } else { 1.0 };
         when size % 2 == 1 { lrn(input) {size = size, alpha = a, beta = b, bias = c} } else {
           let q = reshape(input * input) {shape = [input.shape[0], 1, input.shape[1], -1]};
           let m = average_pool(q) {
             kernel_shape = [size, 1], pads = [size / 2, 0, (size - 1) / 2, 0], count_include_pad = true
           };
           input / pow(reshape(m) {shape = input.shape} * a + c, b)
         }",
    ),
    entry(
        "torch.std_mean",
        "input dim keepdim correction:int unbiased",
        concat!(
            deviations!(),
            "(sqrt(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n),
              reduce_mean(input) {axes = axes, keepdims = keepdim == true})"
        ),
    ),
    entry(
        "torch.var_mean",
        "input dim keepdim correction:int unbiased",
        concat!(
            deviations!(),
            "(reduce_sum(d * d) {axes = axes, keepdims = keepdim == true} / n,
              reduce_mean(input) {axes = axes, keepdims = keepdim == true})"
        ),
    ),
];
