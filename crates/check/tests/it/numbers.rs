//! A second reading of rules, which shares nothing with the checker: both sides are computed at floating-point numbers.

use std::collections::BTreeMap;

const NUMBERS: [f64; 9] = [-2.0, -1.0, -0.75, 0.0, 0.3, 0.5, 1.0, 2.0, 3.5];

/// All values that an expression may have, one for each choice of alternatives.
type Values = Vec<f64>;

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    names: BTreeMap<String, Values>,
}

fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let word = |test: &dyn Fn(char) -> bool| rest.find(|c| !test(c)).unwrap_or(rest.len());
        let end = match c {
            'a'..='z' | 'A'..='Z' | '_' => word(&|c| c.is_alphanumeric() || c == '_'),
            '0'..='9' => word(&|c| c.is_ascii_digit() || c == '.'),
            '"' => 1 + rest[1..].find('"').unwrap_or(0) + 1,
            _ if ["=>", "==", "<=", ">=", "&&", "||"].iter().any(|s| rest.starts_with(s)) => 2,
            _ => c.len_utf8(),
        };
        out.push(rest[..end].trim_matches('"').to_owned());
        rest = rest[end..].trim_start();
    }
    out
}

fn each(a: &Values, b: &Values, f: impl Fn(f64, f64) -> f64) -> Values {
    a.iter().flat_map(|x| b.iter().map(|y| f(*x, *y)).collect::<Vec<_>>()).collect()
}

fn truth(b: bool) -> f64 {
    f64::from(u8::from(b))
}

impl Reader<'_> {
    fn skip(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at).is_some_and(|w| w == word);
        self.at += usize::from(found);
        found
    }

    fn side(&mut self) -> Result<Values, String> {
        while self.skip("let") {
            let name = self.words[self.at].clone();
            self.at += 2;
            let value = self.level(0)?;
            self.names.insert(name, value);
            self.skip(";");
        }
        self.level(0)
    }

    fn level(&mut self, level: usize) -> Result<Values, String> {
        const SIGNS: [&[&str]; 6] = [&["||"], &["&&"], &["==", "<=", ">=", "<", ">"], &["|"], &["+", "-"], &["*", "/"]];
        let Some(own) = SIGNS.get(level) else {
            return self.primary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = own.iter().find(|s| self.words.get(self.at).is_some_and(|w| w == *s)) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = match *sign {
                "|" => [left, right].concat(),
                "||" => each(&left, &right, f64::max),
                "&&" => each(&left, &right, f64::min),
                "==" => each(&left, &right, |a, b| truth(a == b)),
                "<=" => each(&left, &right, |a, b| truth(a <= b)),
                ">=" => each(&left, &right, |a, b| truth(a >= b)),
                "<" => each(&left, &right, |a, b| truth(a < b)),
                ">" => each(&left, &right, |a, b| truth(a > b)),
                "+" => each(&left, &right, |a, b| a + b),
                "-" => each(&left, &right, |a, b| a - b),
                "*" => each(&left, &right, |a, b| a * b),
                _ => each(&left, &right, |a, b| a / b),
            };
        }
        Ok(left)
    }

    fn primary(&mut self) -> Result<Values, String> {
        let word = self.words.get(self.at).cloned().ok_or("the text ends")?;
        self.at += 1;
        if let Ok(n) = word.parse::<f64>() {
            return Ok(vec![n]);
        }
        match word.as_str() {
            "-" => return Ok(self.primary()?.iter().map(|x| -x).collect()),
            "!" => return Ok(self.primary()?.iter().map(|x| 1.0 - x).collect()),
            "(" => {
                let value = self.level(0)?;
                self.skip(")");
                return Ok(value);
            }
            "true" => return Ok(vec![1.0]),
            "false" => return Ok(vec![0.0]),
            _ => {}
        }
        if !self.skip("(") {
            // A name that the source binds to an attribute, or a shape, on which no element here depends: one number
            // stands for all.
            while self.skip(".") {
                self.at += 1;
            }
            return Ok(self.names.get(&word).cloned().unwrap_or_else(|| vec![0.7]));
        }
        let mut args: Vec<Values> = Vec::new();
        while !self.skip(")") {
            args.push(self.level(0)?);
            self.skip(",");
        }
        let mut attrs: BTreeMap<String, f64> = BTreeMap::new();
        if MOVES.contains(&word.as_str()) && self.skip("{") {
            let mut open = 1;
            while open > 0 {
                open += match self.words.get(self.at).ok_or("the text ends")?.as_str() {
                    "{" => 1,
                    "}" => -1,
                    _ => 0,
                };
                self.at += 1;
            }
        } else if self.skip("{") {
            while !self.skip("}") {
                let name = self.words.get(self.at).cloned().ok_or("the text ends")?;
                self.at += 2;
                attrs.insert(name, self.level(0)?[0]);
                self.skip(",");
            }
        }
        let mut rows: Vec<Vec<f64>> = vec![Vec::new()];
        for arg in &args {
            rows = rows.iter().flat_map(|row| arg.iter().map(move |x| [row.as_slice(), &[*x]].concat())).collect();
        }
        rows.iter().map(|row| function(&word, row, &attrs)).collect()
    }
}

