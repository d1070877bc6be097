//! Makes wrong rules from correct ones by changing one place in the text of a rule.

use std::collections::BTreeSet;

use tautomer::diag::Span;
use tautomer::lang::ast::{Ast, BinaryOp, Block, ExprId, ExprKind, Item, Let, Numerics, Rule, RuleFile, UnaryOp};

/// A rule with one change.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    /// The original rule.
    pub(crate) rule: String,
    /// The kind of change.
    pub(crate) kind: &'static str,
    /// What replaced what.
    pub(crate) change: String,
    /// The changed rule, with a line of documentation.
    pub(crate) text: String,
}

impl Mutant {
    /// The rule and the change: `relu-of-relu: x -> y`.
    pub(crate) fn name(&self) -> String {
        format!("{}: {}: {}", self.rule, self.kind, self.change)
    }
}

/// All mutants of the rules of a file, in text order.
pub(crate) fn mutants(file: &RuleFile) -> Vec<Mutant> {
    let mut out = Vec::new();
    for item in &file.items {
        if let Item::Rule(rule) = item {
            let mut maker = Maker::new(&file.ast, rule);
            maker.make();
            out.append(&mut maker.out);
        }
    }
    out
}

/// Groups of operators that are easily confused.
const SIBLINGS: &[(&str, &str)] = &[
    ("abs", "relu"),
    ("relu", "abs"),
    ("neg", "abs"),
    ("exp", "log"),
    ("log", "exp"),
    ("sqrt", "exp"),
    ("sin", "cos"),
    ("cos", "sin"),
    ("tanh", "sigmoid"),
    ("sigmoid", "tanh"),
    ("floor", "ceil"),
    ("ceil", "floor"),
    ("round", "floor"),
    ("max", "min"),
    ("min", "max"),
    ("add", "sub"),
    ("sub", "add"),
    ("mul", "div"),
    ("div", "mul"),
    ("and", "or"),
    ("or", "and"),
    ("xor", "or"),
    ("less", "less_or_equal"),
    ("less_or_equal", "less"),
    ("greater", "greater_or_equal"),
    ("greater_or_equal", "greater"),
    ("reduce_sum", "reduce_mean"),
    ("reduce_mean", "reduce_sum"),
    ("reduce_max", "reduce_min"),
    ("reduce_min", "reduce_max"),
    ("reduce_prod", "reduce_sum"),
    ("reduce_l1", "reduce_l2"),
    ("reduce_l2", "reduce_l1"),
    ("arg_max", "arg_min"),
    ("arg_min", "arg_max"),
    ("max_pool", "average_pool"),
    ("average_pool", "max_pool"),
    ("softmax", "log_softmax"),
    ("log_softmax", "softmax"),
    ("zeros", "ones"),
    ("ones", "zeros"),
    ("zeros_like", "ones_like"),
    ("ones_like", "zeros_like"),
    ("erf", "tanh"),
    ("reciprocal", "neg"),
];

/// Operators that are insensitive to the order of their operands.
const COMMUTATIVE: &[&str] = &[
    "add",
    "mul",
    "max",
    "min",
    "and",
    "or",
    "xor",
    "equal",
    "sum",
    "mean",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
];

/// Where an expression occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A value of the graph in the source.
    Source,
    /// A value of the graph in the target.
    Target,
    /// An attribute or a size in the target.
    Attribute,
    /// A condition.
    Condition,
}

struct Maker<'a> {
    ast: &'a Ast,
    rule: &'a Rule,
    out: Vec<Mutant>,
    seen: BTreeSet<String>,
}

