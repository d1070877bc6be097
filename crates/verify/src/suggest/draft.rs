//! The text of a rule for a region, with some of its numbers, attributes and types left open.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::region::{Region, number};
use tautomer_graph::{Graph, Node, VertexId, to_program, written_attributes};
use tautomer_lang::ast::{BinaryOp, ExprKind, Program, UnaryOp};
use tautomer_lang::{format_expr, format_program, is_name};
use tautomer_op::{AttrValue, Op, OpDef};
use tautomer_rule::Class;
use tautomer_tensor::{DType, Dim, Type};

/// How the types of variables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    /// Any type.
    Open,
    /// The rank; dimensions that are equal have one name, and those of one stay.
    Ranks,
    /// Element types and dimensions.
    Exact,
}

/// The two sides of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Source,
    Target,
}

/// Equal attributes or numbers, which one variable may stand for.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Whether the variable is used instead of them.
    pub(super) is_open: bool,
    name: String,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// Attributes of this value: the calls, and the index of the attribute of each.
    Attribute(AttrValue, Vec<(Place, VertexId, usize)>),
    /// Constants of this number.
    Number(u64, Vec<(Place, VertexId)>),
}

/// A rule to be tried.
#[derive(Debug, Clone)]
pub(super) struct Draft<'a> {
    pub(super) region: &'a Region,
    pub(super) name: String,
    pub(super) typing: Typing,
    pub(super) groups: Vec<Group>,
    pub(super) class: Class,
}

impl<'a> Draft<'a> {
    /// The rule for only this region, except for the types of its operands.
    pub(super) fn new(region: &'a Region, class: Class, taken: &[String]) -> Draft<'a> {
        Draft {
            region,
            name: name(region, taken),
            typing: Typing::Open,
            groups: groups(region),
            class,
        }
    }

    fn graph(&self, place: Place) -> &'a Graph {
        match place {
            Place::Source => &self.region.source,
            Place::Target => &self.region.target,
        }
    }

    /// The rule as the text of a rule file, without an example; `None` if a side has something that rules cannot
    /// express.
    pub(super) fn rule(&self) -> Option<String> {
        let source = self.side(Place::Source)?;
        let target = self.side(Place::Target)?;
        let [before, after] = self.region.calls();
        let calls = |n: usize| format!("{n} call{}", if n == 1 { "" } else { "s" });
        Some(format!(
            "/// Replaces {} by {}.\nrule {}({}) {{ {source} => {target} numerics {} }}\n",
            calls(before),
            calls(after),
            self.name,
            self.variables().join(", "),
            self.class,
        ))
    }

    /// The region as an example of the rule.
    pub(super) fn example(&self) -> String {
        let sides = [Place::Source, Place::Target].map(|place| {
            let mut program = to_program(self.graph(place));
            program.operators.clear();
            program.functions.iter_mut().for_each(|function| function.name = None);
            format_program(&program)
        });
        let [source, target] = sides;
        format!("example {} {{ {source} => {target} }}\n", self.name)
    }

    fn variables(&self) -> Vec<String> {
        let graph = &self.region.source;
        let mut dims: Vec<Dim> = Vec::new();
        let mut out: Vec<String> = Vec::new();
        for &v in graph.inputs() {
            let name = graph.vertex(v).name.as_deref().unwrap_or_default();
            let shape = graph
                .ty(v)
                .as_tensor()
                .and_then(|ty| Some((ty.dtype, ty.shape.as_ref()?)));
            let Some((dtype, shape)) = shape.filter(|_| self.typing != Typing::Open) else {
                out.push(name.to_owned());
                continue;
            };
            let shape = shape.iter().map(|dim| match (self.typing, dim.as_const()) {
                (Typing::Exact, Some(n)) => n.to_string(),
                (_, Some(1)) => "1".to_owned(),
                _ => {
                    let at = dims.iter().position(|d| d == dim).unwrap_or_else(|| {
                        dims.push(dim.clone());
                        dims.len() - 1
                    });
                    format!("d{at}")
                }
            });
            let shape = shape.collect::<Vec<_>>().join(", ");
            let dtype = if self.typing == Typing::Exact { dtype.name() } else { "" };
            out.push(format!("{name}: {dtype}[{shape}]"));
        }
        for group in self.groups.iter().filter(|group| group.is_open) {
            if let What::Number(..) = group.what {
                out.push(group.name.clone());
            }
        }
        out
    }

