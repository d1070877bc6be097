//! Calls: operators, literals as operands, attributes, opaque operators, and the messages about them.

use super::*;
use crate::graph::graph_region;
use crate::graph::program::{self, BuildOptions, Within};
use crate::lang::Compat;
use crate::op::Region;

/// Functions that are given to operators may call each other this deep.
const MAX_FUNCTION_NESTING: usize = 32;

impl<'a, K: Sink> Builder<'a, K> {
    pub(super) fn infix(
        &mut self,
        op: BinaryOp,
        args: Vec<Term<K::V>>,
        lhs: ExprId,
        rhs: ExprId,
        span: Span,
    ) -> Val<K::V> {
        if op == BinaryOp::MatMul && self.script.as_ref().is_some_and(|s| s.compat != Compat::Off) {
            return self.dot(args, &[lhs, rhs], span);
        }
        let args = match self.script {
            Some(_) => self.promoted(args, &[lhs, rhs])?,
            None => args,
        };
        let bits = args.iter().any(|t| match t {
            Term::Value(v) => self.sink.ty(v).as_tensor().is_some_and(|t| t.dtype.is_int()),
            Term::Int(_) => true,
            _ => false,
        });
        let name = match op {
            BinaryOp::Ne => "equal",
            BinaryOp::BitAnd if bits => "bitwise_and",
            BinaryOp::BitOr if bits => "bitwise_or",
            BinaryOp::BitXor if bits => "bitwise_xor",
            BinaryOp::BitOr => "or",
            other => match other.operator() {
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
            self.known_call("not", vec![out], &[lhs], span)
        } else {
            Some(out)
        }
    }

    /// `x in (a, b)` is `x == a || x == b`.
    pub(super) fn membership(&mut self, args: Vec<Term<K::V>>, lhs: ExprId, rhs: ExprId, span: Span) -> Val<K::V> {
        let mut items = args.into_iter();
        let item = items.next()?;
        let mut found: Val<K::V> = None;
        for other in items {
            let equal = self.known_call("equal", vec![item.clone(), other], &[lhs, rhs], span)?;
            found = Some(match found {
                None => equal,
                Some(so_far) => self.known_call("or", vec![so_far, equal], &[lhs, rhs], span)?,
            });
        }
        found.or(Some(Term::Bool(false)))
    }

    /// A call of a table operator written as an operator sign.
    pub(super) fn known_call(&mut self, name: &str, args: Vec<Term<K::V>>, ids: &[ExprId], span: Span) -> Val<K::V> {
        let def = op::lookup(name)?;
        self.operator(def, args, ids, Vec::new(), span)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one call expression")]
    pub(super) fn call(
        &mut self,
        id: ExprId,
        callee: &Arc<str>,
        callee_span: Span,
        quoted: bool,
        args: Vec<Term<K::V>>,
        ids: &[ExprId],
        attrs: Option<&Attrs>,
    ) -> Val<K::V> {
        let span = self.ast.span(id);
        let given = self.attributes(attrs)?;
        let known = self.operators.get(callee).copied().or_else(|| op::lookup(callee));
        match known.filter(|_| !quoted) {
            Some(def) => self.operator(def, args, ids, given, span),
            None if quoted || self.opaques.contains_key(callee) => self.opaque(id, callee, args, given, span),
            None => {
                let known = op::table()
                    .flat_map(OpDef::names)
                    .map(str::to_owned)
                    .chain(self.functions.keys().map(|k| k.to_string()))
                    .chain(
                        script::FUNCTIONS
                            .iter()
                            .filter(|_| self.script.is_some())
                            .map(|f| (*f).to_owned()),
                    );
                let names: Vec<String> = known.collect();
                let problem = Diagnostic::error("T0101", format!("unknown operator `{callee}`"))
                    .label(callee_span, "not in the operator table");
                self.report(match did_you_mean(callee, names.iter().map(String::as_str)) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help(format!(
                        "an operator that is only carried along is declared: `opaque {callee}(x: f32[..]) -> f32[..];`"
                    )),
                });
                None
            }
        }
    }

    pub(super) fn attributes(&mut self, attrs: Option<&Attrs>) -> Option<Vec<(Arc<str>, AttrValue, Span)>> {
        let Some(attrs) = attrs else { return Some(Vec::new()) };
        let mut out: Vec<(Arc<str>, AttrValue, Span)> = Vec::with_capacity(attrs.entries.len());
        let mut ok = true;
        if let Some(rest) = &attrs.rest {
            match self.frames.last().and_then(|f| f.rests.get(&rest.name)) {
                Some(bound) => out.extend(bound.iter().map(|(n, v)| (n.clone(), v.clone(), rest.span))),
                None => {
                    self.report(
                        Diagnostic::error("T0104", format!("`..{}` is not bound", rest.name))
                            .label(rest.span, "")
                            .help("`..name` takes over the attributes that the source of a rule binds"),
                    );
                    ok = false;
                }
            }
        }
        let inherited = out.len();
        for entry in &attrs.entries {
            if out[inherited..].iter().any(|(n, ..)| *n == entry.name.name) {
                self.report(
                    Diagnostic::error("T0103", format!("attribute `{}` is given twice", entry.name.name))
                        .label(entry.name.span, ""),
                );
                ok = false;
                continue;
            }
            if let Some(function) = self.function_name(entry.value) {
                match self.function_value(function, self.ast.span(entry.value)) {
                    Some(region) => {
                        out.retain(|(n, ..)| *n != entry.name.name);
                        let span = entry.name.span.to(self.ast.span(entry.value));
                        out.push((entry.name.name.clone(), AttrValue::Region(region), span));
                    }
                    None => ok = false,
                }
                continue;
            }
            let value = match term::eval(self.ast, entry.value, &*self) {
                Ok(term) => term,
                Err(e) => {
                    self.report_term(e);
                    ok = false;
                    continue;
                }
            };
            let attr = term::to_attr(&value)
                .or_else(|| literal::tensor(&value, Wanted::Any).ok().map(AttrValue::Tensor))
                .or_else(|| {
                    // A constant of the graph is as good as its value.
                    match &value {
                        Term::Value(v) => self.sink.value(v).map(AttrValue::Tensor),
                        _ => None,
                    }
                });
            match attr {
                Some(attr) => {
                    out.retain(|(n, ..)| *n != entry.name.name);
                    out.push((
                        entry.name.name.clone(),
                        attr,
                        entry.name.span.to(self.ast.span(entry.value)),
                    ));
                }
                None => {
                    crate::tensor::assume::left_open();
                    self.report(
                        Diagnostic::error(
                            "T0103",
                            format!(
                                "attribute `{}` needs a value known now, not {}",
                                entry.name.name,
                                term::kind(&value)
                            ),
                        )
                        .label(self.ast.span(entry.value), "known only when the graph runs")
                        .help("attributes are made of literals, dimensions and constants"),
                    );
                    ok = false;
                }
            }
        }
        ok.then_some(out)
    }

    /// The function that an expression names, if it is the name of one and of nothing else.
    fn function_name(&self, id: ExprId) -> Option<&'a Function> {
        match self.ast.kind(id) {
            ExprKind::Name(name) if self.lookup(name).is_none() => self.functions.get(name).copied(),
            _ => None,
        }
    }

