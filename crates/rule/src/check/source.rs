//! The source of a rule as a pattern, and the checks on it as a whole.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::pattern::{FamilyId, Item, OpVariable, Pattern, PatternId, PatternNode, Variable};
use super::{Checker, Depth};
use tautomer_diag::Diagnostic;
use tautomer_graph::term::{Reads, term_function};
use tautomer_lang::ast::{ExprId, ExprKind, LetNames, Rule as RuleAst, Side};

/// One side of a rule while it becomes a pattern.
pub(super) struct SideState<'a> {
    pub(super) pattern: Pattern,
    pub(super) names: FxHashMap<Arc<str>, PatternId>,
    pub(super) variables: FxHashMap<usize, PatternId>,
    pub(super) bound: FxHashSet<Arc<str>>,
    pub(super) rests: Vec<Arc<str>>,
    /// Computed attributes, whose names are checked once all others are known.
    pub(super) computed: Vec<ExprId>,
    pub(super) given: &'a [Variable],
    pub(super) operators: &'a [OpVariable],
    /// Variables that a condition treats as constants.
    pub(super) taken_for_constants: FxHashSet<Arc<str>>,
    /// The current comprehension, with its index.
    pub(super) within: Option<(FamilyId, Arc<str>)>,
}

impl SideState<'_> {
    /// The name of the variable, if the node is one.
    pub(super) fn variable_name(&self, id: PatternId) -> Option<Arc<str>> {
        let (i, _) = self.variables.iter().find(|(_, at)| **at == id)?;
        Some(self.given[*i].name.clone())
    }

    pub(super) fn push(&mut self, node: PatternNode) -> PatternId {
        let within = self.within.as_ref().map(|(family, _)| *family);
        self.pattern.push(node, within)
    }

    pub(super) fn rest(&mut self, name: Option<&Arc<str>>) {
        if let Some(name) = name
            && !self.rests.contains(name)
        {
            self.rests.push(name.clone());
        }
    }
}

