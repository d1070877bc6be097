//! The rules of GSL on random programs: applying a rule does not change the results.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, build_program};
use tautomer::lang::parse_program;
use tautomer::rewrite::{CostModel, substitute};
use tautomer::rule::library_set;

use crate::values::{difference, run};

/// The number of programs of each kind.
const PROGRAMS: u64 = 150;

/// Pseudo-random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A number from `low` to `high`, inclusive.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn list(&mut self, n: usize, low: i64, high: i64) -> Vec<i64> {
        (0..n).map(|_| self.between(low, high)).collect()
    }

    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut out: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            out.swap(i, self.below(i as u64 + 1) as usize);
        }
        out
    }
}

fn commas<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn ty<T: Display>(shape: &[T]) -> String {
    format!("f32[{}]", commas(shape))
}

/// One convolution: the type of its kernel, and its attributes.
struct Conv {
    kernel: String,
    attrs: String,
}

/// Convolutions of `x` and of `y` with random attributes, mostly equal ones, combined in one of many ways.
fn convolutions(d: &mut Dice) -> String {
    let rank = d.of(&[1, 1, 2]);
    let group = d.of(&[1, 1, 1, 2]);
    let channels = group * d.between(1, 2);
    let x = [&[d.between(1, 2), channels][..], &d.list(rank, 1, 5)].concat();
    let y = if d.below(3) == 0 {
        [&x[..1], &[channels], &d.list(rank, 1, 5)].concat()
    } else {
        x.clone()
    };
    let outputs = d.of(&[group, channels, channels, 2 * group]);
    let (longest, widest, least) = (d.of(&[1, 1, 3]), d.of(&[1, 1, 2]), d.of(&[-1, 0, 0]));
    let strides = d.list(rank, 1, longest);
    let dilations = d.list(rank, 1, widest);
    let kernel = d.list(rank, 1, 3);
    let pads = d.list(2 * rank, 0, 2);
    let similar = d.of(&[true, true, false]);
    let conv = |d: &mut Dice| {
        let (kernel, pads) = if similar {
            (kernel.clone(), pads.clone())
        } else {
            (d.list(rank, 1, 3), d.list(2 * rank, 0, 2))
        };
        let outputs = d.of(&[outputs, outputs, 2 * outputs]);
        Conv {
            kernel: ty(&[&[outputs, channels / group][..], &kernel].concat()),
            attrs: format!(
                "{{group = {group}, strides = [{}], dilations = [{}], pads = [{}]}}",
                commas(&strides),
                commas(&dilations),
                commas(&pads)
            ),
        }
    };
    let (u, v, w) = (conv(d), conv(d), conv(d));
    let factor = [d.of(&[1, outputs]), d.of(&[1, 1, 2]), d.of(&[1, 1, 3])];
    let factor = &factor[..rank + 1];
    let added = [d.of(&[&[0, 0][..], &[0, 0], &[1, 0]]), &d.list(rank, least, 2)].concat();
    let padding = format!(
        "{{pads = [{}], value = {}, mode = \"{}\"}}",
        commas(&[&added[..], &added].concat()),
        d.of(&["0.0", "0.0", "1.5"]),
        d.of(&["constant", "constant", "edge"])
    );
    let moved = [&[0, rank + 1][..], &(1..=rank).collect::<Vec<_>>()].concat();
    let body = match d.below(7) {
        0 => format!("conv(x, u) {} + conv(x, v) {}", u.attrs, v.attrs),
        1 => format!("conv(x, u) {} + conv(y, v) {}", u.attrs, v.attrs),
        2 => format!("conv(x, u) {} + x", u.attrs),
        3 => format!("conv(x, u) {} * k", u.attrs),
        4 => format!(
            "(conv(x, u) {}, conv(x, v) {}, conv(x, w) {})",
            u.attrs, v.attrs, w.attrs
        ),
        5 => {
            let one = |name: &str, attrs: &str| {
                let inverse: Vec<usize> = (0..rank + 2)
                    .map(|i| moved.iter().position(|&m| m == i).unwrap())
                    .collect();
                format!("transpose(conv(x, {name}) {attrs}) {{perm = [{}]}}", commas(&inverse))
            };
            format!("({}, {})", one("u", &u.attrs), one("v", &v.attrs))
        }
        _ => format!("conv(pad(x) {padding}, u) {}", u.attrs),
    };
    format!(
        "fn main(x: {}, y: {}, param u: {}, param v: {}, param w: {}, param k: {}) {{ {body} }}",
        ty(&x),
        ty(&y),
        u.kernel,
        v.kernel,
        w.kernel,
        ty(factor)
    )
}

