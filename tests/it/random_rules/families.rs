//! Laws of many operators: each over operands that are functions of variables, and under a function of the result.
//! The changes replace a part of the target, or drop the condition.

use super::{Case, Random};

/// Names of attributes, with values.
type Values = Vec<(&'static str, i64)>;

/// Whether a condition holds of values.
type Holds = fn(&Values) -> bool;

struct Law {
    /// The variables: names, element types, and dimensions, which are names or numbers; `D` is any numeric type. Those
    /// that begin with `i` are indices.
    variables: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// Names of attributes, below these numbers.
    names: &'static [(&'static str, usize)],
    /// `F(` stands for a function of one operand.
    source: &'static str,
    target: &'static str,
    condition: Option<(&'static str, Holds)>,
    /// Parts of the target, and what is wrong in their place.
    changes: &'static [(&'static str, &'static str)],
    class: &'static str,
}

const NONE: Law = Law {
    variables: &[("x", "D", &["n", "m", "k"])],
    names: &[],
    source: "",
    target: "",
    condition: None,
    changes: &[],
    class: "real",
};

fn get(values: &Values, name: &str) -> i64 {
    values.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v)
}

const LAWS: &[Law] = &[
    Law {
        names: &[("a", 3), ("b", 3)],
        source: "reduce_sum(reduce_sum(F(x)) {axes = [a], keepdims = true}) {axes = [b], keepdims = true}",
        target: "reduce_sum(F(x)) {axes = [a, b], keepdims = true}",
        condition: Some(("a != b", |v| get(v, "a") != get(v, "b"))),
        changes: &[("[a, b]", "[a]"), ("reduce_sum", "reduce_max"), ("F(x)", "x")],
        ..NONE
    },
    Law {
        names: &[("a", 3), ("b", 2)],
        source: "reduce_max(reduce_max(F(x)) {axes = [a], keepdims = false}) {axes = [b], keepdims = false}",
        target: "reduce_max(F(x)) {axes = [a, b + 1], keepdims = false}",
        condition: Some(("b >= a", |v| get(v, "b") >= get(v, "a"))),
        changes: &[
            ("[a, b + 1]", "[0, b + 1]"),
            ("[a, b + 1]", "[a, 2]"),
            ("reduce_max", "reduce_min"),
        ],
        ..NONE
    },
    Law {
        names: &[("a", 3), ("p", 3), ("q", 3), ("r", 3)],
        source: "reduce_sum(transpose(F(x)) {perm = [p, q, r]}) {axes = [a], keepdims = true}",
        target: "transpose(reduce_sum(F(x)) {axes = [[p, q, r][a]], keepdims = true}) {perm = [p, q, r]}",
        changes: &[("[[p, q, r][a]]", "[a]"), ("F(x)", "x"), ("reduce_sum", "reduce_min")],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"]), ("i", "i64", &["k"]), ("i1", "i64", &["l"])],
        source: "gather(gather(F(x), i) {axis = 0}, i1) {axis = 0}",
        target: "gather(F(x), gather(i, i1) {axis = 0}) {axis = 0}",
        changes: &[
            ("gather(i, i1)", "gather(i1, i)"),
            ("gather(i, i1)", "gather(i1, i1)"),
            ("F(x)", "x"),
        ],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"]), ("i", "i64", &["k"]), ("i1", "i64", &["k"])],
        source: "gather(gather(F(x), i) {axis = 0}, i1) {axis = 1}",
        target: "gather(gather(F(x), i1) {axis = 1}, i) {axis = 0}",
        changes: &[
            (
                "gather(gather(F(x), i1) {axis = 1}, i)",
                "gather(gather(F(x), i) {axis = 1}, i1)",
            ),
            (", i) {", ", i1) {"),
        ],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "n"]), ("i", "i64", &["n"])],
        names: &[("a", 2)],
        source: "gather(transpose(F(x)) {perm = [1, 0]}, i) {axis = a}",
        target: "transpose(gather(F(x), i) {axis = 1 - a}) {perm = [1, 0]}",
        changes: &[("1 - a", "a"), ("{perm = [1, 0]}", "{perm = [0, 1]}")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[
            ("c", "bool", &["n", "m"]),
            ("d", "bool", &["n", "m"]),
            ("x", "D", &["n", "m"]),
            ("y", "D", &["n", "m"]),
        ],
        source: "where(c, where(d, F(x), y), y)",
        target: "where(c and d, F(x), y)",
        changes: &[("and", "or"), ("F(x), y", "y, F(x)"), ("c and d", "d")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("c", "bool", &["n"]), ("x", "D", &["m", "n"]), ("y", "D", &["m", "n"])],
        source: "where(not c, F(x), y) + x",
        target: "where(c, y + x, F(x) + x)",
        changes: &[("where(c", "where(not c"), ("y + x", "y")],
        ..NONE
    },
    Law {
        names: &[("a", 3)],
        source: "cumsum(F(x)) {axis = a, exclusive = true, reverse = false}",
        target: "cumsum(F(x)) {axis = a, exclusive = false, reverse = false} - F(x)",
        changes: &[
            ("- F(x)", "+ F(x)"),
            ("exclusive = false", "exclusive = true"),
            ("reverse = false", "reverse = true"),
        ],
        ..NONE
    },
    Law {
        names: &[("a", 3)],
        source: "cumsum(F(x)) {axis = a, exclusive = false, reverse = true}",
        target: "reduce_sum(F(x)) {axes = [a], keepdims = true} - cumsum(F(x)) {axis = a, exclusive = true, reverse = false}",
        changes: &[
            ("exclusive = true", "exclusive = false"),
            ("reverse = false", "reverse = true"),
            ("{axis = a", "{axis = 0"),
        ],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"]), ("y", "D", &["m", "k"])],
        source: "transpose(matmul(F(x), y)) {perm = [1, 0]}",
        target: "matmul(transpose(y) {perm = [1, 0]}, transpose(F(x)) {perm = [1, 0]})",
        changes: &[
            (
                "matmul(transpose(y) {perm = [1, 0]}, transpose(F(x)) {perm = [1, 0]})",
                "matmul(F(x), y)",
            ),
            ("F(x)", "x"),
        ],
        ..NONE
    },
    Law {
        variables: &[
            ("x", "D", &["n", "m"]),
            ("y", "D", &["m", "k"]),
            ("z", "D", &["m", "k"]),
        ],
        source: "matmul(F(x), y) + matmul(F(x), z)",
        target: "matmul(F(x), y + z)",
        changes: &[("y + z", "y - z"), ("y + z", "y + y"), ("F(x)", "x")],
        ..NONE
    },
    Law {
        variables: &[
            ("x", "D", &["n", "m"]),
            ("y", "D", &["k", "m"]),
            ("z", "D", &["m", "n"]),
        ],
        source: "concat(matmul(F(x), z), matmul(y, z)) {axis = 0}",
        target: "matmul(concat(F(x), y) {axis = 0}, z)",
        changes: &[("F(x), y", "y, F(x)"), ("F(x)", "x")],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"]), ("y", "D", &["m", "m"]), ("z", "D", &["m"])],
        source: "matmul(F(x) * z, y)",
        target: "matmul(F(x), y * unsqueeze(z) {axes = [1]})",
        changes: &[("axes = [1]", "axes = [0]"), ("y * unsqueeze(z) {axes = [1]}", "y * z")],
        ..NONE
    },
    Law {
        variables: &[("x", "f32", &["n", "m"])],
        names: &[("a", 2)],
        source: "top_k(-F(x)) {k = 1, axis = a, largest = true, sorted = true}.0",
        target: "-(top_k(F(x)) {k = 1, axis = a, largest = false, sorted = true}.0)",
        changes: &[("largest = false", "largest = true"), ("F(x)", "x")],
        ..NONE
    },
    Law {
        variables: &[("x", "f32", &["n", "m"])],
        names: &[("a", 2)],
        source: "argmax(-F(x)) {axis = a, keepdims = true, select_last_index = false}",
        target: "argmin(F(x)) {axis = a, keepdims = true, select_last_index = false}",
        changes: &[
            ("select_last_index = false", "select_last_index = true"),
            ("argmin", "argmax"),
            ("F(x)", "x"),
        ],
        ..NONE
    },
    Law {
        names: &[("a", 4)],
        source: "reduce_sum(unsqueeze(F(x)) {axes = [a]}) {axes = [a], keepdims = false}",
        target: "F(x)",
        changes: &[("F(x)", "x"), ("F(x)", "F(x) + F(x)")],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"])],
        source: "reduce_max(tile(F(x)) {repeats = [2, 1]}) {axes = [0], keepdims = true}",
        target: "reduce_max(F(x)) {axes = [0], keepdims = true}",
        changes: &[("reduce_max", "reduce_sum"), ("reduce_max", "reduce_min")],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "8", "m", "k"])],
        source: "space_to_depth(depth_to_space(F(x)) {blocksize = 2, mode = \"DCR\"}) {blocksize = 2}",
        target: "F(x)",
        changes: &[("F(x)", "x"), ("F(x)", "channel_shuffle(F(x)) {groups = 2}")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[
            ("x", "f32", &["n", "m", "4"]),
            ("w", "f32", &["k", "m", "2"]),
            ("v", "f32", &["k", "m", "2"]),
        ],
        names: &[("a", 2), ("b", 2)],
        source: "conv(F(x), w) {pads = [a, b], group = 1, ..r} + conv(F(x), v) {pads = [a, b], group = 1, ..r}",
        target: "conv(F(x), w + v) {pads = [a, b], group = 1, ..r}",
        changes: &[("w + v", "w - v"), ("[a, b]", "[b, a]"), ("F(x)", "x")],
        ..NONE
    },
    Law {
        variables: &[("x", "i32", &["n"]), ("y", "i32", &["n"])],
        source: "bitwise_and(F(x), y) + bitwise_or(F(x), y)",
        target: "F(x) + y",
        changes: &[("F(x) + y", "bitwise_xor(F(x), y) + y"), ("+", "-")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "i32", &["n"])],
        source: "mod(mod(F(x), 6), 3)",
        target: "mod(F(x), 3)",
        changes: &[
            ("3", "2"),
            ("mod(F(x), 3)", "mod(F(x), 3) {fmod = true}"),
            ("F(x)", "x"),
        ],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "i64", &["n"]), ("y", "i64", &["n"])],
        source: "not (F(x) < y)",
        target: "F(x) >= y",
        changes: &[(">=", ">"), ("F(x) >= y", "y >= F(x)")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"])],
        names: &[("a", 3), ("b", 3)],
        source: "roll(roll(F(x)) {shifts = [a], axes = [0]}) {shifts = [b], axes = [0]}",
        target: "roll(F(x)) {shifts = [a + b], axes = [0]}",
        changes: &[("a + b", "a - b"), ("a + b", "a"), ("axes = [0]", "axes = [1]")],
        class: "bitwise",
        ..NONE
    },
    Law {
        variables: &[("x", "f32", &["n", "n"]), ("y", "f32", &["n", "n"])],
        source: "einsum(F(x), y) {equation = \"ab,bc->ac\"}",
        target: "matmul(F(x), y)",
        changes: &[("F(x), y", "y, F(x)"), ("F(x)", "x"), ("matmul", "mul")],
        ..NONE
    },
    Law {
        variables: &[
            ("x", "f32", &["n"]),
            ("i", "i64", &["k"]),
            ("u", "f32", &["k"]),
            ("y", "f32", &["n"]),
        ],
        source: "scatter_elements(F(x), i, u) {axis = 0, reduction = \"add\"} + y",
        target: "scatter_elements(F(x) + y, i, u) {axis = 0, reduction = \"add\"}",
        changes: &[("\"add\"", "\"none\""), ("\"add\"", "\"mul\""), ("F(x) + y", "F(x)")],
        ..NONE
    },
    Law {
        variables: &[("x", "D", &["n", "m"]), ("i", "i64", &["k", "m"])],
        source: "gather_elements(F(x), i) {axis = 0}",
        target: "F(gather_elements(x, i) {axis = 0})",
        changes: &[
            (
                "F(gather_elements(x, i) {axis = 0})",
                "gather_elements(x, i) {axis = 0}",
            ),
            ("F(", "-F("),
        ],
        class: "bitwise",
        ..NONE
    },
    Law {
        names: &[("a", 3)],
        variables: &[("x", "D", &["n", "m"]), ("y", "D", &["n", "m"])],
        source: "reduce_max(concat(unsqueeze(F(x)) {axes = [a]}, unsqueeze(y) {axes = [a]}) {axis = a}) {axes = [a], keepdims = false}",
        target: "max(F(x), y)",
        changes: &[("max", "min"), ("F(x), y", "y, y"), ("max", "add")],
        ..NONE
    },
];

