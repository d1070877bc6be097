//! Calls in a pattern: operators, operator variables, and the patterns of their attributes.

use std::sync::Arc;

use super::super::pattern::{AttrPattern, Item, ListItem, PatternId, PatternNode};
use super::Checker;
use super::source::SideState;
use tautomer_diag::{Diagnostic, Span};
use tautomer_graph::term;
use tautomer_lang::ast::{Ast, Attrs, ExprId, ExprKind, RuleClass, UnaryOp};
use tautomer_lang::format_expr;
use tautomer_op::{AttrDef, Default as AttrDefault, OpDef};

impl Checker<'_> {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one call expression and the state of the walk"
    )]
    pub(super) fn call(
        &mut self,
        name: &str,
        name_span: Span,
        args: &[ExprId],
        attrs: Option<&Attrs>,
        span: Span,
        state: &mut SideState<'_>,
        depth: usize,
    ) -> Option<PatternId> {
        let spread = args
            .iter()
            .filter(|a| matches!(self.ast.kind(**a), ExprKind::Comprehension { .. }))
            .count();
        if let Some(variable) = state.operators.iter().position(|v| &*v.name == name) {
            return self.call_of(variable, args, attrs, span, state, depth);
        }
        let Some(def) = self.scope.find(name, false) else {
            self.unknown_operator(name, name_span);
            return None;
        };
        let fits = self.arity(def, args.len() - spread, spread > 0, span);
        self.constants_as_operands(def, args, attrs, span, state)?;
        let literal = |i: usize| {
            let attr = def.operands.get(i).and_then(|o| o.attr);
            attr.filter(|_| spread == 0 && is_literal(self.ast, args[i]))
        };
        let literals: Vec<Option<&'static str>> = (0..args.len()).map(literal).collect();
        // A constant passed where the operator has an attribute is that attribute, as in every graph.
        let mut operands = Some(Vec::with_capacity(args.len()));
        let kept = literals.iter().rposition(Option::is_none).map_or(0, |last| last + 1);
        for (arg, attr) in args.iter().zip(&literals).take(kept) {
            let item = match attr {
                Some(_) => Some(Item::One(state.push(PatternNode::Absent))),
                None => self.item(*arg, state, depth + 1),
            };
            operands = operands.zip(item).map(|(mut all, item)| {
                all.push(item);
                all
            });
        }
        let mut attrs = self.attributes(def, attrs, state)?;
        for (arg, name) in args.iter().zip(&literals) {
            let Some(i) = name.and_then(|name| def.attr_index(name)) else {
                continue;
            };
            if !matches!(attrs[i], AttrPattern::Default | AttrPattern::Any | AttrPattern::Rest(_)) {
                let name = def.attrs[i].name;
                self.problems.push(
                    Diagnostic::error(
                        "T0103",
                        format!("`{name}` is given both as an operand and as an attribute"),
                    )
                    .label(self.ast.span(*arg), "")
                    .help("remove one of them"),
                );
                return None;
            }
            attrs[i] = self.attribute(&def.attrs[i], *arg, state)?;
        }
        let node = PatternNode::Call {
            def,
            operands: operands.filter(|_| fits)?,
            attrs,
        };
        Some(state.push(node))
    }

    /// Reports constants that a pattern has as operands where every graph has attributes.
    fn constants_as_operands(
        &mut self,
        def: &'static OpDef,
        args: &[ExprId],
        attrs: Option<&Attrs>,
        span: Span,
        state: &SideState<'_>,
    ) -> Option<()> {
        let text = |id: ExprId| format_expr(self.ast, id);
        let constant = |i: usize| -> Option<(&'static str, &str)> {
            let attr = def.operands.get(i)?.attr?;
            let ExprKind::Name(name) = self.ast.kind(args[i]) else {
                return None;
            };
            let variable = state.given.iter().find(|v| v.name == *name)?;
            let is_constant = variable.class == RuleClass::Const || state.taken_for_constants.contains(name);
            is_constant.then_some((attr, &**name))
        };
        let found: Vec<(&str, &str)> = (0..args.len()).filter_map(constant).collect();
        if found.is_empty() {
            return Some(());
        }
        let operands = args.iter().enumerate().filter(|(i, arg)| {
            let literal = def.operands.get(*i).is_some_and(|o| o.attr.is_some()) && is_literal(self.ast, **arg);
            constant(*i).is_none() && !literal
        });
        let operands: Vec<String> = operands.map(|(_, arg)| text(*arg)).collect();
        let mut entries: Vec<String> = found.iter().map(|(attr, name)| format!("{attr} = {name}")).collect();
        for (i, arg) in args.iter().enumerate() {
            if let Some(attr) = def.operands.get(i).and_then(|o| o.attr)
                && is_literal(self.ast, *arg)
            {
                entries.push(format!("{attr} = {}", text(*arg)));
            }
        }
        if let Some(attrs) = attrs {
            entries.extend(
                attrs
                    .entries
                    .iter()
                    .map(|e| format!("{} = {}", e.name.name, text(e.value))),
            );
            entries.extend(attrs.rest.iter().map(|rest| format!("..{}", rest.name)));
        }
        let list = |words: Vec<String>| match words.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, more)) => format!("{} and {last}", more.join(", ")),
            None => String::new(),
        };
        let names = list(found.iter().map(|(_, name)| format!("`{name}`")).collect());
        let which = list(found.iter().map(|(attr, _)| format!("`{attr}`")).collect());
        let (constants, is, are) = match found.len() {
            1 => (
                "the constant",
                "as an operand: it is the attribute",
                "it is then not a variable",
            ),
            _ => (
                "the constants",
                "as operands: they are the attributes",
                "they are then not variables",
            ),
        };
        let written = format!("{}({}) {{{}}}", def.name, operands.join(", "), entries.join(", "));
        self.problems.push(
            Diagnostic::error(
                "T0311",
                format!("`{}` never has {constants} {names} {is} {which}", def.name),
            )
            .label(span, "never matches")
            .help(format!("write `{written}`, which binds {names}; {are}")),
        );
        None
    }

    fn call_of(
        &mut self,
        variable: usize,
        args: &[ExprId],
        attrs: Option<&Attrs>,
        span: Span,
        state: &mut SideState<'_>,
        depth: usize,
    ) -> Option<PatternId> {
        let operands = self.items(args, state, depth);
        let choices = &state.operators[variable].choices;
        let takes = |def: &&OpDef| {
            let (least, most) = def.arity();
            args.len() >= least && most.is_none_or(|m| args.len() <= m)
        };
        if !choices.iter().any(takes) {
            self.problems.push(
                Diagnostic::error(
                    "T0102",
                    format!(
                        "no operator that `{}` may stand for takes {} operand{}",
                        state.operators[variable].name,
                        args.len(),
                        if args.len() == 1 { "" } else { "s" }
                    ),
                )
                .label(span, "")
                .help("`unary` operators take one operand, `binary` ones two"),
            );
            return None;
        }
        let mut rest = None;
        if let Some(attrs) = attrs {
            if let Some(entry) = attrs.entries.first() {
                self.problems.push(
                    Diagnostic::error("T0103", "an operator variable has no named attributes")
                        .label(entry.name.span, "")
                        .help("`{..a}` binds all of them; without it, they have their defaults"),
                );
                return None;
            }
            rest = attrs.rest.as_ref().map(|r| r.name.clone());
            state.rest(rest.as_ref());
        }
        Some(state.push(PatternNode::CallOf {
            variable,
            operands: operands?,
            rest,
        }))
    }

    fn attributes(
        &mut self,
        def: &'static OpDef,
        attrs: Option<&Attrs>,
        state: &mut SideState<'_>,
    ) -> Option<Vec<AttrPattern>> {
        if let Some(attrs) = attrs
            && !self.attr_names(def, attrs)
        {
            return None;
        }
        let rest = attrs.and_then(|a| a.rest.as_ref()).map(|r| r.name.clone());
        state.rest(rest.as_ref());
        let mut out = Vec::with_capacity(def.attrs.len());
        for attr in def.attrs {
            let entry = attrs.and_then(|a| a.entries.iter().find(|e| e.name.as_str() == attr.name));
            out.push(match (entry, &rest) {
                (Some(entry), _) => self.attribute(attr, entry.value, state)?,
                (None, Some(rest)) => AttrPattern::Rest(rest.clone()),
                // An omitted required attribute may have any value.
                (None, None) if attr.default == AttrDefault::Required => AttrPattern::Any,
                (None, None) => AttrPattern::Default,
            });
        }
        Some(out)
    }

    fn attribute(&mut self, attr: &AttrDef, id: ExprId, state: &mut SideState<'_>) -> Option<AttrPattern> {
        let ast = self.ast;
        let span = ast.span(id);
        match ast.kind(id) {
            ExprKind::Name(name) if is_free(name) => {
                state.bound.insert(name.clone());
                return Some(AttrPattern::Bind(name.clone()));
            }
            ExprKind::Wildcard => return Some(AttrPattern::Any),
            ExprKind::Index { base, index } => {
                if let (ExprKind::Name(name), ExprKind::Name(i), Some((_, running))) =
                    (ast.kind(*base), ast.kind(*index), &state.within)
                    && i == running
                    && !state.given.iter().any(|v| v.name == *name)
                {
                    state.bound.insert(name.clone());
                    return Some(AttrPattern::BindEach(name.clone()));
                }
            }
            ExprKind::List(items) => {
                let lone = |i: &ExprId| {
                    matches!(
                        ast.kind(*i),
                        ExprKind::Name(_) | ExprKind::Wildcard | ExprKind::Int { .. }
                    )
                };
                let open = |i: &ExprId| matches!(ast.kind(*i), ExprKind::Name(_) | ExprKind::Wildcard);
                if items.iter().all(lone) && items.iter().any(open) {
                    let list = items.iter().map(|item| match ast.kind(*item) {
                        ExprKind::Name(name) => {
                            state.bound.insert(name.clone());
                            ListItem::Bind(name.clone())
                        }
                        ExprKind::Int { value, .. } => ListItem::Int(i64::try_from(*value).unwrap_or(i64::MAX)),
                        _ => ListItem::Any,
                    });
                    return Some(AttrPattern::List(list.collect()));
                }
            }
            _ => {}
        }
        let value = match term::eval(ast, id, &term::NoNames) {
            Ok(value) => value,
            // An expression with unbound names is computed for each match.
            Err(_) if has_open_name(ast, id, &mut Vec::new()) => {
                state.computed.push(id);
                return Some(AttrPattern::Computed(id));
            }
            Err(e) => {
                let help = e.help.unwrap_or_else(|| {
                    "an attribute of a pattern is a value, a name to bind, a list of these, or an expression over names bound elsewhere".to_owned()
                });
                self.problems
                    .push(Diagnostic::error("T0106", e.message).label(e.span, "").help(help));
                return None;
            }
        };
        match term::to_attr(&value).and_then(|v| attr.coerce(v)) {
            Some(v) => Some(AttrPattern::Value(v)),
            None => {
                self.problems.push(
                    Diagnostic::error(
                        "T0103",
                        format!(
                            "`{}` takes {}, and this is {}",
                            attr.name,
                            attr.expects(),
                            term::kind(&value)
                        ),
                    )
                    .label(span, ""),
                );
                None
            }
        }
    }
}

/// True if the name is neither an element type nor `none`.
fn is_free(name: &str) -> bool {
    name.parse::<tautomer_tensor::DType>().is_err() && name != "none"
}

/// True for numbers and lists.
pub(super) fn is_literal(ast: &Ast, id: ExprId) -> bool {
    match ast.kind(id) {
        ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::List(_) => true,
        ExprKind::Unary {
            op: UnaryOp::Neg,
            operand,
        } => is_literal(ast, *operand),
        _ => false,
    }
}

/// True if the expression has a name that is not bound by one of its comprehensions.
fn has_open_name(ast: &Ast, id: ExprId, bound: &mut Vec<Arc<str>>) -> bool {
    match ast.kind(id) {
        ExprKind::Name(name) => is_free(name) && !bound.contains(name),
        ExprKind::Comprehension { body, var, iter, cond } => {
            if has_open_name(ast, *iter, bound) {
                return true;
            }
            bound.push(var.name.clone());
            let open = has_open_name(ast, *body, bound) || cond.is_some_and(|c| has_open_name(ast, c, bound));
            bound.pop();
            open
        }
        _ => ast.operands(id).into_iter().any(|part| has_open_name(ast, part, bound)),
    }
}
