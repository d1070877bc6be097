//! The programs that are timed: sizes are those of layers of ordinary networks.

/// A program whose calls all have the cost of one group of operators.
pub(super) struct Probe {
    /// The operators whose kernels it stands for.
    pub(super) operators: &'static [&'static str],
    pub(super) program: &'static str,
}

/// Calls so small that starting them is all that takes time.
pub(super) const LAUNCH: &str = "fn main(x: f32[4]) {
  let a = softmax(x); let b = softmax(a); let c = softmax(b); let d = softmax(c);
  let e = softmax(d); let f = softmax(e); let g = softmax(f); softmax(g)
}";

/// Memory is all that takes time.
pub(super) const BANDWIDTH: &str = "fn main(x: f32[1048576], y: f32[1048576]) { x + y }";

/// Arithmetic is all that takes time.
pub(super) const SPEED: &str = "fn main(x: f32[512, 512], param w: f32[512, 512]) { x @ w }";

const PRODUCTS: &[&str] = &["matmul", "gemm", "dense", "batch_matmul"];
const CONVOLUTIONS: &[&str] = &["conv"];
const TRANSPOSED: &[&str] = &["conv_transpose"];
const POOLS: &[&str] = &["max_pool", "average_pool", "lp_pool"];
const WHOLE_POOLS: &[&str] = &["global_average_pool", "global_max_pool"];
const SOFTMAX: &[&str] = &["softmax", "log_softmax"];
const NORMALIZATIONS: &[&str] = &[
    "layer_normalization",
    "rms_normalization",
    "group_normalization",
    "instance_normalization",
];
const REDUCTIONS: &[&str] = &["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"];
const EXPONENTIALS: &[&str] = &["exp", "sigmoid", "tanh", "erf", "gelu", "silu", "log"];
const MOVEMENTS: &[&str] = &["transpose", "layout_transform"];
const JOINS: &[&str] = &["concat", "slice", "pad", "tile", "expand"];
const GATHERS: &[&str] = &["gather", "gather_elements", "gather_nd"];
const RESIZES: &[&str] = &["resize"];
const ATTENTIONS: &[&str] = &["attention"];
const RECURRENT: &[&str] = &["lstm", "gru", "rnn"];
const ORDERS: &[&str] = &["top_k", "sort", "argmax", "argmin"];

/// Programs of one group stand beside each other.
pub(super) const PROBES: &[Probe] = &[
    Probe {
        operators: PRODUCTS,
        program: "fn main(x: f32[1, 768], param w: f32[768, 768]) { x @ w }",
    },
    Probe {
        operators: PRODUCTS,
        program: "fn main(x: f32[128, 768], param w: f32[768, 768]) { x @ w }",
    },
    Probe {
        operators: PRODUCTS,
        program: "fn main(x: f32[12, 128, 64], y: f32[12, 64, 128]) { x @ y }",
    },
    Probe {
        operators: CONVOLUTIONS,
        program: "fn main(x: f32[1, 64, 56, 56], param w: f32[64, 64, 3, 3]) { conv(x, w) {pads = [1, 1, 1, 1]} }",
    },
    Probe {
        operators: CONVOLUTIONS,
        program: "fn main(x: f32[1, 256, 14, 14], param w: f32[256, 256, 1, 1]) { conv(x, w) }",
    },
    Probe {
        operators: CONVOLUTIONS,
        program: "fn main(x: f32[1, 3, 224, 224], param w: f32[32, 3, 3, 3]) { conv(x, w) {strides = [2, 2]} }",
    },
    Probe {
        operators: CONVOLUTIONS,
        program: "fn main(x: f32[1, 96, 56, 56], param w: f32[96, 1, 3, 3]) { conv(x, w) {group = 96} }",
    },
    Probe {
        operators: TRANSPOSED,
        program: "fn main(x: f32[1, 64, 28, 28], param w: f32[64, 32, 2, 2]) { conv_transpose(x, w) {strides = [2, 2]} }",
    },
    Probe {
        operators: POOLS,
        program: "fn main(x: f32[1, 64, 112, 112]) { max_pool(x) {kernel_shape = [3, 3], strides = [2, 2]} }",
    },
    Probe {
        operators: POOLS,
        program: "fn main(x: f32[1, 192, 28, 28]) { average_pool(x) {kernel_shape = [3, 3]} }",
    },
    Probe {
        operators: WHOLE_POOLS,
        program: "fn main(x: f32[1, 512, 7, 7]) { global_average_pool(x) }",
    },
    Probe {
        operators: SOFTMAX,
        program: "fn main(x: f32[12, 128, 128]) { softmax(x) }",
    },
    Probe {
        operators: NORMALIZATIONS,
        program: "fn main(x: f32[128, 768], param g: f32[768], param b: f32[768]) { layer_normalization(x, g, b) }",
    },
    Probe {
        operators: REDUCTIONS,
        program: "fn main(x: f32[128, 768]) { reduce_sum(x) {axes = [1]} }",
    },
    Probe {
        operators: REDUCTIONS,
        program: "fn main(x: f32[64, 56, 56]) { reduce_max(x) {axes = [0]} }",
    },
    Probe {
        operators: EXPONENTIALS,
        program: "fn main(x: f32[128, 3072]) { exp(x) }",
    },
    Probe {
        operators: EXPONENTIALS,
        program: "fn main(x: f32[128, 3072]) { tanh(x) }",
    },
    Probe {
        operators: EXPONENTIALS,
        program: "fn main(x: f32[128, 3072]) { erf(x) }",
    },
    Probe {
        operators: MOVEMENTS,
        program: "fn main(x: f32[1, 128, 12, 64]) { transpose(x) {perm = [0, 2, 1, 3]} }",
    },
    Probe {
        operators: MOVEMENTS,
        program: "fn main(x: f32[1, 64, 56, 56]) { transpose(x) {perm = [0, 2, 3, 1]} }",
    },
    Probe {
        operators: JOINS,
        program: "fn main(x: f32[1, 64, 28, 28], y: f32[1, 64, 28, 28]) { concat(x, y) {axis = 1} }",
    },
    Probe {
        operators: JOINS,
        program: "fn main(x: f32[1, 64, 56, 56]) { pad(x) {pads = [0, 0, 1, 1, 0, 0, 1, 1]} }",
    },
    Probe {
        operators: GATHERS,
        program: "fn main(x: f32[128, 512], i: i64[128]) { gather(x, i) {axis = 0} }",
    },
    Probe {
        operators: RESIZES,
        program: "fn main(x: f32[1, 64, 28, 28]) { resize(x) {sizes = [1, 64, 56, 56], mode = \"linear\"} }",
    },
    Probe {
        operators: ATTENTIONS,
        program: "fn main(q: f32[1, 12, 128, 64], k: f32[1, 12, 128, 64], v: f32[1, 12, 128, 64]) { attention(q, k, v) }",
    },
    Probe {
        operators: RECURRENT,
        program: "fn main(x: f32[16, 1, 128], param w: f32[1, 512, 128], param r: f32[1, 512, 128]) {
  lstm(x, w, r) {hidden_size = 128}.0
}",
    },
    Probe {
        operators: ORDERS,
        program: "fn main(x: f32[64, 1000]) { argmax(x) {axis = 1} }",
    },
];
