//! From physical expressions to texts that compute the same: values, nulls, overflow, and never an error.
//!
//! A text never fails: what may fail in DataFusion, such as division of integers or casts to smaller types, is an
//! argument of it, or is left alone. An argument is computed for every row, so in places that DataFusion computes for
//! some rows alone (branches of `CASE`, the right side of `AND`) it is a column or a literal.

use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_functions::math;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NegativeExpr, NotExpr,
    TryCastExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_expr_common::physical_expr::is_volatile;
use tautomer_columns::{FloatOrder, Options};

use crate::expression::Expression;
use crate::fused::FusedExpr;
use crate::rule::fuse_children;

/// Calls and operators within each other; deeper expressions are left alone.
const MAX_DEPTH: usize = 100;

/// The most members of a list that are compared one after the other.
const MAX_MEMBERS: usize = 8;

/// What is computed as one expression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The fewest operators that are worth it.
    pub(crate) least: usize,
    /// Whether functions are included whose results may differ in the last two bits.
    pub(crate) close: bool,
}

/// The options under which texts mean what DataFusion computes.
fn options() -> Options {
    Options {
        float_order: FloatOrder::Total,
        ..Options::default()
    }
}

/// The expression as one that is fused; `None` if that is not possible, or not worth it.
pub(crate) fn fused(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, limits: Limits) -> Option<Arc<dyn PhysicalExpr>> {
    let wanted = expr.data_type(schema).ok()?;
    let nullable = expr.nullable(schema).ok()?;
    let mut translator = Translator {
        schema,
        limits,
        args: Vec::new(),
        fields: Vec::new(),
        operators: 0,
    };
    let text = translator.text(expr, Place::Always, 0)?.text;
    if translator.operators < limits.least {
        return None;
    }
    let columns = Arc::new(Schema::new(translator.fields));
    let expression = Expression::compile(&text, columns, &options()).ok()?;
    if *expression.field.data_type() != wanted {
        return None;
    }
    // What DataFusion computes may have runs of its own.
    let inner = |arg: &Arc<dyn PhysicalExpr>| fuse_children(arg, schema, limits).unwrap_or_else(|| Arc::clone(arg));
    let args = translator.args.iter().map(inner).collect();
    let fused = FusedExpr::try_new(Arc::new(expression), args, nullable).ok()?;
    Some(Arc::new(fused))
}

/// Whether an expression can be computed for the rows that DataFusion would leave out.
pub(crate) fn is_total(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, limits: Limits) -> bool {
    let mut translator = Translator {
        schema,
        limits,
        args: Vec::new(),
        fields: Vec::new(),
        operators: 0,
    };
    translator.text(expr, Place::SomeRows, 0).is_some()
}

/// How tightly the parts of a text hold together, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Comparison,
    BitwiseOr,
    BitwiseXor,
    BitwiseAnd,
    Sum,
    Product,
    Operand,
}

impl Level {
    /// The next tighter one.
    fn tighter(self) -> Level {
        match self {
            Level::Or => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Comparison,
            Level::Comparison => Level::BitwiseOr,
            Level::BitwiseOr => Level::BitwiseXor,
            Level::BitwiseXor => Level::BitwiseAnd,
            Level::BitwiseAnd => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product | Level::Operand => Level::Operand,
        }
    }
}

/// A part of a text.
struct Part {
    text: String,
    level: Level,
}

impl Part {
    /// A name, a literal or a call.
    fn operand(text: String) -> Self {
        let level = Level::Operand;
        Part { text, level }
    }

    /// The text where only parts of this level or tighter ones are not in brackets.
    fn at(self, level: Level) -> String {
        match self.level >= level {
            true => self.text,
            false => format!("({})", self.text),
        }
    }
}

/// For which rows DataFusion computes an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Always,
    SomeRows,
}

struct Translator<'a> {
    schema: &'a Schema,
    limits: Limits,
    args: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<Field>,
    operators: usize,
}

