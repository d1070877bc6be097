//! Simpler programs with the same results: values, nulls and failures of every row.

use arrow_schema::Schema;

use crate::function::lookup;
use crate::options::{Options, Overflow};
use crate::program::{Kind, Literal, Node, NodeId, Program};
use crate::types::Type;

/// The nodes that the results need, each in its simplest known form, and the results among them.
pub(crate) fn simplify(
    program: &Program,
    roots: &[NodeId],
    schema: &Schema,
    options: &Options,
) -> (Program, Vec<NodeId>) {
    let count = program.nodes().len();
    let mut needed = vec![false; count];
    for root in roots {
        needed[root.index()] = true;
    }
    for at in (0..count).rev().filter(|&at| needed[at]).collect::<Vec<_>>() {
        mark(program, at, &mut needed);
    }
    let mut simplifier = Simplifier {
        out: Program::default(),
        fails: Vec::new(),
        schema,
        wraps: options.overflow == Overflow::Wrap,
    };
    let mut moved: Vec<Option<NodeId>> = vec![None; count];
    for at in (0..count).filter(|&at| needed[at]) {
        let node = program.get(NodeId(at as u32));
        let kind = node
            .kind
            .map(|id| moved[id.index()].unwrap_or_else(|| unreachable!("nodes are in order")));
        moved[at] = Some(simplifier.add(kind, node));
    }
    let roots = roots.iter().filter_map(|root| moved[root.index()]).collect();
    (simplifier.out, roots)
}

/// Marks what a node needs.
fn mark(program: &Program, at: usize, needed: &mut [bool]) {
    let mut stack = vec![NodeId(at as u32)];
    while let Some(id) = stack.pop() {
        for of in program.uses(id) {
            if !std::mem::replace(&mut needed[of.index()], true) {
                stack.push(of);
            }
        }
    }
}

struct Simplifier<'a> {
    out: Program,
    /// Whether a node may fail.
    fails: Vec<bool>,
    schema: &'a Schema,
    wraps: bool,
}

