//! From syntax trees to targets; every problem is collected.

mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, File, TARGETS};
use super::{Kernels, Limit, Machine, Opset, Target, TargetFormat};
use crate::diag::{Diagnostic, Diagnostics, Span, did_you_mean};
use crate::formats::onnx::{NEWEST_OPSET, OLDEST_OPSET};
use crate::lang::ast::{ExprId, Ident, OpRef, TargetClauseKind, TargetDecl};
use crate::op::{OpDef, Scope};
use crate::rule_files;
use crate::tensor::DType;

/// Checks targets, and those that they extend.
pub(super) struct Checker<'a> {
    scope: &'a Scope,
    pub(super) problems: Diagnostics,
    /// The targets that are being checked: the file and the name of each.
    open: Vec<(String, Arc<str>)>,
}

/// A target that is being put together.
struct Draft<'f> {
    file: &'f File,
    target: Target,
    /// Clauses that a target may have only once, and where they are.
    once: BTreeMap<&'static str, Span>,
    /// Operators that clauses name, and where.
    named: Vec<(&'static OpDef, Span)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(scope: &'a Scope) -> Checker<'a> {
        Checker {
            scope,
            problems: Diagnostics::new(),
            open: Vec::new(),
        }
    }

    fn report(&mut self, file: &File, problem: Diagnostic) {
        let problem = problem.in_source(&file.source);
        // A target that two others extend is checked for each.
        let same = |known: &Diagnostic| known.message == problem.message && known.labels == problem.labels;
        if !self.problems.iter().any(same) {
            self.problems.push(problem);
        }
    }

    pub(super) fn named_twice(&mut self, file: &File) {
        let targets = &file.parsed.targets;
        for (i, target) in targets.iter().enumerate() {
            if let Some(first) = targets[..i].iter().find(|other| other.name.name == target.name.name) {
                let problem = Diagnostic::error("T0332", format!("two targets are called `{}`", target.name.as_str()))
                    .label(target.name.span, "again")
                    .secondary(first.name.span, "first here");
                self.report(file, problem.help("rename one of them"));
            }
        }
    }

    /// The target with that number in a file.
    pub(super) fn target(&mut self, file: &File, i: usize) -> Option<Target> {
        let decl = file.parsed.targets.get(i)?;
        self.open.push((file.source.name.clone(), decl.name.name.clone()));
        let found = self.put_together(file, decl);
        self.open.pop();
        found
    }

    fn put_together(&mut self, file: &File, decl: &TargetDecl) -> Option<Target> {
        let mut draft = Draft {
            file,
            target: self.base(file, decl)?,
            once: BTreeMap::new(),
            named: Vec::new(),
        };
        draft.target.name = decl.name.name.clone();
        draft.target.doc = decl.doc.clone().unwrap_or_default();
        // Declarations come first, since other clauses name what they declare.
        for clause in &decl.clauses {
            if let TargetClauseKind::Operators(paths) = &clause.kind {
                paths.iter().for_each(|path| self.declarations(&mut draft, path));
            }
        }
        for clause in &decl.clauses {
            self.clause(&mut draft, &clause.kind, clause.span);
        }
        self.whole(&draft, decl);
        Some(draft.target)
    }

    /// The target that this one extends, or a target that has everything.
    fn base(&mut self, file: &File, decl: &TargetDecl) -> Option<Target> {
        let mut extended = decl.clauses.iter().filter_map(|clause| match &clause.kind {
            TargetClauseKind::Extends { name, is_path } => Some((name, *is_path, clause.span)),
            _ => None,
        });
        let Some((name, is_path, span)) = extended.next() else {
            return Some(Target {
                name: decl.name.name.clone(),
                doc: String::new(),
                format: TargetFormat::Program,
                opset: Opset::Model,
                kernels: Kernels::Any,
                only: None,
                denied: BTreeSet::new(),
                declared: BTreeSet::new(),
                scope: self.scope.clone(),
                types: None,
                types_of: BTreeMap::new(),
                limits: Vec::new(),
                fixed_shapes: false,
                rules: Vec::new(),
                machine: Machine::default(),
                factors: BTreeMap::new(),
            });
        };
        for (_, _, again) in extended {
            let problem = Diagnostic::error("T0009", "`extends` written twice")
                .label(again, "again")
                .secondary(span, "first here");
            self.report(file, problem.help("a target extends one other target"));
        }
        let (other, i) = self.extended(file, decl, name, is_path)?;
        let key = (
            other.source.name.clone(),
            other.parsed.targets.get(i)?.name.name.clone(),
        );
        if let Some(from) = self.open.iter().position(|open| *open == key) {
            let cycle: Vec<String> = self.open[from..]
                .iter()
                .chain([&key])
                .map(|(_, name)| format!("`{name}`"))
                .collect();
            // Each target of the cycle finds it; one report is enough.
            if self.open[from..].iter().all(|open| key <= *open) {
                let problem = Diagnostic::error("T0332", "targets extend each other in a cycle").label(span, "here");
                self.report(file, problem.note(cycle.join(" extends ")));
            }
            return None;
        }
        self.target(&other, i)
    }

    /// The file and the number of the target that `name` means.
    fn extended(&mut self, file: &File, decl: &TargetDecl, name: &Ident, is_path: bool) -> Option<(File, usize)> {
        if is_path {
            let read = File::read(&file.folder.join(name.as_str()));
            return match read.and_then(|other| Ok((other.main()?, other))) {
                Ok((i, other)) => Some((other, i)),
                Err(found) => {
                    let problem = Diagnostic::error("T0331", format!("the target {:?} cannot be used", name.as_str()));
                    self.report(file, problem.label(name.span, "named here"));
                    self.problems.extend(found);
                    None
                }
            };
        }
        // A target may extend the one of its own name that comes with the tool.
        let is_it = |target: &TargetDecl| target.name.name == name.name && target.name.span != decl.name.span;
        let here = file.parsed.targets.iter().position(is_it);
        let itself = name.name == decl.name.name && file.source.name.starts_with("targets/");
        if let Some(i) = here.or(itself.then_some(0)) {
            return Some((file.clone(), i));
        }
        match File::shipped(name.as_str()) {
            Some(Ok(other)) => Some((other, 0)),
            Some(Err(found)) => {
                self.problems.extend(found);
                None
            }
            None => {
                let others = file.parsed.targets.iter().map(|target| target.name.as_str());
                let known = others
                    .filter(|other| *other != decl.name.as_str())
                    .chain(TARGETS.iter().copied());
                let mut problem = file::unknown(name.as_str()).label(name.span, "");
                if let Some(close) = did_you_mean(name.as_str(), known) {
                    problem.help = vec![format!("did you mean `{close}`?")];
                }
                self.report(file, problem);
                None
            }
        }
    }

    /// Adds the operators that a file declares.
    fn declarations(&mut self, draft: &mut Draft<'_>, path: &Ident) {
        let Some(found) = self.path(draft.file, path, "declarations") else {
            return;
        };
        let loaded = rule_files::sources(&[found]).and_then(|sources| rule_files::load(sources, &draft.target.scope));
        match loaded {
            Ok(set) => {
                draft
                    .target
                    .declared
                    .extend(set.operators.iter().map(|(_, def)| def.name));
                draft.target.scope.extend(&set.operators);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// The name of a set that comes with the tool, or a path that exists, relative to the file.
    fn path(&mut self, file: &File, written: &Ident, what: &str) -> Option<PathBuf> {
        if rule_files::is_named_set(Path::new(written.as_str())) {
            return Some(PathBuf::from(written.as_str()));
        }
        let path = file.folder.join(written.as_str());
        if path.exists() {
            return Some(path);
        }
        let problem = Diagnostic::error("T0331", format!("there are no {what} {:?}", written.as_str()))
            .label(written.span, format!("{} does not exist", path.display()));
        let sets = rule_files::set_names();
        let close = did_you_mean(written.as_str(), sets.iter().map(String::as_str));
        let problem = match close {
            Some(close) => problem.help(format!("did you mean {close:?}?")),
            None => problem.help("a file, relative to this one, or a set that comes with the tool: \"built-in\""),
        };
        self.report(file, problem);
        None
    }

    fn clause(&mut self, draft: &mut Draft<'_>, kind: &TargetClauseKind, span: Span) {
        match kind {
            TargetClauseKind::Extends { .. } | TargetClauseKind::Operators(_) => {}
            TargetClauseKind::Format(word) => {
                self.once(draft, "format", span);
                if let Some(format) = self.word(draft.file, word, "format", &TargetFormat::ALL) {
                    draft.target.format = format;
                }
            }
            TargetClauseKind::Opset(word) => {
                self.once(draft, "opset", span);
                if let Some(opset) = self.opset(draft.file, word) {
                    draft.target.opset = opset;
                }
            }
            TargetClauseKind::Kernels(word) => {
                self.once(draft, "kernels", span);
                if let Some(kernels) = self.word(draft.file, word, "table of kernels", &Kernels::ALL) {
                    draft.target.kernels = kernels;
                }
            }
            TargetClauseKind::Static => {
                self.once(draft, "static", span);
                draft.target.fixed_shapes = true;
            }
            TargetClauseKind::Only(operators) => {
                self.once(draft, "only", span);
                let found = self.listed(draft, operators);
                draft.target.denied.retain(|name| !found.contains(name));
                draft.target.only = Some(found);
            }
            TargetClauseKind::Allow(operators) => {
                let found = self.listed(draft, operators);
                draft.target.denied.retain(|name| !found.contains(name));
                if let Some(only) = &mut draft.target.only {
                    only.extend(&found);
                }
            }
            TargetClauseKind::Deny(operators) => {
                let found = self.operators(draft, operators);
                draft.target.denied.extend(found.iter().map(|(def, _)| def.name));
            }
            TargetClauseKind::Types { names, operators } => {
                let types: BTreeSet<DType> = names.iter().filter_map(|name| self.dtype(draft.file, name)).collect();
                if operators.is_empty() {
                    self.once(draft, "types", span);
                    draft.target.types = Some(types);
                } else {
                    for (def, _) in self.operators(draft, operators) {
                        draft.target.types_of.insert(def.name, types.clone());
                    }
                }
            }
            TargetClauseKind::Where { conditions, operators } => self.limits(draft, conditions, operators),
            TargetClauseKind::Rules(paths) => {
                for path in paths {
                    if let Some(found) = self.path(draft.file, path, "rules")
                        && !draft.target.rules.contains(&found)
                    {
                        draft.target.rules.push(found);
                    }
                }
            }
            TargetClauseKind::Machine(values) => {
                self.once(draft, "machine", span);
                values
                    .iter()
                    .for_each(|(name, value)| self.machine(draft, name, *value));
            }
            TargetClauseKind::Cost {
                operators,
                factor,
                factor_span,
            } => {
                if !factor.is_finite() || *factor <= 0.0 {
                    let problem = Diagnostic::error("T0332", "the factor of a cost must be positive");
                    self.report(
                        draft.file,
                        problem
                            .label(*factor_span, "")
                            .help("to exclude an operator, write `deny`"),
                    );
                }
                for (def, _) in self.operators(draft, operators) {
                    draft.target.factors.insert(def.name, *factor);
                }
            }
        }
    }

    fn once(&mut self, draft: &mut Draft<'_>, what: &'static str, span: Span) {
        if let Some(first) = draft.once.insert(what, span) {
            let problem = Diagnostic::error("T0009", format!("`{what}` written twice"))
                .label(span, "again")
                .secondary(first, "first here");
            self.report(draft.file, problem);
        }
    }

    fn opset(&mut self, file: &File, word: &Ident) -> Option<Opset> {
        let range = OLDEST_OPSET..=NEWEST_OPSET;
        match (word.as_str(), word.as_str().parse::<i64>()) {
            ("model", _) => Some(Opset::Model),
            ("newest", _) => Some(Opset::At(NEWEST_OPSET)),
            (_, Ok(opset)) if range.contains(&opset) => Some(Opset::At(opset)),
            _ => {
                let problem = Diagnostic::error("T0332", format!("there is no operator set `{}`", word.as_str()))
                    .label(word.span, "")
                    .help(format!(
                        "write a number from {OLDEST_OPSET} to {NEWEST_OPSET}, `newest` or `model`"
                    ));
                self.report(file, problem);
                None
            }
        }
    }

    fn machine(&mut self, draft: &mut Draft<'_>, name: &Ident, value: f64) {
        let machine = &mut draft.target.machine;
        let place = match name.as_str() {
            "launch" => &mut machine.launch,
            "gflops" => &mut machine.gflops,
            "bandwidth" => &mut machine.bandwidth,
            other => {
                let problem = Diagnostic::error("T0331", format!("a machine has no `{other}`")).label(name.span, "");
                let known = ["launch", "gflops", "bandwidth"];
                let problem = match did_you_mean(other, known) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help(
                        "it has `launch` (microseconds to start a call), `gflops` and `bandwidth` (gigabytes a second)",
                    ),
                };
                return self.report(draft.file, problem);
            }
        };
        if value > 0.0 && value.is_finite() {
            *place = value;
        } else {
            let problem = Diagnostic::error("T0332", format!("`{}` must be positive", name.as_str()));
            self.report(draft.file, problem.label(name.span, ""));
        }
    }

    /// Checks that concern several clauses.
    fn whole(&mut self, draft: &Draft<'_>, decl: &TargetDecl) {
        let target = &draft.target;
        if let Some(only) = &target.only
            && only.iter().all(|name| target.denied.contains(name))
        {
            let problem = Diagnostic::error("T0332", "the target has no operator").label(decl.name.span, "");
            self.report(draft.file, problem.help("name some: `only conv, relu`"));
        }
        if target.format != TargetFormat::Onnx {
            return;
        }
        for (def, span) in &draft.named {
            let name = def.name;
            let problem = match (def.onnx, target.opset) {
                _ if def.foreign().is_some() => continue,
                (None, _) => Diagnostic::error("T0332", format!("`{name}` cannot be written as ONNX"))
                    .help("leave it out: where a graph has it, its body takes its place"),
                (Some(onnx), Opset::At(opset)) if i64::from(onnx.since) > opset => {
                    Diagnostic::error("T0332", format!("operator set {opset} has no `{name}`")).help(format!(
                        "ONNX has it since operator set {}: raise `opset`, or leave `{name}` out",
                        onnx.since
                    ))
                }
                _ => continue,
            };
            self.report(draft.file, problem.label(*span, ""));
        }
    }
}