    /// One side: values that are used more than once are named.
    fn side(&self, place: Place) -> Option<String> {
        let graph = self.graph(place);
        let mut uses: FxHashMap<VertexId, usize> = FxHashMap::default();
        for v in graph.rpo() {
            for u in graph.pred(v) {
                *uses.entry(u).or_default() += 1;
            }
        }
        let prefix = match place {
            Place::Source => 's',
            Place::Target => 't',
        };
        let mut written: FxHashMap<VertexId, String> = FxHashMap::default();
        let mut out = String::new();
        let mut named = 0;
        for v in graph.rpo() {
            let mut text = self.expression(place, v, &written)?;
            if graph.vertex(v).op().is_some() && uses.get(&v).is_some_and(|n| *n > 1) {
                named += 1;
                let name = format!("{prefix}{named}");
                let _ = write!(out, "let {name} = {text}; ");
                text = name;
            }
            written.insert(v, text);
        }
        out.push_str(written.get(&Region::root(graph)?)?);
        Some(out)
    }

    fn expression(&self, place: Place, v: VertexId, written: &FxHashMap<VertexId, String>) -> Option<String> {
        let graph = self.graph(place);
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let args: Vec<&str> = operands
            .iter()
            .map(|u| Some(written.get(u)?.as_str()))
            .collect::<Option<_>>()?;
        Some(match &vertex.node {
            Node::Input | Node::Param => vertex.name.as_deref()?.to_owned(),
            Node::Absent => "none".to_owned(),
            Node::Const(value) => match self.open_number(place, v) {
                Some(name) => name.to_owned(),
                None => number_text(number(value)?, value.dtype()),
            },
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => self.call(place, v, def, attrs, &args)?,
            Node::Proj(i) => format!("{}.{i}", args.first()?),
            Node::Call { op: Op::Opaque(_), .. } | Node::Tuple => return None,
        })
    }

    fn call(&self, place: Place, v: VertexId, def: &OpDef, attrs: &[AttrValue], args: &[&str]) -> Option<String> {
        let mut entries = Vec::new();
        let written = written_attributes(self.graph(place), v);
        for (i, attr) in def.attrs.iter().enumerate() {
            let value = match self.open_attribute(place, v, i) {
                Some(name) => name.to_owned(),
                None if written.contains(&i) => self.attribute(attrs.get(i)?)?,
                None => continue,
            };
            entries.push(format!("{} = {value}", attr.name));
        }
        if entries.is_empty()
            && let Some(text) = infix(def, args)
        {
            return Some(text);
        }
        let name = if is_name(def.name) {
            def.name.to_owned()
        } else {
            literal(ExprKind::Str(def.name.into()))
        };
        let mut out = format!("{name}({})", args.join(", "));
        if !entries.is_empty() {
            let _ = write!(out, " {{{}}}", entries.join(", "));
        }
        Some(out)
    }

    fn open_attribute(&self, place: Place, v: VertexId, index: usize) -> Option<&str> {
        let group = self.groups.iter().find(|group| {
            group.is_open && matches!(&group.what, What::Attribute(_, at) if at.contains(&(place, v, index)))
        })?;
        Some(&group.name)
    }

    fn open_number(&self, place: Place, v: VertexId) -> Option<&str> {
        let group = self
            .groups
            .iter()
            .find(|group| group.is_open && matches!(&group.what, What::Number(_, at) if at.contains(&(place, v))))?;
        Some(&group.name)
    }

    fn attribute(&self, value: &AttrValue) -> Option<String> {
        let list = |items: Option<Vec<String>>| Some(format!("[{}]", items?.join(", ")));
        match value {
            AttrValue::None => Some("none".to_owned()),
            AttrValue::Bool(b) => Some(b.to_string()),
            AttrValue::Int(dim) => self.dim(dim),
            AttrValue::Ints(dims) => list(dims.iter().map(|dim| self.dim(dim)).collect()),
            AttrValue::Float(x) => Some(number_text(x.0, DType::F64)),
            AttrValue::Floats(all) => list(all.iter().map(|x| Some(number_text(x.0, DType::F64))).collect()),
            AttrValue::Str(text) => Some(literal(ExprKind::Str(text.clone()))),
            AttrValue::Strs(all) => list(
                all.iter()
                    .map(|text| Some(literal(ExprKind::Str(text.clone()))))
                    .collect(),
            ),
            AttrValue::DType(dtype) => Some(dtype.name().to_owned()),
            AttrValue::Tensor(_) | AttrValue::Region(_) | AttrValue::Foreign { .. } => None,
        }
    }

    /// A number, or the dimension of a variable.
    fn dim(&self, dim: &Dim) -> Option<String> {
        if let Some(n) = dim.as_const() {
            return Some(n.to_string());
        }
        let graph = &self.region.source;
        graph.inputs().iter().find_map(|&v| {
            let axis = graph.ty(v).as_tensor()?.shape.as_ref()?.iter().position(|d| d == dim)?;
            Some(format!("{}.shape[{axis}]", graph.vertex(v).name.as_deref()?))
        })
    }
}

/// The shortest text of a number of that element type.
fn number_text(value: f64, dtype: DType) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let short = match dtype {
        // The digits of the narrow number, not those of what it is in double precision.
        DType::F32 => (value as f32).to_string().parse().unwrap_or(value),
        _ => value,
    };
    literal(ExprKind::Float {
        value: short,
        suffix: None,
    })
}

