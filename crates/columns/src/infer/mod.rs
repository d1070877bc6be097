//! From syntax trees to typed programs.
//!
//! Every expression has the set of types that it may still have. A call keeps the signatures that fit the sets of its
//! arguments and of its result, and narrows those sets to what these signatures allow; narrowing travels both up and
//! down until nothing changes. Literals that are open then get their default types, in the order written, and each
//! choice is propagated before the next. So `add(add(x, 1), add(2, 3))` is `u64` throughout if `x` is.

mod lower;
mod report;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_schema::Schema;
use smallvec::SmallVec;

use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};
use tautomer_lang::ast::{Ast, ExprId};

use crate::function::{Arg, Function, Signature};
use crate::options::Options;
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::{Type, TypeSet};

/// What an expression is, before its type is known.
#[derive(Debug, Clone)]
enum ItemKind {
    Field(usize),
    Literal(Literal),
    Call(&'static Function),
    Cast(Type),
    If,
    And,
    Or,
    /// The first child is the value, the others are the members.
    In,
    /// Something wrong that was reported.
    Broken,
}

#[derive(Debug, Clone)]
struct Item {
    kind: ItemKind,
    children: SmallVec<[usize; 3]>,
    parent: Option<usize>,
    types: TypeSet,
    span: Span,
    /// The spelling of an operator, where it has another name than its function.
    symbol: Option<&'static str>,
}

/// One output: its expression and the type it is declared with.
pub(crate) struct Root {
    pub(crate) value: ExprId,
    pub(crate) declared: Option<(Type, Span)>,
}

struct Infer<'a> {
    ast: &'a Ast,
    schema: &'a Schema,
    options: &'a Options,
    items: Vec<Item>,
    queue: VecDeque<usize>,
    problems: Diagnostics,
}

/// Adds the expressions to a program.
///
/// # Errors
///
/// Unknown names, types that do not fit, literals whose type nothing decides: all of them.
pub(crate) fn infer(
    ast: &Ast,
    schema: &Schema,
    options: &Options,
    roots: &[Root],
    program: &mut Program,
) -> Result<Vec<NodeId>, Diagnostics> {
    let mut infer = Infer {
        ast,
        schema,
        options,
        items: Vec::with_capacity(ast.len()),
        queue: VecDeque::new(),
        problems: Diagnostics::new(),
    };
    let tops: Vec<usize> = roots.iter().map(|root| infer.lower(root.value)).collect();
    infer.queue.extend(0..infer.items.len());
    infer.settle();
    for (root, &top) in roots.iter().zip(&tops) {
        if let Some((ty, span)) = root.declared {
            infer.declare(top, ty, span);
        }
    }
    infer.settle();
    infer.decide();
    infer.check();
    if infer.problems.has_errors() {
        infer.problems.sort();
        return Err(infer.problems);
    }
    Ok(tops.iter().map(|&top| infer.emit(top, program)).collect())
}

