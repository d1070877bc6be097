//! From an expression of a source to nodes of a pattern.

use std::sync::Arc;

use super::super::pattern::{Count, Family, FamilyId, Item, PatternId, PatternNode, ProjIndex};
use super::source::SideState;
use super::{Checker, MAX_RULE_DEPTH};
use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, TypeKind, UnaryOp};
use tautomer_op::known;
use tautomer_tensor::DType;

impl Checker<'_> {
    pub(super) fn pattern(&mut self, id: ExprId, state: &mut SideState<'_>, depth: usize) -> Option<PatternId> {
        let ast = self.ast;
        let span = ast.span(id);
        if depth > MAX_RULE_DEPTH {
            self.problems.push(
                Diagnostic::error(
                    "T0604",
                    format!("a pattern may be nested at most {MAX_RULE_DEPTH} deep"),
                )
                .label(span, ""),
            );
            return None;
        }
        let node = match ast.kind(id) {
            ExprKind::Name(name) => return self.variable(name, None, span, state),
            ExprKind::Index { base, index } => {
                if let (ExprKind::Name(name), ExprKind::Name(i)) = (ast.kind(*base), ast.kind(*index)) {
                    return self.variable(name, Some(i), span, state);
                }
                self.no_place(span);
                return None;
            }
            ExprKind::Wildcard => PatternNode::Wildcard,
            ExprKind::Int { value, .. } => PatternNode::Literal(*value as f64),
            ExprKind::Float { value, .. } => PatternNode::Literal(*value),
            ExprKind::Bool(value) => PatternNode::Literal(f64::from(u8::from(*value))),
            ExprKind::Tuple(items) => PatternNode::Tuple(self.items(items, state, depth)?),
            ExprKind::Project { base, index } => {
                PatternNode::Proj(self.pattern(*base, state, depth + 1)?, ProjIndex::At(*index))
            }
            ExprKind::Field { base, name } if !matches!(name.as_str(), "shape" | "rank" | "size" | "dtype") => {
                let base = self.pattern(*base, state, depth + 1)?;
                let running = state.within.as_ref().is_some_and(|(_, index)| *index == name.name);
                PatternNode::Proj(
                    base,
                    if running {
                        ProjIndex::Running
                    } else {
                        state.bound.insert(name.name.clone());
                        ProjIndex::Bind(name.name.clone())
                    },
                )
            }
            ExprKind::Unary { op, operand } => {
                return self.call(op.operator(), span, &[*operand], None, span, state, depth);
            }
            ExprKind::Binary {
                op: BinaryOp::BitOr,
                lhs,
                rhs,
            } if ![*lhs, *rhs].iter().all(|side| self.is_variable(*side, state)) => {
                let mut items = Vec::new();
                for side in [*lhs, *rhs] {
                    let item = self.pattern(side, state, depth + 1)?;
                    match state.pattern.node(item) {
                        PatternNode::AnyOf(inner) => items.extend(inner.clone()),
                        _ => items.push(item),
                    }
                }
                PatternNode::AnyOf(items)
            }
            ExprKind::Binary {
                op: op @ (BinaryOp::BitAnd | BinaryOp::BitXor | BinaryOp::BitOr),
                lhs,
                rhs,
            } => {
                // `|` between two variables; elsewhere it is a choice of forms.
                let (Some(bits), logic) = (op.bitwise_operator(), op.operator().unwrap_or(known::OR)) else {
                    return None;
                };
                let args = [*lhs, *rhs];
                // As in a program, the element type determines the operator; if none is declared, it may be either.
                return match args.iter().find_map(|arg| self.is_logical(*arg, state)) {
                    Some(true) => self.call(logic, span, &args, None, span, state, depth),
                    Some(false) => self.call(bits, span, &args, None, span, state, depth),
                    None => {
                        let first = self.call(bits, span, &args, None, span, state, depth)?;
                        let second = self.call(logic, span, &args, None, span, state, depth)?;
                        Some(state.push(PatternNode::AnyOf(vec![first, second])))
                    }
                };
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let Some(name) = op.operator() else {
                    self.problems.push(
                        Diagnostic::error("T0308", format!("`{}` is not allowed in a pattern", op.symbol()))
                            .label(span, ""),
                    );
                    return None;
                };
                return self.call(name, span, &[*lhs, *rhs], None, span, state, depth);
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                return self.call(&callee.name, callee.span, args, attrs.as_deref(), span, state, depth);
            }
            ExprKind::If { cond, then, otherwise } if then.lets.is_empty() && otherwise.lets.is_empty() => {
                let args = [*cond, then.result, otherwise.result];
                return self.call(known::WHERE, span, &args, None, span, state, depth);
            }
            // A comprehension in its own parentheses is a tuple.
            ExprKind::Comprehension { .. } => PatternNode::Tuple(vec![self.item(id, state, depth)?]),
            ExprKind::List(_) => return self.list(id, state),
            _ => {
                self.no_place(span);
                return None;
            }
        };
        Some(state.push(node))
    }

    /// True for a variable of the rule: two variables would be no real alternatives, since each matches anything.
    fn is_variable(&self, id: ExprId, state: &SideState<'_>) -> bool {
        match self.ast.kind(id) {
            ExprKind::Name(name) => !state.names.contains_key(name) && state.given.iter().any(|v| v.name == *name),
            _ => false,
        }
    }

    /// Whether the values of an expression are booleans, as far as the declarations of variables determine it.
    fn is_logical(&self, id: ExprId, state: &SideState<'_>) -> Option<bool> {
        match self.ast.kind(id) {
            ExprKind::Name(name) => {
                let variable = state.given.iter().find(|v| v.name == *name)?;
                match &variable.ty.as_ref()?.kind {
                    TypeKind::Tensor { dtype, .. } => dtype.map(|d| d.dtype == DType::Bool),
                    _ => None,
                }
            }
            ExprKind::Bool(_) => Some(true),
            ExprKind::Int { .. } => Some(false),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Not => Some(true),
                UnaryOp::Neg | UnaryOp::BitNot => self.is_logical(*operand, state).or(Some(false)),
            },
            ExprKind::Binary { op, lhs, rhs } => match op {
                BinaryOp::BitAnd | BinaryOp::BitXor | BinaryOp::BitOr => {
                    self.is_logical(*lhs, state).or_else(|| self.is_logical(*rhs, state))
                }
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Some(false),
                BinaryOp::Concat | BinaryOp::MatMul | BinaryOp::Pow => None,
                _ => Some(true),
            },
            _ => None,
        }
    }

    /// A variable of the rule or a name given by `let`, with its index if it has one.
    pub(super) fn variable(
        &mut self,
        name: &Arc<str>,
        index: Option<&Arc<str>>,
        span: Span,
        state: &mut SideState<'_>,
    ) -> Option<PatternId> {
        if index.is_none() {
            if let Some(&known) = state.names.get(name) {
                return Some(known);
            }
            if &**name == "none" {
                return Some(state.push(PatternNode::Absent));
            }
        }
        let Some(at) = state.given.iter().position(|v| v.name == *name) else {
            let problem = Diagnostic::error("T0301", format!("unknown variable `{name}`")).label(span, "");
            let close = did_you_mean(name, state.given.iter().map(|v| &*v.name));
            self.problems.push(match close {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help("variables are declared in the parentheses after the rule's name"),
            });
            return None;
        };
        let variable = &state.given[at];
        let running = state.within.as_ref().map(|(_, i)| i);
        let problem = match (variable.indexed, index) {
            (true, None) => Some((
                format!("`{name}` is a family of values"),
                format!("its members are `{name}[i]`, inside `… for i in 0..n`"),
            )),
            (false, Some(_)) => Some((
                format!("`{name}` is one value"),
                format!("declare a family: `{name}[i]` among the variables"),
            )),
            (true, Some(i)) if running != Some(i) => Some((
                format!("`{i}` is not the index of a comprehension here"),
                "a member must be inside `… for i in 0..n` and have the index `i`".to_owned(),
            )),
            _ => None,
        };
        if let Some((message, help)) = problem {
            self.problems
                .push(Diagnostic::error("T0301", message).label(span, "").help(help));
            return None;
        }
        if let Some(&known) = state.variables.get(&at) {
            return Some(known);
        }
        let node = PatternNode::Variable(at);
        let id = if variable.indexed {
            state.push(node)
        } else {
            state.pattern.push(node, None)
        };
        state.variables.insert(at, id);
        Some(id)
    }

    /// An operand, or a comprehension of operands.
    pub(super) fn item(&mut self, id: ExprId, state: &mut SideState<'_>, depth: usize) -> Option<Item> {
        let ExprKind::Comprehension { body, var, iter, cond } = self.ast.kind(id) else {
            return self.pattern(id, state, depth).map(Item::One);
        };
        let span = self.ast.span(id);
        let refuse = |this: &mut Self, span: Span, message: &str, help: &str| {
            this.problems
                .push(Diagnostic::error("T0308", message).label(span, "").help(help));
            None
        };
        if state.within.is_some() {
            return refuse(
                self,
                span,
                "a comprehension inside a comprehension is not allowed in a pattern",
                "name the inner values by a second rule, or list them",
            );
        }
        if let Some(cond) = cond {
            return refuse(
                self,
                self.ast.span(*cond),
                "a comprehension of a pattern has no `if`",
                "all members are matched; put conditions on them after `where`",
            );
        }
        let Some(count) = self.count(*iter) else {
            return refuse(
                self,
                self.ast.span(*iter),
                "a comprehension of a pattern runs from 0 to a name or a number",
                "write `for i in 0..n`: the match binds `n`",
            );
        };
        if let Count::Bind(name) = &count {
            state.bound.insert(name.clone());
        }
        state.pattern.families.push(Family {
            index: var.name.clone(),
            count,
        });
        let family = FamilyId(state.pattern.families.len() as u32 - 1);
        state.within = Some((family, var.name.clone()));
        let body = self.pattern(*body, state, depth + 1);
        state.within = None;
        Some(Item::Each(body?, family))
    }

    pub(super) fn items(&mut self, ids: &[ExprId], state: &mut SideState<'_>, depth: usize) -> Option<Vec<Item>> {
        let items: Vec<Option<Item>> = ids.iter().map(|&a| self.item(a, state, depth + 1)).collect();
        items.into_iter().collect()
    }

    fn count(&self, iter: ExprId) -> Option<Count> {
        let ExprKind::Range { start, end } = self.ast.kind(iter) else {
            return None;
        };
        if !start.is_none_or(|s| matches!(self.ast.kind(s), ExprKind::Int { value: 0, .. })) {
            return None;
        }
        match self.ast.kind((*end)?) {
            ExprKind::Int { value, .. } => u32::try_from(*value).ok().filter(|n| *n > 0).map(Count::Exactly),
            ExprKind::Name(name) => Some(Count::Bind(name.clone())),
            _ => None,
        }
    }

    fn no_place(&mut self, span: Span) {
        self.problems.push(
            Diagnostic::error("T0308", "this is not allowed in a pattern")
                .label(span, "")
                .help(
                    "patterns consist of variables, literals, calls, tuples, projections; conditions go after `where`",
                ),
        );
    }
}
