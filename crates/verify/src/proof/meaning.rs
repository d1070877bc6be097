//! The meaning of each vertex of a graph: its shape, and its element at a symbolic index.
//!
//! Operators are expanded into arithmetic on indices and numbers; an operator that is not expanded becomes a function
//! of whole tensors. The tests compare each meaning with the operator's reference semantics at concrete dimensions.

use std::cell::RefCell;
use std::rc::Rc;

use num_rational::BigRational;
use rustc_hash::FxHashMap;

use super::case::{Case, Res, Stop, has_bound};
use super::expr::{Expr, Factor, Fun, ROUNDED};
use super::fold::Cases;
use super::function::{function, holds_all, is_element};
use super::laws;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::movement::Map;
use tautomer_op::{AttrValue, Formula, Function, Op, OpDef, OpTraits, known};
use tautomer_tensor::{DType, Dim, Tensor, Type};

/// The position of an element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// An index for each axis.
    Index(Vec<Dim>),
    /// The position in row-major order.
    Flat(Dim),
}

/// An element of one of the results of a vertex, with the facts about the bound symbols in its index.
type Place = (VertexId, usize, At, Vec<Dim>);

/// How deep elements may depend on one another; each level takes some stack.
const DEPTH: usize = 400;

/// Limit on the parts of an element: where values are used more than once, expressions grow exponentially.
const LONGEST: usize = 20_000;

/// Limit on the terms of the product of a leaf's dimensions, up to which its elements are at row-major positions.
const ROW_MAJOR: usize = 4;

/// The meanings of the vertices of one graph in one case.
pub(super) struct Meaning<'a> {
    pub(super) graph: &'a Graph,
    pub(super) case: &'a Case,
    /// The leaves, numbered in an order that both sides share.
    pub(super) leaves: FxHashMap<VertexId, u32>,
    shapes: RefCell<FxHashMap<VertexId, Vec<Vec<Dim>>>>,
    /// Where the elements of operators that move them come from; see [`maps`](Meaning::maps).
    pub(super) maps: RefCell<FxHashMap<VertexId, Option<Rc<[Map]>>>>,
    /// The key includes the facts about bound symbols, since these simplify elements.
    elements: RefCell<FxHashMap<Place, Cases>>,
    /// If true, the requirements of operators are assumed, since the source is known to be valid; otherwise they are
    /// checked.
    pub(super) given: bool,
    /// Values that are taken as leaves, each times a number; see [`stages`](super::stages).
    pub(super) cuts: RefCell<FxHashMap<VertexId, (u32, Expr)>>,
    pub(super) nested: std::cell::Cell<usize>,
    depth: std::cell::Cell<usize>,
}

/// A call with everything its meaning needs.
pub(super) struct Call {
    pub(super) vertex: VertexId,
    pub(super) def: &'static OpDef,
    pub(super) attrs: Vec<AttrValue>,
    pub(super) operands: Vec<VertexId>,
}

impl Call {
    pub(super) fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(&self.attrs, name)
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<Dim>> {
        match self.attr(name) {
            AttrValue::Ints(list) => Some(list.clone()),
            _ => None,
        }
    }

    pub(super) fn int(&self, name: &str) -> Option<Dim> {
        match self.attr(name) {
            AttrValue::Int(d) => Some(d.clone()),
            _ => None,
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.attr(name).is_true()
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).as_float()
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.attr(name).as_str().unwrap_or_default().to_owned()
    }

    /// Axes counted from the front.
    pub(super) fn axes(&self, name: &str, rank: usize) -> Res<Option<Vec<usize>>> {
        let Some(axes) = self.ints(name) else { return Ok(None) };
        let axes = axes
            .iter()
            .map(|d| place(d.as_const().ok_or_else(|| open("an axis is unknown"))?, rank));
        axes.collect::<Res<Vec<usize>>>().map(Some)
    }
}

pub(super) fn place(axis: i64, rank: usize) -> Res<usize> {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(axis).ok().filter(|&a| a <= rank).ok_or(Stop::Empty)
}

pub(super) fn open(why: impl Into<String>) -> Stop {
    Stop::Open(why.into())
}