impl Simplifier<'_> {
    /// The node of this kind, or a simpler one with the same results.
    fn add(&mut self, kind: Kind, like: &Node) -> NodeId {
        let kind = match kind {
            Kind::Call(function, args) => match self.call(function.name(), &args, like) {
                Some(Form::Node(id)) => return id,
                Some(Form::Call(name, args)) => match lookup(name) {
                    Some(function) => Kind::Call(function, args),
                    None => unreachable!("`{name}` is in the table"),
                },
                None => Kind::Call(function, args),
            },
            Kind::Cast(of) if self.out.get(of).ty == like.ty && self.is_plain(of) => return of,
            Kind::If([condition, then, otherwise]) => match self.literal(condition) {
                Some(Literal::Bool(true)) if self.is_plain(then) => return then,
                Some(Literal::Bool(false) | Literal::Null) if self.is_plain(otherwise) => return otherwise,
                _ if then == otherwise && !self.fails[condition.index()] && self.is_plain(then) => return then,
                _ => Kind::If([condition, then, otherwise]),
            },
            Kind::And(parts) => match self.connective(parts, true) {
                Some(id) => return id,
                None => Kind::And(parts),
            },
            Kind::Or(parts) => match self.connective(parts, false) {
                Some(id) => return id,
                None => Kind::Or(parts),
            },
            Kind::In(of, members) => match (&members[..], lookup("equal")) {
                ([member], Some(equal)) if exact(member, self.out.get(of).ty) => {
                    let literal = Kind::Literal(member.clone());
                    let ty = self.out.get(of).ty;
                    let member = self.push(literal, ty, like);
                    Kind::Call(equal, vec![of, member])
                }
                _ => Kind::In(of, members),
            },
            kind => kind,
        };
        self.push(kind, like.ty, like)
    }

    fn push(&mut self, kind: Kind, ty: Type, like: &Node) -> NodeId {
        let id = self.out.add(kind, ty, like.span, &like.source);
        if id.index() == self.fails.len() {
            let fails = self.may_fail(id);
            self.fails.push(fails);
        }
        id
    }

    /// Whether a node may fail: most functions may, for all that is known here.
    fn may_fail(&self, id: NodeId) -> bool {
        let node = self.out.get(id);
        let own = match &node.kind {
            Kind::Call(function, args) => {
                let ty = args.first().map_or(node.ty, |&arg| self.out.get(arg).ty);
                match function.name() {
                    "add" | "subtract" | "multiply" | "negative" | "abs" => !(ty.is_float() || self.wraps),
                    "divide" | "mod" | "sqrt" | "exp" | "ln" | "sin" | "cos" | "tanh" => !ty.is_float(),
                    "equal"
                    | "not_equal"
                    | "less_than"
                    | "less_than_or_equal_to"
                    | "greater_than"
                    | "not"
                    | "greater_than_or_equal_to"
                    | "isnull"
                    | "isnotnull" => false,
                    _ => true,
                }
            }
            Kind::Cast(_) => true,
            _ => false,
        };
        own || self.out.uses(id).iter().any(|of| self.fails[of.index()])
    }

    fn literal(&self, id: NodeId) -> Option<&Literal> {
        match &self.out.get(id).kind {
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// False for columns that are converted when they are read: they are not results themselves.
    fn is_plain(&self, id: NodeId) -> bool {
        let node = self.out.get(id);
        match node.kind {
            Kind::Field(column) => *self.schema.field(column).data_type() == node.ty.arrow(),
            _ => true,
        }
    }

    /// True for a literal number of this value; a zero also has this sign.
    fn is(&self, id: NodeId, value: f64) -> bool {
        match self.literal(id) {
            Some(Literal::Float(bits)) => *bits == value.to_bits(),
            Some(Literal::Int(int)) => *int as f64 == value,
            _ => false,
        }
    }

    /// The arguments of a call of this function.
    fn called(&self, id: NodeId, name: &str) -> Option<&[NodeId]> {
        match &self.out.get(id).kind {
            Kind::Call(function, args) if function.name() == name => Some(args),
            _ => None,
        }
    }

    fn call(&self, name: &str, args: &[NodeId], like: &Node) -> Option<Form> {
        let same = |id: NodeId| (self.is_plain(id) && self.out.get(id).ty == like.ty).then_some(Form::Node(id));
        let float = like.ty.is_float();
        let number = float || like.ty.is_integer();
        // Integers that wrap have the laws of a ring.
        let lawful = float || (number && self.wraps);
        match (name, args) {
            ("positive" | "castINT" | "castBIGINT" | "castFLOAT4" | "castFLOAT8", &[x]) => same(x),
            ("multiply", &[x, y]) if number && self.is(y, 1.0) => same(x),
            ("multiply", &[x, y]) if number && self.is(x, 1.0) => same(y),
            ("divide", &[x, y]) if number && self.is(y, 1.0) => same(x),
            ("power", &[x, y]) if number && self.is(y, 1.0) => same(x),
            // `x * x` is the exact square, rounded once.
            ("power", &[x, y]) if number && self.is(y, 2.0) => Some(Form::Call("multiply", vec![x, x])),
            ("subtract", &[x, y]) if number && self.is(y, 0.0) => same(x),
            // A float plus a positive zero is not a negative zero.
            ("add", &[x, y]) if self.is(y, if float { -0.0 } else { 0.0 }) && number => same(x),
            ("add", &[x, y]) if self.is(x, if float { -0.0 } else { 0.0 }) && number => same(y),
            ("add", &[x, y]) if lawful => match (self.called(x, "negative"), self.called(y, "negative")) {
                (_, Some(&[y])) => Some(Form::Call("subtract", vec![x, y])),
                (Some(&[x]), _) => Some(Form::Call("subtract", vec![y, x])),
                _ => None,
            },
            ("subtract", &[x, y]) if lawful => match self.called(y, "negative") {
                Some(&[y]) => Some(Form::Call("add", vec![x, y])),
                _ => None,
            },
            ("negative", &[x]) if lawful => match self.called(x, "negative") {
                Some(&[x]) => same(x),
                _ => None,
            },
            ("abs", &[x]) if float => match (self.called(x, "negative"), self.called(x, "abs")) {
                (Some(&[x]), _) => Some(Form::Call("abs", vec![x])),
                (_, Some(_)) => same(x),
                _ => None,
            },
            ("not", &[x]) => self.opposite(x).or_else(|| match self.called(x, "not") {
                Some(&[x]) => same(x),
                _ => None,
            }),
            _ => None,
        }
    }

    /// The comparison that holds where one does not; NaN is neither less nor not less.
    fn opposite(&self, id: NodeId) -> Option<Form> {
        let Kind::Call(function, args) = &self.out.get(id).kind else {
            return None;
        };
        let ordered = || !self.out.get(args[0]).ty.is_float();
        let name = match function.name() {
            "equal" => "not_equal",
            "not_equal" => "equal",
            "less_than" if ordered() => "greater_than_or_equal_to",
            "less_than_or_equal_to" if ordered() => "greater_than",
            "greater_than" if ordered() => "less_than_or_equal_to",
            "greater_than_or_equal_to" if ordered() => "less_than",
            _ => return None,
        };
        Some(Form::Call(name, args.clone()))
    }

    fn connective(&self, [a, b]: [NodeId; 2], is_and: bool) -> Option<NodeId> {
        let is = |id: NodeId, value: bool| self.literal(id) == Some(&Literal::Bool(value));
        let found = if is(a, is_and) || a == b {
            b
        } else if is(b, is_and) || is(a, !is_and) {
            a
        } else if is(b, !is_and) && !self.fails[a.index()] {
            b
        } else {
            return None;
        };
        self.is_plain(found).then_some(found)
    }
}

/// Something simpler than a call.
enum Form {
    Node(NodeId),
    Call(&'static str, Vec<NodeId>),
}

/// True if a member of a list is a value of the type, so that it can be compared in that type.
fn exact(member: &Literal, ty: Type) -> bool {
    match member {
        Literal::Null => false,
        Literal::Float(bits) if ty == Type::Float32 => {
            let value = f64::from_bits(*bits);
            f64::from(value as f32) == value
        }
        Literal::Float(_) => ty == Type::Float64,
        Literal::Int(value) => ty.range().is_some_and(|(low, high)| (low..=high).contains(value)),
        Literal::Bool(_) => ty == Type::Bool,
        Literal::Str(_) => ty == Type::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expressions;
    use crate::schema::schema;

    /// What an expression becomes, as calls.
    fn simple(text: &str) -> String {
        let schema = schema("x: f64, y: f64, i: i32, j: i32, b: bool, c: bool, h: f16").unwrap();
        let expressions = Expressions::parse(&schema, text).unwrap();
        let (program, roots) = simplify(
            &expressions.program,
            &[expressions.outputs[0].node],
            &schema,
            &Options::default(),
        );
        fn show(program: &Program, schema: &Schema, id: NodeId) -> String {
            let each = |ids: &[NodeId]| {
                ids.iter()
                    .map(|&id| show(program, schema, id))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            match &program.get(id).kind {
                Kind::Field(column) => schema.field(*column).name().clone(),
                Kind::Literal(Literal::Float(bits)) => f64::from_bits(*bits).to_string(),
                Kind::Literal(Literal::Int(value)) => value.to_string(),
                Kind::Literal(Literal::Bool(value)) => value.to_string(),
                Kind::Literal(_) => "literal".to_owned(),
                Kind::Call(function, args) => format!("({} {})", function.name(), each(args)),
                Kind::Cast(of) => format!("(cast {})", each(&[*of])),
                Kind::If(parts) => format!("(if {})", each(parts)),
                Kind::And(parts) => format!("(and {})", each(parts)),
                Kind::Or(parts) => format!("(or {})", each(parts)),
                Kind::In(of, members) => format!("(in {} {})", each(&[*of]), members.len()),
            }
        }
        show(&program, &schema, roots[0])
    }

    #[test]
    fn forms_with_the_same_results() {
        for (text, wanted) in [
            ("x * 1", "x"),
            ("1 * (x / 1) ** 1 - 0", "x"),
            ("i + 0", "i"),
            ("x ** 2", "(multiply x x)"),
            ("x + -y", "(subtract x y)"),
            ("x - -y", "(add x y)"),
            ("- -x", "x"),
            ("abs(-x)", "(abs x)"),
            ("not not b", "b"),
            ("not (x == y)", "(not_equal x y)"),
            ("not (i < j)", "(greater_than_or_equal_to i j)"),
            ("x in (2)", "(equal x 2)"),
            ("if(true, x, y)", "x"),
            ("if(b, x, x)", "x"),
            ("b and true", "b"),
            ("b and false", "false"),
            ("false or b", "b"),
            ("b or b", "b"),
            ("cast(x, f64)", "x"),
        ] {
            assert_eq!(simple(text), wanted, "{text}");
        }
    }

    #[test]
    fn forms_with_other_results_stay() {
        for (text, why) in [
            ("x + 0", "a negative zero becomes a positive one"),
            ("x * 0", "NaN times zero is NaN"),
            ("not (x < y)", "NaN is neither less nor not less"),
            ("i / j == 1 and false", "division by zero stops evaluation"),
            ("if(i / j == 1, x, x)", "the same, in a condition"),
            ("x in (1, 2)", "two members"),
            ("h * 1", "the column has another type than the result"),
        ] {
            let shown = simple(text);
            assert!(shown.len() > 6 && shown != "false", "{text} became {shown}, but {why}");
        }
        assert!(simple("x + 0").starts_with("(add") && simple("not (x < y)").starts_with("(not"));
    }
}
