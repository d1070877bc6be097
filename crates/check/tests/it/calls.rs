//! Rules whose operators do not treat each place alone, or have bodies or families of operators.

use tautomer_check::{Verdict, check, hash};

fn verdict(rule: &str, lift: &str) -> Verdict {
    let own = hash(rule);
    let text = format!("tautomer-certificate 1\nrule own\ntext {rule}\nhash {own}\nlift {lift}\nend\n");
    check(&text).remove(0).verdict
}

fn is_accepted(rule: &str, lift: &str) -> bool {
    matches!(verdict(rule, lift), Verdict::Accepted(_))
}

#[test]
fn right_rules_are_accepted() {
    for rule in [
        "rule own(x, w) { relu(conv(x, w) {..a}) => fused_conv(x, w) {..a, activation = \"relu\"} where x.dtype == f32 }",
        "rule own(x, y, w) { conv(x + y, w) {..a} => conv(y + x, w) {..a} }",
        "rule own(x) { unsqueeze(reduce_sum(x) {axes = k, keepdims = false, ..r}) {axes = k} => reduce_sum(x) {axes = k, keepdims = true, ..r} }",
        "rule own(x, s) { prelu(x, s) => relu(x) + min(x, 0) * s }",
        "rule own(x, y) { for f in add mul max: f(x, y) => f(y, x) where x.dtype == f32 }",
        "rule own(x, y) { for f in elementwise binary: f(x, expand(y) {shape = s}) {..a} => f(x, y) {..a} }",
        "rule own(x) { hard_swish(x) => x * hard_sigmoid(x) {alpha = 0.16666666666666666, beta = 0.5} }",
        "rule own(x) { softplus(x) => log(1 + exp(x)) }",
        "rule own(x, w) { relu(fused_matmul(x, w) {..a, activation = none}) => fused_matmul(x, w) {..a, activation = \"relu\"} where x.dtype == f32 }",
        "rule own(x, w, b) { fused_matmul(x, w) {..a, activation = none} + b => fused_matmul(x, w, b) {..a, activation = none} where x.dtype == f32 }",
        "rule own(x) { for f in cos exp: f(-x) {..a} => f(x * -1) {..a} }",
        // Elements at other places.
        "rule own(x) { relu(transpose(x) {..a}) => transpose(relu(x)) {..a} }",
        "rule own(x) { transpose(transpose(x) {perm = [2, 0, 1]}) {perm = [1, 2, 0]} => x }",
        "rule own(x, y) { transpose(x + y) {perm = [1, 0]} => transpose(x) {perm = [1, 0]} + transpose(y) {perm = [1, 0]} }",
        "rule own(x, y) { transpose(x + y) {..a} => transpose(x) {..a} + transpose(y) {..a} where x.shape == y.shape }",
        "rule own(x) { reshape(relu(reshape(x) {shape = s})) {shape = t} => relu(reshape(x) {shape = t}) }",
        "rule own(x) { reshape(squeeze(x) {axes = k}) {shape = s} => reshape(x) {shape = s} }",
        "rule own(x) { flatten(x) {..a} => reshape(x) {shape = s} }",
        "rule own(x, y) { slice(x + y) {..a} => slice(x) {..a} + slice(y) {..a} where x.shape == y.shape }",
        "rule own(x, c: const) { slice(x * c) {..a} => slice(x) {..a} * c where c.rank == 0 }",
        "rule own(x, c: const) { transpose(x * c) {perm = [1, 0]} => transpose(x) {perm = [1, 0]} * c where value(c) > 0 }",
        "rule own(x, i) { gather(abs(x), i) {axis = k} => abs(gather(x, i) {axis = k}) }",
        // Parts of concatenations.
        "rule own(x, y) { concat(relu(x), relu(y)) {axis = k} => relu(concat(x, y) {axis = k}) }",
        "rule own(x, y, z, w) { concat(x + z, y + w) {axis = k} => concat(x, y) {axis = k} + concat(z, w) {axis = k} where x.shape == z.shape, w.shape == y.shape }",
        "rule own(x, y) { concat(max(x, y), max(y, x)) {axis = 0} => max(concat(x, y) {axis = 0}, concat(y, x) {axis = 0}) where x.shape == y.shape, x.dtype == f32 }",
        "rule own(a, b) { gemm(transpose(a) {perm = [1, 0]}, b) {transA = true} => gemm(a, b) }",
        "rule own(a, b) { gemm(a, b, 0) {beta = _, ..r} => gemm(a, b) {..r} }",
        "rule own(x) { ones() {..a} => full() {..a, value = 1.0} }",
        "rule own(x, s, b) { layer_normalization(x, s) {..r} + b => layer_normalization(x, s, b) {..r} }",
    ] {
        assert!(is_accepted(rule, "calls"), "{rule}: {:?}", verdict(rule, "calls"));
    }
}

