//! The functions of scripts: constructors, and operators that take shapes as operands.

use super::functions::wrong_count;
use super::work::Task;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Builder, Val};
use crate::literal::{self, Wanted};
use crate::sink::ValueId;
use crate::term::{self, Term};
use tautomer_diag::{Diagnostic, Span};
use tautomer_lang::Compat;
use tautomer_lang::ast::{Attrs, BinaryOp, ExprId, ExprKind};
use tautomer_op::{self as op, AttrValue, known};
use tautomer_tensor::DType;
use tautomer_tensor::{Dim, MAX_RANK, Tensor, Type};

/// The functions that scripts have in addition to operators.
pub(crate) const FUNCTIONS: &[&str] = &[
    "rand",
    "one",
    "ones",
    "zero",
    "zeros",
    "dot",
    "operate_tensor",
    "slice",
    "reshape",
    "shape",
    "size",
    "ndim",
    "dtype",
    "init_random",
    "init_one",
    "init_zero",
    "init_by_list",
    "get_shape",
    "get_tensor_size",
    "reshape_tensor",
    "tensor_slice",
];

/// Functions by their names in the small tensor language, with their names here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("init_random", "rand"),
    ("init_one", "one"),
    ("init_zero", "zero"),
    ("get_shape", "shape"),
    ("get_tensor_size", "size"),
    ("reshape_tensor", "reshape"),
    ("tensor_slice", "slice"),
];

/// The default maximum number of elements of a value in a script.
pub(crate) const MAX_ELEMENTS: usize = 1 << 24;

/// The message about a value with too many elements.
pub(crate) fn too_many_elements(most: usize) -> Diagnostic {
    Diagnostic::error(
        "T0603",
        format!("a value of a script has more than {most} elements, the limit"),
    )
    .help("raise the limit with `--max-elements N`, in a library call with `Session::with_max_elements`")
}

/// The names defined by a script, each with its value; `None` for a name whose value had a problem.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Each value is stored with its position in the order of definition.
    values: FxHashMap<Arc<str>, (usize, Option<ValueId>)>,
    given: usize,
}

impl Names {
    pub(crate) fn get(&self, name: &str) -> Option<&Option<ValueId>> {
        self.values.get(name).map(|(_, value)| value)
    }

    /// Sets the value of a name, which becomes the most recent.
    pub(crate) fn insert(&mut self, name: Arc<str>, value: Option<ValueId>) {
        self.given += 1;
        self.values.insert(name, (self.given, value));
    }

    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The names with their values, in order of definition.
    #[expect(clippy::iter_over_hash_type, reason = "the result is sorted")]
    pub(crate) fn oldest_first(&self) -> Vec<(&str, &Option<ValueId>)> {
        let mut all = Vec::with_capacity(self.values.len());
        for (name, (place, value)) in &self.values {
            all.push((*place, &**name, value));
        }
        all.sort_unstable_by_key(|(place, ..)| *place);
        all.into_iter().map(|(_, name, value)| (name, value)).collect()
    }
}

/// The state of a script.
#[derive(Debug, Clone)]
pub(crate) struct ScriptState {
    /// The names defined so far.
    pub(crate) names: Names,
    /// The maximum number of elements of a value.
    pub(crate) max_elements: usize,
    /// Its spelling.
    pub(crate) compat: Compat,
    /// The state of the random number generator.
    pub(crate) random: u64,
    /// The values made by constructors.
    pub(crate) made: Vec<ValueId>,
}

impl ScriptState {
    /// A number below `n`: SplitMix64.
    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

impl<'a> Builder<'a> {
    /// The value of one expression.
    pub(crate) fn value(&mut self, id: ExprId) -> Val {
        self.run(Task::Eval(id))
    }

    /// Whether a call refers to a script function, and not to an operator of the same name.
    pub(super) fn is_script_call(&self, name: &str, args: &[Term], attrs: Option<&Attrs>) -> bool {
        self.script.is_some()
            && attrs.is_none()
            && FUNCTIONS.contains(&name)
            && match name {
                "slice" => args.len() == 3,
                "reshape" => args.len() == 2,
                "shape" | "size" => args.len() == 1,
                _ => true,
            }
    }

