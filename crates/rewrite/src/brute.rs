//! Brute-force matching for tests: checks every map of pattern vertices to graph vertices against the definition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use tautomer_diag::Source;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_lang::ast::RuleClass;
use tautomer_lang::parse_rules;
use tautomer_op::{AttrValue, Op, lookup};
use tautomer_rule::{AttrPattern, Item, ListItem, PatternId, PatternNode, ProjIndex, Rule, load_checked_rules};
use tautomer_tensor::{DType, Type};

/// The outputs of a match and the values of the variables, in order of declaration.
pub(super) type Found = (Vec<VertexId>, Vec<Option<VertexId>>);

/// The first rule of a rule file.
pub(super) fn rule(text: &str) -> Arc<Rule> {
    let file = parse_rules(Arc::new(Source::new("test.rules", text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let set = load_checked_rules(file).unwrap_or_else(|e| panic!("{text}\n{}", e.render(false)));
    set.rules[0].clone()
}

/// All matches of a rule without comprehensions, ignoring conditions.
pub(super) fn matches(graph: &Graph, rule: &Rule) -> BTreeSet<Found> {
    let mut out = BTreeSet::new();
    let vertices: Vec<VertexId> = graph.rpo();
    let used = used_vertices(rule, &BTreeMap::new());
    // One choice for each alternative.
    for choice in choices(rule) {
        let used = if choice.is_empty() {
            used.clone()
        } else {
            used_vertices(rule, &choice)
        };
        let mut map: BTreeMap<PatternId, VertexId> = BTreeMap::new();
        assign(graph, rule, &choice, &used, &vertices, 0, &mut map, &mut out);
    }
    out
}

type Choice = BTreeMap<PatternId, PatternId>;

fn choices(rule: &Rule) -> Vec<Choice> {
    let mut out: Vec<Choice> = vec![BTreeMap::new()];
    for (id, node) in rule.source.nodes() {
        if let PatternNode::AnyOf(items) = node {
            out = out
                .into_iter()
                .flat_map(|choice| {
                    items.iter().map(move |item| {
                        let mut more = choice.clone();
                        more.insert(id, *item);
                        more
                    })
                })
                .collect();
        }
    }
    out
}

fn chosen(choice: &Choice, mut id: PatternId) -> PatternId {
    while let Some(&next) = choice.get(&id) {
        id = next;
    }
    id
}

/// The vertices of the pattern under a choice, users before operands.
fn used_vertices(rule: &Rule, choice: &Choice) -> Vec<PatternId> {
    let mut out = Vec::new();
    let mut stack: Vec<PatternId> = rule.source.outputs.iter().map(|o| chosen(choice, o.vertex())).collect();
    while let Some(id) = stack.pop() {
        if !out.contains(&id) {
            out.push(id);
            stack.extend(rule.source.operands(id).into_iter().map(|o| chosen(choice, o)));
        }
    }
    out
}

#[expect(clippy::too_many_arguments, reason = "the state of one enumeration")]
fn assign(
    graph: &Graph,
    rule: &Rule,
    choice: &Choice,
    used: &[PatternId],
    vertices: &[VertexId],
    next: usize,
    map: &mut BTreeMap<PatternId, VertexId>,
    out: &mut BTreeSet<Found>,
) {
    let Some(&id) = used.get(next) else {
        if is_match(graph, rule, choice, map) {
            let outputs = rule
                .source
                .outputs
                .iter()
                .map(|o| map[&chosen(choice, o.vertex())])
                .collect();
            let variables = (0..rule.variables.len())
                .map(|i| {
                    let at = rule
                        .source
                        .nodes()
                        .find(|(_, n)| matches!(n, PatternNode::Variable(k) if *k == i));
                    at.and_then(|(id, _)| map.get(&id).copied())
                })
                .collect();
            out.insert((outputs, variables));
        }
        return;
    };
    for &v in vertices {
        map.insert(id, v);
        // Checks kinds and edges to already assigned users first, to keep the enumeration small.
        if kind_fits(graph, rule, id, v) && edges_fit(graph, rule, choice, map, id, v) {
            assign(graph, rule, choice, used, vertices, next + 1, map, out);
        }
        map.remove(&id);
    }
}

fn kind_fits(graph: &Graph, rule: &Rule, id: PatternId, v: VertexId) -> bool {
    match (rule.source.node(id), &graph.vertex(v).node) {
        (
            PatternNode::Call { def, .. },
            Node::Call {
                op: Op::Known(other), ..
            },
        ) => std::ptr::eq(*def, *other),
        (
            PatternNode::CallOf { variable, .. },
            Node::Call {
                op: Op::Known(other), ..
            },
        ) => rule.operators[*variable]
            .choices
            .iter()
            .any(|d| std::ptr::eq(*d, *other)),
        (PatternNode::Call { .. } | PatternNode::CallOf { .. }, _) => false,
        (PatternNode::Tuple(_), node) => matches!(node, Node::Tuple),
        (PatternNode::Proj(..), node) => matches!(node, Node::Proj(_)),
        (PatternNode::Absent, node) => matches!(node, Node::Absent),
        _ => true,
    }
}

/// True if each edge of the pattern to an already assigned user is an edge of the graph.
fn edges_fit(
    graph: &Graph,
    rule: &Rule,
    choice: &Choice,
    map: &BTreeMap<PatternId, VertexId>,
    id: PatternId,
    v: VertexId,
) -> bool {
    map.iter().all(|(user, w)| {
        let operands = rule.source.operands(*user);
        !operands.iter().any(|o| chosen(choice, *o) == id) || graph.pred(*w).contains(&v)
    })
}

/// The definition: f1 to f4 for a map of all vertices of the pattern.
fn is_match(graph: &Graph, rule: &Rule, choice: &Choice, map: &BTreeMap<PatternId, VertexId>) -> bool {
    let pattern = &rule.source;
    let is_static = |v: VertexId| {
        graph
            .reach(v)
            .into_iter()
            .all(|u| !matches!(graph.vertex(u).node, Node::Input))
    };
    let mut names: BTreeMap<String, AttrValue> = BTreeMap::new();
    let mut operators: BTreeMap<usize, &str> = BTreeMap::new();
    let mut bind = |name: String, value: AttrValue| match names.get(&name) {
        Some(old) => *old == value,
        None => {
            names.insert(name, value);
            true
        }
    };
    // f2 and f3.
    for (&id, &v) in map {
        let vertex = graph.vertex(v);
        let operands = |items: &[Item]| -> Vec<VertexId> {
            items.iter().map(|item| map[&chosen(choice, item.vertex())]).collect()
        };
        let fits = match (pattern.node(id), &vertex.node) {
            (PatternNode::Variable(i), _) => match rule.variables[*i].class {
                RuleClass::Any => true,
                RuleClass::Param => is_static(v),
                RuleClass::Const => vertex.constant().is_some(),
            },
            (PatternNode::Wildcard | PatternNode::Absent, _) => true,
            (PatternNode::Literal(number), _) => vertex
                .constant()
                .and_then(|t| t.to_f64s())
                .is_some_and(|all| !all.is_empty() && all.iter().all(|x| x == number)),
            (
                PatternNode::Call {
                    operands: items,
                    attrs: wanted,
                    ..
                },
                Node::Call {
                    op: Op::Known(def),
                    attrs,
                },
            ) => {
                graph.pred(v).as_slice() == operands(items).as_slice()
                    && wanted
                        .iter()
                        .zip(attrs.iter())
                        .zip(def.attrs)
                        .all(|((wanted, actual), attr)| match wanted {
                            AttrPattern::Any => true,
                            AttrPattern::Value(value) => value == actual,
                            AttrPattern::Default => attr.default_value().is_some_and(|d| d == *actual),
                            AttrPattern::Bind(name) => bind(name.to_string(), actual.clone()),
                            AttrPattern::Rest(rest) => bind(format!("{rest}.{}", attr.name), actual.clone()),
                            AttrPattern::List(items) => match actual {
                                AttrValue::Ints(list) => {
                                    list.len() == items.len()
                                        && items.iter().zip(list).all(|(item, d)| match item {
                                            ListItem::Int(n) => d.as_const() == Some(*n),
                                            ListItem::Bind(name) => bind(name.to_string(), AttrValue::Int(d.clone())),
                                            ListItem::Any => true,
                                        })
                                }
                                _ => false,
                            },
                            AttrPattern::BindEach(_) | AttrPattern::Computed(_) => false,
                        })
            }
            (
                PatternNode::CallOf {
                    variable,
                    operands: items,
                    ..
                },
                Node::Call { op: Op::Known(def), .. },
            ) => {
                *operators.entry(*variable).or_insert(def.name) == def.name
                    && graph.pred(v).as_slice() == operands(items).as_slice()
            }
            (PatternNode::Tuple(items), Node::Tuple) => graph.pred(v).as_slice() == operands(items).as_slice(),
            (PatternNode::Proj(tuple, ProjIndex::At(wanted)), Node::Proj(i)) => {
                wanted == i && graph.pred(v).as_slice() == [map[&chosen(choice, *tuple)]]
            }
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    // The map is a bijection except on the inputs of the pattern.
    let is_input = |id: PatternId| {
        matches!(
            pattern.node(id),
            PatternNode::Variable(_) | PatternNode::Wildcard | PatternNode::Literal(_) | PatternNode::Absent
        )
    };
    for (&a, &v) in map {
        for (&b, &w) in map {
            if a < b && v == w && !(is_input(a) && is_input(b)) {
                return false;
            }
        }
    }
    // f4: nothing leaves the inside.
    let inside = map.iter().filter(|(id, _)| !is_input(**id));
    let image: BTreeSet<VertexId> = inside.map(|(_, v)| *v).collect();
    let outputs: BTreeSet<VertexId> = pattern
        .outputs
        .iter()
        .map(|o| map[&chosen(choice, o.vertex())])
        .collect();
    if outputs.len() < pattern.outputs.len() {
        return false;
    }
    let results: BTreeSet<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    map.iter()
        .filter(|(id, v)| !is_input(**id) && !outputs.contains(v))
        .all(|(_, v)| !results.contains(v) && graph.users(*v).all(|user| image.contains(&user)))
}

/// The recipe of a random graph: for each vertex an operator and the positions of its operands.
#[derive(Debug, Clone)]
pub(super) struct Recipe(pub(super) Vec<(u8, u8, u8, u8)>, pub(super) u8);

/// Recipes of graphs with at most `size` calls.
pub(super) fn recipes(size: usize) -> impl Strategy<Value = Recipe> {
    (
        proptest::collection::vec(any::<(u8, u8, u8, u8)>(), 1..size),
        any::<u8>(),
    )
        .prop_map(|(steps, outputs)| Recipe(steps, outputs))
}

impl Recipe {
    /// The graph: elementwise operators, concatenations, splits and pointwise convolutions of few values, so that
    /// patterns match often.
    pub(super) fn graph(&self) -> Graph {
        let mut g = Graph::new();
        let image = Type::tensor(DType::F32, [1, 2, 2, 2]);
        let mut values = vec![g.input("x", image.clone()), g.input("y", image)];
        let kernels = [
            g.param("v", Type::tensor(DType::F32, [2, 2, 1, 1])),
            g.param("w", Type::tensor(DType::F32, [2, 2, 1, 1])),
            g.param("u", Type::tensor(DType::F32, [4, 2, 1, 1])),
        ];
        let call = |g: &mut Graph, name: &str, operands: &[VertexId], attrs: &[(&str, AttrValue)]| {
            g.call(Op::Known(lookup(name).unwrap()), operands, attrs).ok()
        };
        let one = [("axis", AttrValue::Int(1.into()))];
        for &(op, a, b, c) in &self.0 {
            // Mostly takes the first or the latest values, so that values are shared often.
            let near = values.len().min(3);
            let pick = |k: u8| match k % 4 {
                0 => values[k as usize / 4 % values.len()],
                1 => values[k as usize / 4 % near],
                _ => values[values.len() - 1 - k as usize / 4 % near],
            };
            let (x, y, z) = (pick(a), pick(b), pick(c));
            let made = match op % 16 {
                0 | 1 => call(&mut g, "relu", &[x], &[]),
                2 => call(&mut g, "neg", &[x], &[]),
                3 | 4 => call(&mut g, "add", &[x, y], &[]),
                5 => call(&mut g, "mul", &[x, y], &[]),
                6 => call(&mut g, "concat", &[x, y], &one),
                7 => call(&mut g, "concat", &[x, y, z], &one),
                8 if c % 2 == 0 => {
                    let sums = (call(&mut g, "add", &[x, z], &[]), call(&mut g, "add", &[y, z], &[]));
                    let (Some(p), Some(q)) = sums else { continue };
                    values.extend([p, q]);
                    if c % 4 == 0 {
                        call(&mut g, "concat", &[p, q], &one)
                    } else {
                        values.extend(call(&mut g, "relu", &[p], &[]));
                        call(&mut g, "relu", &[q], &[])
                    }
                }
                8 => match call(
                    &mut g,
                    "split",
                    &[x],
                    &[one[0].clone(), ("num_outputs", AttrValue::Int(2.into()))],
                ) {
                    Some(parts) => {
                        let halves = (g.project(parts, 0), g.project(parts, 1));
                        let (Ok(first), Ok(second)) = halves else { continue };
                        values.extend([first, second]);
                        if b % 2 == 0 {
                            call(&mut g, "concat", &[first, second], &one)
                        } else {
                            None
                        }
                    }
                    None => None,
                },
                9 | 10 => call(&mut g, "conv", &[x, kernels[b as usize % 3]], &[]),
                // Structures that single random operators rarely form.
                11 => {
                    let (r, s) = (call(&mut g, "relu", &[x], &[]), call(&mut g, "relu", &[y], &[]));
                    let (Some(r), Some(s)) = (r, s) else { continue };
                    values.extend([r, s]);
                    call(
                        &mut g,
                        if c % 2 == 0 { "concat" } else { "add" },
                        &[r, s],
                        if c % 2 == 0 { &one } else { &[] },
                    )
                }
                12 => {
                    let Some(r) = call(&mut g, "relu", &[x], &[]) else {
                        continue;
                    };
                    let Some(n) = call(&mut g, "neg", &[if c % 2 == 0 { r } else { x }], &[]) else {
                        continue;
                    };
                    values.extend([r, n]);
                    call(&mut g, "add", &[r, n], &[])
                }
                13 => {
                    let (v, w) = (kernels[b as usize % 3], kernels[c as usize % 3]);
                    let (p, q) = (call(&mut g, "conv", &[x, v], &[]), call(&mut g, "conv", &[x, w], &[]));
                    let (Some(p), Some(q)) = (p, q) else { continue };
                    values.extend([p, q]);
                    call(&mut g, "add", &[p, q], &[])
                }
                14 => {
                    let (a, b) = (call(&mut g, "neg", &[x], &[]), call(&mut g, "neg", &[y], &[]));
                    let (Some(a), Some(b)) = (a, b) else { continue };
                    values.extend([a, b]);
                    call(&mut g, "add", &[a, b], &[])
                }
                _ => {
                    let (p, q) = (call(&mut g, "mul", &[x, y], &[]), call(&mut g, "mul", &[x, z], &[]));
                    let (Some(p), Some(q)) = (p, q) else { continue };
                    values.extend([p, q]);
                    call(&mut g, "add", &[p, q], &[])
                }
            };
            values.extend(made);
        }
        let n = values.len();
        g.output(values[n - 1], None);
        // Unused values are results too, and sometimes an inner value.
        let mut results = vec![values[n - 1]];
        for &v in &values {
            let unused = !g.is_used(v) && !matches!(g.vertex(v).node, Node::Input);
            if (unused || self.1 as usize == v.index()) && !results.contains(&v) {
                results.push(v);
                g.output(v, None);
            }
        }
        g.retain_reachable();
        g
    }
}
