//! Rules whose attributes are names, with conditions on them: compositions of slices, paddings and clips, computed by
//! their meaning. The changes drop a condition or replace an expression of the target.

use super::{Case, Random};

/// Names of attributes with values, or a dimension.
type Values<'a> = &'a [(&'static str, i64)];

/// Whether a condition holds of values.
type Holds = fn(Values<'_>) -> bool;

/// A rule over a vector `x` with attributes.
struct Shape {
    source: &'static str,
    target: &'static str,
    /// Conditions, with what they say; those marked are needed.
    conditions: &'static [(&'static str, Holds)],
    names: &'static [&'static str],
    /// Parts of the target, and what is wrong in their place.
    changes: &'static [(&'static str, &'static str)],
    class: &'static str,
}

fn get(values: Values<'_>, name: &str) -> i64 {
    values.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v)
}

const SHAPES: &[Shape] = &[
    Shape {
        source: "slice(slice(F(x)) {starts = [a], ends = [b], axes = [0], steps = [1]}) \
                 {starts = [c], ends = [d], axes = [0], steps = [1]}",
        target: "F(slice(x) {starts = [a + c], ends = [a + d], axes = [0], steps = [1]})",
        conditions: &[
            ("a >= 0", |v| get(v, "a") >= 0),
            ("b >= a", |v| get(v, "b") >= get(v, "a")),
            ("b <= x.shape[0]", |v| get(v, "b") <= get(v, "n")),
            ("c >= 0", |v| get(v, "c") >= 0),
            ("d >= c", |v| get(v, "d") >= get(v, "c")),
            ("d <= b - a", |v| get(v, "d") <= get(v, "b") - get(v, "a")),
        ],
        names: &["a", "b", "c", "d"],
        changes: &[
            ("[a + c]", "[c]"),
            ("[a + c]", "[a]"),
            ("[a + d]", "[d]"),
            ("[a + d]", "[b]"),
        ],
        class: "bitwise",
    },
    Shape {
        source: "pad(pad(x) {pads = [a, b], axes = [0], mode = \"constant\", value = 0.0}) \
                 {pads = [c, d], axes = [0], mode = \"constant\", value = 0.0}",
        target: "pad(x) {pads = [a + c, b + d]}",
        conditions: &[
            ("a >= 0", |v| get(v, "a") >= 0),
            ("b >= 0", |v| get(v, "b") >= 0),
            ("c >= 0", |v| get(v, "c") >= 0),
            ("d >= 0", |v| get(v, "d") >= 0),
        ],
        names: &["a", "b", "c", "d"],
        changes: &[("a + c, b + d", "b + d, a + c"), ("a + c, b + d", "a + d, b + c")],
        class: "bitwise",
    },
    Shape {
        source: "clip(clip(F(x)) {min = a, max = b}) {min = c, max = d}",
        target: "clip(F(x)) {min = max(a, c), max = min(b, d)}",
        conditions: &[
            ("a <= b", |v| get(v, "a") <= get(v, "b")),
            ("c <= d", |v| get(v, "c") <= get(v, "d")),
            ("c <= b", |v| get(v, "c") <= get(v, "b")),
            ("a <= d", |v| get(v, "a") <= get(v, "d")),
        ],
        names: &["a", "b", "c", "d"],
        changes: &[
            ("max(a, c)", "a"),
            ("max(a, c)", "min(a, c)"),
            ("min(b, d)", "b"),
            ("min(b, d)", "d"),
        ],
        class: "real",
    },
    Shape {
        source: "F(slice(pad(x) {pads = [a, b], axes = [0], mode = \"constant\", value = 0.0}) \
                 {starts = [c], ends = [d], axes = [0], steps = [1]})",
        target: "slice(F(x)) {starts = [c - a], ends = [d - a], axes = [0], steps = [1]}",
        conditions: &[
            ("a >= 0", |v| get(v, "a") >= 0),
            ("b >= 0", |v| get(v, "b") >= 0),
            ("c >= a", |v| get(v, "c") >= get(v, "a")),
            ("d >= c", |v| get(v, "d") >= get(v, "c")),
            ("d <= a + x.shape[0]", |v| get(v, "d") <= get(v, "a") + get(v, "n")),
        ],
        names: &["a", "b", "c", "d"],
        changes: &[("[c - a]", "[c]"), ("[d - a]", "[d]"), ("[c - a]", "[a - c]")],
        class: "bitwise",
    },
    Shape {
        source: "reduce_max(clip(x) {min = a, max = b}) {axes = [0], keepdims = true}",
        target: "clip(reduce_max(x) {axes = [0], keepdims = true}) {min = a, max = b}",
        conditions: &[
            ("a <= b", |v| get(v, "a") <= get(v, "b")),
            ("x.shape[0] > 0", |v| get(v, "n") > 0),
        ],
        names: &["a", "b"],
        changes: &[
            ("{min = a, max = b}", "{min = a}"),
            ("{min = a, max = b}", "{max = b}"),
            ("reduce_max", "reduce_min"),
        ],
        class: "real",
    },
];