impl Translator<'_> {
    /// The text of an expression: itself, or the name of an argument.
    fn text(&mut self, expr: &Arc<dyn PhysicalExpr>, place: Place, depth: usize) -> Option<Part> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (args, operators) = (self.args.len(), self.operators);
        if let Some(text) = self.known(expr, place, depth + 1) {
            return Some(text);
        }
        self.args.truncate(args);
        self.fields.truncate(args);
        self.operators = operators;
        self.arg(expr, place).map(Part::operand)
    }

    fn type_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<DataType> {
        expr.data_type(self.schema).ok()
    }

    /// An expression of a kind that has the same meaning here.
    fn known(&mut self, expr: &Arc<dyn PhysicalExpr>, place: Place, depth: usize) -> Option<Part> {
        let expr = expr.as_ref();
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return literal_text(literal.value()).map(Part::operand);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(binary, place, depth);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            let arg = self.text(not.arg(), place, depth)?.at(Level::Operand);
            return self.operation(Level::Not, format!("not {arg}"));
        }
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            if !is_float(&self.type_of(negative.arg())?) {
                return None;
            }
            let arg = self.text(negative.arg(), place, depth)?.text;
            return self.operation(Level::Operand, format!("negative({arg})"));
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.cast(cast.expr(), cast.cast_type(), place, depth);
        }
        if let Some(cast) = expr.downcast_ref::<TryCastExpr>() {
            return self.cast(cast.expr(), cast.cast_type(), place, depth);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.case(case, place, depth);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.list(list, place, depth);
        }
        self.function(expr.downcast_ref::<ScalarFunctionExpr>()?, place, depth)
    }

    fn operation(&mut self, level: Level, text: String) -> Option<Part> {
        self.operators += 1;
        Some(Part { text, level })
    }

    /// What DataFusion computes, as an argument.
    fn arg(&mut self, expr: &Arc<dyn PhysicalExpr>, place: Place) -> Option<String> {
        let data_type = self.type_of(expr)?;
        if !has_loops(&data_type) || is_volatile(expr) || (place == Place::SomeRows && !never_fails(expr)) {
            return None;
        }
        if let Some(at) = self.args.iter().position(|known| known == expr) {
            return Some(written(self.fields[at].name()));
        }
        let own = expr.downcast_ref::<Column>().map(Column::name);
        let own = own.filter(|name| is_plain(name) || !name.contains(['`', '\n', '\r']) && !name.is_empty());
        let is_new = |name: &str| self.fields.iter().all(|field| field.name() != name);
        let name = match own.filter(|name| is_new(name)) {
            Some(name) => name.to_owned(),
            None => (1..).map(|at| format!("arg{at}")).find(|name| is_new(name))?,
        };
        self.args.push(Arc::clone(expr));
        let text = written(&name);
        self.fields.push(Field::new(name, data_type, true));
        Some(text)
    }

    fn binary(&mut self, binary: &BinaryExpr, place: Place, depth: usize) -> Option<Part> {
        use Operator::{
            And, BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Or,
            Plus,
        };
        let (left, right) = (binary.left(), binary.right());
        let ty = self.type_of(left)?;
        if self.type_of(right)? != ty {
            return None;
        }
        let (float, integer) = (is_float(&ty), matches!(ty, DataType::Int32 | DataType::Int64));
        let mut right_place = place;
        let (symbol, level) = match binary.op() {
            Plus if float || (integer && wraps(binary)) => ("+", Level::Sum),
            Minus if float || (integer && wraps(binary)) => ("-", Level::Sum),
            Multiply if float || (integer && wraps(binary)) => ("*", Level::Product),
            Divide if float || (integer && is_divisor(right)) => ("/", Level::Product),
            Modulo if float || (integer && is_divisor(right)) => ("%", Level::Product),
            Eq => ("==", Level::Comparison),
            NotEq => ("!=", Level::Comparison),
            Lt if ty != DataType::Boolean => ("<", Level::Comparison),
            LtEq if ty != DataType::Boolean => ("<=", Level::Comparison),
            Gt if ty != DataType::Boolean => (">", Level::Comparison),
            GtEq if ty != DataType::Boolean => (">=", Level::Comparison),
            BitwiseAnd if integer => ("&", Level::BitwiseAnd),
            BitwiseOr if integer => ("|", Level::BitwiseOr),
            BitwiseXor if integer => ("^", Level::BitwiseXor),
            And => ("and", Level::And),
            Or => ("or", Level::Or),
            _ => return None,
        };
        if !has_loops(&ty) {
            return None;
        }
        if matches!(binary.op(), And | Or) {
            right_place = Place::SomeRows;
        }
        // Operators are left-associative, but comparisons do not chain, and an `and` beside an `or` is in brackets.
        let (left_level, right_level) = match level {
            Level::Comparison => (level.tighter(), level.tighter()),
            Level::Or => (level, Level::Not),
            _ => (level, level.tighter()),
        };
        let left = self.text(left, place, depth)?;
        let left = match (level, left.level) {
            (Level::Or, Level::And) => left.at(Level::Not),
            _ => left.at(left_level),
        };
        let right = self.text(right, right_place, depth)?.at(right_level);
        self.operation(level, format!("{left} {symbol} {right}"))
    }

    /// Casts that every value has a result of.
    fn cast(&mut self, of: &Arc<dyn PhysicalExpr>, to: &DataType, place: Place, depth: usize) -> Option<Part> {
        use DataType::{Float32, Float64, Int32, Int64};
        let name = match (self.type_of(of)?, to) {
            (Int32, Int64) => "i64",
            (Int32 | Int64 | Float32, Float64) => "f64",
            (Int32 | Int64 | Float64, Float32) => "f32",
            _ => return None,
        };
        let arg = self.text(of, place, depth)?.text;
        self.operation(Level::Operand, format!("cast({arg}, {name})"))
    }

    fn case(&mut self, case: &CaseExpr, place: Place, depth: usize) -> Option<Part> {
        let subject = match case.expr() {
            // DataFusion compares floats in its own way here.
            Some(subject) if is_float(&self.type_of(subject)?) => return None,
            Some(subject) => Some(self.text(subject, place, depth)?.at(Level::Comparison.tighter())),
            None => None,
        };
        let result = self.type_of(&case.when_then_expr().first()?.1)?;
        if !has_loops(&result) {
            return None;
        }
        let (mut text, mut when_place) = (String::new(), place);
        for (when, then) in case.when_then_expr() {
            if self.type_of(then)? != result {
                return None;
            }
            let when = self.text(when, when_place, depth)?;
            when_place = Place::SomeRows;
            let then = self.text(then, Place::SomeRows, depth)?.text;
            match &subject {
                Some(subject) => {
                    let when = when.at(Level::Comparison.tighter());
                    write!(text, "if({subject} == {when}, {then}, ").ok()?;
                }
                None => write!(text, "if({}, {then}, ", when.text).ok()?,
            }
            self.operators += 1;
        }
        match case.else_expr() {
            Some(other) if self.type_of(other)? != result => return None,
            Some(other) => text += &self.text(other, Place::SomeRows, depth)?.text,
            None => text += "null",
        }
        text.extend(std::iter::repeat_n(')', case.when_then_expr().len()));
        Some(Part::operand(text))
    }

    fn list(&mut self, list: &InListExpr, place: Place, depth: usize) -> Option<Part> {
        let ty = self.type_of(list.expr())?;
        if !matches!(ty, DataType::Int32 | DataType::Int64) || !(1..=MAX_MEMBERS).contains(&list.len()) {
            return None;
        }
        let members = list.list().iter().map(|member| {
            let value = member.downcast_ref::<Literal>()?.value();
            (value.data_type() == ty).then(|| literal_text(value)).flatten()
        });
        let members = members.collect::<Option<Vec<_>>>()?.join(", ");
        let of = self.text(list.expr(), place, depth)?.at(Level::Comparison.tighter());
        match list.negated() {
            true => self.operation(Level::Not, format!("not ({of} in ({members}))")),
            false => self.operation(Level::Comparison, format!("{of} in ({members})")),
        }
    }

    fn function(&mut self, call: &ScalarFunctionExpr, place: Place, depth: usize) -> Option<Part> {
        let [arg] = call.args() else { return None };
        if !is_float(&self.type_of(arg)?) {
            return None;
        }
        let is = |function: Arc<datafusion_expr::ScalarUDF>| *call.fun() == *function;
        let name = match call.name() {
            "abs" if is(math::abs()) => "abs",
            "floor" if is(math::floor()) => "floor",
            "ceil" if is(math::ceil()) => "ceil",
            "exp" if self.limits.close && is(math::exp()) => "exp",
            "ln" if self.limits.close && is(math::ln()) => "ln",
            "sin" if self.limits.close && is(math::sin()) => "sin",
            "cos" if self.limits.close && is(math::cos()) => "cos",
            "tanh" if self.limits.close && is(math::tanh()) => "tanh",
            _ => return None,
        };
        let arg = self.text(arg, place, depth)?.text;
        self.operation(Level::Operand, format!("{name}({arg})"))
    }
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