/// Operators that move elements, whatever their attributes.
const MOVES: [&str; 8] = ["transpose", "reshape", "squeeze", "unsqueeze", "flatten", "slice", "gather", "concat"];

fn function(name: &str, v: &[f64], attrs: &BTreeMap<String, f64>) -> Result<f64, String> {
    let attr = |name: &str, default: f64| attrs.get(name).copied().unwrap_or(default);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    Ok(match (name, v) {
        ("value" | "identity" | "expand", [x]) => *x,
        // Where all dimensions are 1, nothing moves, and there is nothing to sum.
        (_, [x, ..]) if MOVES.contains(&name) => *x,
        ("reduce_sum" | "reduce_mean" | "reduce_max" | "reduce_min" | "reduce_prod", [x]) => *x,
        ("exp", [x]) => x.exp(),
        ("neg", [x]) => -x,
        ("round", [x]) => x.round_ties_even(),
        ("sin", [x]) => x.sin(),
        ("cos", [x]) => x.cos(),
        ("tan", [x]) => x.tan(),
        ("asin", [x]) => x.asin(),
        ("acos", [x]) => x.acos(),
        ("atan", [x]) => x.atan(),
        ("sinh", [x]) => x.sinh(),
        ("cosh", [x]) => x.cosh(),
        ("prelu", [x, s]) => {
            if *x < 0.0 {
                x * s
            } else {
                *x
            }
        }
        ("log", [x]) => x.ln(),
        ("sqrt", [x]) => x.sqrt(),
        ("abs", [x]) => x.abs(),
        ("tanh", [x]) => x.tanh(),
        ("trunc", [x]) => x.trunc(),
        ("floor", [x]) => x.floor(),
        ("ceil", [x]) => x.ceil(),
        ("relu", [x]) => x.max(0.0),
        ("not", [x]) => 1.0 - x,
        ("reciprocal", [x]) => 1.0 / x,
        ("sigmoid", [x]) => sigmoid(*x),
        ("silu", [x]) => x * sigmoid(*x),
        ("softplus", [x]) => x.exp().ln_1p(),
        ("softsign", [x]) => x / (1.0 + x.abs()),
        ("mish", [x]) => x * x.exp().ln_1p().tanh(),
        ("swish" | "com.microsoft::QuickGelu", [x]) => x * sigmoid(x * attr("alpha", f64::NAN)),
        ("elu", [x]) => {
            if *x > 0.0 {
                *x
            } else {
                x.exp_m1() * attr("alpha", f64::NAN)
            }
        }
        ("clip", [x]) => x.max(attr("min", f64::NEG_INFINITY)).min(attr("max", f64::INFINITY)),
        ("hard_sigmoid", [x]) => (x * attr("alpha", f64::NAN) + attr("beta", f64::NAN)).clamp(0.0, 1.0),
        ("hard_swish", [x]) => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        ("zeros_like", [_]) => 0.0,
        ("ones_like", [_]) => 1.0,
        ("add" | "sum", [a, b]) => a + b,
        ("sub", [a, b]) => a - b,
        ("mul", [a, b]) => a * b,
        ("div", [a, b]) => a / b,
        ("greater", [a, b]) => truth(a > b),
        ("greater_or_equal", [a, b]) => truth(a >= b),
        ("less", [a, b]) => truth(a < b),
        ("less_or_equal", [a, b]) => truth(a <= b),
        ("equal", [a, b]) => truth(a == b),
        ("and", [a, b]) => a * b,
        ("or", [a, b]) => a.max(*b),
        // The checker knows no law of these, so any functions do.
        ("matmul", [a, b]) => (a + 2.0 * b).sin(),
        ("gemm", [a, b]) => (a - 2.0 * b).sin(),
        ("conv", [a, b]) => (a + 3.0 * b).sin(),
        ("softmax", [x]) => (x + 0.5).cos(),
        ("pow", [a, b]) => a.powf(*b),
        ("max", [a, b]) => a.max(*b),
        ("min", [a, b]) => a.min(*b),
        ("add" | "sum" | "max" | "min" | "mean", [a]) => *a,
        ("where", [c, a, b]) => {
            if *c > 0.0 {
                *a
            } else {
                *b
            }
        }
        _ => return Err(format!("`{name}` has no meaning here")),
    })
}

