//! Expressions as text.

use arrow_schema::Schema;

use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::Type;

/// Operators by the names of their functions, with how tightly they bind.
const OPERATORS: &[(&str, &str, u8)] = &[
    ("equal", "==", 4),
    ("not_equal", "!=", 4),
    ("less_than", "<", 4),
    ("less_than_or_equal_to", "<=", 4),
    ("greater_than", ">", 4),
    ("greater_than_or_equal_to", ">=", 4),
    ("bitwise_or", "|", 5),
    ("bitwise_and", "&", 7),
    ("add", "+", 8),
    ("subtract", "-", 8),
    ("multiply", "*", 9),
    ("divide", "/", 9),
    ("mod", "%", 9),
    ("power", "**", 11),
];

const LOOSEST: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SIGN: u8 = 10;
const TIGHTEST: u8 = 12;

/// The longest text; what is deeper is left out.
const MOST: usize = 4_096;

/// A piece of work: text to write, or a node in a place that binds this tightly.
enum Task {
    Write(String),
    Node(NodeId, u8),
}

/// The text of a node. Types of literals are left out where they are those of a column beside them, so it may not be
/// read back as the same types.
pub(crate) fn text(program: &Program, schema: &Schema, root: NodeId) -> String {
    let mut out = String::new();
    let mut tasks = vec![Task::Node(root, LOOSEST)];
    while let Some(task) = tasks.pop() {
        if out.len() > MOST {
            return out + " …";
        }
        match task {
            Task::Write(text) => out += &text,
            Task::Node(id, outside) => {
                let (own, parts) = parts(program, schema, id);
                let bracketed = own < outside;
                if bracketed {
                    tasks.push(Task::Write(")".to_owned()));
                }
                tasks.extend(parts.into_iter().rev());
                if bracketed {
                    tasks.push(Task::Write("(".to_owned()));
                }
            }
        }
    }
    out
}

/// How tightly a node binds, and what its text consists of.
fn parts(program: &Program, schema: &Schema, id: NodeId) -> (u8, Vec<Task>) {
    let word = |text: &str| Task::Write(text.to_owned());
    let between = |[a, b]: [NodeId; 2], symbol: &str, left: u8, right: u8| {
        vec![
            Task::Node(a, left),
            Task::Write(format!(" {symbol} ")),
            Task::Node(b, right),
        ]
    };
    let call = |name: &str, args: &[NodeId]| {
        let mut out = vec![Task::Write(format!("{name}("))];
        for (at, &arg) in args.iter().enumerate() {
            if at > 0 {
                out.push(word(", "));
            }
            out.push(Task::Node(arg, LOOSEST));
        }
        out.push(word(")"));
        out
    };
    let node = program.get(id);
    match &node.kind {
        Kind::Field(column) => (TIGHTEST, vec![Task::Write(name(schema.field(*column).name()))]),
        Kind::Literal(value) => {
            let text = literal(value, node.ty);
            (
                if text.starts_with('-') { SIGN } else { TIGHTEST },
                vec![Task::Write(text)],
            )
        }
        Kind::Cast(of) => {
            let mut out = vec![word("cast("), Task::Node(*of, LOOSEST)];
            out.push(Task::Write(format!(", {})", node.ty)));
            (TIGHTEST, out)
        }
        Kind::If(parts) => (TIGHTEST, call("if", parts)),
        Kind::And(parts) => (AND, between(*parts, "and", AND, NOT)),
        Kind::Or(parts) => (OR, between(*parts, "or", OR, AND)),
        Kind::In(of, members) => {
            let ty = program.get(*of).ty;
            let members: Vec<String> = members.iter().map(|member| literal(member, ty)).collect();
            let list = format!(" in ({})", members.join(", "));
            (COMPARISON, vec![Task::Node(*of, COMPARISON + 1), Task::Write(list)])
        }
        Kind::Call(function, args) => {
            let operator = OPERATORS.iter().find(|row| row.0 == function.name());
            match (function.name(), operator, args.as_slice()) {
                ("negative", _, &[of]) => (SIGN, vec![word("-"), Task::Node(of, SIGN + 1)]),
                ("not", _, &[of]) => (NOT, vec![word("not "), Task::Node(of, NOT)]),
                (_, Some(&(_, symbol, own)), &[a, b]) => {
                    // Comparisons do not chain, and powers group from the right.
                    let left = if own == COMPARISON || symbol == "**" {
                        own + 1
                    } else {
                        own
                    };
                    (own, between([a, b], symbol, left, own + 1))
                }
                (name, _, args) => (TIGHTEST, call(name, args)),
            }
        }
    }
}

fn name(column: &str) -> String {
    let plain = column.starts_with(|c: char| c.is_ascii_alphabetic())
        && column.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !matches!(
            column,
            "if" | "else" | "in" | "and" | "or" | "not" | "true" | "false" | "null"
        );
    if plain {
        column.to_owned()
    } else {
        format!("`{column}`")
    }
}

fn literal(value: &Literal, ty: Type) -> String {
    match value {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(bits) => {
            let value = f64::from_bits(*bits);
            match ty {
                Type::Float32 => (value as f32).to_string(),
                _ => value.to_string(),
            }
        }
        Literal::Str(text) => format!("{text:?}"),
    }
}
