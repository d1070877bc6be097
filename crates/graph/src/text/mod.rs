//! From graphs to syntax trees: the text of the result parses to the same graph.
//!
//! Values used more than once are named by a `let`, which preserves sharing; other values are written inline as long as
//! they remain readable.

mod calls;
mod names;
mod types;
mod values;

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::calls::written_attributes;
use self::names::function_names;
use super::declare::{declaration, declarations_of};
use super::{Graph, Node, VertexId, region_graph};
use tautomer_lang::ast::{Block, ExprId, ExprKind, Function, Ident, Let, LetNames, OperatorDecl, Program, TypeExpr};
use tautomer_lang::is_name;
use tautomer_op::{Op, OpDef, Region, lookup};
use tautomer_tensor::Type;

/// Expressions nested deeper than this are named.
const MAX_DEPTH: u32 = 6;

/// Expressions of more parts than this are named.
const MAX_PARTS: u32 = 12;

/// Constants with more elements than this are named.
const MAX_INLINE_ELEMENTS: usize = 4;

/// The graph as a program of one function that builds the same graph: the same vertices and sharing, with predecessors
/// and outputs in the same order. Vertices that no result depends on are omitted.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_graph::{self as graph, BuildOptions};
/// use tautomer_lang as lang;
///
/// let text = "fn main(x: f32[n]) {\n  let y = neg(x);\n  y * y + 2.0f32\n}\n";
/// let program = lang::parse_program(Arc::new(Source::new("a.taut", text))).unwrap();
/// let graph = graph::build_program(&program, &BuildOptions::default()).unwrap();
/// let printed = lang::format_program(&graph::to_program(&graph));
/// assert_eq!(printed, text.replace("neg(x)", "-x"));
/// ```
pub fn to_program(graph: &Graph) -> Program {
    // A function hides the operator of the same name.
    let declared = declared_operators(graph);
    let is_declared = declared.iter().any(|def| def.name == graph.name);
    let name = if is_name(&graph.name) && lookup(&graph.name).is_none() && !is_declared {
        graph.name.as_str()
    } else {
        "main"
    };
    let mut shared = Shared {
        program: Program::synthetic(),
        names: function_names(graph, name),
        written: FxHashSet::default(),
        symbols: None,
        symbol_names: FxHashSet::default(),
    };
    let declarations = declared.into_iter().filter_map(|def| {
        let decl = declaration(def)?;
        let doc = Some(def.doc.to_owned()).filter(|doc| !doc.is_empty());
        let span = Default::default();
        Some(OperatorDecl {
            doc,
            span,
            ..decl.clone()
        })
    });
    shared.program.operators.extend(declarations);
    let function = write_function(graph, name, &mut shared);
    shared.program.functions.push(function);
    shared.program
}

/// The declared operators that a graph calls, also in functions and in bodies, in an order in which they can be declared.
fn declared_operators(graph: &Graph) -> Vec<&'static OpDef> {
    let mut out = Vec::new();
    let mut regions: Vec<Graph> = Vec::new();
    let mut collect = |graph: &Graph, regions: &mut Vec<Graph>| {
        for v in graph.rpo() {
            if let Node::Call { op, attrs } = &graph.vertex(v).node {
                if let Some(def) = op.def() {
                    declarations_of(def, &mut out);
                }
                regions.extend(
                    attrs
                        .iter()
                        .filter_map(|attr| attr.region())
                        .map(|region| region_graph(region)),
                );
            }
        }
    };
    collect(graph, &mut regions);
    while let Some(inner) = regions.pop() {
        collect(&inner, &mut regions);
    }
    out
}

/// The state shared by the functions of one program.
struct Shared {
    program: Program,
    /// Names of the functions that operators call.
    names: IndexMap<Arc<Region>, Arc<str>>,
    /// Functions already written.
    written: FxHashSet<Arc<str>>,
    /// The names of symbols, once chosen by the outermost function.
    symbols: Option<FxHashMap<Arc<str>, Arc<str>>>,
    /// Names used for dimensions somewhere.
    symbol_names: FxHashSet<String>,
}

fn write_function(graph: &Graph, name: &str, shared: &mut Shared) -> Function {
    let mut writer = Writer::new(graph, shared);
    writer.collect_dims();
    let params = writer.params();
    for i in 0..writer.order.len() {
        writer.vertex(writer.order[i]);
    }
    let results: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    let result = match results.as_slice() {
        [one] => writer.operand(*one),
        several => {
            let items = several.iter().map(|v| writer.operand(*v)).collect();
            writer.shared.program.ast.make(ExprKind::Tuple(items))
        }
    };
    Function {
        doc: graph.doc.clone(),
        name: Some(Ident::new(name)),
        params,
        result: None,
        body: Block {
            lets: writer.lets,
            ..Block::of(result)
        },
        span: Default::default(),
    }
}

/// The form in which the value of a vertex is written where it is used.
enum Written {
    /// By name.
    Name(Arc<str>),
    /// `@0`
    Positional(u32),
    /// Inline, once.
    Inline { expr: ExprId, depth: u32, parts: u32 },
}

struct Writer<'g, 's> {
    graph: &'g Graph,
    shared: &'s mut Shared,
    order: Vec<VertexId>,
    lets: Vec<Let>,
    uses: FxHashMap<VertexId, u32>,
    written: FxHashMap<VertexId, Written>,
    /// Tuples whose elements are named separately.
    split: FxHashMap<VertexId, Vec<Option<VertexId>>>,
    /// Vertices that attributes refer to.
    named: FxHashSet<VertexId>,
    taken: FxHashMap<String, u32>,
    /// Names reserved for inputs and parameters.
    kept: FxHashSet<Arc<str>>,
    /// Replacement names for symbols whose own names cannot be used.
    symbols: FxHashMap<Arc<str>, Arc<str>>,
    /// Names of unknown dimensions that occur more than once.
    unknowns: FxHashMap<u32, Arc<str>>,
    /// The values and axes from which unknown dimensions can be read.
    read: FxHashMap<u32, (VertexId, usize)>,
    auto: u32,
}