impl Infer<'_> {
    fn declare(&mut self, top: usize, ty: Type, span: Span) {
        let narrowed = self.items[top].types.and(TypeSet::one(ty));
        if !narrowed.is_empty() {
            self.narrow(top, narrowed);
        } else if !matches!(self.items[top].kind, ItemKind::Broken) {
            let found = self.shown(top);
            let problem = Diagnostic::error("T0204", format!("declared as {ty}, but it is {found}"))
                .label(self.items[top].span, found)
                .secondary(span, "declared here")
                .help(format!("convert it: `cast(…, {ty})`"));
            self.problems.push(problem);
        }
    }

    /// Sets the possible types of an item; what depends on them is looked at again.
    fn narrow(&mut self, at: usize, types: TypeSet) {
        if self.items[at].types == types {
            return;
        }
        self.items[at].types = types;
        self.queue.push_back(at);
        self.queue.extend(self.items[at].parent);
    }

    /// Narrows until nothing changes.
    fn settle(&mut self) {
        while let Some(at) = self.queue.pop_front() {
            self.visit(at);
        }
    }

    fn visit(&mut self, at: usize) {
        let children = self.items[at].children.clone();
        match self.items[at].kind.clone() {
            ItemKind::Call(function) => self.visit_call(at, function, &children),
            ItemKind::If => {
                self.condition(children[0], "the condition of `if`");
                let mut same = children.clone();
                same.remove(0);
                same.push(at);
                self.unify(at, &same, "the branches of `if`");
            }
            ItemKind::And | ItemKind::Or => {
                for child in children {
                    self.condition(child, "an operand of `and` and `or`");
                }
            }
            ItemKind::In => self.unify(at, &children, "the value and the members of `in`"),
            // A literal that is converted is written in the type it is converted to, if it can be.
            ItemKind::Cast(to) => {
                let child = children[0];
                let open = matches!(self.items[child].kind, ItemKind::Literal(_));
                if open && self.items[child].types.has(to) {
                    self.narrow(child, TypeSet::one(to));
                }
            }
            ItemKind::Field(_) | ItemKind::Literal(_) | ItemKind::Broken => {}
        }
    }

    fn condition(&mut self, at: usize, what: &str) {
        if self.items[at].types.has(Type::Bool) {
            self.narrow(at, TypeSet::one(Type::Bool));
        } else if !matches!(self.items[at].kind, ItemKind::Broken) {
            let found = self.shown(at);
            let problem = Diagnostic::error("T0204", format!("{what} is a boolean, found {found}"))
                .label(self.items[at].span, found)
                .help("compare it with something: `x != 0`");
            self.problems.push(problem);
            self.give_up(at);
        }
    }

    /// Narrows items to the types that all of them may have.
    fn unify(&mut self, at: usize, items: &[usize], what: &str) {
        let common = items
            .iter()
            .fold(TypeSet::ALL, |common, &item| common.and(self.items[item].types));
        if !common.is_empty() {
            for &item in items {
                self.narrow(item, common);
            }
        } else if !self.promote(at) {
            let problem = self.mismatch(at, items, what);
            self.problems.push(problem);
            self.give_up(at);
        }
    }

    /// After a problem, an item may have any type, so that the problem is reported once.
    fn give_up(&mut self, at: usize) {
        self.items[at].kind = ItemKind::Broken;
        self.items[at].types = TypeSet::ALL;
    }

    fn visit_call(&mut self, at: usize, function: &'static Function, children: &[usize]) {
        let sets: SmallVec<[TypeSet; 4]> = children.iter().map(|&child| self.items[child].types).collect();
        let mut args: SmallVec<[TypeSet; 4]> = SmallVec::from_elem(TypeSet::NONE, sets.len());
        let mut result = TypeSet::NONE;
        for signature in function.signatures.iter().filter(|s| s.takes(sets.len())) {
            let Some(over) = signature.fit(&sets, self.items[at].types) else {
                continue;
            };
            for (i, arg) in args.iter_mut().enumerate() {
                *arg = arg.or(match signature.arg(i) {
                    Arg::T => over,
                    Arg::Of(types) => types.and(sets[i]),
                });
            }
            result = result.or(signature.results(over));
        }
        if result.is_empty() {
            if !self.promote(at) {
                let problem = self.no_signature(at, function, children);
                self.problems.push(problem);
                self.give_up(at);
            }
            return;
        }
        let result = result.and(self.items[at].types);
        for (&child, &types) in children.iter().zip(&args) {
            self.narrow(child, types);
        }
        self.narrow(at, result);
    }

    /// Converts the operands of an item to a common type, if the options allow it; true if something changed.
    fn promote(&mut self, at: usize) -> bool {
        if !self.options.promote {
            return false;
        }
        let first = usize::from(matches!(self.items[at].kind, ItemKind::If));
        let children = self.items[at].children.clone();
        let known: SmallVec<[Option<Type>; 4]> = children[first..]
            .iter()
            .map(|&child| match &self.items[child] {
                // A fraction makes the common type a float.
                item if matches!(item.kind, ItemKind::Literal(Literal::Float(_))) => {
                    item.types.only().or(Some(Type::Float32))
                }
                item => item.types.only(),
            })
            .collect();
        let mut common = None;
        for ty in known.iter().flatten() {
            common = match common {
                None => Some(*ty),
                Some(before) => match ty.promoted(before) {
                    Some(both) => Some(both),
                    None => return false,
                },
            };
        }
        let Some(common) = common else { return false };
        let mut changed = false;
        for (i, ty) in known.iter().enumerate() {
            let child = children[first + i];
            let open =
                matches!(self.items[child].kind, ItemKind::Literal(_)) && self.items[child].types.only().is_none();
            if open && self.items[child].types.has(common) {
                self.narrow(child, TypeSet::one(common));
            } else if ty.is_some_and(|ty| ty != common) && !matches!(self.items[child].kind, ItemKind::Broken) {
                let cast = self.items.len();
                self.items.push(Item {
                    kind: ItemKind::Cast(common),
                    children: SmallVec::from_slice(&[child]),
                    parent: Some(at),
                    types: TypeSet::one(common),
                    span: self.items[child].span,
                    symbol: None,
                });
                self.items[child].parent = Some(cast);
                self.items[at].children[first + i] = cast;
                changed = true;
            }
        }
        if changed {
            // Before what uses it decides the type of the result.
            self.queue.push_front(at);
        }
        changed
    }

    /// Gives open literals their default types, in the order written.
    fn decide(&mut self) {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|&at| self.items[at].span.start);
        for at in order {
            let item = &self.items[at];
            let ItemKind::Literal(literal) = &item.kind else {
                continue;
            };
            if item.types.only().is_some() {
                continue;
            }
            let (integer, float) = (self.options.integers, self.options.floats);
            let wanted: &[Type] = match literal {
                Literal::Int(_) => &[integer, float, Type::Int64, Type::Float64],
                Literal::Float(_) => &[float],
                Literal::Str(_) => &[Type::Utf8],
                Literal::Null | Literal::Bool(_) => &[],
            };
            if let Some(&ty) = wanted.iter().find(|&&ty| item.types.has(ty)) {
                self.narrow(at, TypeSet::one(ty));
                self.settle();
            }
        }
    }

    /// Reports items without a single type, and literals that their type cannot hold.
    fn check(&mut self) {
        for at in 0..self.items.len() {
            let item = &self.items[at];
            if matches!(item.kind, ItemKind::Broken) {
                continue;
            }
            let problem = match (item.types.only(), &item.kind) {
                (Some(ty), ItemKind::Literal(Literal::Int(value))) => {
                    let fits = ty.range().is_none_or(|(low, high)| (low..=high).contains(value));
                    (!fits).then(|| self.too_large(item.span, *value, ty))
                }
                (Some(ty), ItemKind::Literal(Literal::Float(bits))) => {
                    let value = f64::from_bits(*bits);
                    let lost = ty == Type::Float32 && value.is_finite() && !(value as f32).is_finite();
                    lost.then(|| {
                        Diagnostic::error("T0203", format!("{value:e} is larger than any {ty}"))
                            .label(item.span, format!("must be {ty}"))
                            .help("write the suffix `f64`")
                    })
                }
                (Some(ty), ItemKind::Cast(_)) => {
                    let from = item.children.first().and_then(|&child| self.items[child].types.only());
                    from.filter(|&from| !crate::kernels::cast::allowed(from, ty))
                        .map(|from| {
                            Diagnostic::error("T0204", format!("{from} cannot be converted to {ty}"))
                                .label(item.span, "")
                        })
                }
                (Some(_), _) => None,
                (None, ItemKind::Literal(Literal::Null)) => Some(
                    Diagnostic::error("T0704", "nothing decides the type of `null`")
                        .label(item.span, "")
                        .help("convert it: `cast(null, f64)`"),
                ),
                (None, ItemKind::Literal(_)) => Some(self.ambiguous(at)),
                // The literal below it was reported.
                (None, _) => None,
            };
            if let Some(problem) = problem {
                self.problems.push(problem);
            }
        }
        if !self.problems.has_errors()
            && let Some(at) = (0..self.items.len()).find(|&at| self.items[at].types.only().is_none())
        {
            let problem = self.ambiguous(at);
            self.problems.push(problem);
        }
    }

    /// Adds an item and what it uses to the program.
    fn emit(&self, top: usize, program: &mut Program) -> NodeId {
        let source = &self.ast.source;
        let mut done: Vec<Option<NodeId>> = vec![None; self.items.len()];
        let mut stack = vec![(top, false)];
        while let Some((at, ready)) = stack.pop() {
            let item = &self.items[at];
            if !ready {
                stack.push((at, true));
                stack.extend(item.children.iter().rev().map(|&child| (child, false)));
                continue;
            }
            let of = |i: usize| done[item.children[i]].unwrap_or(NodeId(0));
            let ty = item.types.only().unwrap_or(Type::Bool);
            let all = || (0..item.children.len()).map(of).collect();
            let id = match &item.kind {
                ItemKind::Field(column) => program.add(Kind::Field(*column), ty, item.span, source),
                ItemKind::Literal(value) => {
                    let value = self.converted(value, ty, item.span);
                    program.add(Kind::Literal(value), ty, item.span, source)
                }
                ItemKind::Call(function) => program.add(Kind::Call(function, all()), ty, item.span, source),
                ItemKind::Cast(to) if program.get(of(0)).ty == *to => of(0),
                ItemKind::Cast(_) => program.add(Kind::Cast(of(0)), ty, item.span, source),
                ItemKind::If => program.add(Kind::If([of(0), of(1), of(2)]), ty, item.span, source),
                ItemKind::And => program.add(Kind::And([of(0), of(1)]), ty, item.span, source),
                ItemKind::Or => program.add(Kind::Or([of(0), of(1)]), ty, item.span, source),
                ItemKind::In => {
                    let value = of(0);
                    let members: Vec<NodeId> = (1..item.children.len()).map(of).collect();
                    membership(program, value, &members, item.span, source)
                }
                ItemKind::Broken => NodeId(0),
            };
            done[at] = Some(id);
        }
        done[top].unwrap_or(NodeId(0))
    }

    /// A literal as a value of its type.
    fn converted(&self, value: &Literal, ty: Type, span: Span) -> Literal {
        match (value, ty) {
            (Literal::Int(value), Type::Float32) => Literal::Float(f64::from(*value as f32).to_bits()),
            (Literal::Int(value), Type::Float64) => Literal::Float((*value as f64).to_bits()),
            (Literal::Float(bits), Type::Float32) => {
                // Rounded once, from the text.
                let text = self.ast.source.slice(span).replace('_', "");
                let single = text.parse().unwrap_or(f64::from_bits(*bits) as f32);
                Literal::Float(f64::from(single).to_bits())
            }
            (value, _) => value.clone(),
        }
    }
}

/// `in` over literals is a lookup; other members are compared one by one.
fn membership(program: &mut Program, value: NodeId, members: &[NodeId], span: Span, source: &Arc<Source>) -> NodeId {
    let mut literals = Vec::with_capacity(members.len());
    let mut others = Vec::new();
    for &member in members {
        match &program.get(member).kind {
            Kind::Literal(literal) => literals.push(literal.clone()),
            _ => others.push(member),
        }
    }
    let mut out = None;
    if !literals.is_empty() {
        out = Some(program.add(Kind::In(value, literals.into()), Type::Bool, span, source));
    }
    let equal = crate::function::lookup("equal").expect("`equal` is in the table");
    for other in others {
        let same = program.add(Kind::Call(equal, vec![value, other]), Type::Bool, span, source);
        out = Some(match out {
            None => same,
            Some(before) => program.add(Kind::Or([before, same]), Type::Bool, span, source),
        });
    }
    out.unwrap_or(value)
}

/// The forms of a function, for messages.
fn forms(function: &Function) -> Vec<String> {
    function.signatures.iter().map(Signature::describe).collect()
}
