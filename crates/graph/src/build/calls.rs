//! Calls of operators, with literals as operands, and the messages about them.

use std::sync::Arc;

use super::open::Choice;
use super::{Builder, Val, script};
use crate::literal::{self, Wanted};
use crate::sink::ValueId;
use crate::term::{self, Term};
use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_lang::Compat;
use tautomer_lang::ast::{Attrs, BinaryOp, ExprId, ExprKind};
use tautomer_op::{self as op, AttrKind, AttrValue, OpDef, OpError, OpTraits, known};
use tautomer_tensor::{DType, Type};

impl<'a> Builder<'a> {
    #[expect(clippy::too_many_arguments, reason = "the parts of one call expression")]
    pub(super) fn call(
        &mut self,
        id: ExprId,
        callee: &Arc<str>,
        callee_span: Span,
        quoted: bool,
        args: Vec<Term>,
        ids: &[ExprId],
        attrs: Option<&Attrs>,
    ) -> Val {
        let span = self.ast.span(id);
        let given = self.attributes(attrs)?;
        // What the text itself declares as opaque stays so.
        let opaque = quoted && self.declared(callee).is_some();
        let variable = self.operators.get(callee).copied().filter(|_| !quoted);
        let known = variable.or_else(|| self.scope.find(callee, quoted));
        match known.filter(|_| !opaque) {
            Some(def) => self.operator(def, args, ids, given, span),
            None if quoted || self.declared(callee).is_some() => self.opaque(id, callee, args, given, span),
            None => {
                let known = op::table()
                    .flat_map(OpDef::names)
                    .map(str::to_owned)
                    .chain(self.scope.iter().map(|(name, _)| name.to_owned()))
                    .chain(
                        self.items
                            .iter()
                            .flat_map(|items| items.functions.keys().map(|k| k.to_string())),
                    )
                    .chain(
                        script::FUNCTIONS
                            .iter()
                            .filter(|_| self.script.is_some())
                            .map(|f| (*f).to_owned()),
                    );
                let names: Vec<String> = known.collect();
                let names = if self.budget.compare(names.len()) {
                    names
                } else {
                    Vec::new()
                };
                let problem = Diagnostic::error("T0101", format!("unknown operator `{callee}`"))
                    .label(callee_span, "not in the operator table");
                self.report(match did_you_mean(callee, names.iter().map(String::as_str)) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help(format!(
                        "declare an unsupported operator as opaque: `opaque {callee}(x: f32[..]) -> f32[..];`"
                    )),
                });
                None
            }
        }
    }

    pub(super) fn infix(&mut self, op: BinaryOp, args: Vec<Term>, lhs: ExprId, rhs: ExprId, span: Span) -> Val {
        if op == BinaryOp::MatMul && self.script.as_ref().is_some_and(|s| s.compat != Compat::Off) {
            return self.dot(args, &[lhs, rhs], span);
        }
        let args = match self.script {
            Some(_) => self.promoted(args, &[lhs, rhs])?,
            None => args,
        };
        let bits = args.iter().any(|t| match t {
            Term::Value(v) => self.sink.ty(*v).as_tensor().is_some_and(|t| t.dtype.is_int()),
            Term::Open(id) => self.type_of_open(*id).as_tensor().is_some_and(|t| t.dtype.is_int()),
            Term::Int(_) | Term::Wide(_) => true,
            _ => false,
        });
        let name = match op {
            BinaryOp::Ne => known::EQUAL,
            BinaryOp::BitOr if !bits => known::OR,
            other => match other.bitwise_operator().filter(|_| bits).or(other.operator()) {
                Some(name) => name,
                None => {
                    let problem = Diagnostic::error("T0204", "`++` joins lists of attribute values, not tensors");
                    self.report(
                        problem
                            .label(span, "")
                            .help("tensors are joined by `concat(a, b) {axis = 0}`"),
                    );
                    return None;
                }
            },
        };
        let out = self.known_call(name, args, &[lhs, rhs], span)?;
        if op == BinaryOp::Ne {
            self.known_call(known::NOT, vec![out], &[lhs], span)
        } else {
            Some(out)
        }
    }

    /// `x in (a, b)` is `x == a || x == b`.
    pub(super) fn membership(&mut self, args: Vec<Term>, lhs: ExprId, rhs: ExprId, span: Span) -> Val {
        if let ExprKind::Tuple(items) | ExprKind::List(items) = self.ast.kind(rhs)
            && items.is_empty()
        {
            let problem = Diagnostic::error("T0015", "membership in an empty list never holds");
            self.report(problem.label(self.ast.span(rhs), "no members").help(term::NO_MEMBERS));
            return None;
        }
        // The value and all members have one type, given by whichever of them has one.
        let def = op::lookup(known::EQUAL)?;
        let wanted = match self.wanted(def, &args) {
            Wanted::Any => self
                .common_default(args.iter(), DType::I32)
                .map_or(Wanted::Any, Wanted::Like),
            wanted => wanted,
        };
        let mut typed = Vec::with_capacity(args.len());
        for (i, arg) in args.into_iter().enumerate() {
            let at = self.ast.span(if i == 0 { lhs } else { rhs });
            typed.push(match self.default_type(&arg, DType::I32) {
                Some(_) => Term::Value(self.vertex_as(arg, wanted, at)?),
                None => arg,
            });
        }
        let mut items = typed.into_iter();
        let item = items.next()?;
        let mut found: Val = None;
        for other in items {
            let equal = self.known_call(known::EQUAL, vec![item.clone(), other], &[lhs, rhs], span)?;
            found = Some(match found {
                None => equal,
                Some(so_far) => self.known_call(known::OR, vec![so_far, equal], &[lhs, rhs], span)?,
            });
        }
        found.or(Some(Term::Bool(false)))
    }

    /// A call of a table operator that is written as a symbol.
    pub(super) fn known_call(&mut self, name: &str, args: Vec<Term>, ids: &[ExprId], span: Span) -> Val {
        let def = op::lookup(name)?;
        self.operator(def, args, ids, Vec::new(), span)
    }

    pub(super) fn operator(
        &mut self,
        def: &'static OpDef,
        args: Vec<Term>,
        ids: &[ExprId],
        mut given: Vec<(Arc<str>, AttrValue, Span)>,
        span: Span,
    ) -> Val {
        let arg_span = |i: usize| ids.get(i).or(ids.last()).map_or(span, |id| self.ast.span(*id));
        let spans: Vec<Span> = (0..args.len()).map(arg_span).collect();
        let mut terms = Vec::with_capacity(args.len());
        let mut places = Vec::with_capacity(args.len());
        for (i, arg) in args.into_iter().enumerate() {
            // `cast(x, f64)`: an element type is never an operand, so it must be the attribute.
            if let Term::DType(dtype) = arg
                && let Some(attr) = def.attrs.iter().find(|a| a.kind == AttrKind::DType)
            {
                given.push((attr.name.into(), AttrValue::DType(dtype), spans[i]));
                continue;
            }
            places.push(spans[i]);
            let attr = def.operand(i).and_then(|o| o.attr);
            let known = match &arg {
                Term::Open(id) => self.literal_of_open(*id).and_then(term::to_attr),
                Term::Value(_) | Term::Tensor(_) => None,
                arg => term::to_attr(arg),
            };
            if let (Some(name), Some(value)) = (attr, known)
                && def.attr_index(name).is_some_and(|a| {
                    def.attrs[a].coerce(value.clone()).is_some() && !matches!(def.attrs[a].kind, AttrKind::Tensor)
                })
            {
                if !value.is_none() {
                    given.push((name.into(), value, spans[i]));
                }
                terms.push(Term::None);
                continue;
            }
            terms.push(arg);
        }
        let wanted = match self.choose(def, &terms, &places, &given, span) {
            Choice::Open(id) => return Some(Term::Open(id)),
            Choice::Typed(wanted) => wanted,
        };
        let mut operands = Vec::with_capacity(terms.len());
        for ((term, wanted), &at) in terms.into_iter().zip(wanted).zip(&places) {
            operands.push(self.vertex_as(term, wanted, at)?);
        }
        self.emit(def, operands, &places, &given, span).map(Term::Value)
    }

    /// The element type of the first numeric operand that has one.
    pub(super) fn typed(&self, args: &[Term]) -> Option<DType> {
        args.iter().find_map(|t| match t {
            Term::Value(v) => self.sink.ty(*v).as_tensor().map(|t| t.dtype).filter(|d| d.is_number()),
            Term::Tensor(t) if t.dtype().is_number() => Some(t.dtype()),
            _ => None,
        })
    }

    /// The element type that untyped literals among the operands take.
    pub(super) fn wanted(&self, def: &OpDef, args: &[Term]) -> Wanted {
        let typed = self.typed(args);
        let shares = def.traits.contains(OpTraits::ELEMENTWISE) || def.composite_body().is_some();
        match typed {
            Some(dtype) if shares => Wanted::Like(dtype),
            Some(dtype) if dtype.is_float() => Wanted::FloatLike(dtype),
            _ if shares => Wanted::Any,
            _ => Wanted::Index,
        }
    }

    pub(super) fn call_problem(
        &self,
        name: &str,
        e: &OpError,
        operands: &[ValueId],
        spans: &[Span],
        given: &[(Arc<str>, AttrValue, Span)],
        span: Span,
    ) -> Diagnostic {
        let mut problem = Diagnostic::error(e.code, format!("`{name}`: {}", e.message));
        let attr_span = e
            .attr
            .as_ref()
            .and_then(|a| given.iter().find(|(n, ..)| **n == **a))
            .map(|(.., s)| *s);
        problem = problem.label(attr_span.unwrap_or(span), "");
        let involved: Vec<usize> = match (e.operand, e.other) {
            (None, None) => (0..operands.len().min(4)).collect(),
            (a, b) => a.into_iter().chain(b).collect(),
        };
        for i in involved {
            if let (Some(v), Some(s)) = (operands.get(i), spans.get(i)) {
                let ty = self.sink.ty(*v);
                if *ty != Type::Absent {
                    problem = problem.secondary(*s, format!("this is {ty}"));
                }
            }
        }
        if let Some(help) = &e.help {
            problem = problem.help(self.in_own_words(name, help, spans));
        }
        if e.code == "T0102"
            && let Some(def) = self.scope.find(name, false)
            && let Some(help) = self.attribute_instead(def, operands.len(), given, spans)
        {
            problem = problem.help(help);
        }
        problem
    }

    /// The help with operands written as in the source text, where that is short.
    fn in_own_words(&self, name: &str, help: &str, spans: &[Span]) -> String {
        let mut out = help.to_owned();
        for (i, span) in spans.iter().enumerate() {
            let Some(operand) = op::lookup(name).and_then(|def| def.operand(i)) else {
                break;
            };
            let written = self.written(*span);
            if let Some(written) = written {
                out = out.replace(&format!("cast({})", operand.name), &format!("cast({written})"));
            }
        }
        out
    }

    /// The source text of a span, if it is short and on one line.
    fn written(&self, span: Span) -> Option<&str> {
        let text = self.ast.source.text.get(span.start as usize..span.end as usize)?;
        let short = !text.is_empty() && text.len() <= 24 && !text.contains('\n');
        short.then_some(text)
    }

    /// Help for excess operands of an operator with attributes: how to write them as attributes.
    fn attribute_instead(
        &self,
        def: &OpDef,
        operands: usize,
        given: &[(Arc<str>, AttrValue, Span)],
        spans: &[Span],
    ) -> Option<String> {
        let (_, most) = def.arity();
        let most = most.filter(|&most| operands > most)?;
        let free = def
            .attrs
            .iter()
            .filter(|a| !given.iter().any(|(name, ..)| **name == *a.name));
        let attrs: Vec<&str> = free.map(|a| a.name).take(operands - most).collect();
        if attrs.len() < operands - most {
            return None;
        }
        let texts: Vec<&str> = spans.iter().map(|s| self.written(*s).unwrap_or("…")).collect();
        let pairs: Vec<String> = attrs
            .iter()
            .zip(texts.get(most..)?)
            .map(|(attr, text)| format!("{attr} = {text}"))
            .collect();
        let names: Vec<String> = attrs.iter().map(|a| format!("`{a}`")).collect();
        let (are, an) = match names.len() {
            1 => ("is", "an attribute"),
            _ => ("are", "attributes"),
        };
        Some(format!(
            "{} {are} {an}: `{}({}) {{{}}}`",
            names.join(", "),
            def.name,
            texts[..most].join(", "),
            pairs.join(", ")
        ))
    }

    /// A term as a value; literals take their default type.
    pub fn vertex(&mut self, term: Term, span: Span) -> Option<ValueId> {
        self.vertex_as(term, Wanted::Any, span)
    }

    /// A term as a value; literals take the type that is `wanted`.
    pub fn vertex_as(&mut self, term: Term, wanted: Wanted, span: Span) -> Option<ValueId> {
        match term {
            Term::Value(v) => Some(v),
            Term::None => Some(self.sink.absent()),
            Term::Open(id) => self.settle(id, wanted),
            literal => match literal::tensor(&literal, wanted) {
                Ok(t) => {
                    let v = self.sink.constant(t);
                    self.sink.place(v, span);
                    Some(v)
                }
                Err(message) => {
                    self.report(Diagnostic::error("T0203", message).label(span, ""));
                    None
                }
            },
        }
    }
}