/// Calls with constant tensors, biases, and functions computed twice.
fn elementwise(d: &mut Dice) -> String {
    let rank = d.of(&[1, 2, 2, 3]);
    let shape = |d: &mut Dice, rank| {
        d.list(rank, 1, 3)
            .iter()
            .map(|&n| if n == 1 { 1 } else { 3 })
            .collect::<Vec<_>>()
    };
    let x = shape(d, rank);
    let other = d.of(&[rank, rank, 1, 2, 3]);
    let y = shape(d, other);
    let value = d.of(&["0.0", "1.0", "2.5"]);
    let fill = match d.below(8) {
        0 => "zeros_like(y)".to_owned(),
        1 => "ones_like(y)".to_owned(),
        2 => format!("zeros() {{shape = [{}]}}", commas(&y)),
        3 => format!("ones() {{shape = [{}]}}", commas(&y)),
        4 => value.to_owned(),
        _ => format!("full() {{shape = [{}], value = {value}}}", commas(&y)),
    };
    let (axis, along) = (d.between(-1, 1), d.between(-1, 1));
    let (f, g) = (d.of(&["exp", "neg", "relu"]), d.of(&["exp", "neg", "relu"]));
    let call = d.of(&["add", "sub", "mul", "div", "pow", "max", "less", "prelu"]);
    let body = match d.below(7) {
        0 | 6 => format!("{call}(x, {fill})"),
        1 | 2 => format!("{call}({fill}, x)"),
        3 => format!("bias_add(x, b) {{axis = {axis}}} + bias_add(y, b) {{axis = {along}}}"),
        4 => format!("({f}(x), abs({g}(x)), {f}(x))"),
        _ => format!("bias_add(x, b) {{axis = {axis}}}"),
    };
    format!("fn main(x: {}, y: {}, b: f32[3]) {{ {body} }}", ty(&x), ty(&y))
}

/// Permutations of axes, reshapes, slices.
fn movements(d: &mut Dice) -> String {
    let rank = d.of(&[2, 3, 3, 4]);
    let x = d.list(rank, 1, 4);
    let letters: Vec<char> = "NCHW".chars().take(rank).collect();
    let order = |d: &mut Dice| -> String { d.permutation(rank).into_iter().map(|i| letters[i]).collect() };
    let step = |d: &mut Dice, of: &str| match d.below(4) {
        0 => format!("transpose({of})"),
        1 if rank == 3 => format!("transpose({of}) {{perm = [0, 2, 1]}}"),
        2 => format!(
            "layout_transform({of}) {{src_layout = \"{}\", dst_layout = \"{}\"}}",
            order(d),
            order(d)
        ),
        _ => format!("transpose({of}) {{perm = [{}]}}", commas(&d.permutation(rank))),
    };
    let total: i64 = x.iter().product();
    let axis = d.below(rank as u64);
    let extent = x[axis as usize];
    let joined = d.of(&[axis, axis, 0]);
    let cut = d.between(1, 4).min(extent);
    let sizes = [d.list(cut as usize - 1, 0, 1), vec![0]].concat();
    let last = extent - sizes.iter().sum::<i64>();
    let sizes = [&sizes[..sizes.len() - 1], &[last.max(0)]].concat();
    let mut parts: Vec<String> = (0..sizes.len()).map(|i| format!("s.{i}")).collect();
    if d.below(4) == 0 {
        parts.reverse();
    }
    let small: Vec<i64> = x.iter().map(|&n| if d.below(2) == 0 { 1 } else { n }).collect();
    let pads = [d.list(rank, 0, 2), d.list(rank, -1, 1)].concat();
    let body = match d.below(6) {
        0 => {
            let first = step(d, "x");
            step(d, &first)
        }
        1 => format!("reshape(reshape(x) {{shape = [{total}, 1]}}) {{shape = [1, -1, 1]}}"),
        2 => format!(
            "let s = split(x) {{axis = {axis}, sizes = [{}]}}; concat({}) {{axis = {joined}}}",
            commas(&sizes),
            parts.join(", ")
        ),
        3 => "(collapse_sum_like(x, y), broadcast_to_like(y, x), reshape_like(x, transpose(x)))".to_owned(),
        4 => "let t = (neg(x), abs(y)); (t.1, exp(t.0), neg(t.1))".to_owned(),
        _ => format!(
            "transpose(pad(x) {{pads = [{}]}}) {{perm = [{}]}}",
            commas(&pads),
            commas(&d.permutation(rank))
        ),
    };
    format!("fn main(x: {}, y: {}) {{ {body} }}", ty(&x), ty(&small))
}