    /// A function as a value.
    fn function_value(&mut self, function: &'a Function, span: Span) -> Option<Arc<Region>> {
        let name = function.name.as_ref().map(|n| n.name.clone()).unwrap_or_default();
        let mut path: Vec<Arc<str>> = self.path.clone();
        path.extend(self.frames.iter().filter_map(|f| f.function.clone()));
        let problem = if path.contains(&name) {
            Some(("T0107", format!("`{name}` calls itself")))
        } else if path.len() >= MAX_FUNCTION_NESTING {
            Some((
                "T0601",
                format!("functions call each other more than {MAX_FUNCTION_NESTING} deep"),
            ))
        } else {
            None
        };
        if let Some((code, message)) = problem {
            self.report(Diagnostic::error(code, message).label(span, ""));
            return None;
        }
        path.push(name);
        let within = Within {
            path,
            symbols: self.symbols.iter().cloned().collect(),
        };
        let options = BuildOptions {
            max_vertices: self.max_size,
            ..BuildOptions::default()
        };
        let mut problems = Diagnostics::new();
        let graph = program::function_graph(self.ast, function, self.items, within, &options, &mut problems);
        let failed = problems.has_errors();
        self.problems.extend(problems);
        graph.filter(|_| !failed).map(|graph| Arc::new(graph_region(&graph)))
    }