    /// The value of a call that [`Self::is_script_call`] accepts.
    pub(super) fn script_call(&mut self, name: &str, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let called = name;
        let name = OTHER_NAMES
            .iter()
            .find(|(other, _)| *other == called)
            .map_or(called, |(_, name)| name);
        let wanted = match name {
            "operate_tensor" | "slice" => 3,
            "dot" | "reshape" => 2,
            _ => 1,
        };
        if args.len() != wanted {
            let problem = wrong_count(&format!("`{called}` takes"), wanted, args.len());
            self.report(problem.label(span, ""));
            return None;
        }
        match name {
            "rand" | "one" | "ones" | "zero" | "zeros" => self.constructor(name, args, ids, span),
            "dot" => self.dot(args, ids, span),
            "operate_tensor" => self.operate(args, ids, span),
            "slice" => self.slice_of_size(args, ids, span),
            "reshape" => self.reshape_to(args, ids, span),
            "init_by_list" => self.vertex(args.into_iter().next()?, span).map(Term::Value),
            _ => self.property(name, args, span),
        }
    }

    fn constructor(&mut self, name: &str, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let shape = self.integers(args.first()?, self.ast.span(*ids.first()?), "a shape")?;
        let elements = shape
            .iter()
            .try_fold(1usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?));
        let most = self.script.as_ref().map_or(MAX_ELEMENTS, |script| script.max_elements);
        let problem = match elements {
            _ if shape.iter().any(|d| *d < 0) => Diagnostic::error("T0202", "a dimension cannot be negative"),
            _ if shape.len() > MAX_RANK => Diagnostic::error(
                "T0202",
                format!("a tensor has at most {MAX_RANK} axes, and this one has {}", shape.len()),
            ),
            Some(n) if n <= most => {
                if let Some(problem) = self.budget.constant(n) {
                    self.report(problem.label(span, ""));
                    return None;
                }
                let values: Vec<i32> = match (name, &mut self.script) {
                    ("rand", Some(script)) => (0..n).map(|_| script.below(10) as i32).collect(),
                    ("one" | "ones", _) => vec![1; n],
                    _ => vec![0; n],
                };
                let extents: Vec<usize> = shape.iter().map(|d| *d as usize).collect();
                let tensor = Tensor::new(&extents, values)?;
                let v = self.sink.constant(tensor);
                self.sink.place(v, span);
                if let Some(script) = &mut self.script {
                    script.made.push(v);
                }
                return Some(Term::Value(v));
            }
            _ => too_many_elements(most),
        };
        self.report(problem.label(span, format!("the shape is {}", list(&shape))));
        None
    }

    /// Converts integers mixed with floating-point numbers to floating point.
    pub(super) fn promoted(&mut self, args: Vec<Term>, ids: &[ExprId]) -> Option<Vec<Term>> {
        let dtype = |builder: &Self, term: &Term| match term {
            Term::Value(v) => builder.sink.ty(*v).as_tensor().map(|t| t.dtype),
            Term::Open(_) => builder.default_type(term, DType::I32),
            literal => literal::tensor(literal, Wanted::Any).ok().map(|t| t.dtype()),
        };
        if args.iter().all(|arg| self.default_type(arg, DType::I32).is_some()) {
            return Some(args);
        }
        let types: Vec<_> = args.iter().map(|arg| dtype(self, arg)).collect();
        let typed = args.iter().zip(&types).filter(|(arg, _)| matches!(arg, Term::Value(_)));
        let floats = |t: &Option<DType>| t.filter(|d| d.is_float());
        let mut all = typed
            .filter_map(|(_, t)| floats(t))
            .chain(types.iter().filter_map(floats));
        let Some(float) = all.next().filter(|_| types.iter().flatten().any(|d| d.is_int())) else {
            return Some(args);
        };
        let mut out = Vec::new();
        for (i, (arg, ty)) in args.into_iter().zip(types).enumerate() {
            let span = ids.get(i).map_or_else(Span::default, |id| self.ast.span(*id));
            out.push(match arg {
                Term::Value(v) if ty.is_some_and(|d| d.is_int()) => {
                    let given = vec![("to".into(), AttrValue::DType(float), span)];
                    self.operator(op::lookup(known::CAST)?, vec![Term::Value(v)], ids, given, span)?
                }
                Term::Value(v) => Term::Value(v),
                literal => Term::Value(self.vertex_as(literal, Wanted::Like(float), span)?),
            });
        }
        Some(out)
    }