/// Normalizations along axes, and parallel matrix products.
fn norms_and_products(d: &mut Dice) -> String {
    let rank = d.of(&[2, 3, 4]);
    let mut x = d.list(rank, 1, 3);
    let axis = d.below(rank as u64) as usize;
    x[axis] = 4;
    let written = d.of(&[axis as i64, axis as i64 - rank as i64]);
    let switches = format!(
        "axis = {written}, epsilon = 0.5, center = {}, scale = {}",
        d.below(2) == 0,
        d.below(2) == 0
    );
    let batch = d.of(&[1, 2]);
    let rows = d.list(3, 1, 3);
    let body = match d.below(8) {
        0 => format!("batch_norm_along(x, g, b, g, b * b) {{{switches}}}"),
        1 => format!("layer_norm_along(x, g, b) {{{switches}}}"),
        2 => format!("instance_norm_along(x, g, b) {{{switches}}}"),
        3 => format!(
            "group_norm_along(x, g, b) {{{switches}, num_groups = {}}}",
            d.of(&[1, 2, 4])
        ),
        4 => format!("l2_normalize(x) {{axes = [{written}], epsilon = 0.5}}"),
        5 => format!(
            "layer_normalization(x, g, b) {{axis = {}, epsilon = 0.5}}",
            d.of(&[-1, -2])
        ),
        6 => "(dense(m, u), dense(m, v), dense(m, w))".to_owned(),
        _ => "(batch_matmul(m, unsqueeze(u) {axes = [0]}), batch_matmul(m, p), batch_matmul(m, q))".to_owned(),
    };
    format!(
        "fn main(x: {}, g: f32[4], b: f32[4], m: f32[{batch}, 2, 3], param u: f32[{}, 3], param v: f32[{}, 3], param w: f32[{}, 3], p: f32[{batch}, 2, 3], q: f32[{batch}, 1, 3]) {{ {body} }}",
        ty(&x),
        rows[0],
        rows[1],
        rows[2]
    )
}

/// Patterns of ONNX models, which `onnx.rules` converts to the operators of the other rules.
fn operators_of_models(d: &mut Dice) -> String {
    let (rows, columns, batch) = (d.between(1, 3), d.between(1, 4), d.between(1, 2));
    let bias = d.of(&[columns, columns, columns, 1]);
    let alpha = d.of(&["", "", ", alpha = 0.5"]);
    let body = match d.below(6) {
        0 => format!(
            "conv(x, k, c) {{pads = [{}, {}], strides = [{}]}}",
            d.below(2),
            d.below(2),
            d.between(1, 2)
        ),
        1 => "batch_normalization(x, g, g, g, g * g) {epsilon = 0.5}".to_owned(),
        2 => "instance_normalization(x, g, g) {epsilon = 0.5}".to_owned(),
        3 => "(matmul(m, w), matmul(x, u))".to_owned(),
        4 => format!("(gemm(m, v) {{transB = true{alpha}}}, gemm(m, v, b) {{transB = true{alpha}}})"),
        _ => "gemm(m, w, b)".to_owned(),
    };
    format!(
        "fn main(x: f32[{batch}, 4, 5], g: f32[4], param k: f32[6, 4, 3], param c: f32[6], m: f32[{rows}, 3], \
         param w: f32[3, {columns}], param v: f32[{columns}, 3], param u: f32[5, 2], b: f32[{bias}]) {{ {body} }}"
    )
}

fn graph(text: &str) -> Option<Graph> {
    let program =
        parse_program(Arc::new(Source::new("random", text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    build_program(&program, &BuildOptions::default()).ok()
}

#[test]
fn rules_keep_random_programs_equal() {
    let set = library_set("gsl").unwrap().unwrap();
    let mut applied: BTreeMap<&str, usize> = set.rules.iter().map(|rule| (&*rule.name, 0)).collect();
    let mut problems = Vec::new();
    let kinds: [fn(&mut Dice) -> String; 5] = [
        convolutions,
        elementwise,
        movements,
        norms_and_products,
        operators_of_models,
    ];
    for (kind, make) in kinds.into_iter().enumerate() {
        let mut dice = Dice(kind as u64 + 1);
        let programs = if kind == 0 { 6 * PROGRAMS } else { 3 * PROGRAMS };
        for _ in 0..programs {
            let text = make(&mut dice);
            let Some(source) = graph(&text) else { continue };
            let Ok(wanted) = run(&source, 1, false) else { continue };
            for rule in &set.rules {
                let rules = std::slice::from_ref(rule);
                let (made, report) = substitute(source.clone(), rules, Some(3), &CostModel::default());
                if report.steps.is_empty() {
                    continue;
                }
                *applied.entry(&rule.name).or_default() += 1;
                match run(&made, 1, false) {
                    Ok(is) => {
                        let differ = wanted.iter().zip(&is).find_map(|(a, b)| difference(rule.class, a, b));
                        if let Some(how) = differ {
                            problems.push(format!("{}: {how}\n  {text}", rule.name));
                        }
                    }
                    Err(e) => problems.push(format!("{}: {e}\n  {text}", rule.name)),
                }
            }
        }
    }
    for (rule, count) in applied {
        if count < 5 {
            problems.push(format!("{rule}: applied {count} times alone"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems\n{}",
        problems.len(),
        problems.join("\n")
    );
}