/// A literal as it is written in programs.
fn literal(kind: ExprKind) -> String {
    let mut ast = Program::synthetic().ast;
    let id = ast.make(kind);
    format_expr(&ast, id)
}

/// The call by the symbol of the operator.
fn infix(def: &OpDef, args: &[&str]) -> Option<String> {
    match args {
        [x] => {
            let op = UnaryOp::ALL.into_iter().find(|op| op.operator() == def.name)?;
            Some(format!("({}{x})", op.symbol()))
        }
        [x, y] => {
            let is_clear = |op: &BinaryOp| *op != BinaryOp::MatMul && op.operator() == Some(def.name);
            let op = BinaryOp::ALL.into_iter().find(is_clear)?;
            Some(format!("({x} {} {y})", op.symbol()))
        }
        _ => None,
    }
}

/// A name that no other suggestion has: the operators at the two roots.
fn name(region: &Region, taken: &[String]) -> String {
    let operator = |graph: &Graph| -> Option<String> {
        let mut v = Region::root(graph)?;
        while matches!(graph.vertex(v).node, Node::Proj(_)) {
            v = *graph.pred(v).first()?;
        }
        let name = graph.vertex(v).op()?.name();
        let plain = name.rsplit("::").next().unwrap_or_default();
        let mut out = String::new();
        for letter in plain.chars() {
            if letter.is_uppercase() && !out.is_empty() && !out.ends_with('-') {
                out.push('-');
            }
            out.push(if letter == '_' {
                '-'
            } else {
                letter.to_ascii_lowercase()
            });
        }
        Some(out)
    };
    let source = operator(&region.source).unwrap_or_else(|| "value".to_owned());
    let base = match operator(&region.target) {
        Some(target) => format!("{target}-from-{source}"),
        None => format!("{source}-is-nothing"),
    };
    let is_free = |name: &String| !taken.contains(name);
    let numbered = (2..).map(|i| format!("{base}-{i}"));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(is_free)
        .unwrap_or(base)
}

/// The attributes and numbers of the source, each with its equals in the target.
fn groups(region: &Region) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    let sides = [(Place::Source, &region.source), (Place::Target, &region.target)];
    let carried = |name: &str, value: &AttrValue| {
        let graph = &region.target;
        graph.rpo().into_iter().any(|v| match &graph.vertex(v).node {
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => def
                .attrs
                .iter()
                .zip(attrs.iter())
                .any(|(a, other)| a.name == name && other == value),
            _ => false,
        })
    };
    for (place, graph) in sides {
        for v in graph.rpo() {
            match &graph.vertex(v).node {
                Node::Call {
                    op: Op::Known(def),
                    attrs,
                } => {
                    let written = written_attributes(graph, v);
                    for (i, (attr, value)) in def.attrs.iter().zip(attrs.iter()).enumerate() {
                        let same = out.iter_mut().find_map(|group| match &mut group.what {
                            What::Attribute(other, at) if other == value && group.name == attr.name => Some(at),
                            _ => None,
                        });
                        match same {
                            Some(at) => at.push((place, v, i)),
                            None if place == Place::Source
                                && !value.is_none()
                                && (written.contains(&i) || carried(attr.name, value)) =>
                            {
                                let what = What::Attribute(value.clone(), vec![(place, v, i)]);
                                out.push(Group {
                                    is_open: false,
                                    name: attr.name.to_owned(),
                                    what,
                                });
                            }
                            None => {}
                        }
                    }
                }
                Node::Const(value) => {
                    let Some(bits) = number(value).map(f64::to_bits) else {
                        continue;
                    };
                    let same = out.iter_mut().find_map(|group| match &mut group.what {
                        What::Number(other, at) if *other == bits => Some(at),
                        _ => None,
                    });
                    match same {
                        Some(at) => at.push((place, v)),
                        None if place == Place::Source => out.push(Group {
                            is_open: false,
                            name: String::new(),
                            what: What::Number(bits, vec![(place, v)]),
                        }),
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }
    distinct(&mut out);
    out
}

/// Gives each group a different name.
fn distinct(groups: &mut [Group]) {
    let mut taken: Vec<String> = Vec::new();
    for group in groups {
        let base = match group.what {
            What::Number(..) => "c".to_owned(),
            What::Attribute(..) => group.name.clone(),
        };
        let numbered = (2..).map(|i| format!("{base}{i}"));
        let name = std::iter::once(base.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name));
        group.name = name.unwrap_or(base);
        taken.push(group.name.clone());
    }
}

/// True if types of both sides are known well enough for an example.
pub(super) fn has_types(region: &Region) -> bool {
    let known = |v: &VertexId| matches!(region.source.ty(*v), Type::Tensor(ty) if ty.shape.is_some());
    region.source.inputs().iter().all(known)
}