    /// The product summed over the last axis of the left operand and the first axis of the right one.
    pub(super) fn dot(&mut self, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let args = self.promoted(args, ids)?;
        let wanted = self.wanted(op::lookup(known::ADD)?, &args);
        let mut operands = Vec::new();
        for (arg, id) in args.into_iter().zip(ids) {
            operands.push(self.vertex_as(arg, wanted, self.ast.span(*id))?);
        }
        let [a, b] = <[ValueId; 2]>::try_from(operands).ok()?;
        let (ta, tb) = (self.sink.ty(a), self.sink.ty(b));
        let (Some(x), Some(y)) = (self.extents(a), self.extents(b)) else {
            return self.known_call(known::MATMUL, vec![Term::Value(a), Term::Value(b)], ids, span);
        };
        let (Some(last), Some(first)) = (x.last().copied(), y.first().copied()) else {
            let problem = format!("`dot`: {ta} and {tb}: a single number has no axis to sum over");
            self.report(
                self.between(problem, &[ta.clone(), tb.clone()], ids, span)
                    .help("`*` multiplies by a number"),
            );
            return None;
        };
        if last != first {
            let problem = format!(
                "`dot`: the left operand is {ta} and the right one {tb}: the last axis of the left has size {last} \
                 and the first axis of the right has size {first}, but they must be equal"
            );
            self.report(self.between(problem, &[ta.clone(), tb.clone()], ids, span));
            return None;
        }
        let is_row = x.len() == 1 && y.len() > 1;
        let keeps_row = is_row && self.script.as_ref().is_some_and(|s| s.compat == Compat::Full);
        let plain = x.len() <= 2 && y.len() <= 2;
        let operator = if plain { known::MATMUL } else { known::TENSORDOT };
        let product = self.known_call(operator, vec![Term::Value(a), Term::Value(b)], ids, span)?;
        if !keeps_row {
            return Some(product);
        }
        let shape: Vec<i64> = std::iter::once(1).chain(y[1..].iter().copied()).collect();
        self.reshaped(product, &shape, ids, span)
    }

    fn operate(&mut self, mut args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let which = args.pop();
        let op = match &which {
            Some(Term::Str(sign)) => match &**sign {
                "+" => Some(BinaryOp::Add),
                "-" => Some(BinaryOp::Sub),
                "." => Some(BinaryOp::Mul),
                _ => None,
            },
            _ => None,
        };
        let (Some(op), [lhs, rhs, ..]) = (op, ids) else {
            let problem = Diagnostic::error("T0103", "the third operand of `operate_tensor` is the operation");
            self.report(problem.label(span, "").help("it is `\"+\"`, `\"-\"` or `\".\"`"));
            return None;
        };
        self.infix(op, args, *lhs, *rhs, span)
    }