impl<'a> Meaning<'a> {
    pub(super) fn new(graph: &'a Graph, case: &'a Case, leaves: FxHashMap<VertexId, u32>) -> Meaning<'a> {
        Meaning {
            graph,
            case,
            leaves,
            shapes: RefCell::default(),
            maps: RefCell::default(),
            elements: RefCell::default(),
            given: false,
            cuts: RefCell::default(),
            nested: std::cell::Cell::new(0),
            depth: std::cell::Cell::new(0),
        }
    }

    /// Clears the caches after facts were added.
    pub(super) fn forget(&self) {
        self.shapes.borrow_mut().clear();
        self.maps.borrow_mut().clear();
        self.elements.borrow_mut().clear();
    }

    /// A requirement of an operator: the value is 0.
    pub(super) fn require_zero(&self, dim: &Dim) -> Res<()> {
        if self.given {
            return self.case.assume_zero(dim);
        }
        if self.case.is_zero(dim)? {
            Ok(())
        } else {
            Err(Stop::Empty)
        }
    }

    /// A requirement of an operator: the value is at least `least`.
    pub(super) fn require_at_least(&self, dim: &Dim, least: i64) -> Res<()> {
        let dim = dim.clone() - Dim::Const(least);
        if self.given {
            return self.case.assume_at_least_zero(&dim);
        }
        if self.case.is_at_least_zero(&dim)? {
            Ok(())
        } else {
            Err(Stop::Empty)
        }
    }

    /// A requirement of an operator: `divisor` divides `dim`. Returns the quotient.
    pub(super) fn require_multiple(&self, dim: &Dim, divisor: &Dim) -> Res<Dim> {
        if self.given {
            return self.case.assume_multiple(dim, divisor);
        }
        let (dim, divisor) = (self.case.simplified(dim), self.case.simplified(divisor));
        dim.exact_div(&divisor)
            .ok_or_else(|| open(format!("whether {divisor} divides {dim} is unknown")))
    }

    pub(super) fn call(&self, v: VertexId) -> Option<Call> {
        match &self.graph.vertex(v).node {
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => Some(Call {
                vertex: v,
                def,
                attrs: attrs.to_vec(),
                operands: self.graph.pred(v).into_iter().collect(),
            }),
            _ => None,
        }
    }

    pub(super) fn dtype(&self, v: VertexId) -> DType {
        self.graph.ty(v).as_tensor().map_or(DType::F32, |t| t.dtype)
    }

    pub(super) fn is_given(&self, v: VertexId) -> bool {
        !matches!(self.graph.ty(v), Type::Absent)
    }

    /// The inferred shapes: every dimension must be known.
    pub(super) fn inferred(&self, v: VertexId) -> Res<Vec<Vec<Dim>>> {
        let types = match self.graph.ty(v) {
            Type::Tuple(items) => items.clone(),
            single => vec![single.clone()],
        };
        let shape = |ty: &Type| match ty.as_tensor().and_then(|t| t.shape.as_ref()) {
            Some(shape) if !shape.iter().any(Dim::has_unknown) => {
                Ok(shape.iter().map(|d| self.case.simplified(d)).collect())
            }
            _ => Err(open(format!("the type {ty} is not fully known"))),
        };
        types.iter().map(shape).collect()
    }

    /// The shape of a tensor.
    pub(super) fn shape(&self, v: VertexId) -> Res<Vec<Dim>> {
        let shapes = self.shapes(v)?;
        shapes.into_iter().next().ok_or_else(|| open("a value has no shape"))
    }

    /// The shapes of the elements of a tuple, or of the tensor.
    pub(super) fn shapes(&self, v: VertexId) -> Res<Vec<Vec<Dim>>> {
        if let Some(known) = self.shapes.borrow().get(&v) {
            return Ok(known.clone());
        }
        let shapes = match &self.graph.vertex(v).node {
            Node::Input | Node::Param | Node::Const(_) => self.inferred(v)?,
            Node::Tuple => {
                let items = self.graph.pred(v).into_iter().map(|u| self.shape(u));
                items.collect::<Res<Vec<_>>>()?
            }
            Node::Proj(i) => {
                let tuple = self
                    .graph
                    .pred(v)
                    .into_iter()
                    .next()
                    .ok_or_else(|| open("a projection without an operand"))?;
                let shapes = self.shapes(tuple)?;
                vec![shapes.get(*i as usize).cloned().ok_or(Stop::Empty)?]
            }
            Node::Absent => vec![Vec::new()],
            Node::Call { .. } => {
                let call = self.call(v).ok_or_else(|| open("an operator is unknown"))?;
                self.call_shapes(&call)?
            }
        };
        let shapes: Vec<Vec<Dim>> = shapes
            .into_iter()
            .map(|s| s.iter().map(|d| self.case.simplified(d)).collect())
            .collect();
        self.shapes.borrow_mut().insert(v, shapes.clone());
        Ok(shapes)
    }

    fn call_shapes(&self, call: &Call) -> Res<Vec<Vec<Dim>>> {
        if let Some(maps) = self.maps(call)? {
            return Ok(maps.iter().map(|map| map.shape.clone()).collect());
        }
        if let Some(shapes) = self.layout_shapes(call)? {
            return Ok(shapes);
        }
        if let Some(shape) = self.product_shape(call)? {
            return Ok(vec![shape]);
        }
        if let Some(shape) = self.window_shape(call)? {
            return Ok(vec![shape]);
        }
        if let Some(shape) = self.reduced_shape(call)? {
            return Ok(vec![shape]);
        }
        if is_elementwise(call.def) {
            return Ok(vec![self.broadcast(&self.elementwise_operands(call))?]);
        }
        for &u in &call.operands {
            if self.is_given(u) {
                self.shapes(u)?;
            }
        }
        self.inferred(call.vertex)
    }

    /// Operands that are broadcast, without those that stand for attributes.
    fn elementwise_operands(&self, call: &Call) -> Vec<VertexId> {
        let counted = |(i, v): (usize, &VertexId)| {
            let attr = call.def.operand(i).is_some_and(|o| o.attr.is_some());
            (!attr && self.is_given(*v) && !(converts(call.def) && i > 0)).then_some(*v)
        };
        call.operands.iter().enumerate().filter_map(counted).collect()
    }

    /// The shape that operands broadcast to.
    pub(super) fn broadcast(&self, operands: &[VertexId]) -> Res<Vec<Dim>> {
        let shapes = operands.iter().map(|&v| self.shape(v)).collect::<Res<Vec<_>>>()?;
        self.broadcast_shapes(&shapes)
    }

    pub(super) fn broadcast_shapes(&self, shapes: &[Vec<Dim>]) -> Res<Vec<Dim>> {
        let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = vec![Dim::Const(1); rank];
        for shape in shapes {
            for (place, d) in out.iter_mut().rev().zip(shape.iter().rev()) {
                *place = self.broadcast_extent(place, d)?;
            }
        }
        Ok(out)
    }

    pub(super) fn broadcast_extent(&self, a: &Dim, b: &Dim) -> Res<Dim> {
        let one = Dim::Const(1);
        let case = self.case;
        if *a == one || a == b {
            return Ok(b.clone());
        }
        if *b == one || case.known_zero(&(a.clone() - b.clone())) == Some(true) {
            return Ok(a.clone());
        }
        if case.is_zero(&(a.clone() - one.clone()))? {
            return Ok(b.clone());
        }
        if case.is_zero(&(b.clone() - one))? {
            return Ok(a.clone());
        }
        self.require_zero(&(a.clone() - b.clone()))?;
        Ok(a.clone())
    }

    /// The position in an operand that is broadcast to `shape`.
    pub(super) fn broadcast_at(&self, operand: VertexId, shape: &[Dim], at: &At) -> Res<At> {
        let own = self.shape(operand)?;
        let one = Dim::Const(1);
        if own.iter().all(|d| *d == one) {
            return Ok(At::Flat(Dim::Const(0)));
        }
        let same = |(a, b): (&Dim, &Dim)| self.case.known_zero(&(a.clone() - b.clone())) == Some(true);
        if own.len() == shape.len() && own.iter().zip(shape).all(same) {
            return Ok(at.clone());
        }
        let index = self.index(at, shape);
        let skipped = shape.len() - own.len();
        let mut out = Vec::with_capacity(own.len());
        for ((d, i), of) in own.iter().zip(&index[skipped..]).zip(&shape[skipped..]) {
            // Along an axis of the same dimension the index is the same, which is 0 if that dimension is 1.
            out.push(if same((d, of)) {
                i.clone()
            } else if *d == one || self.case.is_zero(&(d.clone() - one.clone()))? {
                Dim::Const(0)
            } else {
                i.clone()
            });
        }
        Ok(At::Index(out))
    }

    /// The indices of a position.
    pub(super) fn index(&self, at: &At, shape: &[Dim]) -> Vec<Dim> {
        let flat = match at {
            At::Index(index) => return index.clone(),
            At::Flat(flat) => flat,
        };
        let mut out = vec![Dim::Const(0); shape.len()];
        let mut rest = flat.clone();
        for axis in (0..shape.len()).rev() {
            if axis == 0 {
                out[0] = rest.clone();
            } else {
                let (quotient, remainder) = self.case.divide(&rest, &shape[axis]);
                out[axis] = remainder;
                rest = quotient;
            }
        }
        // Leading axes of dimension 1 have index 0.
        if let Some(first) = shape
            .iter()
            .position(|d| *d != Dim::Const(1))
            .filter(|&first| first > 0)
        {
            out[first] = out[first].clone() + std::mem::replace(&mut out[0], Dim::Const(0)) * shape[first].clone();
        }
        out
    }

    /// The row-major position.
    pub(super) fn flat(&self, at: &At, shape: &[Dim]) -> Dim {
        match at {
            At::Flat(flat) => flat.clone(),
            At::Index(index) => index.iter().zip(shape).fold(Dim::Const(0), |sum, (i, d)| {
                // Along an axis of dimension 1 the index is 0.
                let alone = self.case.known_zero(&(d.clone() - Dim::Const(1))) == Some(true);
                if alone { sum } else { sum * d.clone() + i.clone() }
            }),
        }
    }

    /// The element of a tensor.
    pub(super) fn element(&self, v: VertexId, at: &At) -> Res<Cases> {
        self.element_of(v, 0, at)
    }

    /// The element of one of the results of a vertex.
    pub(super) fn element_of(&self, v: VertexId, output: usize, at: &At) -> Res<Cases> {
        self.case.in_bounds()?;
        let depth = self.depth.get();
        if depth >= DEPTH {
            return Err(open(format!("a value depends on more than {DEPTH} nested operators")));
        }
        self.depth.set(depth + 1);
        let out = self.element_below(v, output, at);
        self.depth.set(depth);
        out
    }

    fn element_below(&self, v: VertexId, output: usize, at: &At) -> Res<Cases> {
        let at = match at {
            At::Index(index) => At::Index(index.iter().map(|d| self.case.simplified(d)).collect()),
            At::Flat(flat) => At::Flat(self.case.simplified(flat)),
        };
        let key = (v, output, at, self.case.scope());
        if let Some(known) = self.elements.borrow().get(&key) {
            return Ok(known.clone());
        }
        let (_, _, at, _) = &key;
        let cut = self.cuts.borrow().get(&v).cloned();
        if let Some((number, times)) = cut {
            let shapes = self.shapes(v)?;
            let shape = shapes.get(output).ok_or(Stop::Empty)?;
            let number = number + u32::try_from(output).map_err(|_| Stop::Empty)?;
            return Ok(single(self.element_of_leaf(number, shape, at).mul(&times)));
        }
        let value = match &self.graph.vertex(v).node {
            Node::Input | Node::Param => self.leaf(v, at)?,
            Node::Const(tensor) => self.constant(v, tensor, at)?,
            Node::Tuple => {
                let item = self.graph.pred(v).into_iter().nth(output).ok_or(Stop::Empty)?;
                self.element(item, at)?
            }
            Node::Proj(i) => {
                let tuple = self.graph.pred(v).into_iter().next().ok_or(Stop::Empty)?;
                self.element_of(tuple, *i as usize, at)?
            }
            Node::Absent => return Err(open("an omitted operand has no value")),
            Node::Call { .. } => {
                let call = self.call(v).ok_or_else(|| open("an operator is unknown"))?;
                self.call_element(&call, output, at)?
            }
        };
        let mut left = LONGEST;
        if !value.iter().all(|(_, value)| value.fits(&mut left)) {
            return Err(open("a value is too long to be written as one expression"));
        }
        self.elements.borrow_mut().insert(key, value.clone());
        Ok(value)
    }

    fn leaf(&self, v: VertexId, at: &At) -> Res<Cases> {
        let number = *self.leaves.get(&v).ok_or_else(|| open("only one side has this leaf"))?;
        Ok(single(self.element_of_leaf(number, &self.shape(v)?, at)))
    }

    fn element_of_leaf(&self, number: u32, shape: &[Dim], at: &At) -> Expr {
        // A row-major position is the same after a reshape, but multiplies out sums of sizes.
        let terms = shape.iter().skip(1).map(|d| d.term_count().max(1)).product::<usize>();
        let place = if terms <= ROW_MAJOR && self.case.block().is_none() {
            vec![self.flat(at, shape)]
        } else {
            let index = self.index(at, shape).into_iter().zip(shape);
            let alone = |d: &Dim| self.case.known_zero(&(d.clone() - Dim::Const(1))) == Some(true);
            index.filter(|(_, d)| !alone(d)).map(|(i, _)| i).collect()
        };
        let place = place.iter().map(|d| self.case.simplified(d)).collect();
        Expr::factor(Factor::Element(number, place))
    }

    pub(super) fn constant(&self, v: VertexId, tensor: &Tensor, at: &At) -> Res<Cases> {
        let numbers: Option<Vec<Expr>> = if tensor.dtype().is_float() {
            tensor
                .to_f64s()
                .map(|all| all.into_iter().map(|x| self.case.number(x)).collect())
        } else {
            let exact = |i: i128| Expr::number(num_rational::BigRational::from_integer(i.into()));
            tensor.to_ints().map(|all| all.into_iter().map(exact).collect())
        };
        let numbers = numbers.ok_or_else(|| open("a constant is not numeric"))?;
        if let Some(first) = numbers.first()
            && numbers.iter().all(|n| n == first)
        {
            return Ok(single(first.clone()));
        }
        let flat = self.case.simplified(&self.flat(at, &self.shape(v)?));
        if let Some(i) = flat.as_const().and_then(|i| usize::try_from(i).ok()) {
            return Ok(single(numbers.get(i).cloned().ok_or(Stop::Empty)?));
        }
        // Equal constants are the same function of the position.
        Ok(single(Expr::apply(Fun::Table(numbers), vec![Expr::of_dim(&flat)])))
    }

    fn call_element(&self, call: &Call, output: usize, at: &At) -> Res<Cases> {
        let shapes = self.shapes(call.vertex)?;
        let shape = shapes.get(output).ok_or(Stop::Empty)?;
        if let Some(value) = self.moved_element(call, output, shape, at)? {
            return Ok(value);
        }
        if let Some(value) = self.layout_element(call, shape, at)? {
            return Ok(value);
        }
        if let Some(value) = self.product_element(call, shape, at)? {
            return Ok(value);
        }
        if let Some(value) = self.window_element(call, shape, at)? {
            return Ok(value);
        }
        if let Some(value) = self.reduced_element(call, shape, at)? {
            return Ok(value);
        }
        if let Some(value) = self.running_element(call, shape, at)? {
            return Ok(value);
        }
        if is_elementwise(call.def) {
            return self.elementwise(call, shape, at);
        }
        if call.def.is_primitive() && call.def.moves().is_none() && call.def.law() == Formula::Unstated {
            return Err(open(format!(
                "there is no proof law for `{}`: its row states no formula",
                call.def.name
            )));
        }
        self.whole(call, output, shape, at)
    }

    fn elementwise(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Cases> {
        let operands = self.elementwise_operands(call);
        if let [condition, then, otherwise] = operands.as_slice()
            && call.def.law() == Formula::Function(Function::Choice)
            && let Some(sign) = self.comparison(*condition, shape, at)?
        {
            let element = |v: VertexId| self.element(v, &self.broadcast_at(v, shape, at)?);
            return self.choose(&sign, &|| element(*then), &|| element(*otherwise));
        }
        // Indices and dimensions may be compared by what is known of them.
        if call.def.traits.contains(OpTraits::COMPARISON)
            && let Some(sign) = self.comparison(call.vertex, shape, at)?
            && let Some(holds) = self.case.known_sign(&sign)
        {
            return Ok(single(Expr::int(i64::from(holds))));
        }
        let mut values = Vec::with_capacity(operands.len());
        for &v in &operands {
            values.push(self.element(v, &self.broadcast_at(v, shape, at)?)?);
        }
        // Bounds given as operands are not supported.
        for (i, &v) in call.operands.iter().enumerate() {
            if call.def.operand(i).is_some_and(|o| o.attr.is_some()) && self.is_given(v) {
                return Err(open(format!("an attribute of `{}` is computed", call.def.name)));
            }
        }
        let from = operands.first().map_or(DType::F32, |v| self.dtype(*v));
        let to = self.dtype(call.vertex);
        if self.case.rounds() && operands.first().is_some_and(|v| self.rounds_to(call, *v, to)) {
            let rounded = Fun::With(ROUNDED, vec![AttrValue::DType(to)]);
            return self.combined(&values, &|args| match args.as_slice() {
                [x] if x.as_number().is_some_and(|n| has_few_digits(&n)) => Ok(x.clone()),
                _ => Ok(laws::apply(rounded.clone(), args)),
            });
        }
        // A number that is an integer of the type is converted to that one; only real numbers are not rounded before.
        // An element of an integer type that no conversion has rounded is the same number everywhere.
        if call.def.law() == Formula::Function(Function::Conversion)
            && (from.is_float() || from.int_range().is_some())
            && to.int_range().is_some()
        {
            let is_real = from.is_float() && self.case.only_finite();
            for (_, value) in values.iter_mut().flatten().filter(|_| is_real) {
                *value = self.as_integer(value);
            }
            let is_one = |value: &Expr| self.is_integer_of(value, to) && (is_real || is_element(value));
            if let [cases] = values.as_slice()
                && cases.iter().all(|(_, value)| is_one(value))
            {
                return Ok(cases.clone());
            }
        }
        self.combined(&values, &|args| {
            function(call, args, from, to, &|x| self.case.number(x))
        })
    }

    /// True if an index or dimension is a number of that type. Those of tensors are in the widest one; narrower integers
    /// wrap around.
    fn is_in_range(&self, d: &Dim, dtype: DType) -> bool {
        let Some((least, greatest)) = dtype.int_range().filter(|_| dtype != DType::I64) else {
            return true;
        };
        let bound = |n: i128| i64::try_from(n).map_or(Dim::Const(i64::MAX), Dim::Const);
        self.case.known_sign(&(d.clone() - bound(least))) == Some(true)
            && self.case.known_sign(&(bound(greatest) - d.clone())) == Some(true)
    }

    /// The value that is at least 0 exactly where a condition holds, if that compares indices and dimensions.
    fn comparison(&self, condition: VertexId, shape: &[Dim], at: &At) -> Res<Option<Dim>> {
        let Some(call) = self.call(condition) else {
            return Ok(None);
        };
        // Rounded numbers are no indices.
        let is_index = |v: &VertexId| self.dtype(*v).is_int() || self.dtype(*v).is_float() && !self.case.rounds();
        let [a, b] = call.operands.as_slice() else {
            return Ok(None);
        };
        if !is_index(a) || !is_index(b) {
            return Ok(None);
        }
        let at = self.broadcast_at(condition, shape, at)?;
        let own = self.shape(condition)?;
        let index = |v: VertexId| -> Res<Option<Dim>> {
            let cases = self.element(v, &self.broadcast_at(v, &own, &at)?)?;
            Ok(match cases.as_slice() {
                // A product of dimensions may exceed the range of an integer.
                [(guards, value)] if guards.is_empty() => value
                    .as_dim()
                    .filter(|d| d.terms().iter().all(|(p, _)| p.len() < 2))
                    .filter(|d| self.is_in_range(d, self.dtype(v))),
                _ => None,
            })
        };
        let one = Dim::Const(1);
        let (less, or_equal) = match call.def.name {
            known::LESS => (true, false),
            known::LESS_OR_EQUAL => (true, true),
            known::GREATER => (false, false),
            known::GREATER_OR_EQUAL => (false, true),
            _ => return Ok(None),
        };
        let (Some(a), Some(b)) = (index(*a)?, index(*b)?) else {
            return Ok(None);
        };
        let above = if less { b - a } else { a - b };
        Ok(Some(if or_equal { above } else { above - one }))
    }

    /// True for a conversion to a floating-point type that lacks some numbers of the operand: not if those were just
    /// converted from a type with fewer.
    fn rounds_to(&self, call: &Call, operand: VertexId, to: DType) -> bool {
        let mut from = self.dtype(operand);
        if !converts(call.def) || !to.is_float() || holds_numbers(from, to) {
            return false;
        }
        let mut operand = operand;
        while let Some(inner) = self.call(operand).filter(|c| converts(c.def)) {
            let Some(&below) = inner.operands.first() else { break };
            if !holds_numbers(self.dtype(below), from) {
                break;
            }
            (operand, from) = (below, self.dtype(below));
            if holds_numbers(from, to) {
                return false;
            }
        }
        true
    }

    /// A function of numbers, for all combinations of cases that do not contradict.
    pub(super) fn combined(&self, values: &[Cases], f: &dyn Fn(Vec<Expr>) -> Res<Expr>) -> Res<Cases> {
        let mut rows: Vec<(Vec<Dim>, Vec<Expr>)> = vec![(Vec::new(), Vec::new())];
        for cases in values {
            let mut next = Vec::new();
            for (guards, args) in &rows {
                for (more, value) in cases {
                    let mut all = guards.clone();
                    all.extend(more.iter().filter(|g| !guards.contains(g)).cloned());
                    if !guards.is_empty() && !more.is_empty() && self.case.contradicts(&all) {
                        continue;
                    }
                    let mut args = args.clone();
                    args.push(value.clone());
                    next.push((all, args));
                }
            }
            rows = next;
        }
        rows.into_iter().map(|(guards, args)| Ok((guards, f(args)?))).collect()
    }

    /// Chooses by the sign of an expression: `then` if it is at least 0, else `otherwise`.
    pub(super) fn choose(
        &self,
        condition: &Dim,
        then: &dyn Fn() -> Res<Cases>,
        otherwise: &dyn Fn() -> Res<Cases>,
    ) -> Res<Cases> {
        let known = match self.case.known_sign(condition) {
            // Of several axes, each may have another answer: the condition stays in the formula.
            None if !has_bound(&self.case.simplified(condition)) && !self.case.is_of_block(condition) => {
                Some(self.case.is_at_least_zero(condition)?)
            }
            known => known,
        };
        match known {
            Some(true) => then(),
            Some(false) => otherwise(),
            None => {
                let condition = self.case.simplified(condition);
                let below = -condition.clone() - Dim::Const(1);
                let mut out = Vec::new();
                for (guard, f) in [(condition, then), (below, otherwise)] {
                    let cases = self.case.within(std::slice::from_ref(&guard), f)?;
                    for (mut guards, value) in cases {
                        guards.push(guard.clone());
                        out.push((guards, value));
                    }
                }
                Ok(out)
            }
        }
    }
}