impl Checker<'_> {
    /// The pattern of one side and the rests it binds; all names of the other side are checked against it.
    pub(super) fn side(
        &mut self,
        rule: &RuleAst,
        source: &Side,
        target: &Side,
        variables: &[Variable],
        operators: &[OpVariable],
    ) -> Option<(Pattern, Vec<Arc<str>>)> {
        let mut state = SideState {
            pattern: Pattern::default(),
            names: FxHashMap::default(),
            variables: FxHashMap::default(),
            bound: FxHashSet::default(),
            rests: Vec::new(),
            computed: Vec::new(),
            given: variables,
            operators,
            taken_for_constants: self.taken_for_constants(rule),
            within: None,
        };
        let mut ok = true;
        for item in &source.lets {
            let LetNames::One(name) = &item.names else {
                self.problems.push(
                    Diagnostic::error("T0308", "a pattern names one value at a time")
                        .label(item.span, "")
                        .help("name the tuple, and use `.0`, `.1`"),
                );
                return None;
            };
            match self.pattern(item.value, &mut state, 0) {
                Some(id) => {
                    state.names.insert(name.name.clone(), id);
                    state.pattern.named.push((name.name.clone(), id));
                }
                None => ok = false,
            }
        }
        let roots = self.outputs(source.outputs);
        for root in &roots {
            match self.item(*root, &mut state, 0) {
                Some(item) => state.pattern.outputs.push(item),
                None => ok = false,
            }
        }
        if !ok {
            return None;
        }
        if state.pattern.outputs.is_empty() {
            self.problems.push(
                Diagnostic::error("T0304", "a source without outputs")
                    .label(self.ast.span(source.outputs), "")
                    .help("a source must begin with an operator"),
            );
            return None;
        }
        let varies = |item: &Item| matches!(item, Item::Each(..));
        if state.pattern.outputs.len() > 1 && state.pattern.outputs.iter().any(varies) {
            self.problems.push(
                Diagnostic::error(
                    "T0308",
                    "outputs are either listed or given by one comprehension, not both",
                )
                .label(self.ast.span(source.outputs), ""),
            );
            return None;
        }
        if self.depth >= Depth::Checked {
            self.check_counts(source, target, &state.pattern);
            self.check_names(rule, source, target, &mut state);
            self.check_connected(source, &state.pattern);
            self.check_starts(source, &state.pattern);
        }
        Some((state.pattern, state.rests))
    }

    /// The variables whose values are used in conditions.
    fn taken_for_constants(&self, rule: &RuleAst) -> FxHashSet<Arc<str>> {
        let mut found = FxHashSet::default();
        let mut stack = rule.conditions.clone();
        while let Some(id) = stack.pop() {
            if let ExprKind::Call { callee, args, .. } = self.ast.kind(id)
                && term_function(callee.as_str()).is_some_and(|f| f.reads == Reads::Elements)
                && let [arg] = args.as_slice()
                && let ExprKind::Name(name) = self.ast.kind(*arg)
            {
                found.insert(name.clone());
            }
            stack.extend(self.ast.operands(id));
        }
        found
    }

    pub(super) fn outputs(&self, id: ExprId) -> Vec<ExprId> {
        match self.ast.kind(id) {
            ExprKind::Tuple(items) => items.clone(),
            _ => vec![id],
        }
    }

    /// Checks that both sides have the same number of outputs.
    fn check_counts(&mut self, source: &Side, target: &Side, pattern: &Pattern) {
        let help = "the k-th output of one side replaces the k-th of the other";
        let targets = self.outputs(target.outputs);
        let spread = targets
            .iter()
            .filter(|t| matches!(self.ast.kind(**t), ExprKind::Comprehension { .. }))
            .count();
        let message = match pattern.varying() {
            // The range of a comprehension in the target may be computed, so the number is compared at each match.
            Some(_) if spread == 0 => {
                format!(
                    "the comprehension of the source gives its number of outputs, but the other side has {}",
                    targets.len()
                )
            }
            None if spread == 0 && targets.len() != pattern.outputs.len() => {
                format!(
                    "one side has {} outputs, the other {}",
                    pattern.outputs.len(),
                    targets.len()
                )
            }
            None if spread > 0 && pattern.outputs.len() == 1 => {
                "the source has one output, but the other side has a variable number".to_owned()
            }
            _ => return,
        };
        self.problems.push(
            Diagnostic::error("T0303", message)
                .label(self.ast.span(target.outputs), "")
                .secondary(self.ast.span(source.outputs), "")
                .help(help),
        );
    }

    /// Checks that matching can start at the outputs.
    fn check_starts(&mut self, source: &Side, pattern: &Pattern) {
        if !pattern.outputs.iter().any(|o| is_everywhere(pattern, o.vertex())) {
            return;
        }
        self.problems.push(
            Diagnostic::error(
                "T0304",
                "a source that is a single variable or literal matches everywhere",
            )
            .label(self.ast.span(source.outputs), "")
            .help("a source must begin with an operator"),
        );
    }

    /// The condition for finding several outputs from the first: each reaches something that an earlier one reaches.
    fn check_connected(&mut self, source: &Side, pattern: &Pattern) {
        let reach = |root: PatternId| {
            let mut seen = FxHashSet::default();
            let mut stack = vec![root];
            while let Some(id) = stack.pop() {
                if seen.insert(id) {
                    stack.extend(pattern.operands(id));
                }
            }
            seen
        };
        if let Some((body, _)) = pattern.varying()
            && reach(body).iter().all(|id| pattern.within(*id).is_some())
        {
            self.problems.push(
                Diagnostic::error("T0305", "the outputs of the comprehension share no operand")
                    .label(self.ast.span(source.outputs), "")
                    .help("something without the index must occur in the body: `conv(x, w[i])` shares `x`"),
            );
        }
        let mut reached: FxHashSet<PatternId> = FxHashSet::default();
        for (k, root) in pattern.outputs.iter().enumerate() {
            let own = reach(root.vertex());
            if k > 0 && reached.is_disjoint(&own) {
                self.problems.push(
                    Diagnostic::error("T0305", format!("output {k} of the source shares nothing with the outputs before it"))
                        .label(self.ast.span(self.outputs(source.outputs)[k]), "")
                        .help("outputs of one rule must have an operand in common with an earlier output; reorder them, or split the rule"),
                );
            }
            reached.extend(own);
        }
    }
}

/// True if the pattern, or one of its alternatives, does not begin with an operator.
fn is_everywhere(pattern: &Pattern, id: PatternId) -> bool {
    match pattern.node(id) {
        PatternNode::Variable(_) | PatternNode::Wildcard | PatternNode::Literal(_) | PatternNode::Absent => true,
        PatternNode::AnyOf(items) => items.iter().any(|&i| is_everywhere(pattern, i)),
        _ => false,
    }
}
