//! Targets.

use super::super::ast::*;
use super::layout::{COLUMNS, Printer};
use super::{format_expr, quote};

impl<'a> Printer<'a> {
    pub(super) fn target_file(&mut self, file: &'a TargetFile) {
        for target in &file.targets {
            self.target(target);
        }
        self.rest(0);
    }

    fn target(&mut self, target: &'a TargetDecl) {
        let head_end = target.name.span.end;
        self.item(&target.doc, head_end, true);
        self.text(&format!("target {} {{", target.name.as_str()));
        for clause in &target.clauses {
            self.line(2);
            self.comments_before(clause.span.start, 2);
            self.target_clause(&clause.kind);
            self.end_line(clause.span.end);
        }
        self.comments_inside(target.span.end, 2);
        self.start_line(0);
        self.text("}");
        self.end_item(target.span.end);
    }

    fn target_clause(&mut self, clause: &TargetClauseKind) {
        use TargetClauseKind as K;
        let words = |names: &[Ident]| names.iter().map(|name| name.as_str().to_owned()).collect();
        let strings = |names: &[Ident]| names.iter().map(|name| quote(name.as_str())).collect();
        let (word, items, end): (&str, Vec<String>, String) = match clause {
            K::Extends { name, is_path: true } => ("extends", vec![quote(name.as_str())], String::new()),
            K::Extends { name, .. } => ("extends", vec![name.as_str().to_owned()], String::new()),
            K::Format(name) => ("format", vec![name.as_str().to_owned()], String::new()),
            K::Opset(name) => ("opset", vec![name.as_str().to_owned()], String::new()),
            K::Kernels(name) => ("kernels", vec![name.as_str().to_owned()], String::new()),
            K::Static => ("static", Vec::new(), String::new()),
            K::Operators(paths) => ("operators", strings(paths), String::new()),
            K::Rules(paths) => ("rules", strings(paths), String::new()),
            K::Only(operators) => ("only", op_refs(operators), String::new()),
            K::Allow(operators) => ("allow", op_refs(operators), String::new()),
            K::Deny(operators) => ("deny", op_refs(operators), String::new()),
            K::Types { names, operators } => ("types", words(names), for_operators(operators)),
            K::Where { conditions, operators } => {
                let conditions = conditions.iter().map(|&id| format_expr(self.ast, id)).collect();
                ("where", conditions, for_operators(operators))
            }
            K::Machine(values) => {
                let values = values
                    .iter()
                    .map(|(name, value)| format!("{} = {value}", name.as_str()));
                ("machine", values.collect(), String::new())
            }
            K::Cost { operators, factor, .. } => ("cost", op_refs(operators), format!(" * {factor}")),
        };
        self.listed(word, &items, &end);
    }

    /// A word and a list: on one line if it fits, else as many items on each of the lines below as fit.
    fn listed(&mut self, word: &str, items: &[String], end: &str) {
        self.text(word);
        let line = items.join(", ") + end;
        if items.is_empty() || self.fits(line.chars().count() as u32 + 1) {
            if !items.is_empty() {
                self.text(" ");
            }
            self.text(&line);
            return;
        }
        self.line(4);
        for (i, item) in items.iter().enumerate() {
            let item = match i + 1 == items.len() {
                true => format!("{item}{end}"),
                false => format!("{item},"),
            };
            let width = item.chars().count() as u32;
            if i > 0 && self.column + 1 + width > COLUMNS {
                self.line(4);
            } else if i > 0 {
                self.text(" ");
            }
            self.text(&item);
        }
    }
}

fn op_refs(operators: &[OpRef]) -> Vec<String> {
    let written = |operator: &OpRef| match operator.quoted {
        true => quote(operator.name.as_str()),
        false => operator.name.as_str().to_owned(),
    };
    operators.iter().map(written).collect()
}

fn for_operators(operators: &[OpRef]) -> String {
    match operators.is_empty() {
        true => String::new(),
        false => format!(" for {}", op_refs(operators).join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tautomer_diag::Source;

    use crate::{format_targets, parse_targets};

    #[test]
    fn targets_have_a_canonical_form() {
        let text = "// Mine.\n\n/// A device.\ntarget   a{extends \"b.target\" opset 17\n  // few\n  only conv,\"a::B\" // these\n  types f32 , f16 for conv\n where x.rank<=4,x.rank>0\n static machine launch=10,gflops=0.5 cost conv,relu*0.25\n // the end\n}\ntarget b { extends a rules \"built-in\" }";
        let formatted = |text: &str| {
            let file = parse_targets(Arc::new(Source::new("a.target", text)));
            format_targets(&file.unwrap_or_else(|e| panic!("{text}\n{}", e.render(false))))
        };
        let once = formatted(text);
        let expected = "// Mine.\n\n/// A device.\ntarget a {\n  extends \"b.target\"\n  opset 17\n  // few\n  only conv, \"a::B\" // these\n  types f32, f16 for conv\n  where x.rank <= 4, x.rank > 0\n  static\n  machine launch = 10, gflops = 0.5\n  cost conv, relu * 0.25\n  // the end\n}\n\ntarget b {\n  extends a\n  rules \"built-in\"\n}\n";
        assert_eq!(once, expected);
        assert_eq!(formatted(&once), once);
        let names: Vec<String> = (0..40).map(|i| format!("operator_{i}")).collect();
        let long = formatted(&format!("target c {{ only {} }}", names.join(",")));
        assert!(long.lines().all(|line| line.len() <= 100), "{long}");
        assert_eq!(formatted(&long), long);
    }
}