/// Whether loops over tiles exist for a type, without conversion.
fn has_loops(ty: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Float32, Float64, Int32, Int64, Timestamp};
    match ty {
        Boolean | Int32 | Int64 | Float32 | Float64 | Date32 | Date64 => true,
        Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, zone) => {
            zone.is_none()
        }
        _ => false,
    }
}

/// Whether integers wrap around in an expression, which does not say so itself.
fn wraps(binary: &BinaryExpr) -> bool {
    *binary == BinaryExpr::new(Arc::clone(binary.left()), *binary.op(), Arc::clone(binary.right()))
}

/// An integer by which every integer can be divided.
fn is_divisor(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let value = expr.downcast_ref::<Literal>().map(Literal::value);
    match value {
        Some(ScalarValue::Int32(Some(value))) => !matches!(value, 0 | -1),
        Some(ScalarValue::Int64(Some(value))) => !matches!(value, 0 | -1),
        _ => false,
    }
}

/// An expression that costs little and has a result for every row.
fn never_fails(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let plain = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Column>() || expr.is::<Literal>();
    if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
        return plain(is_null.arg());
    }
    if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
        return plain(is_not_null.arg());
    }
    plain(expr)
}

/// A value as it is written, with its type; `None` for nulls and for what has no literal.
fn literal_text(value: &ScalarValue) -> Option<String> {
    let signed = |text: String| match text.starts_with('-') {
        true => format!("({text})"),
        false => text,
    };
    Some(match value {
        ScalarValue::Boolean(Some(value)) => value.to_string(),
        ScalarValue::Int32(Some(value)) => signed(format!("{value}i32")),
        ScalarValue::Int64(Some(value)) => signed(format!("{value}i64")),
        ScalarValue::Float32(Some(value)) if value.is_finite() => signed(format!("{:?}f32", f64::from(*value))),
        ScalarValue::Float64(Some(value)) if value.is_finite() => signed(format!("{value:?}f64")),
        ScalarValue::Date32(Some(days)) => format!("castDATE({})", signed(format!("{days}i32"))),
        _ => return None,
    })
}

/// Whether a name is written without backquotes.
fn is_plain(name: &str) -> bool {
    const WORDS: [&str; 15] = [
        "if", "in", "and", "or", "not", "true", "false", "null", "else", "let", "for", "when", "fn", "inf", "nan",
    ];
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !WORDS.contains(&name)
}

fn written(name: &str) -> String {
    match is_plain(name) {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}
