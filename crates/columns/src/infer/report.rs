//! Messages about types.

use tautomer_diag::{Diagnostic, Span};

use super::{Infer, ItemKind, forms};
use crate::function::Function;
use crate::program::Literal;
use crate::types::{Type, TypeSet};

impl Infer<'_> {
    /// The type of an item in words, as far as it is known.
    pub(super) fn shown(&self, at: usize) -> String {
        let item = &self.items[at];
        match (&item.kind, item.types.only()) {
            (_, Some(ty)) => ty.to_string(),
            (ItemKind::Literal(Literal::Int(_)), _) if item.types == TypeSet::NUMBERS => {
                "an integer literal".to_owned()
            }
            (ItemKind::Literal(Literal::Float(_)), _) => "a float literal".to_owned(),
            (ItemKind::Literal(Literal::Str(_)), _) => "a string literal".to_owned(),
            (ItemKind::Literal(Literal::Null), _) => "null".to_owned(),
            _ => item.types.to_string(),
        }
    }

    pub(super) fn mismatch(&self, at: usize, items: &[usize], what: &str) -> Diagnostic {
        let mut problem = Diagnostic::error("T0204", format!("{what} have different types"));
        for &item in items.iter().filter(|&&item| item != at).take(8) {
            problem = problem.label(self.items[item].span, self.shown(item));
        }
        if items.contains(&at) && self.items[at].types != TypeSet::ALL {
            problem = problem.note(format!("used as {}", self.items[at].types));
        }
        problem.help("convert one of them: `cast(x, f64)`")
    }

    pub(super) fn no_signature(&self, at: usize, function: &'static Function, children: &[usize]) -> Diagnostic {
        let name = self.items[at].symbol.unwrap_or(function.name());
        let types: Vec<String> = children.iter().map(|&child| self.shown(child)).collect();
        let sets: Vec<TypeSet> = children.iter().map(|&child| self.items[child].types).collect();
        let fits = |result: TypeSet| {
            let mut found = TypeSet::NONE;
            for form in function.signatures.iter().filter(|form| form.takes(sets.len())) {
                if let Some(over) = form.fit(&sets, result) {
                    found = found.or(form.results(over));
                }
            }
            found
        };
        let possible = fits(TypeSet::ALL);
        let mut problem = if possible.is_empty() {
            Diagnostic::error("T0702", format!("`{name}` does not take ({})", types.join(", ")))
        } else {
            let wanted = self.items[at].types;
            Diagnostic::error(
                "T0702",
                format!("`{name}` returns {possible} here, and {wanted} is needed"),
            )
            .label(self.items[at].span, format!("must be {wanted}"))
        };
        for (&child, ty) in children.iter().zip(types) {
            problem = problem.label(self.items[child].span, ty);
        }
        let all = forms(function);
        for form in all.iter().take(8) {
            problem = problem.note(format!("{}{form}", function.name()));
        }
        if all.len() > 8 {
            problem = problem.note(format!("and {} others", all.len() - 8));
        }
        let floats = sets
            .iter()
            .any(|set| !set.is_empty() && set.without(TypeSet::FLOATS).is_empty());
        if name == "^" && floats {
            return problem
                .help("`^` is exclusive or; power is `**` or `power`, or `^` with the option `--caret-is-power`");
        }
        let numbers = sets.iter().all(|set| !set.and(TypeSet::NUMBERS).is_empty());
        if numbers && sets.len() > 1 {
            problem = problem.help("nothing is widened silently: convert one of them, as in `cast(x, f64)`");
        }
        problem
    }

    pub(super) fn too_large(&self, span: Span, value: i128, ty: Type) -> Diagnostic {
        let (low, high) = ty.range().unwrap_or_default();
        let problem = Diagnostic::error("T0203", format!("{value} is out of range of {ty}"))
            .label(span, format!("must be {ty}: {low} to {high}"));
        let wider = [Type::Int64, Type::UInt64]
            .into_iter()
            .find(|wider| wider.range().is_some_and(|(low, high)| (low..=high).contains(&value)));
        match wider {
            Some(wider) => problem.help(format!("write the suffix `{wider}`, or convert what it is used with")),
            None => problem,
        }
    }

    pub(super) fn ambiguous(&self, at: usize) -> Diagnostic {
        let item = &self.items[at];
        let mut problem = Diagnostic::error("T0703", "the type is ambiguous")
            .label(item.span, format!("could be {}", item.types))
            .help("write a suffix, as in `1i64`, or convert it: `cast(x, f64)`");
        if let Some(parent) = item.parent
            && let ItemKind::Call(function) = self.items[parent].kind
        {
            for form in forms(function).iter().take(8) {
                problem = problem.note(format!("{}{form}", function.name()));
            }
        }
        problem
    }
}
