//! Attributes of a declaration: their kinds and defaults.

use tautomer_diag::{Diagnostic, did_you_mean};
use tautomer_lang::ast::{AttrDecl, AttrKindDecl, ExprId};
use tautomer_op::{AttrDef, AttrKind, AttrValue, AxisOf, Default as AttrDefault};

use super::{Checker, invalid, leaked};
use crate::term;

/// The kinds of attributes, as written.
const KINDS: &[(&str, AttrKind)] = &[
    ("int", AttrKind::Int),
    ("float", AttrKind::Float),
    ("bool", AttrKind::Bool),
    ("string", AttrKind::Str),
    ("type", AttrKind::DType),
    ("tensor", AttrKind::Tensor),
    ("axis", AttrKind::Axis(AxisOf::Input)),
];

/// The kinds of attributes that are lists, as written inside the brackets.
const LISTS: &[(&str, AttrKind)] = &[
    ("int", AttrKind::Ints),
    ("float", AttrKind::Floats),
    ("string", AttrKind::Strs),
    ("axis", AttrKind::Axes(AxisOf::Input)),
];

impl Checker<'_> {
    pub(super) fn attr(&mut self, attr: &AttrDecl) -> Option<AttrDef> {
        let kind = self.kind(&attr.kind)?;
        let mut def = AttrDef::new(
            leaked(attr.name.as_str()),
            kind,
            AttrDefault::Required,
            leaked(attr.doc.as_deref().unwrap_or_default()),
        );
        if let (true, Some(default)) = (attr.optional, attr.default) {
            self.problems.push(
                invalid(format!(
                    "attribute `{}` has a default, so it is never without a value",
                    def.name
                ))
                .label(self.decl.ast.span(default), "its value when left out")
                .help("remove the `?`"),
            );
            return None;
        }
        def.default = match attr.default {
            Some(default) => self.default(&def, default)?,
            None if attr.optional => AttrDefault::None,
            None => AttrDefault::Required,
        };
        Some(def)
    }

    fn kind(&mut self, kind: &AttrKindDecl) -> Option<AttrKind> {
        let (known, word, list) = match kind {
            AttrKindDecl::OneOf(texts, _) => {
                let texts: Vec<&'static str> = texts.iter().map(|text| leaked(text)).collect();
                return Some(AttrKind::OneOf(texts.leak()));
            }
            AttrKindDecl::One(word) => (KINDS, word, false),
            AttrKindDecl::List(word) => (LISTS, word, true),
        };
        let found = known.iter().find(|(name, _)| *name == word.as_str());
        if let Some((_, kind)) = found {
            return Some(*kind);
        }
        let what = match list {
            true => format!("attributes are not lists of `{}`", word.name),
            false => format!("`{}` is no kind of attribute", word.name),
        };
        let names: Vec<String> = KINDS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let lists: Vec<String> = LISTS.iter().map(|(name, _)| format!("[{name}]")).collect();
        let problem = invalid(what).label(word.span, "");
        self.problems
            .push(match did_you_mean(word.as_str(), known.iter().map(|(name, _)| *name)) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help(format!(
                    "the kinds are {}, {}, and alternatives such as `\"linear\" | \"nearest\"`",
                    names.join(", "),
                    lists.join(", ")
                )),
            });
        None
    }

    fn default(&mut self, attr: &AttrDef, id: ExprId) -> Option<AttrDefault> {
        let ast = &*self.decl.ast;
        let value = match term::eval(ast, id, &term::NoNames) {
            Ok(value) => value,
            Err(e) => {
                let problem = Diagnostic::error("T0106", e.message).label(e.span, "");
                self.problems.push(e.help.into_iter().fold(problem, Diagnostic::help));
                return None;
            }
        };
        let coerced = term::to_attr(&value).and_then(|v| attr.coerce(v));
        let default = coerced.as_ref().and_then(|value| {
            Some(match value {
                AttrValue::Bool(v) => AttrDefault::Bool(*v),
                AttrValue::Int(d) => AttrDefault::Int(d.as_const()?),
                AttrValue::Ints(_) => AttrDefault::Ints(value.as_ints()?.leak()),
                AttrValue::Float(v) => AttrDefault::Float(v.0),
                AttrValue::Str(text) => AttrDefault::Str(leaked(text)),
                AttrValue::DType(dtype) => AttrDefault::DType(*dtype),
                _ => return None,
            })
        });
        if default.is_none() {
            let problem = match coerced {
                Some(_) => invalid(format!("an attribute that takes {} has no default", attr.expects())).help(format!(
                    "write `{}: …?`: it may then be left out, and the body decides",
                    attr.name
                )),
                None => Diagnostic::error(
                    "T0103",
                    format!(
                        "`{}` takes {}, and this is {}",
                        attr.name,
                        attr.expects(),
                        term::kind(&value)
                    ),
                ),
            };
            self.problems.push(problem.label(ast.span(id), ""));
        }
        default
    }
}