/// The words of a text replaced where they are names of attributes.
fn substituted(text: &str, values: &Values) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut inside = false;
    for c in text.chars().chain([' ']) {
        if c == '"' {
            inside = !inside;
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        match values.iter().find(|(name, _)| *name == word) {
            Some((_, value)) if !inside => out.push_str(&value.to_string()),
            _ => out.push_str(&word),
        }
        word.clear();
        out.push(c);
    }
    out
}

/// A law with operands, a function of the result and an element type chosen.
#[derive(Clone, Copy)]
struct Chosen {
    law: &'static Law,
    f: &'static str,
    outer: &'static str,
    dtype: &'static str,
}

impl Chosen {
    fn side(&self, text: &str) -> String {
        let inner = text.replace("F(", &format!("{}(", self.f));
        match self.outer {
            "" => inner,
            outer => format!("{outer}({inner})"),
        }
    }

    fn variables(&self, size: &dyn Fn(&'static str) -> String) -> String {
        let one = |(name, dtype, dims): &(&str, &'static str, &[&'static str])| {
            let dtype = if *dtype == "D" { self.dtype } else { dtype };
            let dims: Vec<String> = dims.iter().map(|d| size(d)).collect();
            format!("{name}: {dtype}[{}]", dims.join(", "))
        };
        let all: Vec<String> = self.law.variables.iter().map(one).collect();
        all.join(", ")
    }