/// Each is false for some operands, or true only under conditions that it does not state.
#[test]
fn near_misses_are_rejected() {
    for rule in [
        "rule own(x, w) { relu(conv(x, w) {..a}) => fused_conv(x, w) {..a, activation = \"clip\"} where x.dtype == f32 }",
        "rule own(x, w) { relu(conv(x, w) {..a}) => fused_conv(x, w) {..a} where x.dtype == f32 }",
        "rule own(x, w, b) { fused_conv(x, w, b) {..a} => fused_conv(x, w) {..a} }",
        "rule own(x, w, b) { fused_conv(x, w, b) {..a} => fused_conv(x, w, none, b) {..a} }",
        "rule own(x, w) { conv(x, w) {..a} => conv(w, x) {..a} }",
        // Elements at other places.
        "rule own(x) { transpose(x) {perm = p} => x }",
        "rule own(x) { relu(transpose(x) {perm = p}) => transpose(x) {perm = p} }",
        "rule own(x) { transpose(transpose(x) {perm = [1, 2, 0]}) {perm = [1, 2, 0]} => x }",
        "rule own(x) { transpose(transpose(x) {perm = [1, 2, 0]}) {perm = [0, 2, 1]} => transpose(x) {perm = [2, 1, 0]} }",
        // The orders may be left out, and then reverse other axes.
        "rule own(x, y) { transpose(x + y) => transpose(x) + transpose(y) }",
        "rule own(x, y) { transpose(x + y) {perm = p} => transpose(x) {perm = p} + transpose(y) {perm = p} }",
        "rule own(x, y) { reshape(x + y) {shape = s} => reshape(x) {shape = s} + reshape(y) {shape = s} }",
        "rule own(x, y) { reshape(x) {shape = s} + y => reshape(x + y) {shape = s} }",
        "rule own(x, y) { reshape(x) {shape = s} + reshape(y) {shape = t} => reshape(x + y) {shape = s} where x.shape == y.shape }",
        "rule own(x) { matmul(reshape(x) {shape = s}, x) => matmul(x, x) }",
        "rule own(x) { relu(reshape(x) {shape = s}) + x => relu(x) + x }",
        "rule own(x, y) { slice(x + y) {..a} => slice(x) {..a} + slice(y) {..a} }",
        "rule own(x) { slice(x) {starts = s, ends = e} => slice(x) {starts = e, ends = s} }",
        "rule own(x, c: const) { slice(x * c) {..a} => slice(x) {..a} * c }",
        "rule own(x, c: const) { slice(x * c) {..a} => slice(x) {..a} * c where value(c) > 0 }",
        // The value of a constant with different elements is a list.
        "rule own(x, c: const) { transpose(x * c) {perm = [1, 0]} => transpose(x) {perm = [1, 0]} * c where value(c)[0] > 0 }",
        "rule own(x, c: const) { transpose(x * c) {perm = [1, 0]} => transpose(x) {perm = [1, 0]} * c where sorted(value(c)) == [1, 2] }",
        "rule own(x, i, j) { gather(x, i) {axis = k} => gather(x, j) {axis = k} }",
        "rule own(x, i) { gather(x, i) {axis = 0} => gather(x, i) {axis = 1} }",
        "rule own(x) { unsqueeze(squeeze(x) {axes = [0]}) {axes = [1]} + x => x + x }",
        // Parts of concatenations.
        "rule own(x, y) { concat(x, y) {axis = 0} => concat(y, x) {axis = 0} }",
        "rule own(x, y) { concat(relu(x), y) {axis = 0} => relu(concat(x, y) {axis = 0}) }",
        "rule own(x) { concat(x, x) {axis = 0} + x => concat(x + x, x + x) {axis = 0} }",
        "rule own(x) { concat(x, x) {axis = 0} => x }",
        "rule own(x, y, z, w) { concat(x + z, y + w) {axis = k} => concat(x, y) {axis = k} + concat(z, w) {axis = k} }",
        "rule own(x, y, z, w) { concat(x + z, y + w) {axis = 0} => concat(x, y) {axis = 0} + concat(w, z) {axis = 0} where x.shape == z.shape, w.shape == y.shape }",
        "rule own(x, y) { concat(x, y) {axis = 0} * concat(x, y) {axis = 1} => concat(x * x, y * y) {axis = 0} where x.shape == y.shape }",
        "rule own(x, y, z) { concat(x, y, z) {axis = 0} + concat(x, z, y) {axis = 0} => concat(x + x, y + z, z + y) {axis = 0} }",
        "rule own(x, y) { concat(x, y) {axis = 0} + y => concat(x + y, y + y) {axis = 0} where x.shape == y.shape }",
        "rule own(a, b) { gemm(transpose(a) {perm = [0, 1]}, b) {transA = true} => gemm(a, b) }",
        "rule own(a, b, c) { gemm(a, b, c) {beta = 0.5, ..r} => gemm(a, b) {..r} }",
        "rule own(x) { ones() {..a} => full() {..a, value = 0.5} }",
        // Choices that attributes decide.
        "rule own(x, w) { fused_matmul(x, w) {..a, activation = none} => matmul(x, w) where x.dtype == f32 }",
        "rule own(x, w) { relu(fused_matmul(x, w) {..a}) => fused_matmul(x, w) {..a, activation = \"relu\"} where x.dtype == f32 }",
        "rule own(x, w) { fused_matmul(x, w) {..a, activation = none} => fused_matmul(x, w) {..a, activation = none, transposed = true} where x.dtype == f32 }",
        "rule own(x, w) { fused_matmul(x, w) {transposed = t, ..a} => fused_matmul(x, w) {transposed = u, ..a} where x.dtype == f32 }",
        "rule own(x) { transpose(x) {perm = [when i == 0 { 1 } else { i } for i in p]} => transpose(x) {perm = [when i == 0 { 1 } else { i } for i in p]} }",
        "rule own(x) { for f in cos exp: f(x) {..a} => f(-x) {..a} }",
        "rule own(x, w) { conv(x, w) {..a} => conv(x, w) }",
        "rule own(x, w) { conv(x, w) {group = g, ..a} => conv(x, w) {group = 1, ..a} }",
        "rule own(x, w) { conv(x, w) {pads = p, strides = s, ..a} => conv(x, w) {pads = s, strides = p, ..a} }",
        "rule own(x, w) { where(x > 0, conv(relu(x), w) {..a}, conv(x, w) {..a}) => conv(x, w) {..a} }",
        "rule own(x, w) { conv(relu(x), w) {..a} => relu(conv(x, w) {..a}) }",
        "rule own(x, y) { matmul(x, y) => matmul(y, x) }",
        "rule own(x, y, z) { matmul(x + y, z) => matmul(x, z) + matmul(y, z) }",
        "rule own(x, y, z) { matmul(matmul(x, y), z) => matmul(x, matmul(y, z)) }",
        "rule own(x) { reduce_sum(x) {axes = k, ..r} => reduce_mean(x) {axes = k, ..r} }",
        "rule own(x) { reduce_sum(x) {axes = k, keepdims = false, ..r} => reduce_sum(x) {axes = k, keepdims = true, ..r} }",
        "rule own(x) { unsqueeze(reduce_sum(x) {axes = k, keepdims = false, ..r}) {axes = j} => reduce_sum(x) {axes = k, keepdims = true, ..r} }",
        "rule own(x) { reduce_l1(x) {..a} => reduce_sum(x) {..a} }",
        "rule own(x) { unsqueeze(squeeze(x) {axes = k}) {axes = j} => x }",
        "rule own(x, y) { squeeze(unsqueeze(x) {axes = k} + y) {axes = k} => x + y }",
        "rule own(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(transpose(x) {perm = q}) {perm = p} }",
        "rule own(x) { transpose(x) {perm = [1, 0]} => x }",
        "rule own(x) { argmax(x) {..a} => argmin(x) {..a} }",
        "rule own(x) { cast(cast(x) {to = i32}) {to = f32} => x }",
        // The shapes differ, the elements do not.
        "rule own(x, y) { shape(x + y) => shape(x) }",
        "rule own(x, y) { size(x - x) => size(y - y) where x.dtype == f32 }",
        "rule own(x) { shape(expand(x) {shape = s}) => shape(x) }",
        "rule own(x, y) { conv(x * 0 + y, y) {..a} => conv(y, y) {..a} }",
        "rule own(x, y) { matmul(y, reshape(x) {shape = x.shape ++ [1]}) => matmul(y, reshape(x) {shape = y.shape ++ [1]}) }",
        "rule own(x) { matmul(x, reshape(x) {shape = [i for i in s]}) => matmul(x, reshape(x) {shape = [s for i in s]}) }",
        "rule own(x) { matmul(x, reshape(x) {shape = s}) => matmul(x, reshape(x) {shape = [s[0]]}) }",
        "rule own(x) { for f in elementwise: f(x) {..a} => x }",
        "rule own(x, y) { for f in elementwise binary: f(x, y) {..a} => f(y, x) {..a} }",
        "rule own(x, y) { for f in add sub: f(x, y) => f(y, x) }",
        "rule own(x, y) { for f in elementwise: size(f(x, y) + y * 0) => size(f(x, y)) }",
        "rule own(x) { for f in elementwise, g in elementwise: f(g(x)) => g(f(x)) }",
        "rule own(x, s) { prelu(x, s) => prelu(s, x) }",
        "rule own(x) { leaky_relu(x) {alpha = a} => leaky_relu(x) }",
        "rule own(x) { clip(x) {min = a, max = b} => clip(x) {min = b, max = a} }",
        "rule own(x) { clip(x) {min = a, max = b} => clip(x) {min = a} }",
        "rule own(x) { clip(x) {min = 0, max = b} => relu(x) }",
        "rule own(x) { clip(clip(x) {min = a, max = 1}) {min = a, max = 2} => clip(x) {min = a, max = 2} }",
        "rule own(x, s) { layer_normalization(x, s) {axis = k, epsilon = e} => layer_normalization(x, s) {axis = k} }",
        "rule own(x, s) { layer_normalization(x, s) {..r} => rms_normalization(x, s) {..r} }",
        "rule own(x) { softmax(x) {axis = k} => log_softmax(x) {axis = k} }",
        "rule own(x) { softplus(x) => log(1 + exp(-x)) }",
        "rule own(x) { log(x * exp(x)) => x }",
        "rule own(x, y) { log(x + exp(y)) => x + y }",
        "rule own(x) { hard_swish(x) => x * hard_sigmoid(x) {alpha = 0.16666666666666667, beta = 0.5} }",
        "rule own(x, y) { max(x, y) => x where value(y) <= 1 }",
        "rule own(x, c: const, d: const) { max(max(x, c), d) => max(x, c) where value(c) <= value(d) }",
        "rule own(x, c: const, d: const) { min(max(x, d), c) => max(min(x, c), d) }",
        // The word `not` binds less than a comparison.
        "rule own(x, c: const) { max(x, c) => max(x, max(c, 1)) where not value(c) < 0 }",
        "rule own(x, y) { (conv(x, y) {..a}, x) => (x, conv(x, y) {..a}) }",
        "rule own(x, y) { (x, y) => (x, y, x) }",
    ] {
        assert!(!is_accepted(rule, "calls"), "{rule}: {:?}", verdict(rule, "calls"));
    }
}

#[test]
fn calls_are_not_elementwise() {
    let rule = "rule own(x, y, w) { conv(x + y, w) {..a} => conv(y + x, w) {..a} }";
    assert!(is_accepted(rule, "calls"));
    assert!(matches!(verdict(rule, "elementwise"), Verdict::Rejected(_)));
}

/// The verdict says which definitions the proof rests on.
#[test]
fn the_verdict_lists_bodies_and_calls() {
    let rule = "rule own(x, w) { silu(conv(x, w) {..a}) => conv(x, w) {..a} * sigmoid(conv(x, w) {..a}) }";
    let Verdict::Accepted(scope) = verdict(rule, "calls") else {
        panic!("{:?}", verdict(rule, "calls"));
    };
    assert_eq!(scope, "all sizes and ranks, 4 comparisons, any conv, the body of sigmoid, the body of silu");
}