    /// `size` elements of each axis from `begin` on; -1 takes all that follow.
    fn slice_of_size(&mut self, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let [at, begin_at, size_at] = [0, 1, 2].map(|i| ids.get(i).map_or(span, |id| self.ast.span(*id)));
        let [tensor, begin, size] = <[Term; 3]>::try_from(args).ok()?;
        let begin = self.integers(&begin, begin_at, "positions");
        let size = self.integers(&size, size_at, "sizes");
        let v = self.vertex(tensor, at)?;
        let (begin, size, ty) = (begin?, size?, self.sink.ty(v));
        let shape = self.extents(v)?;
        for (what, list, at) in [("begin", &begin, begin_at), ("size", &size, size_at)] {
            if list.len() != shape.len() {
                let problem = format!(
                    "`slice`: `{what}` has length {}, and {ty} has {} axes",
                    list.len(),
                    shape.len()
                );
                self.report(Diagnostic::error("T0202", problem).label(at, ""));
                return None;
            }
        }
        let mut ends = Vec::new();
        for (axis, ((&from, &n), &extent)) in begin.iter().zip(&size).zip(&shape).enumerate() {
            let end = if n == -1 { extent } else { from.saturating_add(n) };
            if from < 0 || n < -1 || from > extent || end > extent {
                let problem = format!(
                    "`slice`: axis {axis} of {ty} has size {extent}, but {n} elements from {from} on are requested"
                );
                let help = "positions begin at 0; a size of -1 takes all following elements";
                self.report(
                    Diagnostic::error("T0202", problem)
                        .label(size_at, "")
                        .secondary(at, format!("this is {ty}"))
                        .help(help),
                );
                return None;
            }
            ends.push(end);
        }
        let axes: Vec<i64> = (0..shape.len() as i64).collect();
        let attrs = [("starts", begin), ("ends", ends), ("axes", axes)];
        self.with_lists(known::SLICE, Term::Value(v), &attrs, ids, span)
    }

    fn reshape_to(&mut self, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let [tensor, shape] = <[Term; 2]>::try_from(args).ok()?;
        let at = ids.get(1).map_or(span, |id| self.ast.span(*id));
        let shape = self.integers(&shape, at, "a shape")?;
        let tensor = self.vertex(tensor, span)?;
        self.reshaped(Term::Value(tensor), &shape, ids, span)
    }

    fn reshaped(&mut self, tensor: Term, shape: &[i64], ids: &[ExprId], span: Span) -> Val {
        let def = op::lookup(known::RESHAPE)?;
        let given = vec![
            ("shape".into(), AttrValue::ints(shape), span),
            ("allowzero".into(), AttrValue::Bool(true), span),
        ];
        self.operator(def, vec![tensor], ids, given, span)
    }

    fn with_lists(&mut self, name: &str, tensor: Term, lists: &[(&str, Vec<i64>)], ids: &[ExprId], span: Span) -> Val {
        let given = lists.iter().map(|(n, list)| ((*n).into(), AttrValue::ints(list), span));
        self.operator(op::lookup(name)?, vec![tensor], ids, given.collect(), span)
    }

    /// A property of a tensor that follows from its type.
    fn property(&mut self, name: &str, args: Vec<Term>, span: Span) -> Val {
        let v = self.vertex(args.into_iter().next()?, span)?;
        let ty = self.sink.ty(v);
        let int = |n: i64| Term::Int(Dim::Const(n));
        match (name, self.extents(v)) {
            ("dtype", _) => {
                let full = self.script.as_ref().filter(|s| s.compat == Compat::Full);
                Some(match full {
                    Some(script) if script.made.contains(&v) => Term::Str("Tensor".into()),
                    Some(_) => Term::Str("tensor".into()),
                    None => Term::DType(ty.as_tensor()?.dtype),
                })
            }
            ("ndim", Some(shape)) => Some(int(shape.len() as i64)),
            ("size", Some(shape)) => Some(int(shape.iter().product())),
            ("shape", Some(shape)) => Some(Term::List(shape.into_iter().map(int).collect())),
            ("shape" | "size", None) => self.known_call(name, vec![Term::Value(v)], &[], span),
            _ => {
                let problem = format!("`{name}`: the dimensions of {ty} are not known before it is computed");
                self.report(Diagnostic::error("T0202", problem).label(span, ""));
                None
            }
        }
    }

