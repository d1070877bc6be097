//! Tries the body of a declaration on operands of the declared types, or of types that are likely.

use tautomer_diag::{Diagnostic, Diagnostics};
use tautomer_lang::ast::{Dims, Mark, OperatorDecl, TypeExpr, TypeKind};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Operand, Scope};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

use super::super::body::{bind_operands, program};
use super::is_typed;
use crate::build::Builder;
use crate::{Graph, VertexId};

mod admit;

/// The maximum number of operands of which each may be given or not, so that every combination is listed.
const MOST_COMBINED: usize = 12;

/// The maximum number of combinations of given operands that the body is tried with.
const MOST_TRIED: usize = 16;

/// The size of every dimension of operands without a type, unless [`Sizes`] says another.
const EXTENT: i64 = 4;

/// How operands without a type are tried.
#[derive(Clone, Copy)]
struct Sizes {
    /// The rank of the first operand.
    first: Option<usize>,
    /// The rank of all others.
    others: Option<usize>,
    /// Each dimension of the others.
    extent: i64,
}

impl Sizes {
    const fn of(first: Option<usize>, others: Option<usize>) -> Sizes {
        Sizes {
            first,
            others,
            extent: EXTENT,
        }
    }
}

const SIZES: &[Sizes] = &[
    Sizes::of(Some(3), Some(3)),
    Sizes::of(None, None),
    Sizes::of(Some(2), Some(2)),
    Sizes::of(Some(4), Some(4)),
    Sizes::of(Some(3), Some(1)),
    Sizes::of(Some(1), Some(1)),
    Sizes::of(Some(3), Some(0)),
    Sizes::of(Some(0), Some(0)),
    // An angle for each pair of elements.
    Sizes {
        first: Some(3),
        others: Some(2),
        extent: 2,
    },
];

/// Element types other than `f32` that one operand without a type is tried with.
const DTYPES: &[DType] = &[DType::I64, DType::Bool, DType::I32, DType::U8];

/// Problems of the body: it must apply to operands of some types, or of the declared ones, whether or not those that may
/// be left out are given; and its value must be of the declared type.
pub(super) fn check(decl: &OperatorDecl, operands: &[Operand], attrs: &[AttrDef], visible: &Scope) -> Diagnostics {
    if decl.body.is_none() {
        return check_types(decl, visible);
    }
    let body = Body {
        decl,
        operands,
        attrs,
        visible,
    };
    for given in combinations(&body) {
        let problems = body.applies(&given);
        if problems.has_errors() {
            return problems;
        }
    }
    Diagnostics::new()
}

/// Problems of the types of a declaration without a body.
fn check_types(decl: &OperatorDecl, visible: &Scope) -> Diagnostics {
    let mut graph = Graph::new();
    let mut builder = Builder::new(&decl.ast, &mut graph);
    builder.scope = visible.clone();
    let operands = decl.operands.iter().filter_map(|operand| operand.ty.as_ref());
    let results = decl.results.iter().flatten().filter_map(|result| result.ty.as_ref());
    for ty in operands.chain(results) {
        if !lacks_dtype(ty) {
            let _ = builder.type_of(ty, &mut || Dim::unknown(0));
        }
    }
    std::mem::take(&mut builder.problems)
}

/// True for `f32[..]` and `[n, 4]`, which leave the rank or the element type open.
fn is_open(ty: &TypeExpr) -> bool {
    lacks_dtype(ty)
        || matches!(
            &ty.kind,
            TypeKind::Tensor {
                dims: Dims::AnyRank,
                ..
            }
        )
}

/// True for `[n, 4]`, which leaves the element type open.
fn lacks_dtype(ty: &TypeExpr) -> bool {
    matches!(&ty.kind, TypeKind::Tensor { dtype: None, .. })
}

/// The combinations of operands to try: those that the conditions allow, most operands first. If there are many, only
/// those with the most operands, with the fewest, and with one more than these.
fn combinations(body: &Body<'_>) -> Vec<Vec<bool>> {
    let all = vec![true; body.operands.len()];
    let optional: Vec<usize> = (0..all.len())
        .filter(|&i| body.decl.operands[i].mark == Mark::Optional)
        .collect();
    let mut listed: Vec<Vec<bool>> = Vec::new();
    if optional.len() <= MOST_COMBINED {
        for mask in (0..1usize << optional.len()).rev() {
            let mut one = all.clone();
            for (bit, &i) in optional.iter().enumerate() {
                one[i] = mask >> bit & 1 == 1;
            }
            listed.push(one);
        }
    } else {
        let none: Vec<bool> = (0..all.len()).map(|i| !optional.contains(&i)).collect();
        listed.push(all);
        for &i in &optional {
            let mut one = none.clone();
            one[i] = true;
            listed.push(one);
        }
        listed.push(none);
    }
    let conditions = admit::on_presence(body);
    if !conditions.is_empty() {
        listed.retain(|given| admit::allowed(body, &conditions, given));
    }
    if listed.len() > MOST_TRIED {
        let count = |given: &Vec<bool>| given.iter().filter(|&&g| g).count();
        let most = listed.iter().map(count).max().unwrap_or_default();
        let fewest = listed.iter().map(count).min().unwrap_or_default();
        listed.retain(|given| count(given) == most || count(given) <= fewest + 1);
    }
    listed
}

