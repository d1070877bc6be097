//! Values made only of literals, whose element type is decided by a later use.
//!
//! A literal without a suffix has no element type, and neither has a call of such literals whose result has the type of
//! its operands: `2 + 3`, `sqrt(2)`, `where(c, 1, 2)`. Such a call is kept as an [`Open`] until a use requires a type,
//! which is passed down to the literals, or until no further use can require one, and the default is taken. The
//! requirements of operators come from their type inference, so no operator is listed here.

use std::cell::Cell;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Builder, Val};
use crate::literal::{self, Wanted};
use crate::sink::ValueId;
use crate::term::{OpenId, Term};
use tautomer_diag::Span;
use tautomer_op::{self as op, AttrValue, Fact, Op, OpDef, OpTraits};
use tautomer_tensor::{DType, Tensor, Type};

/// Attributes as given, with their spans.
pub(super) type Given = Vec<(Arc<str>, AttrValue, Span)>;

/// For up to this many literals in one call, all combinations of types are tried; for more, only those that treat them
/// alike.
const MOST_CHOICES: usize = 4;

/// A value without an element type.
pub(super) struct Open {
    what: What,
    /// Its type with the default element type.
    ty: Type,
    default: DType,
    /// The values made from it, by element type; `None` where a problem has been reported.
    made: Vec<(DType, Val)>,
}

enum What {
    Literal(Term, Span),
    Call {
        def: &'static OpDef,
        args: Vec<Term>,
        spans: Vec<Span>,
        /// The required type of each literal operand; `None` for those that have the type of the result.
        wanted: Vec<Option<Wanted>>,
        given: Given,
        span: Span,
    },
    Tuple(Vec<Term>, Span),
}

/// How the literal operands of a call are typed.
pub(super) enum Choice {
    /// The call has no element type either.
    Open(OpenId),
    /// The required type of each operand.
    Typed(Vec<Wanted>),
}

impl<'a> Builder<'a> {
    fn open(&self, id: OpenId) -> &Open {
        &self.opens[id.0 as usize]
    }

    fn push_open(&mut self, what: What, ty: Type, default: DType) -> OpenId {
        self.opens.push(Open {
            what,
            ty,
            default,
            made: Vec::new(),
        });
        OpenId(self.opens.len() as u32 - 1)
    }

    /// The element type that a term takes if no use requires another; `None` for terms that have a type.
    pub(super) fn default_type(&self, term: &Term, integer: DType) -> Option<DType> {
        match term {
            Term::Open(id) if matches!(self.open(*id).what, What::Tuple(..)) => None,
            Term::Open(id) => Some(self.open(*id).default),
            literal => literal::is_open(literal).map(|fraction| if fraction { DType::F32 } else { integer }),
        }
    }