/// Whether both sides of a rule are equal at all these numbers where both have a value and the conditions hold.
///
/// # Errors
/// Where they differ, or why they cannot be computed.
pub(crate) fn holds(text: &str) -> Result<(), String> {
    // Each operator of a family.
    if let Some((before, rest)) = text.split_once("for f in ")
        && let Some((all, after)) = rest.split_once(':')
    {
        return all
            .split_whitespace()
            .try_for_each(|own| holds(&format!("{before}{}", after.replace("f(", &format!("{own}(")))));
    }
    let text: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let text = text.join(" ");
    let (head, body) = text.split_once('{').ok_or("there is no body")?;
    let variables: Vec<String> = words(head.split_once('(').ok_or("there are no variables")?.1);
    let names: Vec<&String> =
        variables.iter().enumerate().filter(|(i, _)| *i == 0 || variables[i - 1] == ",").map(|(_, w)| w).collect();
    let body = body.trim_end().trim_end_matches('}');
    let body = body.split(" numerics").next().unwrap_or_default();
    let (sides, conditions) = body.split_once(" where ").unwrap_or((body, ""));
    let (source, target) = sides.split_once("<=>").or(sides.split_once("=>")).ok_or("there is no target")?;
    // A boolean is 0 or 1.
    let logic = ["&&", "||", "!", "where(", "and(", "or("].iter().any(|s| sides.contains(s));
    let numbers: &[f64] = if logic { &[0.0, 1.0] } else { &NUMBERS };
    let mut compared = 0;
    for k in 0..numbers.len().pow(u32::try_from(names.len()).unwrap()) {
        let mut rest = k;
        let mut values = BTreeMap::new();
        for name in &names {
            values.insert((*name).clone(), vec![numbers[rest % numbers.len()]]);
            rest /= numbers.len();
        }
        let compute = |text: &str, names: &BTreeMap<String, Values>| {
            let words = words(text);
            let mut reader = Reader { words: &words, at: 0, names: names.clone() };
            reader.side().map(|side| (side, reader.names))
        };
        // Conditions that are no inequalities of numbers are left out: the sides must be equal without them.
        let unmet = |c: &str| c.contains("value") && compute(c, &values).is_ok_and(|(v, _)| v == [0.0]);
        if conditions.split(',').any(unmet) {
            continue;
        }
        let (a, bound) = compute(source, &values)?;
        let (b, _) = compute(target, &bound)?;
        // A value of the source that the target uses has the same alternatives there.
        for (i, x) in a.iter().enumerate() {
            let y = b[if a.len() == b.len() { i } else { 0 }];
            if x.is_finite() && y.is_finite() {
                compared += 1;
                if (x - y).abs() > 1e-9 * (1.0 + x.abs()) {
                    return Err(format!("at {values:?} the sides are {x} and {y}"));
                }
            }
        }
    }
    if compared > 0 { Ok(()) } else { Err("the sides have no values".to_owned()) }
}