struct Body<'a> {
    decl: &'a OperatorDecl,
    operands: &'a [Operand],
    attrs: &'a [AttrDef],
    visible: &'a Scope,
}

/// The types of operands that the declaration does not give.
#[derive(Clone, Copy)]
struct Guess {
    sizes: Sizes,
    /// An operand, and its element type.
    other: Option<(usize, DType)>,
}

impl Body<'_> {
    /// The values of the attributes that the body is tried with.
    fn values(&self) -> Vec<AttrValue> {
        let value = |attr: &AttrDef| attr.default_value().unwrap_or_else(|| likely(attr));
        self.attrs.iter().map(value).collect()
    }

    /// Problems of the body for these operands: none if it applies to some types that the declaration admits.
    fn applies(&self, given: &[bool]) -> Diagnostics {
        let mut first = None;
        let free: Vec<usize> = (0..given.len())
            .filter(|&i| given[i] && self.decl.operands[i].ty.as_ref().is_none_or(lacks_dtype))
            .collect();
        let sizes = match is_typed(self.decl) {
            true => &SIZES[..1],
            false => SIZES,
        };
        let others: Vec<Option<(usize, DType)>> = std::iter::once(None)
            .chain(
                free.iter()
                    .flat_map(|&i| DTYPES.iter().map(move |&dtype| Some((i, dtype)))),
            )
            .collect();
        for &other in &others {
            for &sizes in sizes {
                let problems = self.attempt(given, Guess { sizes, other });
                if !problems.has_errors() {
                    return problems;
                }
                // Names do not depend on types.
                let by_name = |p: &Diagnostic| matches!(p.code, "T0101" | "T0104" | "T0107" | "T0110");
                if problems.iter().any(by_name) {
                    return problems;
                }
                first.get_or_insert(problems);
            }
        }
        if self.attrs.iter().any(|attr| attr.default_value().is_none()) {
            // The body may apply for other values of the attributes that have to be given.
            return Diagnostics::new();
        }
        first.unwrap_or_default()
    }

    /// Problems of the body for operands of these types.
    fn attempt(&self, given: &[bool], guess: Guess) -> Diagnostics {
        let program = program(self.decl);
        let Some(function) = program.functions.first() else {
            return Diagnostics::new();
        };
        let mut graph = Graph::new();
        let mut problems = Diagnostics::new();
        let mut symbols = Vec::new();
        let mut types: Vec<Type> = Vec::new();
        {
            let mut sink = Graph::new();
            let mut typer = Builder::new(&program.ast, &mut sink);
            let mut unknown = 0;
            for (i, (operand, &is_given)) in self.decl.operands.iter().zip(given).enumerate() {
                let declared = operand.ty.as_ref();
                let ty = match declared.filter(|ty| !is_open(ty)) {
                    Some(ty) => typer.type_of(ty, &mut || {
                        unknown += 1;
                        Dim::unknown(unknown)
                    }),
                    None => None,
                };
                types.push(match ty {
                    _ if !is_given => Type::Absent,
                    Some(ty) => ty,
                    None => self.guessed(i, guess),
                });
            }
            problems.extend(std::mem::take(&mut typer.problems));
        }
        let types = admit::types(self, types);
        for ty in &types {
            ty.visit_dims(&mut |dim| {
                dim.visit_atoms(&mut |atom| {
                    if let tautomer_tensor::Atom::Symbol(name) = atom {
                        symbols.push(name.clone());
                    }
                });
            });
        }
        graph.reserve_unknown(1 << 8);
        let mut vertices: Vec<VertexId> = Vec::new();
        for ty in &types {
            vertices.push(match ty {
                Type::Absent => graph.absent(),
                ty => graph.input("", ty.clone()),
            });
        }
        let values = self.values();
        let names: Vec<_> = function.params.iter().map(|p| p.name.name.clone()).collect();
        let mut builder = Builder::new(&program.ast, &mut graph);
        builder.scope = self.visible.clone();
        builder.fold_terms = true;
        for symbol in &symbols {
            builder.symbol(symbol);
        }
        bind_operands(&mut builder, (self.operands, self.attrs), &names, &vertices, &values);
        let value = builder.block(&function.body);
        let vertex = value.and_then(|t| builder.vertex(t, program.ast.span(function.body.result)));
        problems.extend(std::mem::take(&mut builder.problems));
        if let (Some(v), false) = (vertex, problems.has_errors()) {
            let actual = builder.sink.ty(v).clone();
            let found = self.result_fits(&mut builder, &actual, given);
            problems.extend(found);
            problems.extend(std::mem::take(&mut builder.problems));
        }
        problems
    }

    fn guessed(&self, i: usize, guess: Guess) -> Type {
        let declared = match self.decl.operands[i].ty.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Tensor { dtype: Some(dtype), .. }) => Some(dtype.dtype),
            _ => None,
        };
        let dtype = match guess.other {
            Some((at, dtype)) if at == i => dtype,
            _ => declared.unwrap_or(DType::F32),
        };
        let (rank, extent) = match i {
            0 => (guess.sizes.first, EXTENT),
            _ => (guess.sizes.others, guess.sizes.extent),
        };
        let shape_of = |rank: usize| (0..rank).map(|_| Dim::Const(extent)).collect();
        let mut shape: Option<Shape> = rank.map(shape_of);
        if let Some(ty) = &self.decl.operands[i].ty
            && let TypeKind::Tensor {
                dims: Dims::List(list), ..
            } = &ty.kind
        {
            shape = Some(shape_of(list.len()));
        }
        TensorType { dtype, shape }.into()
    }

    /// Compares the type of the value with what the declaration says of the results.
    fn result_fits(&self, builder: &mut Builder<'_>, actual: &Type, given: &[bool]) -> Diagnostics {
        let mut out = Diagnostics::new();
        let Some(results) = &self.decl.results else { return out };
        let body = self
            .decl
            .body
            .as_ref()
            .map(|body| self.decl.ast.span(body.result))
            .unwrap_or_default();
        let types: Vec<&Type> = match actual {
            Type::Tuple(items) => items.iter().collect(),
            one => vec![one],
        };
        if types.len() != results.len() {
            let count = |n: usize| {
                if n == 1 {
                    "1 result".to_owned()
                } else {
                    format!("{n} results")
                }
            };
            let listed = results.first().map_or(body, |first| {
                first.span.to(results.last().map_or(first.span, |l| l.span))
            });
            out.push(
                Diagnostic::error(
                    "T0110",
                    format!(
                        "`{}` is declared with {}, but its body has {}",
                        self.decl.name.as_str(),
                        count(results.len()),
                        count(types.len())
                    ),
                )
                .label(body, format!("this is {actual}"))
                .secondary(listed, "declared here")
                .help("the body of an operator with several results is a tuple: `(y, mean)`"),
            );
            return out;
        }
        if !is_typed(self.decl) || given.contains(&false) {
            return out;
        }
        for (result, actual) in results.iter().zip(types) {
            let Some(declared) = result.ty.as_ref().filter(|ty| !lacks_dtype(ty)) else {
                continue;
            };
            let mut unknown = || Dim::unknown(u32::MAX);
            let Some(ty) = builder.type_of(declared, &mut unknown) else {
                continue;
            };
            if !same(&ty, actual) {
                let name = result
                    .name
                    .as_ref()
                    .map_or_else(|| "the result".to_owned(), |name| format!("`{}`", name.name));
                out.push(
                    Diagnostic::error(
                        "T0110",
                        format!("{name} is declared as {ty}, but the body computes {actual}"),
                    )
                    .label(body, format!("this is {actual}"))
                    .secondary(declared.span, "declared here")
                    .help("correct the body, or the declared type"),
                );
            }
        }
        out
    }
}