    /// The dimensions of a value, if all are known.
    fn extents(&self, v: ValueId) -> Option<Vec<i64>> {
        let ty = self.sink.ty(v);
        let shape = ty.as_tensor()?.shape.as_ref()?.to_concrete()?;
        shape.iter().map(|d| i64::try_from(*d).ok()).collect()
    }

    /// Integers that are known before the script runs: a list or tuple of them, or a name for one.
    fn integers(&mut self, term: &Term, span: Span, what: &str) -> Option<Vec<i64>> {
        let of_tensor = |t: Tensor| -> Option<Vec<i64>> {
            let all = t.to_ints().filter(|_| t.shape().len() <= 1)?;
            all.into_iter().map(|n| i64::try_from(n).ok()).collect()
        };
        let one = |builder: &Self, term: &Term| match term {
            Term::Int(n) => n.as_const(),
            Term::Open(id) => builder.literal_of_open(*id).and_then(|t| match t {
                Term::Int(n) => n.as_const(),
                _ => None,
            }),
            Term::Value(v) => builder
                .sink
                .value(*v)
                .and_then(of_tensor)
                .filter(|l| l.len() == 1)
                .map(|l| l[0]),
            _ => None,
        };
        let found = match term {
            Term::List(items) => items.iter().map(|item| one(self, item)).collect(),
            Term::Tensor(t) => of_tensor(t.clone()),
            Term::Value(v) => self.sink.value(*v).and_then(of_tensor),
            other => one(self, other).map(|n| vec![n]),
        };
        if found.is_none() {
            let problem = Diagnostic::error("T0103", format!("{what} must be integers known before the script runs"));
            self.report(
                problem
                    .label(span, "")
                    .help("write them out, as in `[2, 3]`, or name such a list"),
            );
        }
        found
    }

    /// `x[i]` and `x[a..b]` of a tensor: one or several positions of its first axis.
    pub(super) fn tensor_index(&mut self, id: ExprId, v: ValueId) -> Val {
        let span = self.ast.span(id);
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::Index { base, index } => {
                let at = self.term(*index)?;
                if let (Term::Int(i), Some(extent)) = (&at, self.extents(v).and_then(|e| e.first().copied()))
                    && let Some(i) = i.as_const()
                    && !(-extent..extent).contains(&i)
                {
                    let ty = self.sink.ty(v);
                    let problem = format!("position {i} is out of range for the first axis of {ty}");
                    self.report(Diagnostic::error("T0202", problem).label(span, ""));
                    return None;
                }
                let at = Term::Value(self.vertex_as(at, Wanted::Exactly(DType::I64), ast.span(*index))?);
                self.known_call(known::GATHER, vec![Term::Value(v), at], &[*base, *index], span)
            }
            ExprKind::Slice { base, start, end } => {
                let mut bound = |end: &Option<ExprId>, default: i64| match end {
                    None => Some(default),
                    Some(end) => match self.term(*end)? {
                        Term::Int(d) if d.as_const().is_some() => d.as_const(),
                        other => {
                            let problem =
                                format!("a bound must be a known integer, and this is {}", term::kind(&other));
                            self.report(Diagnostic::error("T0202", problem).label(ast.span(*end), ""));
                            None
                        }
                    },
                };
                let (start, end) = (bound(start, 0)?, bound(end, i64::MAX)?);
                let attrs = [("starts", vec![start]), ("ends", vec![end]), ("axes", vec![0])];
                self.with_lists(known::SLICE, Term::Value(v), &attrs, &[*base], span)
            }
            _ => None,
        }
    }

    /// A problem that involves several operands.
    fn between(&self, message: String, types: &[Type], ids: &[ExprId], span: Span) -> Diagnostic {
        let operands = types.iter().zip(ids);
        operands.fold(
            Diagnostic::error("T0202", message).label(span, ""),
            |problem, (ty, id)| problem.secondary(self.ast.span(*id), format!("this is {ty}")),
        )
    }
}

fn list(shape: &[i64]) -> String {
    let texts: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", texts.join(", "))
}
