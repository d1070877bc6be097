//! Outputs that are one polynomial of elements, and outputs that are almost one.

use super::is_one_term;

/// A batch normalization as a product and a sum, where these parts stand for what is usually there.
fn scale_and_shift(axes: &str, shift: &str, factor: &str, class: &str) -> String {
    format!(
        "(x, s, b, m, v) {{ batch_normalization(x, s, b, m, v) {{epsilon = e, ..r}} => let f = {factor}; \
         x * reshape(f) {{shape = {axes}}} + reshape({shift}) {{shape = {axes}}} numerics {class} }}"
    )
}

const AXES: &str = "[f.shape[0]] ++ [1 for i in range(2, x.rank)]";

#[test]
fn polynomials_are_compared() {
    let right = scale_and_shift(AXES, "b - m * f", "s / sqrt(v + e)", "real");
    for text in [
        right.as_str(),
        "(x, y, z) { x * (y + z) => z * x + y * x numerics real }",
        "(x, y, z) { relu(x * y - y * (x - z)) => relu(-z * -y) numerics real }",
        "(x, y, z) { x / sqrt(z) + y / sqrt(z) => (x + y) / sqrt(z) numerics real }",
        "(x, g, b, m, v) { batch_norm_along(x, g, b, m, v) {axis = a, epsilon = e, center = c, scale = s} => \
         let k = when s { g / sqrt(v + e) } else { 1 / sqrt(v + e) }; \
         let f = when a == x.rank - 1 { k } else { unsqueeze(k) {axes = range(1, x.rank - a)} }; \
         bias_add(x * f, when c { b - m * k } else { -m * k }) {axis = a} numerics real }",
    ] {
        assert!(is_one_term(text), "{text}");
    }
}

#[test]
fn other_polynomials_are_different() {
    let factor = "s / sqrt(v + e)";
    let wrong = [
        scale_and_shift(AXES, "b + m * f", factor, "real"),
        scale_and_shift(AXES, "b - m", factor, "real"),
        scale_and_shift(AXES, "b - m * f", "s * sqrt(v + e)", "real"),
        scale_and_shift(AXES, "b - m * f", "s / sqrt(v)", "real"),
        scale_and_shift(AXES, "b - m * f", factor, "bitwise"),
        // Along another axis.
        scale_and_shift(
            "[f.shape[0]] ++ [1 for i in range(1, x.rank)]",
            "b - m * f",
            factor,
            "real",
        ),
        scale_and_shift(
            "[f.shape[0]] ++ [1 for i in range(3, x.rank)]",
            "b - m * f",
            factor,
            "real",
        ),
        scale_and_shift(
            "[1 for i in range(2, x.rank)] ++ [f.shape[0]]",
            "b - m * f",
            factor,
            "real",
        ),
        scale_and_shift("[f.shape[0]]", "b - m * f", factor, "real"),
    ];
    let others = [
        // Quotients of integers are rounded.
        "(x, y, z) { x / z + y / z => (x + y) / z numerics real }",
        "(x, y, z) { x * y / z => x * (y / z) numerics real }",
        "(x, y, z) { x * (y + z) => x * y + x * x numerics real }",
        "(x, y, z) { x * (y + z) => x * y + z numerics real }",
        "(x, y) { (x + y) * (x + y) => x * x + x * y + y * y numerics real }",
        "(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }",
        "(x, y) { sqrt(x * y) => sqrt(x) * sqrt(y) numerics real }",
        "(x, y, z) { x * (y + z) => z * x + y * x numerics bitwise }",
        "(x, y, z) { pow(x, y + z) => pow(x, y) + pow(x, z) numerics real }",
        // Vectors with other axes, and values that are no vectors.
        "(x, y, b: [n]) { x * reshape(b) {shape = [b.shape[0], 1]} + y * reshape(b) {shape = [b.shape[0], 1, 1]} => (x + y) * reshape(b) {shape = [b.shape[0], 1]} numerics real }",
        "(x, b, c) { x * reshape(b + c) {shape = s} => x * reshape(b) {shape = s} + x * reshape(c) {shape = s} numerics real }",
        "(x, b: [n, m], c: [m]) { x * reshape(b + c) {shape = [n * m, 1]} => x * reshape(b) {shape = [n * m, 1]} + x * reshape(c) {shape = [m, 1]} numerics real }",
        // The branches the other way round.
        "(x, g, b, m, v) { batch_norm_along(x, g, b, m, v) {axis = a, epsilon = e, center = c, scale = s} => \
         let k = when s { 1 / sqrt(v + e) } else { g / sqrt(v + e) }; \
         let f = when a == x.rank - 1 { k } else { unsqueeze(k) {axes = range(1, x.rank - a)} }; \
         bias_add(x * f, when c { b - m * k } else { -m * k }) {axis = a} numerics real }",
        "(x, g, b, m, v) { batch_norm_along(x, g, b, m, v) {axis = a, epsilon = e, center = c, scale = s} => \
         let k = when s { g / sqrt(v + e) } else { 1 / sqrt(v + e) }; \
         let f = when a == x.rank - 1 { k } else { unsqueeze(k) {axes = range(1, x.rank - a)} }; \
         bias_add(x * f, when s { b - m * k } else { -m * k }) {axis = a} numerics real }",
    ];
    for text in wrong.iter().map(String::as_str).chain(others) {
        assert!(!is_one_term(text), "{text}");
    }
}

/// A factor for each channel after a normalization, if the condition holds.
fn factor_of_channels(condition: &str, shift: &str) -> bool {
    is_one_term(&format!(
        "(x, s, b, c) {{ instance_normalization(x, s, b) {{..r}} * c => \
         instance_normalization(x, s * reshape(c) {{shape = s.shape}}, {shift}) {{..r}} where {condition} numerics real }}"
    ))
}

#[test]
fn values_along_one_axis_are_vectors() {
    let shift = "b * reshape(c) {shape = s.shape}";
    assert!(factor_of_channels(
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        shift
    ));
    assert!(factor_of_channels(
        "c.rank > x.rank - 2, c.shape[c.rank - x.rank + 1] == s.shape[0], c.size == x.shape[1]",
        shift
    ));
    for condition in [
        // Where the place is less than 0, it is counted from the end.
        "c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        "c.rank >= x.rank - 2, c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        // Other axes have elements, too.
        "c.rank >= x.rank - 1, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        "c.rank >= x.rank - 1, c.size >= s.size, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        "c.rank >= x.rank - 1, c.size == x.shape[0], c.shape[c.rank - x.rank + 1] == x.shape[1]",
        // Along another axis.
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - x.rank + 2] == x.shape[1]",
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[0]",
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - 1] == x.shape[1], x.shape[1] > 0",
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[0] == x.shape[1]",
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[1] or c.rank == 1",
    ] {
        assert!(!factor_of_channels(condition, shift), "{condition}");
    }
    assert!(!factor_of_channels(
        "c.rank >= x.rank - 1, c.size == s.size, c.shape[c.rank - x.rank + 1] == x.shape[1]",
        "b"
    ));
}
