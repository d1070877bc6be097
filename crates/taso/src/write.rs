//! Writes terms in the rule language.

mod windows;

use rustc_hash::FxHashMap;

use super::terms::{Id, Node, Op, RuleTerms};

/// The reason why a rule is not written.
pub(super) enum Why {
    /// Both sides are the same.
    SaysNothing,
    /// It cannot be expressed, for this reason.
    NoForm(String),
}

fn no_form(reason: impl Into<String>) -> Why {
    Why::NoForm(reason.into())
}

/// A description of the sources of a rule as the end of its name: `-add-of-convs`.
pub(super) fn name_of(rule: &RuleTerms) -> String {
    let word = |id: Id| match rule.node(id) {
        Node::Variable(_) => None,
        Node::Part(..) => Some("part"),
        Node::Call(op, _) => Some(match op {
            Op::Named(name) => name,
            Op::Conv(_) => "conv",
            Op::MaxPool(_) => "max-pool",
            Op::AveragePool(_) => "average-pool",
            Op::Concat(..) => "concat",
            Op::Split(_) => "split",
            Op::Transpose(_) => "transpose",
            Op::Enlarge(_) | Op::EnlargeLike => "enlarge",
            Op::Scale => "scale",
            Op::Ones => "ones",
            Op::Averages(_) => "averages",
            Op::NoForm(_) => "other",
        }),
    };
    let mut out = String::new();
    for (k, &(source, _)) in rule.outputs.iter().enumerate() {
        let Some(root) = word(source) else { continue };
        let mut parts: Vec<&str> = rule.operands(source).iter().filter_map(|&id| word(id)).collect();
        let many = parts.len() > 1 && parts.iter().all(|p| *p == parts[0]);
        parts.dedup();
        let of = match parts.as_slice() {
            [] => String::new(),
            [one] if many => format!("-of-{one}s"),
            all => format!("-of-{}", all.join("-and-")),
        };
        out += &format!("{}-{root}{of}", if k > 0 { "-and" } else { "" });
    }
    out.replace('_', "-")
}

/// The text of a rule after its name: `(x1, x2) { … => … }`.
pub(super) fn write_rule(rule: &RuleTerms) -> Result<String, Why> {
    if rule.outputs.iter().all(|(source, target)| source == target) {
        return Err(Why::SaysNothing);
    }
    let (sources, targets): (Vec<Id>, Vec<Id>) = rule.outputs.iter().copied().unzip();
    let bound = rule.below(&sources);
    if sources.iter().any(|&id| matches!(rule.node(id), Node::Variable(_))) {
        return Err(no_form("a source that is a variable matches everywhere"));
    }
    for id in rule.below(&targets) {
        if matches!(rule.node(id), Node::Variable(_)) && !bound.contains(&id) {
            return Err(no_form("the target has a variable that the source lacks"));
        }
    }
    let mut reached = rule.below(&sources[..1]);
    for source in &sources[1..] {
        let own = rule.below(&[*source]);
        if reached.iter().all(|id| !own.contains(id)) {
            return Err(no_form("the outputs of its source have nothing in common"));
        }
        reached.extend(own);
    }
    let mut writer = Writer::new(rule, &bound);
    writer.ranks_count = rule.below(&targets).iter().any(|&id| {
        let op = if let Node::Call(op, _) = rule.node(id) {
            Some(op)
        } else {
            None
        };
        matches!(op, Some(Op::Concat(..) | Op::Conv(_)))
    });
    let (source_lets, source) = writer.side(&sources, true)?;
    let (target_lets, target) = writer.side(&targets, false)?;
    let mut text = format!(
        "({}) {{\n{source_lets}{source}\n=>\n{target_lets}{target}\n",
        writer.variables.join(", ")
    );
    if !writer.conditions.is_empty() {
        text += &format!("where {}\n", writer.conditions.join(", "));
    }
    Ok(text + "numerics real\n}")
}

struct Writer<'a> {
    rule: &'a RuleTerms,
    variables: Vec<String>,
    /// The names of terms: variables, and names bound by `let`.
    names: FxHashMap<Id, String>,
    /// Terms with more than one user on the current side.
    shared: Vec<bool>,
    lets: String,
    conditions: Vec<String>,
    in_source: bool,
    bound: usize,
    /// True if the target concatenates or convolves: unlike sums, these do not broadcast a missing axis.
    ranks_count: bool,
}