fn case(shape: &'static Shape, f: &'static str, target: String, dropped: Option<usize>, change: &'static str) -> Case {
    let applied = |text: &str| text.replace("F(", &format!("{f}("));
    let kept: Vec<_> = shape
        .conditions
        .iter()
        .enumerate()
        .filter(|(i, _)| Some(*i) != dropped)
        .collect();
    let conditions: Vec<&str> = kept.iter().map(|(_, (text, _))| *text).collect();
    let (source, target) = (applied(shape.source), applied(&target));
    let text = format!(
        "/// Random.\nrule random(x: f32[n]) {{\n  {source}\n  => {target}\n  where {}\n  numerics {}\n}}\n",
        conditions.join(", "),
        shape.class
    );
    let holds: Vec<fn(Values<'_>) -> bool> = kept.iter().map(|(_, (_, f))| *f).collect();
    let sides = move |random: &mut Random| {
        for _ in 0..400 {
            let mut values: Vec<(&'static str, i64)> = vec![("n", random.below(5) as i64)];
            values.extend(shape.names.iter().map(|name| (*name, random.below(8) as i64 - 2)));
            if !holds.iter().all(|f| f(&values)) {
                continue;
            }
            let program = |side: &str| format!("fn main(x: f32[{}]) {{ {} }}", values[0].1, filled(side, &values));
            return Some([program(&source), program(&target)]);
        }
        None
    };
    Case {
        text,
        sides: Box::new(sides),
        change,
    }
}

/// The text with numbers in place of the names in braces.
fn filled(side: &str, values: Values<'_>) -> String {
    let mut out = String::new();
    let mut depth = 0usize;
    let bytes: Vec<char> = side.chars().collect();
    for (i, &letter) in bytes.iter().enumerate() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let is_word = |at: Option<usize>| {
            let letter = at.and_then(|at| bytes.get(at));
            letter.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '"')
        };
        let alone = !is_word(i.checked_sub(1)) && !is_word(Some(i + 1));
        let value = values
            .iter()
            .find(|(name, _)| depth > 0 && alone && name.chars().eq([letter]));
        match value {
            Some((_, v)) => out.push_str(&format!("({v})")),
            None => out.push(letter),
        }
    }
    out
}

/// A true rule, and changed ones.
pub(super) fn drawn(random: &mut Random) -> (Case, Vec<Case>) {
    let shape = &SHAPES[random.below(SHAPES.len())];
    let f = random.of(if shape.class == "real" {
        &["", "abs", "neg"]
    } else {
        &["", "neg", "identity"]
    });
    let truth = case(shape, f, shape.target.to_owned(), None, "");
    let mut out = Vec::new();
    for _ in 0..4 {
        if random.chance(50) {
            let dropped = random.below(shape.conditions.len());
            out.push(case(shape, f, shape.target.to_owned(), Some(dropped), "a condition"));
        } else {
            let (part, other) = random.of(shape.changes);
            out.push(case(
                shape,
                f,
                shape.target.replacen(part, other, 1),
                None,
                "an attribute",
            ));
        }
    }
    (truth, out)
}
