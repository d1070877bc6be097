//! The text of a rule with a few members in place of any number.

use super::{Reader, each, of_all};
use tautomer_lang::ast::{ExprId, ExprKind, LetNames, RuleClass};

impl Reader<'_> {
    /// The text of the rule with so many members.
    pub(super) fn with(&self, n: usize) -> Option<String> {
        let slice = |start: u32, end: u32| self.text.get(start as usize..end as usize);
        let mut params = Vec::new();
        for param in &self.rule.params {
            if param.index.is_none() {
                params.push(slice(param.span.start, param.span.end)?.to_owned());
                continue;
            }
            let class = if param.class == RuleClass::Param { ": param" } else { "" };
            params.extend((0..n).map(|k| format!("{}{class}", self.of_member(&param.name.name, k))));
        }
        let source = self.render(self.rule.source.outputs, n, None)?;
        let mut target = String::new();
        for definition in &self.rule.target.lets {
            let LetNames::One(name) = &definition.names else {
                return None;
            };
            target.push_str(&format!(
                "let {} = {}; ",
                name.name,
                self.render(definition.value, n, None)?
            ));
        }
        target.push_str(&format!("({})", self.render(self.rule.target.outputs, n, None)?));
        let conditions: Option<Vec<String>> = self
            .rule
            .conditions
            .iter()
            .filter(|&&id| !self.is_of_number(id))
            .map(|&id| self.render(id, n, None))
            .collect();
        let conditions = conditions?;
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!("where {}", conditions.join(", ")),
        };
        let numerics = self.rule.numerics.as_ref()?.span;
        Some(format!(
            "/// Members.\nrule {}({}) {{ ({source}) => {target} {conditions} {} }}",
            self.rule.name.name,
            params.join(", "),
            slice(numerics.start, numerics.end)?
        ))
    }

    /// The name of one member.
    fn of_member(&self, family: &str, k: usize) -> String {
        let mut name = format!("{family}_{k}");
        while self.text.contains(&name) {
            name.push('_');
        }
        name
    }

    /// The text of an expression with so many members; in a comprehension, with one of them in place of the index.
    fn render(&self, id: ExprId, n: usize, at: Option<(&str, usize)>) -> Option<String> {
        let ast = self.ast;
        if let Some((body, var)) = of_all(ast, id, self.count) {
            let all: Option<Vec<String>> = (0..n).map(|k| self.render(body, n, Some((var, k)))).collect();
            let all: Vec<String> = all?.into_iter().map(|one| format!("({one})")).collect();
            return Some(format!("({})", all.join(" && ")));
        }
        if let Some((body, var, _)) = each(ast, id).filter(|(.., count)| *count == self.count) {
            let all: Option<Vec<String>> = (0..n).map(|k| self.render(body, n, Some((var, k)))).collect();
            return Some(all?.join(", "));
        }
        match (ast.kind(id), at) {
            (ExprKind::Index { base, index }, _) => {
                if let ExprKind::Name(name) = ast.kind(*base)
                    && self.families.contains_key(&**name)
                {
                    let k = match (ast.kind(*index), at) {
                        (ExprKind::Name(own), Some((var, k))) if **own == *var => k,
                        _ => usize::try_from(self.int(*index)?).ok()?,
                    };
                    return Some(self.of_member(name, k));
                }
            }
            (ExprKind::Field { base, name }, Some((var, k))) if name.as_str() == var => {
                return Some(format!("{}.{k}", self.render(*base, n, at)?));
            }
            (ExprKind::Name(name), _) if self.families.contains_key(&**name) || **name == *self.count => return None,
            _ => {}
        }
        let span = ast.span(id);
        let mut parts = ast.operands(id);
        parts.sort_by_key(|&part| ast.span(part).start);
        let (mut out, mut done) = (String::new(), span.start);
        for part in parts {
            let own = ast.span(part);
            out.push_str(self.text.get(done as usize..own.start as usize)?);
            out.push_str(&self.render(part, n, at)?);
            done = own.end;
        }
        out.push_str(self.text.get(done as usize..span.end as usize)?);
        Some(out)
    }
}
