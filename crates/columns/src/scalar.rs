//! Expressions over single numbers, without Arrow.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use smallvec::SmallVec;

use tautomer_diag::{Diagnostic, Diagnostics};

use crate::expression::Expressions;
use crate::function::Real;
use crate::options::Options;
use crate::program::{Kind, Literal, Node};

/// An expression over numbers, as in ExprTk and TinyExpr: every number is an `f64`, `^` is power, and truth is 1 or 0.
///
/// ```
/// use tautomer_columns::Scalar;
///
/// let expression = Scalar::compile("if(x > 0, sqrt(x) + y^2, -1)", &["x", "y"]).unwrap();
/// assert_eq!(expression.eval(&[4.0, 3.0]), 11.0);
/// assert_eq!(expression.eval(&[-4.0, 3.0]), -1.0);
/// assert!(Scalar::compile("x + z", &["x"]).is_err());
/// ```
#[derive(Clone)]
pub struct Scalar {
    steps: Vec<Step>,
    result: usize,
}

#[derive(Clone)]
enum Step {
    Argument(usize),
    Constant(f64),
    One(fn(f64) -> f64, usize),
    Two(fn(f64, f64) -> f64, [usize; 2]),
    Test(fn(f64, f64) -> bool, [usize; 2]),
    If([usize; 3]),
    And([usize; 2]),
    Or([usize; 2]),
    In(usize, Arc<[f64]>),
}

impl Scalar {
    /// Prepares an expression over the named arguments.
    ///
    /// # Errors
    ///
    /// Those of [`Expressions::parse`], and T0705 for functions of other things than numbers.
    pub fn compile(text: &str, names: &[&str]) -> Result<Self, Diagnostics> {
        let fields: Vec<Field> = names
            .iter()
            .map(|name| Field::new(*name, DataType::Float64, false))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let expressions = Expressions::parse_with(&schema, text, &Options::calculator())?;
        let [output] = expressions.outputs.as_slice() else {
            return Err(Diagnostic::error("T0708", "a scalar call has one expression").into());
        };
        let steps: Result<Vec<Step>, Diagnostic> = expressions.program.nodes().iter().map(step).collect();
        Ok(Scalar {
            steps: steps?,
            result: output.node.index(),
        })
    }

    /// The value for these arguments, in the order of their names; NaN for those that are missing.
    pub fn eval(&self, arguments: &[f64]) -> f64 {
        let mut values: SmallVec<[f64; 32]> = SmallVec::with_capacity(self.steps.len());
        let truth = |holds: bool| f64::from(u8::from(holds));
        for step in &self.steps {
            values.push(match step {
                Step::Argument(at) => arguments.get(*at).copied().unwrap_or(f64::NAN),
                Step::Constant(value) => *value,
                Step::One(f, a) => f(values[*a]),
                Step::Two(f, [a, b]) => f(values[*a], values[*b]),
                Step::Test(f, [a, b]) => truth(f(values[*a], values[*b])),
                Step::If([condition, then, otherwise]) => {
                    if values[*condition] == 0.0 {
                        values[*otherwise]
                    } else {
                        values[*then]
                    }
                }
                Step::And([a, b]) => truth(values[*a] != 0.0 && values[*b] != 0.0),
                Step::Or([a, b]) => truth(values[*a] != 0.0 || values[*b] != 0.0),
                Step::In(of, members) => truth(members.contains(&values[*of])),
            });
        }
        values[self.result]
    }
}

impl std::fmt::Debug for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scalar").field("steps", &self.steps.len()).finish()
    }
}

fn step(node: &Node) -> Result<Step, Diagnostic> {
    let refuse = |what: &str| {
        Err(
            Diagnostic::error("T0705", format!("{what} is not a function of single numbers"))
                .label(node.span, "")
                .help("evaluate it over a batch with `Projector`")
                .in_source(&node.source),
        )
    };
    Ok(match &node.kind {
        Kind::Field(at) => Step::Argument(*at),
        Kind::Literal(value) => match number(value) {
            Some(value) => Step::Constant(value),
            None => return refuse("this literal"),
        },
        Kind::Call(function, args) => match (function.real, args.as_slice()) {
            (Some(Real::One(f)), [a]) => Step::One(f, a.index()),
            (Some(Real::Two(f)), [a, b]) => Step::Two(f, [a.index(), b.index()]),
            (Some(Real::Test(f)), [a, b]) => Step::Test(f, [a.index(), b.index()]),
            _ => return refuse(&format!("`{}`", function.name())),
        },
        Kind::Cast(_) => return refuse("`cast`"),
        Kind::If(parts) => Step::If(parts.map(|part| part.index())),
        Kind::And(parts) => Step::And(parts.map(|part| part.index())),
        Kind::Or(parts) => Step::Or(parts.map(|part| part.index())),
        Kind::In(of, members) => {
            let members: Option<Vec<f64>> = members.iter().map(number).collect();
            match members {
                Some(members) => Step::In(of.index(), members.into()),
                None => return refuse("`in` with these members"),
            }
        }
    })
}

fn number(value: &Literal) -> Option<f64> {
    match value {
        Literal::Float(bits) => Some(f64::from_bits(*bits)),
        Literal::Bool(value) => Some(f64::from(u8::from(*value))),
        Literal::Int(_) | Literal::Null | Literal::Str(_) => None,
    }
}