/// True unless the types are known to differ for some sizes.
fn same(declared: &Type, actual: &Type) -> bool {
    match (declared, actual) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && match (&a.shape, &b.shape) {
                    (Some(a), Some(b)) => {
                        a.len() == b.len()
                            && a.iter()
                                .zip(b.iter())
                                .all(|(a, b)| a == b || a.has_unknown() || b.has_unknown())
                    }
                    _ => true,
                }
        }
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => declared.admits(actual),
    }
}

/// A value that an attribute is likely to have.
fn likely(attr: &AttrDef) -> AttrValue {
    match attr.kind {
        AttrKind::Bool => AttrValue::Bool(false),
        AttrKind::Int | AttrKind::Axis(_) => AttrValue::int(1),
        AttrKind::Ints | AttrKind::Axes(_) => AttrValue::ints(&[1]),
        AttrKind::Float => AttrValue::float(1.0),
        AttrKind::Floats => AttrValue::Floats(vec![tautomer_op::Real(1.0)]),
        AttrKind::Str => AttrValue::str(""),
        AttrKind::Strs => AttrValue::Strs(Vec::new()),
        AttrKind::OneOf(texts) => AttrValue::str(texts.first().copied().unwrap_or_default()),
        AttrKind::DType => AttrValue::DType(DType::F32),
        AttrKind::Tensor => AttrValue::Tensor(Tensor::scalar(1.0f32)),
        AttrKind::Region => AttrValue::None,
    }
}
