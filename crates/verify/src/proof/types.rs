//! All element types of operands, and of attributes that are element types, one by one.

use rustc_hash::FxHashSet;

use super::EFFORT;
use super::conditions::Named;
use super::form::Form;
use super::level::AtLevel;
use super::scope::{Prepared, Source, calls};
use crate::instance::recipe::{Recipe, Step};

use tautomer_graph::term::Reads;
use tautomer_op::{AttrKind, AttrValue};
use tautomer_rule::{AttrPattern, PatternId, PatternNode};
use tautomer_tensor::DType;

/// Limit on the operands and attributes whose element types are tried in all combinations.
const TOGETHER: usize = 3;

/// Limit on the instances that are made.
const INSTANCES: usize = 200_000;

/// Something that has an element type.
enum Typed {
    Leaf(usize),
    /// The attributes of one source.
    Attributes(Vec<(usize, usize)>),
}

impl AtLevel<'_> {
    /// True if a rule that treats each axis alone is proved for all element types of its operands and attributes.
    ///
    /// Whether inference accepts an element type does not depend on sizes, and no condition may look at both: where
    /// the rule does not match an instance because of its element types, it does so at no size.
    pub(super) fn exhausts_types(&self, forms: &[Prepared]) -> bool {
        let rule = self.scope.rule();
        let sizes = |n: &str| matches!(n, "shape" | "rank" | "size");
        let looks_at_sizes = rule
            .conditions
            .iter()
            .any(|&c| rule.ast.mentions(c, &sizes) || calls(&rule.ast, c, &|f| f.reads == Reads::Ranks));
        if looks_at_sizes || self.scope.mixes_types() {
            return false;
        }
        let is_type = |open: &super::scope::Open| matches!(open.def.attrs[open.attr].kind, AttrKind::DType);
        let mut seen: FxHashSet<Recipe> = FxHashSet::default();
        let mut made = 0;
        for prepared in forms {
            let form = Form::of(&prepared.recipe);
            // The others are covered, or larger than is needed.
            let is_covered = self.task.all_types && !prepared.open.iter().any(is_type);
            if is_covered || form.ranks().any(|rank| rank > 2) {
                continue;
            }
            let computes = |at: PatternId, attr: usize| match rule.source.node(at) {
                PatternNode::Call { attrs, .. } => matches!(attrs.get(attr), Some(AttrPattern::Computed(_))),
                _ => false,
            };
            let Some(all) = typed(prepared, &is_type, &computes) else {
                return false;
            };
            let mut key = form.key().clone();
            all.iter().for_each(|one| one.set(&mut key, DType::F32));
            if !seen.insert(key) {
                continue;
            }
            made += DType::ALL.len().pow(all.len() as u32);
            if made > INSTANCES || !self.proves_all(prepared, &all) {
                return false;
            }
        }
        true
    }

    fn proves_all(&self, prepared: &Prepared, all: &[Typed]) -> bool {
        let given = self.given(EFFORT, false);
        let mut recipes = vec![prepared.recipe.clone()];
        for one in all {
            let each = |recipe: &Recipe| {
                DType::ALL
                    .into_iter()
                    .map(|dtype| {
                        let mut recipe = recipe.clone();
                        one.set(&mut recipe, dtype);
                        recipe
                    })
                    .collect::<Vec<_>>()
            };
            recipes = recipes.iter().flat_map(each).collect();
        }
        recipes.into_iter().all(|recipe| {
            let Some(bound) = self.scope.bound(&recipe, self.trial) else {
                return true;
            };
            let one = Prepared {
                recipe,
                bound,
                ..prepared.clone()
            };
            self.prove_form(&Named::of(self.scope, &one), &one.form(), &given)
                .is_ok()
        })
    }
}

/// Everything in an instance that has an element type; `None` if it is too much, or a constant has one.
fn typed(
    prepared: &Prepared,
    is_type: &dyn Fn(&super::scope::Open) -> bool,
    computes: &dyn Fn(PatternId, usize) -> bool,
) -> Option<Vec<Typed>> {
    let mut out = Vec::new();
    for (i, step) in prepared.recipe.steps.iter().enumerate() {
        match step {
            Step::Leaf { .. } => out.push(Typed::Leaf(i)),
            // What the source computes of an operand's type differs where that differs.
            Step::Call { attrs, .. } => {
                let own = prepared.bound.iter().filter(|(_, step)| *step == i);
                let own: Vec<PatternId> = own.map(|(at, _)| *at).collect();
                let computed = (0..attrs.len()).filter(|&k| matches!(attrs[k], Some(AttrValue::DType(_))));
                let computed = computed.filter(|&k| own.iter().any(|&at| computes(at, k)));
                out.extend(computed.map(|k| Typed::Attributes(vec![(i, k)])));
            }
            _ => return None,
        }
    }
    let mut sources: Vec<&Source> = Vec::new();
    for open in prepared.open.iter().filter(|open| is_type(open)) {
        if sources.contains(&&open.source) {
            continue;
        }
        sources.push(&open.source);
        let own = prepared.open.iter().filter(|other| other.source == open.source);
        out.push(Typed::Attributes(own.map(|other| (other.step, other.attr)).collect()));
    }
    (out.len() <= TOGETHER).then_some(out)
}

impl Typed {
    fn set(&self, recipe: &mut Recipe, wanted: DType) {
        match self {
            Typed::Leaf(at) => {
                if let Step::Leaf { dtype, .. } = &mut recipe.steps[*at] {
                    *dtype = wanted;
                }
            }
            Typed::Attributes(places) => {
                for &(step, attr) in places {
                    if let Step::Call { attrs, .. } = &mut recipe.steps[step] {
                        attrs[attr] = Some(AttrValue::DType(wanted));
                    }
                }
            }
        }
    }
}
