//! Rules with calls of composite operators on both sides, and rules that are almost like them.

use super::is_one_term;

#[test]
fn calls_are_compared_by_their_bodies() {
    for text in [
        "(q, k, v, m) { attention(q, relu(relu(k)), v, m) {..r} => attention(q, relu(relu(k)), identity(v), m) {..r} numerics bitwise }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r, m) { let keys = concat(p, k) {axis = 2}; let values = concat(r, v) {axis = 2}; (attention(q, keys, values, m) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a}, keys, values) => let y = attention_with_cache(q, k, v, m, p, r) {is_causal = false, scale = c, softcap = f, softmax_precision = o}; (y.0, y.1, y.2) numerics real }",
    ] {
        assert!(is_one_term(text), "{text}");
    }
}

#[test]
fn bodies_that_differ_are_told_apart() {
    for text in [
        // Other operands, and other attributes.
        "(q, k, v, m) { attention(q, k, v, m) {..r} => attention(k, q, v, m) {..r} numerics real }",
        "(q, k, v, m) { attention(q, k, v, m) {..r} => attention(q, k, k, m) {..r} numerics real }",
        "(q, k, v, m) { attention(q, k, v, m) {..r} => attention(q, k, v) {..r} numerics real }",
        "(q, k, v) { attention(q, k, v) {is_causal = c, ..r} => attention(q, k, v) {..r} numerics real }",
        "(q, k, v) { attention(q, k, v) {scale = c, ..r} => attention(q, k, v) {..r} numerics real }",
        "(q, k, v) { attention(q, k, v) {softcap = c, ..r} => attention(q, k, v) {..r} numerics real }",
        "(q, k, v) { attention(q, k, v) {softmax_precision = c, ..r} => attention(q, k, v) {..r} numerics real }",
        "(q, k, v) { attention(q, k, v) {q_num_heads = h, kv_num_heads = g, ..r} => attention(q, k, v) {q_num_heads = g, kv_num_heads = h, ..r} numerics real }",
        // The past behind what is new, the past of values for keys, other results, and positions that the past shifts.
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r) { let keys = concat(k, p) {axis = 2}; let values = concat(v, r) {axis = 2}; attention(q, keys, values) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, p, r) {is_causal = false, scale = c, softcap = f, softmax_precision = o}.0 numerics real }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r) { let keys = concat(p, k) {axis = 1}; let values = concat(r, v) {axis = 1}; attention(q, keys, values) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, p, r) {is_causal = false, scale = c, softcap = f, softmax_precision = o}.0 numerics real }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, d], p, r) { let keys = concat(p, k) {axis = 2}; let values = concat(r, v) {axis = 2}; attention(q, keys, values) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, r, p) {is_causal = false, scale = c, softcap = f, softmax_precision = o}.0 numerics real }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r) { let keys = concat(p, k) {axis = 2}; let values = concat(r, v) {axis = 2}; attention(q, keys, values) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, p, r) {is_causal = false, scale = c, softcap = f, softmax_precision = o}.1 numerics real }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r) { let keys = concat(p, k) {axis = 2}; let values = concat(r, v) {axis = 2}; attention(q, keys, values) {is_causal = true, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, p, r) {is_causal = true, scale = c, softcap = f, softmax_precision = o}.0 numerics real }",
        "(q: [b, h, s, d], k: [b, g, t, d], v: [b, g, t, e], p, r) { let keys = concat(p, k) {axis = 2}; let values = concat(r, v) {axis = 2}; attention(q, keys, values) {is_causal = false, scale = c, softcap = f, softmax_precision = o, ..a} => attention_with_cache(q, k, v, none, p, r) {is_causal = false, scale = c, softmax_precision = o}.0 numerics real }",
        // A condition of a step that only one side meets.
        "(q: [b, h, s, d], k: [b, t, d], v: [b, t, e]) { attention(q, k, v) {kv_num_heads = 1, ..r} => attention(q, unsqueeze(k) {axes = [2]}, v) {kv_num_heads = 1, ..r} numerics real }",
    ] {
        assert!(!is_one_term(text), "{text}");
    }
}

#[test]
fn a_summand_of_zeros_may_be_left_out() {
    for text in [
        "(a, b) { gemm(a, b, 0) {beta = _, ..r} => gemm(a, b) {..r} numerics real }",
        "(x, w) { conv(x, w, 0) {..a} => conv(x, w) {..a} numerics real }",
        "(x, w) { conv_transpose(x, w, 0) {..a} => conv_transpose(x, w) {..a} numerics real }",
    ] {
        assert!(is_one_term(text), "{text}");
    }
    for text in [
        "(a, b) { gemm(a, b, 1) {beta = _, ..r} => gemm(a, b) {..r} numerics real }",
        "(a, b, c) { gemm(a, b, c) {beta = _, ..r} => gemm(a, b) {..r} numerics real }",
        "(a, b, c) { gemm(a, b, c) {beta = _, ..r} => gemm(a, b, c) {..r} numerics real }",
        "(a, b) { gemm(a, b, 0) {beta = _, alpha = _, ..r} => gemm(a, b) {..r} numerics real }",
        "(a, b) { gemm(a, b, 0) {beta = _, ..r} => gemm(b, a) {..r} numerics real }",
        "(a, b) { gemm(a, b, 0) {beta = _, ..r} => gemm(a, b) {..r} numerics bitwise }",
        "(x, w) { conv(x, w, 0) {..a} => conv(x, w) {..a} numerics bitwise }",
        "(x, w) { conv(x, w, 0) {strides = _, ..a} => conv(x, w) {..a} numerics real }",
        "(x, w, b) { conv(x, w, b) {..a} => conv(x, w) {..a} numerics real }",
        "(x, w) { conv_transpose(x, w, 1) {..a} => conv_transpose(x, w) {..a} numerics real }",
    ] {
        assert!(!is_one_term(text), "{text}");
    }
}