impl<'a> Maker<'a> {
    fn new(ast: &'a Ast, rule: &'a Rule) -> Self {
        Maker {
            ast,
            rule,
            out: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    fn make(&mut self) {
        self.side(&self.rule.source.lets, self.rule.source.outputs, Place::Source);
        self.side(&self.rule.target.lets, self.rule.target.outputs, Place::Target);
        self.swapped_outputs();
        self.conditions();
        self.variables();
        self.class();
    }

    fn text(&self, span: Span) -> &'a str {
        &self.ast.source.text[span.range()]
    }

    /// The text of an expression, in brackets if it needs them.
    fn whole(&self, id: ExprId) -> String {
        let text = self.text(self.ast.span(id));
        match self.ast.kind(id) {
            ExprKind::Binary { .. } | ExprKind::Unary { .. } | ExprKind::Comprehension { .. } => format!("({text})"),
            _ => text.to_owned(),
        }
    }

    /// Replaces parts of the rule's text.
    fn edit(&mut self, kind: &'static str, edits: &[(Span, String)]) {
        let start = self.rule.span.start as usize;
        let mut text = self.text(self.rule.span).to_owned();
        let mut edits: Vec<_> = edits.to_vec();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut change = Vec::new();
        for (span, new) in &edits {
            let range = span.start as usize - start..span.end as usize - start;
            change.push(format!("{} -> {new}", text[range.clone()].replace('\n', " ")));
            text.replace_range(range, new);
        }
        change.reverse();
        let at = edits.last().map_or(0, |(span, _)| span.start as usize - start);
        if text == self.text(self.rule.span) || !self.seen.insert(text.clone()) {
            return;
        }
        // The same change at two places of a rule is distinguished by its place.
        let change = format!("{} @{at}", change.join(", "));
        self.out.push(Mutant {
            rule: self.rule.name.name.to_string(),
            kind,
            change,
            text: format!("/// A mutant.\n{text}"),
        });
    }

    fn replace(&mut self, kind: &'static str, id: ExprId, new: impl Into<String>) {
        self.edit(kind, &[(self.ast.span(id), new.into())]);
    }

    fn swap(&mut self, kind: &'static str, a: ExprId, b: ExprId) {
        let (x, y) = (self.whole(a), self.whole(b));
        self.edit(kind, &[(self.ast.span(a), y), (self.ast.span(b), x)]);
    }

    fn side(&mut self, lets: &[Let], outputs: ExprId, place: Place) {
        for item in lets {
            let inner = if place == Place::Target && !self.is_value(item.value) {
                Place::Attribute
            } else {
                place
            };
            self.walk(item.value, inner);
        }
        self.walk(outputs, place);
    }

    /// False for expressions that can only be an attribute or a size.
    fn is_value(&self, id: ExprId) -> bool {
        match self.ast.kind(id) {
            ExprKind::Call { callee, .. } => {
                !["len", "index", "range", "inverse", "sorted", "zip"].contains(&&*callee.name)
            }
            ExprKind::List(_) | ExprKind::Int { .. } | ExprKind::Field { .. } | ExprKind::Slice { .. } => false,
            ExprKind::Comprehension { .. } => false,
            ExprKind::Index { base, .. } => self.is_value(*base),
            ExprKind::Binary { lhs, rhs, .. } => self.is_value(*lhs) && self.is_value(*rhs),
            ExprKind::Tuple(items) => items.iter().all(|&i| self.is_value(i)),
            _ => true,
        }
    }

    fn walk(&mut self, id: ExprId, place: Place) {
        match self.ast.kind(id) {
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                if place == Place::Target || place == Place::Source {
                    self.call(id, &callee.name, callee.span, args, place);
                }
                if let (Place::Attribute, "inverse" | "reverse", [only]) = (place, &*callee.name, &args[..]) {
                    self.replace("list the other way round", id, self.whole(*only));
                }
                for &arg in args {
                    self.walk(arg, place);
                }
                if let Some(attrs) = attrs {
                    let inner = if place == Place::Target {
                        Place::Attribute
                    } else {
                        place
                    };
                    self.attributes(id, place);
                    if place == Place::Target {
                        for entry in &attrs.entries {
                            self.walk(entry.value, inner);
                        }
                    }
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                self.binary(id, *op, *lhs, *rhs, place);
                self.walk(*lhs, place);
                self.walk(*rhs, place);
            }
            ExprKind::Unary { op, operand } => {
                // Without the negation, a condition is a different one, which is neither weaker nor necessarily wrong.
                if matches!(place, Place::Target | Place::Attribute) {
                    let kind = if *op == UnaryOp::Not {
                        "negation lost"
                    } else {
                        "sign lost"
                    };
                    self.replace(kind, id, self.whole(*operand));
                }
                self.walk(*operand, place);
            }
            ExprKind::Int { value, .. } => self.integer(id, *value, place),
            ExprKind::Float { value, .. } if value.is_finite() && place != Place::Condition => {
                self.replace(
                    "other constant",
                    id,
                    format!("{:?}", value * 2.0 + f64::from(u8::from(*value == 0.0))),
                );
            }
            ExprKind::Bool(value) if matches!(place, Place::Target | Place::Attribute) => {
                self.replace("flag flipped", id, (!value).to_string())
            }
            ExprKind::Name(name) => self.name(id, name, place),
            ExprKind::Project { base, index } => {
                if place == Place::Target {
                    let text = format!("{}.{}", self.whole(*base), if *index == 0 { 1 } else { index - 1 });
                    self.replace("other output", id, text);
                }
                self.walk(*base, place);
            }
            ExprKind::Slice { base, start, end } => {
                let base_text = self.whole(*base);
                let part = |e: &Option<ExprId>| e.map_or_else(String::new, |e| self.whole(e));
                let (a, b) = (part(start), part(end));
                if place == Place::Attribute {
                    if start.is_none() {
                        self.replace("off by one", id, format!("{base_text}[1..{b}]"));
                    }
                    if end.is_none() {
                        self.replace("off by one", id, format!("{base_text}[{a}..-1]"));
                    }
                }
                for part in [Some(*base), *start, *end].into_iter().flatten() {
                    self.walk(part, place);
                }
            }
            ExprKind::When { cond, then, otherwise } => {
                let blocks: [&Block; 2] = [then, otherwise];
                for (kind, block) in ["first choice", "second choice"].into_iter().zip(blocks) {
                    if block.lets.is_empty() {
                        self.replace(kind, id, self.whole(block.result));
                    }
                }
                self.walk(*cond, Place::Condition);
                for block in blocks {
                    self.side(&block.lets, block.result, place);
                }
            }
            ExprKind::Comprehension { body, iter, cond, .. } => {
                self.walk(*body, place);
                let inner = if place == Place::Target {
                    Place::Attribute
                } else {
                    place
                };
                if matches!(place, Place::Target | Place::Attribute) {
                    self.walk(*iter, inner);
                }
                if let Some(cond) = cond {
                    self.walk(*cond, Place::Condition);
                }
            }
            ExprKind::Index { base, index } if place != Place::Source => {
                if let (ExprKind::Name(_), Place::Target) = (self.ast.kind(*base), place) {
                    self.replace("first member", id, format!("{}[0]", self.whole(*base)));
                } else {
                    self.walk(*base, place);
                    if place != Place::Condition {
                        self.walk(*index, Place::Attribute);
                    }
                }
            }
            ExprKind::Field { .. } => {}
            _ => {
                for operand in self.ast.operands(id) {
                    self.walk(operand, place);
                }
            }
        }
    }

    fn call(&mut self, id: ExprId, name: &str, at: Span, args: &[ExprId], place: Place) {
        if place == Place::Target {
            if let Some((_, other)) = SIBLINGS.iter().find(|(a, _)| *a == name) {
                self.edit("operator replaced by a sibling", &[(at, (*other).to_owned())]);
            }
            if args.len() >= 2 && !COMMUTATIVE.contains(&name) {
                for i in 1..args.len() {
                    self.swap("operands swapped", args[i - 1], args[i]);
                }
            }
            if let &[only] = args
                && !matches!(self.ast.kind(only), ExprKind::Comprehension { .. })
            {
                self.replace("call lost", id, self.whole(only));
            }
            if args.len() >= 2 {
                let last = args[args.len() - 1];
                let gap = Span::new(self.ast.span(args[args.len() - 2]).end, self.ast.span(last).end);
                // The span of an operand does not include brackets around it.
                if self.text(gap).matches(')').count() == self.text(gap).matches('(').count() {
                    self.edit("operand lost", &[(gap, String::new())]);
                }
            }
        }
    }

    fn attributes(&mut self, id: ExprId, place: Place) {
        let ExprKind::Call { attrs: Some(attrs), .. } = self.ast.kind(id) else {
            return;
        };
        let spans: Vec<Span> = attrs
            .entries
            .iter()
            .map(|e| e.name.span.to(self.ast.span(e.value)))
            .collect();
        for (i, entry) in attrs.entries.iter().enumerate() {
            // In a source, an omitted attribute may only have any value if a rest captures it.
            if place == Place::Target || attrs.rest.is_some() {
                let span = match spans.get(i + 1) {
                    Some(next) => Span::new(spans[i].start, next.start),
                    None if i > 0 && attrs.rest.is_none() => Span::new(spans[i - 1].end, spans[i].end),
                    None => {
                        let text = self.text(Span::new(spans[i].end, attrs.span.end));
                        let skipped = text.len() - text.trim_start_matches([',', ' ', '\n']).len();
                        Span::new(spans[i].start, spans[i].end + skipped as u32)
                    }
                };
                let kind = if place == Place::Target {
                    "attribute lost"
                } else {
                    "attribute of the source lost"
                };
                self.edit(kind, &[(span, String::new())]);
            }
            if place == Place::Target {
                self.attribute(&entry.name.name, entry.value);
            }
        }
        if let (Some(rest), Place::Target) = (&attrs.rest, place) {
            let text = self.text(attrs.span);
            let dots = text.rfind("..").unwrap_or(0) as u32 + attrs.span.start;
            let before = self.text(Span::new(attrs.span.start, dots));
            let kept = before.trim_end_matches([',', ' ', '\n']).len() as u32 + attrs.span.start;
            self.edit("rest lost", &[(Span::new(kept, rest.span.end), String::new())]);
        }
    }

    fn attribute(&mut self, name: &str, value: ExprId) {
        let whole = self.whole(value);
        match name {
            "axis" => {
                self.replace("wrong axis", value, format!("{whole} + 1"));
                self.replace("wrong axis", value, format!("{whole} - 1"));
            }
            "axes" => {
                self.replace("wrong axis", value, format!("[other + 1 for other in {whole}]"));
                self.replace("wrong axis", value, format!("[other - 1 for other in {whole}]"));
            }
            "perm" => {
                self.replace("list the other way round", value, format!("reverse({whole})"));
                self.replace("list the other way round", value, format!("inverse({whole})"));
            }
            "sizes" | "shape" | "pads" | "strides" | "dilations" | "kernel_shape" => {
                self.replace("list the other way round", value, format!("reverse({whole})"));
                if name == "pads" {
                    self.replace("off by one", value, format!("[other + 1 for other in {whole}]"));
                }
            }
            "group" | "epsilon" | "alpha" | "beta" => {
                self.replace("off by one", value, format!("{whole} + 1"));
            }
            _ => {}
        }
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId, place: Place) {
        use BinaryOp::*;
        // Only constants are changed in a source, which may have alternatives.
        if place == Place::Source {
            return;
        }
        let gap = Span::new(self.ast.span(lhs).end, self.ast.span(rhs).start);
        let sign = |maker: &Self, new: &str| -> Vec<(Span, String)> {
            let text = maker.text(gap);
            let words = [op.symbol(), "and", "or"];
            let found = words.iter().find_map(|w| text.find(w).map(|at| (at, w.len())));
            found.map_or_else(Vec::new, |(at, len)| {
                let start = gap.start + at as u32;
                vec![(Span::new(start, start + len as u32), new.to_owned())]
            })
        };
        let other: &[BinaryOp] = match op {
            // A condition with another number is a different one, which is neither weaker nor necessarily wrong.
            Add | Sub | Mul | Div if place == Place::Condition => &[],
            Add => &[Sub],
            Sub => &[Add],
            Mul => &[Div],
            Div => &[Mul],
            // A stronger condition does not make a rule wrong.
            Lt if place == Place::Condition => &[Le],
            Gt if place == Place::Condition => &[Ge],
            Eq | Le | Ge if place == Place::Condition => &[],
            And if place == Place::Condition => &[Or],
            Lt => &[Le],
            Le => &[Lt],
            Gt => &[Ge],
            Ge => &[Gt],
            Or if place == Place::Condition => &[],
            And => &[Or],
            Or => &[And],
            _ => &[],
        };
        for new in other {
            let kind = match place {
                Place::Condition => "condition weakened",
                _ => "operator replaced by a sibling",
            };
            let edits = sign(self, new.symbol());
            self.edit(kind, &edits);
        }
        if let (Place::Condition, ExprKind::Int { value, .. }) = (place, self.ast.kind(rhs)) {
            let weaker: &[i128] = match op {
                Ge | Gt => &[-1],
                Le | Lt => &[1],
                _ => &[],
            };
            for step in weaker {
                self.replace("condition off by one", rhs, (value + step).to_string());
            }
        }
        if matches!(op, Sub | Div | Pow | Rem | Concat | Lt | Le | Gt | Ge) && place != Place::Condition {
            self.swap("operands swapped", lhs, rhs);
        }
        if place == Place::Target || matches!(op, And) {
            self.replace("operand lost", id, self.whole(lhs));
            self.replace("operand lost", id, self.whole(rhs));
        }
    }

    fn integer(&mut self, id: ExprId, value: i128, place: Place) {
        match place {
            Place::Source => self.replace("other constant", id, (value + 1).to_string()),
            Place::Target => {
                self.replace("other constant", id, (value + 1).to_string());
            }
            Place::Condition => {}
            Place::Attribute => {
                self.replace("off by one", id, (value + 1).to_string());
                self.replace("off by one", id, (value - 1).to_string());
            }
        }
    }

    fn name(&mut self, id: ExprId, name: &str, place: Place) {
        if place == Place::Target {
            for other in self.others(name) {
                self.replace("another variable", id, other);
            }
        }
    }

    /// The variables other than `name`, if that is a variable; without those of families.
    fn others(&self, name: &str) -> Vec<String> {
        let plain = |p: &&tautomer::lang::ast::RuleParam| p.index.is_none();
        let names: Vec<&str> = self.rule.params.iter().filter(plain).map(|p| &*p.name.name).collect();
        if !names.contains(&name) {
            return Vec::new();
        }
        names.into_iter().filter(|n| *n != name).map(str::to_owned).collect()
    }

    fn swapped_outputs(&mut self) {
        if let ExprKind::Tuple(items) = self.ast.kind(self.rule.target.outputs) {
            for pair in items.windows(2) {
                self.swap("outputs swapped", pair[0], pair[1]);
            }
        }
    }

    fn conditions(&mut self) {
        let all = &self.rule.conditions;
        for &condition in all {
            self.replace("condition dropped", condition, "true");
            self.walk(condition, Place::Condition);
        }
    }

    fn variables(&mut self) {
        for param in &self.rule.params {
            if let Some(ty) = &param.ty {
                self.edit(
                    "type of a variable dropped",
                    &[(Span::new(param.name.span.end, ty.span.end), String::new())],
                );
            }
        }
    }

    fn class(&mut self) {
        let Some(clause) = &self.rule.numerics else { return };
        let text = self.text(clause.span);
        match clause.class {
            Numerics::Real => self.edit("stronger class", &[(clause.span, text.replace("real", "bitwise"))]),
            Numerics::Approx(_) => self.edit("stronger class", &[(clause.span, "numerics real".to_owned())]),
            Numerics::Bitwise => {}
        }
    }
}
