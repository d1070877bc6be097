//! Activation functions, and layers that do nothing outside of training.

use super::{both, read, write};

rows! {
    both("F.relu nn.ReLU torch.relu", "input inplace", "relu", "input"),
    both("F.sigmoid nn.Sigmoid torch.sigmoid", "input", "sigmoid", "input"),
    both("F.silu nn.SiLU", "input inplace", "silu", "input"),
    both("F.hardswish nn.Hardswish", "input inplace", "hard_swish", "input"),
    both("F.hardsigmoid nn.Hardsigmoid", "input", "hard_sigmoid", "input alpha=0.16666666666666666 beta=0.5"),
    both("F.gelu nn.GELU", "input approximate", "gelu", "input approximate=approximate"),
    both("F.mish nn.Mish", "input", "mish", "input"),
    both("F.elu nn.ELU", "input alpha", "elu", "input alpha=alpha"),
    both("F.selu nn.SELU", "input", "selu", "input"),
    both("F.celu nn.CELU", "input alpha", "celu", "input alpha=alpha"),
    both("F.leaky_relu nn.LeakyReLU", "input negative_slope", "leaky_relu", "input alpha=negative_slope"),
    both("F.softsign nn.Softsign", "input", "softsign", "input"),
    both("F.hardshrink nn.Hardshrink", "input lambd", "shrink", "input lambd=lambd bias=0.0"),
    both("F.softshrink nn.Softshrink", "input lambd", "shrink", "input lambd=lambd bias=lambd"),
    read("torch.clamp", "input min max", "clip(input, min, max)").writes(&[write("clip", "input min=min max=max")]),
    read("nn.ReLU6 F.relu6", "input", "clip(input, 0, 6)"),
    read("nn.Hardtanh F.hardtanh", "input min_val max_val", "clip(input, min_val, max_val)"),
    read("nn.Tanh F.tanh torch.tanh", "input", "tanh(input)"),
    read("nn.Softplus F.softplus", "input beta threshold",
        "where(input * beta > threshold, input, softplus(input * beta) / beta)"),
    read("nn.LogSigmoid F.logsigmoid", "input", "-softplus(-input)"),
    read("nn.Tanhshrink F.tanhshrink", "input", "input - tanh(input)"),
    read("nn.Threshold F.threshold", "input threshold value", "where(input > threshold, input, value)"),
    read("nn.PReLU F.prelu", "input weight num_parameters",
        "when input.rank < 2 { prelu(input, weight) } else {
           prelu(input, reshape(weight) {shape = [-1] ++ [1 for i in range(2, input.rank)]})
         }"),
    // Outside of training, the slope is the middle of its range.
    read("nn.RReLU F.rrelu torch.rrelu", "input lower upper inplace",
        "let a = when given(lower) { lower } else { 0.125 };
         let b = when given(upper) { upper } else { 0.3333333333333333 };
         leaky_relu(input) {alpha = (a + b) / 2.0}"),
    read(
        "nn.Dropout nn.Dropout2d nn.Dropout3d nn.AlphaDropout nn.FeatureAlphaDropout nn.Identity F.dropout F.dropout2d \
         F.dropout3d F.alpha_dropout F.feature_alpha_dropout torch.clone Tensor.clone Tensor.contiguous Tensor.detach",
        "input p inplace training memory_format",
        "input"),
}