    pub(super) fn operator(
        &mut self,
        def: &'static OpDef,
        args: Vec<Term<K::V>>,
        ids: &[ExprId],
        mut given: Vec<(Arc<str>, AttrValue, Span)>,
        span: Span,
    ) -> Val<K::V> {
        let wanted = self.wanted(def, &args);
        let arg_span = |i: usize| ids.get(i).or(ids.last()).map_or(span, |id| self.ast.span(*id));
        let spans: Vec<Span> = (0..args.len()).map(arg_span).collect();
        let mut operands = Vec::with_capacity(args.len());
        for (i, arg) in args.into_iter().enumerate() {
            // `cast(x, f64)`: an element type is no operand, so it can only be the attribute.
            if let Term::DType(dtype) = arg
                && let Some(attr) = def.attrs.iter().find(|a| a.kind == AttrKind::DType)
            {
                given.push((attr.name.into(), AttrValue::DType(dtype), spans[i]));
                continue;
            }
            let attr = def.operand(i).and_then(|o| o.attr);
            if let Some(name) = attr
                && !matches!(arg, Term::Value(_) | Term::Tensor(_))
                && let Some(value) = term::to_attr(&arg)
                && def.attr_index(name).is_some_and(|a| {
                    def.attrs[a].coerce(value.clone()).is_some() && !matches!(def.attrs[a].kind, AttrKind::Tensor)
                })
            {
                if !value.is_none() {
                    given.push((name.into(), value, spans[i]));
                }
                operands.push(self.sink.absent());
                continue;
            }
            operands.push(self.vertex_as(arg, wanted, spans[i])?);
        }
        let (least, _) = def.arity();
        while operands.len() > least && operands.last().is_some_and(|v| self.sink.ty(v) == Type::Absent) {
            operands.pop();
        }
        let attrs: Vec<(&str, AttrValue)> = given.iter().map(|(n, v, _)| (&**n, v.clone())).collect();
        match self.sink.call(Op::Known(def), &operands, &attrs) {
            Ok(v) => {
                self.sink.place(&v, span);
                Some(Term::Value(v))
            }
            Err(e) => {
                let problem = self.call_problem(def.name, &e, &operands, &spans, &given, span);
                self.report(problem);
                None
            }
        }
    }

    /// The element type that untyped literals among the operands take.
    pub(super) fn wanted(&self, def: &OpDef, args: &[Term<K::V>]) -> Wanted {
        let typed = args.iter().find_map(|t| match t {
            Term::Value(v) => self.sink.ty(v).as_tensor().map(|t| t.dtype).filter(|d| d.is_number()),
            Term::Tensor(t) if t.dtype().is_number() => Some(t.dtype()),
            _ => None,
        });
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
        operands: &[K::V],
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
                let ty = self.sink.ty(v);
                if ty != Type::Absent {
                    problem = problem.secondary(*s, format!("this is {ty}"));
                }
            }
        }
        e.help.iter().fold(problem, |p, h| p.help(h.clone()))
    }

    pub(super) fn opaque(
        &mut self,
        id: ExprId,
        callee: &Arc<str>,
        args: Vec<Term<K::V>>,
        given: Vec<(Arc<str>, AttrValue, Span)>,
        span: Span,
    ) -> Val<K::V> {
        let declared = self.opaques.get(callee).copied();
        let result = match (self.ascribed.get(&id).cloned(), declared) {
            (Some(ty), _) => ty,
            (None, Some(decl)) => {
                if decl.params.len() != args.len() {
                    let problem = Diagnostic::error(
                        "T0102",
                        format!(
                            "`{callee}` is declared with {}, and {} given",
                            operands_text(decl.params.len()),
                            count_text(args.len())
                        ),
                    );
                    self.report(problem.label(span, "").secondary(decl.span, "declared here"));
                    return None;
                }
                self.declared_type(&decl.result)?
            }
            (None, None) => {
                self.report(
                    Diagnostic::error("T0101", format!("`{callee}` is not declared"))
                        .label(span, "its type is not known")
                        .help(format!("declare it: `opaque \"{callee}\"(x: f32[..]) -> f32[..];`, or give the result a type: `let y: f32[..] = …;`")),
                );
                return None;
            }
        };
        let operands: Vec<K::V> = args.into_iter().map(|t| self.vertex(t, span)).collect::<Option<_>>()?;
        let (domain, name) = callee.rsplit_once("::").unwrap_or(("", callee));
        let op = OpaqueOp {
            domain: domain.to_owned(),
            name: name.to_owned(),
            attr_names: given.iter().map(|(n, ..)| n.clone()).collect(),
            result,
        };
        let attrs = given.into_iter().map(|(_, v, _)| literal::foreign(v)).collect();
        match self.sink.opaque(op, &operands, attrs) {
            Ok(v) => {
                self.sink.place(&v, span);
                Some(Term::Value(v))
            }
            Err(e) => {
                self.report(Diagnostic::error(e.code, e.message).label(span, ""));
                None
            }
        }
    }

    /// A term as a value; literals take their default type.
    pub(crate) fn vertex(&mut self, term: Term<K::V>, span: Span) -> Option<K::V> {
        self.vertex_as(term, Wanted::Any, span)
    }

    pub(crate) fn vertex_as(&mut self, term: Term<K::V>, wanted: Wanted, span: Span) -> Option<K::V> {
        match term {
            Term::Value(v) => Some(v),
            Term::None => Some(self.sink.absent()),
            literal => match literal::tensor(&literal, wanted) {
                Ok(t) => {
                    let v = self.sink.constant(t);
                    self.sink.place(&v, span);
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