impl<'g, 's> Writer<'g, 's> {
    fn new(graph: &'g Graph, shared: &'s mut Shared) -> Self {
        let order = graph.rpo();
        let mut uses: FxHashMap<VertexId, u32> = FxHashMap::default();
        let mut parts: FxHashMap<VertexId, Vec<Option<VertexId>>> = FxHashMap::default();
        let mut whole: FxHashSet<VertexId> = FxHashSet::default();
        for &v in &order {
            let vertex = graph.vertex(v);
            for u in graph.pred(v) {
                *uses.entry(u).or_default() += 1;
                match (&vertex.node, graph.ty(u)) {
                    (Node::Proj(i), Type::Tuple(items)) if items.len() > 1 => {
                        let slots = parts.entry(u).or_insert_with(|| vec![None; items.len()]);
                        match slots.get_mut(*i as usize) {
                            Some(slot @ None) => *slot = Some(v),
                            _ => {
                                whole.insert(u);
                            }
                        }
                    }
                    _ => {
                        whole.insert(u);
                    }
                }
            }
        }
        for output in graph.outputs() {
            *uses.entry(output.vertex).or_default() += 1;
            whole.insert(output.vertex);
        }
        parts.retain(|v, slots| {
            let call = matches!(graph.vertex(*v).node, Node::Call { .. }) && graph.vertex(*v).name.is_none();
            call && !whole.contains(v) && slots.iter().flatten().count() > 1
        });
        Writer {
            graph,
            shared,
            order,
            lets: Vec::new(),
            uses,
            written: FxHashMap::default(),
            split: parts,
            named: FxHashSet::default(),
            taken: FxHashMap::default(),
            kept: FxHashSet::default(),
            symbols: FxHashMap::default(),
            unknowns: FxHashMap::default(),
            read: FxHashMap::default(),
            auto: 0,
        }
    }

    fn make(&mut self, kind: ExprKind) -> ExprId {
        self.shared.program.ast.make(kind)
    }

    /// Writes `v`, whose predecessors have been written.
    fn vertex(&mut self, v: VertexId) {
        if self.written.contains_key(&v) {
            return;
        }
        let graph = self.graph;
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let (mut depth, mut parts) = (0, 1);
        for u in &operands {
            if let Some(Written::Inline { depth: d, parts: p, .. }) = self.written.get(u) {
                depth = depth.max(*d + 1);
                parts += p;
            }
        }
        let mut name = vertex.name.is_some()
            || self.uses.get(&v).is_some_and(|n| *n > 1)
            || self.named.contains(&v)
            || depth > MAX_DEPTH
            || parts > MAX_PARTS;
        let mut ty = None;
        let value = match &vertex.node {
            Node::Input | Node::Param | Node::Absent => return,
            Node::Const(value) => {
                name |= value.is_empty() || value.len() > MAX_INLINE_ELEMENTS;
                self.constant(value, name, &mut ty)
            }
            Node::Call { op, attrs } => {
                if let Op::Opaque(op) = op {
                    name = true;
                    ty = self.type_expr(&op.result);
                }
                self.call(op, attrs, &operands)
            }
            Node::Tuple => {
                let items = operands.iter().map(|u| self.operand(*u)).collect();
                self.make(ExprKind::Tuple(items))
            }
            Node::Proj(index) => {
                let base = match operands.first() {
                    Some(u) => self.operand(*u),
                    None => self.int(0),
                };
                self.make(ExprKind::Project { base, index: *index })
            }
        };
        if let Some(slots) = self.split.remove(&v) {
            let names = slots
                .into_iter()
                .map(|slot| {
                    let name = match slot {
                        Some(part) => self.name_of(part),
                        None => self.fresh_name("unused"),
                    };
                    if let Some(part) = slot {
                        self.written.insert(part, Written::Name(name.clone()));
                    }
                    Ident::new(name)
                })
                .collect();
            self.define(LetNames::Tuple(names), ty, value);
        } else if name {
            let name = self.name_of(v);
            self.define(LetNames::One(Ident::new(name.clone())), ty, value);
            self.written.insert(v, Written::Name(name));
        } else {
            let written = Written::Inline {
                expr: value,
                depth,
                parts,
            };
            self.written.insert(v, written);
        }
    }

    /// The expression that uses `v`.
    fn operand(&mut self, v: VertexId) -> ExprId {
        let kind = match self.written.get(&v) {
            Some(Written::Name(name)) => ExprKind::Name(name.clone()),
            Some(Written::Positional(i)) => ExprKind::Positional(*i),
            Some(Written::Inline { expr, .. }) => return *expr,
            None => ExprKind::Name("none".into()),
        };
        self.make(kind)
    }

    fn define(&mut self, names: LetNames, ty: Option<TypeExpr>, value: ExprId) {
        self.lets.push(Let {
            names,
            ty,
            value,
            span: Default::default(),
        });
    }

    /// The name of a function that an operator calls; the function is written if it has not been yet.
    fn function(&mut self, region: &Arc<Region>) -> Arc<str> {
        let name = self.shared.names.get(region).cloned().unwrap_or_else(|| "body".into());
        if self.shared.written.insert(name.clone()) {
            let function = write_function(&region_graph(region), &name, self.shared);
            self.shared.program.functions.push(function);
        }
        name
    }
}