    fn case(self, target: &str, without_condition: bool, change: &'static str) -> Case {
        let Chosen { law, .. } = self;
        let (source, target) = (self.side(law.source), self.side(target));
        let condition = match law.condition {
            Some((text, _)) if !without_condition => format!("where {text} "),
            _ => String::new(),
        };
        let text = format!(
            "/// Random.\nrule random({}) {{\n  {source}\n  => {target}\n  {condition}numerics {}\n}}\n",
            self.variables(&|dim| dim.to_owned()),
            law.class
        );
        let sides = move |random: &mut Random| {
            let sizes: Vec<(&str, usize)> = ["n", "m", "k", "l"].map(|d| (d, random.of(&[2, 1, 3, 2, 0]))).to_vec();
            let size = |dim: &'static str| {
                let known = sizes.iter().find(|(d, _)| *d == dim);
                known.map_or_else(|| dim.to_owned(), |(_, n)| n.to_string())
            };
            let values: Values = law
                .names
                .iter()
                .map(|(name, n)| (*name, random.below(*n) as i64))
                .collect();
            if !without_condition && law.condition.is_some_and(|(_, holds)| !holds(&values)) {
                return None;
            }
            let inputs = self.variables(&size);
            let program = |side: &str| {
                let side = substituted(side, &values).replace(", ..r", "");
                format!("fn main({inputs}) {{ {side} }}")
            };
            Some([program(&source), program(&target)])
        };
        Case {
            text,
            sides: Box::new(sides),
            change,
        }
    }
}

/// A true rule, and wrong candidates made from it.
pub(super) fn drawn(random: &mut Random) -> (Case, Vec<Case>) {
    let law = &LAWS[random.below(LAWS.len())];
    let is_comparison = law.source.starts_with("not ");
    let chosen = Chosen {
        law,
        f: random.of(&["neg", "abs", "relu"]),
        outer: if is_comparison {
            random.of(&["", "not"])
        } else {
            random.of(&["", "", "neg", "abs"])
        },
        dtype: if law.class == "bitwise" {
            random.of(&["f32", "f64", "i32", "i64"])
        } else {
            random.of(&["f32", "f64", "f32"])
        },
    };
    let mut wrong: Vec<Case> = Vec::new();
    if law.condition.is_some() {
        wrong.push(chosen.case(law.target, true, "a condition"));
    }
    for (part, other) in law.changes {
        assert!(law.target.contains(part), "{part} is not in {}", law.target);
        wrong.push(chosen.case(&law.target.replacen(part, other, 1), false, "a law"));
    }
    let first = random.below(wrong.len());
    wrong.rotate_left(first);
    (chosen.case(law.target, false, ""), wrong)
}