impl<'a> Writer<'a> {
    fn new(rule: &'a RuleTerms, bound: &[Id]) -> Writer<'a> {
        let mut writer = Writer {
            rule,
            variables: Vec::new(),
            names: FxHashMap::default(),
            shared: Vec::new(),
            lets: String::new(),
            conditions: Vec::new(),
            in_source: true,
            bound: 0,
            ranks_count: false,
        };
        for &id in bound {
            if let Node::Variable(_) = rule.node(id) {
                let name = format!("x{}", writer.variables.len() + 1);
                writer.variables.push(name.clone());
                writer.names.insert(id, name);
            }
        }
        writer
    }

    /// The `let`s and the outputs of a side.
    fn side(&mut self, roots: &[Id], in_source: bool) -> Result<(String, String), Why> {
        self.in_source = in_source;
        let below = self.rule.below(roots);
        let mut users = vec![0usize; below.last().map_or(0, |last| last + 1)];
        for &id in below.iter().flat_map(|&id| self.rule.operands(id)).chain(roots) {
            users[id] += 1;
        }
        self.shared = users.iter().map(|&n| n > 1).collect();
        let outputs = roots.iter().map(|&id| self.term(id)).collect::<Result<Vec<_>, _>>()?;
        let outputs = match outputs.as_slice() {
            [one] => one.clone(),
            all => format!("({})", all.join(", ")),
        };
        Ok((std::mem::take(&mut self.lets), outputs))
    }

    /// The name of a term, introduced by `let` if it has none.
    fn name(&mut self, id: Id) -> Result<String, Why> {
        if let Some(name) = self.names.get(&id) {
            return Ok(name.clone());
        }
        let text = self.call(id)?;
        let name = format!("y{}", self.names.len() - self.variables.len() + 1);
        self.lets += &format!("let {name} = {text};\n");
        self.names.insert(id, name.clone());
        Ok(name)
    }

    fn term(&mut self, id: Id) -> Result<String, Why> {
        let shared = self.shared.get(id).copied().unwrap_or(false);
        if shared || self.names.contains_key(&id) {
            self.name(id)
        } else {
            self.call(id)
        }
    }

    fn require(&mut self, condition: String) {
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
    }

    /// An attribute with a computed value; in a source, it is bound to a name, with a condition on the value.
    fn computed(&mut self, attribute: &str, value: String) -> String {
        if !self.in_source {
            return format!("{attribute} = {value}");
        }
        self.bound += 1;
        let name = format!("a{}", self.bound);
        self.require(format!("{name} == {value}"));
        format!("{attribute} = {name}")
    }

    fn call(&mut self, id: Id) -> Result<String, Why> {
        let (op, operands) = match self.rule.node(id) {
            Node::Variable(name) => return Err(no_form(format!("the variable `{name}` is not bound"))),
            Node::Part(of, k) => {
                let base = self.name(*of)?;
                return Ok(format!("{base}.{k}"));
            }
            Node::Call(op, operands) => (op, operands.as_slice()),
        };
        match (op, operands) {
            (Op::NoForm(reason), _) => Err(no_form(reason.as_str())),
            (Op::Named(name @ ("add" | "sub" | "mul" | "div")), [a, b]) => {
                let (sign, is_factor) = match *name {
                    "add" => ('+', false),
                    "sub" => ('-', false),
                    "mul" => ('*', true),
                    _ => ('/', false),
                };
                let (a, b) = (self.factor(*a, is_factor)?, self.factor(*b, is_factor)?);
                if self.in_source && self.ranks_count && [&a, &b].iter().all(|name| self.variables.contains(name)) {
                    self.require(format!("{a}.rank == {b}.rank"));
                }
                Ok(format!("({a} {sign} {b})"))
            }
            (Op::Scale, [a, b]) => {
                let number = self.name(*b)?;
                if self.in_source {
                    self.require(format!("{number}.rank == 0"));
                }
                Ok(format!("({} * {number})", self.term(*a)?))
            }
            (Op::Ones, _) => Err(no_form("a tensor of ones cannot be expressed except as a factor")),
            (Op::Averages(_), _) => Err(no_form(
                "an averaging kernel cannot be expressed except as a kernel in a target",
            )),
            (Op::Conv(window), [x, kernel]) => self.conv(window, *x, *kernel),
            (Op::MaxPool(window), [x]) => self.pool("max_pool", "", window, *x),
            (Op::AveragePool(window), [x]) => self.pool("average_pool", ", count_include_pad = true", window, *x),
            (Op::Enlarge([h, w]), [kernel]) => self.enlarge(*kernel, [h.to_string(), w.to_string()]),
            (Op::EnlargeLike, [kernel, like]) => {
                let like = self.name(*like)?;
                self.enlarge(*kernel, [format!("{like}.shape[2]"), format!("{like}.shape[3]")])
            }
            (Op::Concat(axis, rank), _) => {
                let told = operands.iter().any(|&id| self.has_two_spatial_axes(id));
                if let (Some(rank), true) = (rank, self.in_source && !(*rank == Some(4) && told)) {
                    let variable = operands
                        .iter()
                        .find(|&&id| matches!(self.rule.node(id), Node::Variable(_)));
                    let Some(&of) = variable.or(operands.first()) else {
                        return Err(no_form("nothing is joined"));
                    };
                    let of = self.name(of)?;
                    self.require(format!("{of}.rank == {rank}"));
                }
                Ok(format!("concat({}) {{axis = {axis}}}", self.list(operands)?))
            }
            (Op::Split(axis), [x]) => {
                let Some((parts, along)) = self.joined(*x, *axis) else {
                    return Err(no_form("no concat determines where its split cuts"));
                };
                if parts.len() != 2 {
                    return Err(no_form(format!("a split into two of a concat of {}", parts.len())));
                }
                let mut sizes = Vec::new();
                for part in parts {
                    sizes.push(format!("{}.shape[{along}]", self.name(part)?));
                }
                let sizes = self.computed("sizes", format!("[{}]", sizes.join(", ")));
                let count = if self.in_source { ", num_outputs = 2" } else { "" };
                Ok(format!("split({}) {{axis = {axis}, {sizes}{count}}}", self.term(*x)?))
            }
            (Op::Transpose(perm), [x]) => Ok(format!("transpose({}) {{perm = {perm:?}}}", self.term(*x)?)),
            (Op::Named(name), _) => Ok(format!("{name}({})", self.list(operands)?)),
            _ => Err(no_form("an operator with another number of operands")),
        }
    }

    fn list(&mut self, operands: &[Id]) -> Result<String, Why> {
        let texts = operands
            .iter()
            .map(|&id| self.term(id))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(texts.join(", "))
    }

    fn factor(&mut self, id: Id, may_be_one: bool) -> Result<String, Why> {
        match self.rule.node(id) {
            Node::Call(Op::Ones, _) if may_be_one => Ok("1".to_owned()),
            _ => self.term(id),
        }
    }

    /// True if the term must have four axes because strides are given for two.
    fn has_two_spatial_axes(&self, id: Id) -> bool {
        match self.rule.node(id) {
            Node::Call(Op::Conv(_), _) => true,
            Node::Call(Op::Named("relu" | "sigmoid" | "tanh"), operands) => {
                operands.iter().any(|&id| self.has_two_spatial_axes(id))
            }
            _ => false,
        }
    }

    /// The parts of which a tensor is concatenated along an axis, and that axis of the parts.
    fn joined(&self, id: Id, axis: i64) -> Option<(Vec<Id>, i64)> {
        let (mut todo, mut seen) = (vec![(id, axis)], Vec::new());
        while let Some((id, axis)) = todo.pop() {
            let Node::Call(op, operands) = self.rule.node(id) else {
                continue;
            };
            // Terms are shared; each is visited once.
            if seen.contains(&(id, axis)) {
                continue;
            }
            seen.push((id, axis));
            match (op, operands.as_slice(), axis) {
                (Op::Concat(along, _), parts, _) if *along == axis => return Some((parts.to_vec(), axis)),
                (Op::Conv(_) | Op::Named("matmul"), [x, _], 0) => todo.push((*x, 0)),
                (Op::Conv(_), [_, kernel], 1) => todo.push((*kernel, 0)),
                (Op::Named("matmul"), [_, b], 1) => todo.push((*b, 1)),
                (Op::Conv(_) | Op::Named("matmul"), ..) => {}
                (Op::MaxPool(_) | Op::AveragePool(_), [x], 0 | 1) => todo.push((*x, axis)),
                (Op::Scale | Op::Named("batch_normalization"), [x, ..], _) => todo.push((*x, axis)),
                (Op::Named(_) | Op::Concat(..), all, _) => todo.extend(all.iter().rev().map(|&x| (x, axis))),
                _ => {}
            }
        }
        None
    }
}