/// A value that depends on no condition.
pub(super) fn single(value: Expr) -> Cases {
    vec![(Vec::new(), value)]
}

pub(super) fn is_elementwise(def: &OpDef) -> bool {
    matches!(def.law(), Formula::Function(_))
}

/// True for conversions to another element type.
fn converts(def: &OpDef) -> bool {
    def.law() == Formula::Function(Function::Conversion)
}

/// True for a number that every floating-point type has.
fn has_few_digits(n: &BigRational) -> bool {
    let eighths = n * BigRational::from_integer(8.into());
    let most = BigRational::from_integer(128.into());
    eighths.is_integer() && eighths <= most && -eighths <= most
}

/// True if the floating-point type `to` can represent every number of `from`.
fn holds_numbers(from: DType, to: DType) -> bool {
    // The digits of a mantissa, and the largest exponent.
    let range = |d: DType| match d {
        DType::F16 => Some((11, 15)),
        DType::BF16 => Some((8, 127)),
        DType::F32 => Some((24, 127)),
        DType::F64 => Some((53, 1023)),
        _ => None,
    };
    match (range(from), range(to)) {
        _ if from == to => true,
        (Some((digits, exponent)), Some((most, largest))) => digits <= most && exponent <= largest,
        (None, None) => holds_all(from, to),
        (None, Some((most, largest))) => from.int_range().is_some_and(|(_, greatest)| {
            let digits = 128 - greatest.leading_zeros() as i32;
            digits <= most && digits <= largest
        }),
        _ => false,
    }
}