    /// The common default of several literals that must have the same type.
    pub(super) fn common_default<'t>(&self, terms: impl Iterator<Item = &'t Term>, integer: DType) -> Option<DType> {
        let rank = |d: &DType| (d.is_float(), *d == DType::I64);
        terms.filter_map(|t| self.default_type(t, integer)).max_by_key(rank)
    }

    /// The default type of an open value; a tuple has none.
    pub(super) fn type_of_open(&self, id: OpenId) -> Type {
        self.open(id).ty.clone()
    }

    /// The literal of an open value that is not a call.
    pub(super) fn literal_of_open(&self, id: OpenId) -> Option<&Term> {
        match &self.open(id).what {
            What::Literal(term, _) => Some(term),
            _ => None,
        }
    }

    /// The members of an open value that is a tuple.
    pub(super) fn members_of_open(&self, id: OpenId) -> Option<&[Term]> {
        match &self.open(id).what {
            What::Tuple(items, _) => Some(items),
            _ => None,
        }
    }

    /// A term passed to a function parameter without a declared type: numeric literals stay open.
    pub(super) fn undeclared(&mut self, term: Term, span: Span) -> Val {
        if let Term::List(_) = &term
            && let Some(default) = self.default_type(&term, DType::I32)
            && let Ok(tensor) = literal::tensor(&term, Wanted::Like(default))
        {
            let ty = tensor.ty().into();
            return Some(Term::Open(self.push_open(What::Literal(term, span), ty, default)));
        }
        match term {
            Term::Int(ref d) if d.as_const().is_some() => Some(term),
            Term::Wide(_) | Term::Float(_) | Term::Open(_) => Some(term),
            other => self.vertex(other, span).map(Term::Value),
        }
    }

    /// A tuple, which stays open if any member is open.
    pub(super) fn tuple_of(&mut self, items: Vec<Term>, span: Span) -> Val {
        let is_open = |t: &Term| matches!(t, Term::Open(_)) || self.default_type(t, DType::I32).is_some();
        if items.iter().any(is_open) {
            // Its type is not kept, since the types of nested tuples grow without bound.
            let open = self.push_open(What::Tuple(items, span), Type::Absent, DType::I32);
            return Some(Term::Open(open));
        }
        let items: Option<Vec<_>> = items.into_iter().map(|t| self.vertex(t, span)).collect();
        self.tuple_of_values(&items?, span).map(Term::Value)
    }

    /// How the literals among the operands of a call are typed.
    pub(super) fn choose(
        &mut self,
        def: &'static OpDef,
        args: &[Term],
        spans: &[Span],
        given: &Given,
        span: Span,
    ) -> Choice {
        let first = self.wanted(def, args);
        let all = |wanted: Wanted| vec![wanted; args.len()];
        let literals: Vec<usize> = (0..args.len())
            .filter(|&i| self.default_type(&args[i], DType::I32).is_some())
            .collect();
        if literals.is_empty() {
            return Choice::Typed(all(first));
        }
        match first {
            Wanted::Like(_) | Wanted::Exactly(_) => return Choice::Typed(all(first)),
            // They may be indices or numbers, which inference decides.
            Wanted::FloatLike(_) | Wanted::Index if self.typed(args).is_some() => {
                let Some(like) = self.typed(args).map(Wanted::Like) else {
                    return Choice::Typed(all(first));
                };
                let choices: Vec<Vec<Wanted>> = if literals.len() <= MOST_CHOICES {
                    (0..1usize << literals.len())
                        .map(|bits| {
                            let mut wanted = all(first);
                            for (k, &i) in literals.iter().enumerate() {
                                if bits >> k & 1 == 1 {
                                    wanted[i] = like;
                                }
                            }
                            wanted
                        })
                        .collect()
                } else {
                    vec![all(first), all(like)]
                };
                let fitting = choices.into_iter().find(|c| self.probe(def, args, given, c).is_some());
                return Choice::Typed(fitting.unwrap_or_else(|| all(first)));
            }
            _ => {}
        }
        let shares = first == Wanted::Any;
        let integer = if shares { DType::I32 } else { DType::I64 };
        let Some(common) = self.common_default(args.iter(), integer) else {
            return Choice::Typed(all(first));
        };
        let mut defaults = vec![common];
        if !common.is_float() {
            // `sqrt(2)`: some operators take only floating-point numbers.
            defaults.push(DType::F32);
        }
        let mut groups: Vec<&[usize]> = Vec::new();
        if !shares && literals.len() > 1 {
            groups.push(&literals[..1]);
        }
        groups.push(&literals);
        let typed = |group: &[usize], dtype: DType| {
            let mut wanted = all(first);
            for &i in group {
                wanted[i] = Wanted::Like(dtype);
            }
            wanted
        };
        let mut fitting = (!shares && self.probe(def, args, given, &all(first)).is_some()).then(|| all(first));
        for &default in &defaults {
            for group in &groups {
                let wanted = typed(group, default);
                let Some(ty) = self.probe(def, args, given, &wanted) else {
                    continue;
                };
                let others: &[DType] = match default {
                    DType::F32 => &[DType::F64],
                    DType::I32 => &[DType::F32, DType::I64],
                    _ => &[DType::F32, DType::I32],
                };
                let has = |ty: &Type, dtype| ty.as_tensor().is_some_and(|t| t.dtype == dtype);
                let follows = has(&ty, default)
                    && !def.traits.contains(OpTraits::NONDETERMINISTIC)
                    && others.iter().any(|&other| {
                        let ty = self.probe(def, args, given, &typed(group, other));
                        ty.is_some_and(|ty| has(&ty, other))
                    });
                if follows {
                    let place = |i: usize| (!group.contains(&i)).then_some(first);
                    let what = What::Call {
                        def,
                        args: args.to_vec(),
                        spans: spans.to_vec(),
                        wanted: (0..args.len()).map(place).collect(),
                        given: given.clone(),
                        span,
                    };
                    return Choice::Open(self.push_open(what, ty, default));
                }
                fitting.get_or_insert(wanted);
            }
        }
        Choice::Typed(fitting.unwrap_or_else(|| all(first)))
    }

    /// The type of a call with operands of these types; `None` if it has none.
    fn probe(&self, def: &'static OpDef, args: &[Term], given: &Given, wanted: &[Wanted]) -> Option<Type> {
        let mut types: Vec<(Type, Option<Tensor>)> = Vec::with_capacity(args.len());
        for (arg, &wanted) in args.iter().zip(wanted) {
            types.push(match arg {
                Term::Value(v) => (self.sink.ty(*v).clone(), self.sink.value(*v)),
                Term::None => (Type::Absent, None),
                Term::Open(id) => {
                    let open = self.open(*id);
                    let mut ty = open.ty.clone();
                    if let Type::Tensor(t) = &mut ty {
                        t.dtype = open.dtype(wanted);
                    }
                    (ty, None)
                }
                literal => {
                    let tensor = literal::tensor(literal, wanted).ok()?;
                    (tensor.ty().into(), Some(tensor))
                }
            });
        }
        let facts: Vec<Fact<'_>> = types.iter().map(|(ty, v)| Fact::with(ty, v.as_ref())).collect();
        let attrs: Vec<(&str, AttrValue)> = given.iter().map(|(n, v, _)| (&**n, v.clone())).collect();
        let fresh = Cell::new(u32::MAX / 2);
        Some(op::normalize(def, &facts, &attrs, &fresh).ok()?.ty)
    }

    /// The value of an open one where the type `wanted` is required.
    pub(super) fn settle(&mut self, id: OpenId, wanted: Wanted) -> Option<ValueId> {
        let root = (id, self.open(id).dtype(wanted));
        let mut needed: Vec<(OpenId, DType)> = Vec::new();
        let mut stack = vec![root];
        let mut seen: FxHashSet<(OpenId, DType)> = FxHashSet::default();
        while let Some((id, dtype)) = stack.pop() {
            if self.made(id, dtype).is_some() || !seen.insert((id, dtype)) {
                continue;
            }
            needed.push((id, dtype));
            stack.extend(self.open_operands(id, dtype));
        }
        // Operands have smaller ids than the calls that use them.
        needed.sort_unstable_by_key(|(id, _)| *id);
        for (id, dtype) in needed {
            let made = self.make(id, dtype).map(Term::Value);
            self.opens[id.0 as usize].made.push((dtype, made));
        }
        match self.made(root.0, root.1) {
            Some(Some(Term::Value(v))) => Some(*v),
            _ => None,
        }
    }

    fn made(&self, id: OpenId, dtype: DType) -> Option<&Val> {
        let made = &self.open(id).made;
        made.iter().find(|(d, _)| *d == dtype).map(|(_, value)| value)
    }

    /// The open operands of an open value, with the element types they take.
    fn open_operands(&self, id: OpenId, dtype: DType) -> Vec<(OpenId, DType)> {
        let inner = |term: &Term, wanted: Wanted| match term {
            Term::Open(id) => Some((*id, self.open(*id).dtype(wanted))),
            _ => None,
        };
        match &self.open(id).what {
            What::Literal(..) => Vec::new(),
            What::Tuple(items, _) => items.iter().filter_map(|t| inner(t, Wanted::Any)).collect(),
            What::Call { args, wanted, .. } => {
                let operands = args.iter().zip(wanted);
                operands
                    .filter_map(|(t, wanted)| inner(t, wanted.unwrap_or(Wanted::Like(dtype))))
                    .collect()
            }
        }
    }

    /// Makes a value whose open operands have been made.
    fn make(&mut self, id: OpenId, dtype: DType) -> Option<ValueId> {
        let (def, args, spans, wanted, given, span) = match &self.open(id).what {
            What::Literal(term, span) => {
                let (term, span) = (term.clone(), *span);
                return self.vertex_as(term, Wanted::Like(dtype), span);
            }
            What::Tuple(items, span) => {
                let (items, span) = (items.clone(), *span);
                let items: Option<Vec<_>> = items
                    .into_iter()
                    .map(|t| self.made_or_vertex(t, Wanted::Any, span))
                    .collect();
                return self.tuple_of_values(&items?, span);
            }
            What::Call {
                def,
                args,
                spans,
                wanted,
                given,
                span,
            } => (*def, args.clone(), spans.clone(), wanted.clone(), given.clone(), *span),
        };
        let mut operands = Vec::with_capacity(args.len());
        for ((arg, wanted), at) in args.into_iter().zip(wanted).zip(&spans) {
            let wanted = wanted.unwrap_or(Wanted::Like(dtype));
            operands.push(self.made_or_vertex(arg, wanted, *at)?);
        }
        self.emit(def, operands, &spans, &given, span)
    }

    fn made_or_vertex(&mut self, term: Term, wanted: Wanted, span: Span) -> Option<ValueId> {
        match term {
            Term::Open(id) => match self.made(id, self.open(id).dtype(wanted)) {
                Some(Some(Term::Value(v))) => Some(*v),
                _ => None,
            },
            other => self.vertex_as(other, wanted, span),
        }
    }

    /// Adds a call whose operands are all values.
    pub(super) fn emit(
        &mut self,
        def: &'static OpDef,
        mut operands: Vec<ValueId>,
        spans: &[Span],
        given: &Given,
        span: Span,
    ) -> Option<ValueId> {
        let (least, _) = def.arity();
        while operands.len() > least && operands.last().is_some_and(|v| *self.sink.ty(*v) == Type::Absent) {
            operands.pop();
        }
        let attrs: Vec<(&str, AttrValue)> = given.iter().map(|(n, v, _)| (&**n, v.clone())).collect();
        match self.sink.call(Op::Known(def), &operands, &attrs) {
            Ok(v) => {
                self.sink.place(v, span);
                self.counted(v, span)
            }
            Err(e) => {
                let problem = self.call_problem(def.name, &e, &operands, spans, given, span);
                self.report(problem);
                None
            }
        }
    }

    /// A term with a declared type: open values take the declared element type. Other terms are unchanged.
    pub(crate) fn coerced(&mut self, term: Term, declared: &Type, span: Span) -> Val {
        match (&term, declared) {
            (Term::Open(id), Type::Tuple(types)) => {
                let Some(items) = self.members_of_open(*id).map(<[_]>::to_vec) else {
                    return Some(term);
                };
                if items.len() != types.len() {
                    return Some(term);
                }
                let items: Option<Vec<_>> = items
                    .into_iter()
                    .zip(types)
                    .map(|(item, ty)| {
                        let item = self.coerced(item, ty, span)?;
                        self.vertex(item, span)
                    })
                    .collect();
                self.tuple_of_values(&items?, span).map(Term::Value)
            }
            (term, Type::Tensor(t)) if self.default_type(term, DType::I32).is_some() => {
                let value = self.vertex_as(term.clone(), Wanted::Exactly(t.dtype), span);
                value.map(Term::Value)
            }
            _ => Some(term),
        }
    }
}

impl Open {
    /// The element type that the value takes where `wanted` is required.
    fn dtype(&self, wanted: Wanted) -> DType {
        match wanted {
            _ if matches!(self.what, What::Tuple(..)) => self.default,
            Wanted::Like(d) | Wanted::Exactly(d) => d,
            Wanted::FloatLike(d) if self.default.is_float() => d,
            Wanted::FloatLike(_) | Wanted::Index if !self.default.is_float() => DType::I64,
            _ => self.default,
        }
    }
}
