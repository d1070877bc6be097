//! One attempt: builds the source of a rule as a graph, with the current choices.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::choices::{Blame, Choices, Key};
use super::found::Found;
use super::{Mode, options};
use crate::{AttrPattern, Count, Item, PatternId, PatternNode, ProjIndex, Rule};
use tautomer_graph::VertexId;
use tautomer_graph::term::{self, Term};
use tautomer_lang::ast::{DimExpr, Dims, ExprKind, RuleClass, TypeKind};
use tautomer_op::{OpDef, OpError};
use tautomer_tensor::{DType, Dim, Shape, TensorType, Type};

/// Why an attempt failed.
pub(super) struct Failure {
    /// The choices that led to it.
    pub(super) blame: Blame,
    /// Choices that may have contributed to it.
    pub(super) wider: Blame,
    /// The error of the operator.
    pub(super) reason: Option<Box<OpError>>,
    /// The operator.
    pub(super) op: Option<&'static OpDef>,
    /// The number of nodes that had a type.
    pub(super) depth: usize,
}

impl Failure {
    pub(super) fn of(blame: Blame) -> Failure {
        Failure {
            blame,
            wider: blame,
            reason: None,
            op: None,
            depth: 0,
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

pub(super) struct Attempt<'a> {
    pub(super) rule: &'a Rule,
    pub(super) mode: Mode,
    pub(super) choices: &'a mut Choices,
    pub(super) found: Found,
    pub(super) known: FxHashMap<(PatternId, u32), (VertexId, Blame)>,
    /// The choices that determined the meaning of each name.
    pub(super) blame: FxHashMap<Arc<str>, Blame>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(rule: &'a Rule, mode: Mode, choices: &'a mut Choices) -> Attempt<'a> {
        Attempt {
            rule,
            mode,
            choices,
            found: Found::default(),
            known: FxHashMap::default(),
            blame: FxHashMap::default(),
        }
    }

    /// The source with types, and its conditions satisfied.
    pub(super) fn run(mut self) -> Result<Found> {
        let rule = self.rule;
        for output in &rule.source.outputs {
            for (value, _) in self.item(*output, 0)? {
                self.found.outputs.push(value);
            }
        }
        for (name, id) in &rule.source.named {
            let (value, blame) = self.vertex(*id, 0)?;
            self.bind(name, Term::Value(value), blame)?;
        }
        // Conditions depend on shapes; without them, no condition is known to be false.
        if self.mode == Mode::Shapes {
            for &condition in &rule.conditions {
                let holds = term::condition(&rule.ast, condition, &self.found);
                if holds != Ok(true) {
                    let named = self
                        .blame
                        .iter()
                        .filter(|(name, _)| rule.ast.mentions(condition, &|n| n == &***name));
                    let blame = named.fold(0, |all, (_, b)| all | b);
                    return Err(Failure::of(if blame == 0 { self.choices.all() } else { blame }));
                }
            }
        }
        Ok(self.found)
    }

    pub(super) fn take(&mut self, key: Key, options: usize) -> Result<(usize, Blame)> {
        let all = self.choices.all();
        self.choices.take(key, options).ok_or_else(|| Failure::of(all))
    }

    fn item(&mut self, item: Item, index: u32) -> Result<Vec<(VertexId, Blame)>> {
        let Item::Each(body, family) = item else {
            return Ok(vec![self.vertex(item.vertex(), index)?]);
        };
        let (n, blame) = match &self.rule.source.family(family).count {
            Count::Exactly(n) => (*n, 0),
            Count::Bind(name) => match self.found.names.get(name) {
                Some(Term::Int(Dim::Const(n))) => (*n as u32, self.blame[name]),
                _ => {
                    let (taken, blame) = self.take(Key::Count(family), options::COUNTS.len())?;
                    let n = options::COUNTS[taken];
                    self.bind(name, Term::Int(i64::from(n).into()), blame)?;
                    (n, blame)
                }
            },
        };
        self.choices.complete = false;
        let members: Result<Vec<_>> = (0..n).map(|i| self.vertex(body, i)).collect();
        Ok(members?.into_iter().map(|(v, b)| (v, b | blame)).collect())
    }

    pub(super) fn items(&mut self, items: &[Item], index: u32) -> Result<Vec<(VertexId, Blame)>> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            out.extend(self.item(*item, index)?);
        }
        Ok(out)
    }

    fn vertex(&mut self, at: PatternId, index: u32) -> Result<(VertexId, Blame)> {
        let index = if self.rule.source.within(at).is_some() {
            index
        } else {
            0
        };
        if let Some(&known) = self.known.get(&(at, index)) {
            return Ok(known);
        }
        let rule = self.rule;
        let built = match rule.source.node(at) {
            PatternNode::Variable(i) => self.variable(at, *i)?,
            PatternNode::Wildcard => {
                let types = options::types(self.rule, self.mode);
                let (taken, blame) = self.take(Key::Vertex(at), types.len())?;
                (self.found.graph.input("_", Type::Tensor(types[taken].clone())), blame)
            }
            PatternNode::Literal(number) => self.literal(at, *number)?,
            PatternNode::Absent => (self.found.graph.absent(), 0),
            PatternNode::Call { def, operands, attrs } => self.call(at, index, def, operands, attrs)?,
            PatternNode::CallOf {
                variable,
                operands,
                rest,
            } => {
                let choices = &rule.operators[*variable].choices;
                let (taken, blame) = self.take(Key::Operator(*variable), choices.len())?;
                let def = choices[taken];
                self.found.ops.insert(rule.operators[*variable].name.clone(), def);
                let pattern = |_| rest.clone().map_or(AttrPattern::Default, AttrPattern::Rest);
                let attrs: Vec<AttrPattern> = def.attrs.iter().map(pattern).collect();
                let built = self.call(at, index, def, operands, &attrs);
                let (v, b) = built.map_err(|f| Failure {
                    blame: f.blame | blame,
                    ..f
                })?;
                (v, b | blame)
            }
            PatternNode::Tuple(items) => {
                let items = self.items(items, index)?;
                let values: Vec<VertexId> = items.iter().map(|(v, _)| *v).collect();
                (
                    self.found.graph.tuple(&values),
                    items.iter().fold(0, |all, (_, b)| all | b),
                )
            }
            PatternNode::Proj(tuple, place) => self.element(at, *tuple, place, index)?,
            PatternNode::AnyOf(items) => {
                let (taken, blame) = self.take(Key::Alternative(at), items.len())?;
                let (v, b) = self.vertex(items[taken], index)?;
                (v, b | blame)
            }
        };
        self.known.insert((at, index), built);
        Ok(built)
    }

    fn element(&mut self, at: PatternId, tuple: PatternId, place: &ProjIndex, index: u32) -> Result<(VertexId, Blame)> {
        let (base, mut blame) = self.vertex(tuple, index)?;
        let count = match self.found.graph.ty(base) {
            Type::Tuple(items) => items.len(),
            _ if is_open(self.rule, tuple) => {
                // It may be a tuple, and no tuples were tried.
                self.choices.complete = false;
                return Err(Failure::of(blame));
            }
            _ => 0,
        };
        let place = match place {
            ProjIndex::At(i) => *i as usize,
            ProjIndex::Running => index as usize,
            ProjIndex::Bind(name) if self.rule.source.within(at).is_some() => {
                let (taken, own) = self.take(Key::Element(at), count)?;
                blame |= own;
                self.append(name, Term::Int(taken.into()), own);
                taken
            }
            ProjIndex::Bind(name) => match self.found.names.get(name) {
                Some(Term::Int(Dim::Const(i))) => *i as usize,
                _ => {
                    let (taken, own) = self.take(Key::Element(at), count)?;
                    blame |= own;
                    self.bind(name, Term::Int(taken.into()), own)?;
                    taken
                }
            },
        };
        match self.found.graph.project(base, place) {
            Ok(v) => Ok((v, blame)),
            Err(reason) => Err(Failure {
                reason: Some(Box::new(reason)),
                depth: self.known.len(),
                ..Failure::of(blame)
            }),
        }
    }

    fn variable(&mut self, at: PatternId, i: usize) -> Result<(VertexId, Blame)> {
        let rule = self.rule;
        let variable = &rule.variables[i];
        let (ty, extents): (Vec<TensorType>, Blame) = match variable.ty.as_ref().map(|t| &t.kind) {
            Some(TypeKind::Tensor {
                dtype,
                dims: Dims::List(dims),
            }) => {
                let mut shape = Shape::scalar();
                let mut blame = 0;
                for dim in dims {
                    let (extent, b) = self.extent(dim)?;
                    shape.push(extent);
                    blame |= b;
                }
                let dtypes = options::dtypes(self.rule, self.mode, dtype.map(|d| d.dtype));
                (
                    dtypes.into_iter().map(|d| TensorType::new(d, shape.clone())).collect(),
                    blame,
                )
            }
            Some(TypeKind::Tensor {
                dtype,
                dims: Dims::Scalar,
            }) => {
                let dtypes = options::dtypes(self.rule, self.mode, dtype.map(|d| d.dtype));
                (
                    dtypes
                        .into_iter()
                        .map(|d| TensorType::new(d, Shape::scalar()))
                        .collect(),
                    0,
                )
            }
            Some(TypeKind::Tensor { dtype, .. }) => {
                (options::types_of(self.rule, self.mode, dtype.map(|d| d.dtype)), 0)
            }
            Some(TypeKind::Tuple(_) | TypeKind::Sequence(_) | TypeKind::Optional(_)) => (Vec::new(), 0),
            None => (options::types(self.rule, self.mode), 0),
        };
        let constant = variable.class == RuleClass::Const && self.mode == Mode::Shapes;
        let (value, blame) = if constant {
            // Of a vector that a condition gives, only the element type is left to try.
            let all: Vec<_> = match options::given_list(rule, &variable.name) {
                Some(list) => {
                    let mut dtypes: Vec<DType> = Vec::new();
                    for ty in &ty {
                        if !dtypes.contains(&ty.dtype) {
                            dtypes.push(ty.dtype);
                        }
                    }
                    dtypes.into_iter().filter_map(|d| options::vector(d, &list)).collect()
                }
                None => ty.iter().flat_map(options::constants).collect(),
            };
            let (taken, blame) = self.take(Key::Vertex(at), all.len())?;
            (self.found.graph.constant(all[taken].clone()), blame)
        } else {
            let (taken, blame) = self.take(Key::Vertex(at), ty.len())?;
            let ty = Type::Tensor(ty[taken].clone());
            let value = match variable.class {
                RuleClass::Any => self.found.graph.input(&variable.name, ty),
                _ => self.found.graph.param(&variable.name, ty),
            };
            (value, blame)
        };
        let blame = blame | extents;
        if variable.indexed {
            self.append(&variable.name, Term::Value(value), blame);
        } else {
            self.bind(&variable.name, Term::Value(value), blame)?;
        }
        Ok((value, blame))
    }

    fn extent(&mut self, dim: &DimExpr) -> Result<(Dim, Blame)> {
        let DimExpr::Expr(id) = dim else {
            return Ok((self.some_extent(), 0));
        };
        match self.rule.ast.kind(*id) {
            ExprKind::Int { value, .. } => Ok((i64::try_from(*value).unwrap_or(1).into(), 0)),
            ExprKind::Name(_) if self.mode == Mode::AnyShape => Ok((self.some_extent(), 0)),
            ExprKind::Name(name) => {
                let name = name.clone();
                if let Some(Term::Int(known)) = self.found.names.get(&name) {
                    return Ok((known.clone(), self.blame[&name]));
                }
                let (taken, blame) = self.take(Key::Extent(name.clone()), options::EXTENTS.len())?;
                let extent = Dim::from(options::EXTENTS[taken]);
                self.bind(&name, Term::Int(extent.clone()), blame)?;
                Ok((extent, blame))
            }
            _ => Ok((self.some_extent(), 0)),
        }
    }

    fn some_extent(&mut self) -> Dim {
        match self.mode {
            Mode::Shapes => options::EXTENTS[0].into(),
            Mode::AnyShape => self.found.graph.unknown_dim(),
        }
    }

    fn literal(&mut self, at: PatternId, number: f64) -> Result<(VertexId, Blame)> {
        let dtypes: Vec<DType> = options::dtypes(self.rule, self.mode, None);
        let dtypes: Vec<DType> = dtypes
            .into_iter()
            .filter(|d| options::filled(*d, &[], number).is_some())
            .collect();
        let (taken, blame) = self.take(Key::Vertex(at), dtypes.len())?;
        let value = match self.mode {
            Mode::AnyShape => self
                .found
                .graph
                .input("_", Type::Tensor(TensorType::any_rank(dtypes[taken]))),
            Mode::Shapes => {
                let value = options::filled(dtypes[taken], &[], number).ok_or_else(|| Failure::of(blame))?;
                self.found.graph.constant(value)
            }
        };
        Ok((value, blame))
    }

    /// Binds a name, unless it is already bound to something else.
    pub(super) fn bind(&mut self, name: &Arc<str>, term: Term, blame: Blame) -> Result<()> {
        match self.found.names.get(name) {
            Some(before) if *before != term => Err(Failure::of(blame | self.blame[name])),
            Some(_) => Ok(()),
            None => {
                self.blame.insert(name.clone(), blame);
                self.found.names.insert(name.clone(), term);
                self.found.order.push(name.clone());
                Ok(())
            }
        }
    }

    pub(super) fn append(&mut self, name: &Arc<str>, term: Term, blame: Blame) {
        *self.blame.entry(name.clone()).or_default() |= blame;
        match self.found.names.get_mut(name) {
            Some(Term::List(items)) => items.push(term),
            _ => {
                self.found.names.insert(name.clone(), Term::List(vec![term]));
                self.found.order.push(name.clone());
            }
        }
    }
}

/// True for nodes that may have any type.
fn is_open(rule: &Rule, at: PatternId) -> bool {
    match rule.source.node(at) {
        PatternNode::Variable(_) | PatternNode::Wildcard => true,
        PatternNode::AnyOf(items) => items.iter().any(|i| is_open(rule, *i)),
        _ => false,
    }
}
