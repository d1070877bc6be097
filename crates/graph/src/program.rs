//! From a parsed program to its graph.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Graph;
use super::build::budget::Budget;
use super::build::{Builder, Items};
use super::declare::declare;
use super::term::Term;
use tautomer_diag::{Diagnostic, Diagnostics, Span};
use tautomer_lang::ast::{Ast, Block, ExprKind, Function, ParamClass, Program};
use tautomer_op::{OpDef, Scope};
use tautomer_tensor::{Atom, DType, Dim, TensorType, Type};

/// Options for building a graph from a program.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Types of inputs that the program itself does not type, by name; all others are `f32[..]`.
    pub inputs: FxHashMap<String, Type>,
    /// The maximum number of vertices of a graph.
    pub max_vertices: usize,
    /// The maximum number of expressions after functions are inlined and comprehensions expanded, not counting those of
    /// the text itself.
    pub max_inlined: usize,
    /// The maximum total number of elements of all tuples of a program, including those of inner tuples.
    pub max_tuple_elements: usize,
    /// The declared operators that the program may mention besides its own.
    pub scope: Scope,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions {
            inputs: FxHashMap::default(),
            max_vertices: 4_000_000,
            max_inlined: 1 << 18,
            max_tuple_elements: 1 << 20,
            scope: Scope::default(),
        }
    }
}

/// The typed graph of a program: of its bare expression, else of `main`, else of its only function.
///
/// # Errors
/// Every problem found, with its location.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_graph::{BuildOptions, build_program};
/// use tautomer_lang::parse_program;
///
/// let source = Arc::new(Source::new("example", "fn main(x: f32[n, 2]) { x + x }"));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), "f32[n, 2]");
/// ```
pub fn build_program(program: &Program, options: &BuildOptions) -> Result<Graph, Diagnostics> {
    let source = &program.ast.source;
    let (items, mut problems) = Items::new(&program.functions, &program.opaques);
    let items = Arc::new(items);
    let (own, declared) = declare(&program.operators, &options.scope);
    let failed = declared.has_errors();
    problems.extend(declared);
    for (function, operator) in program.functions.iter().filter_map(|f| {
        let name = f.name.as_ref()?;
        Some((name, program.operators.iter().find(|o| o.name.name == name.name)?))
    }) {
        problems.push(
            Diagnostic::error("T0105", format!("`{}` is a function and an operator", function.name))
                .label(function.span, "defined as a function here")
                .secondary(operator.name.span, "declared as an operator here")
                .help("rename one of the two"),
        );
    }
    if failed {
        // Calls of operators that are not known would be reported as well.
        let mut problems = problems.in_source(source);
        problems.sort();
        return Err(problems);
    }
    let mut with_own = options.clone();
    with_own.scope.extend(&own);
    let options = &with_own;
    let mut budget = Budget::new(&program.ast, options);
    let mut graphs = Vec::new();
    match (&program.body, main_function(program)) {
        (Some(body), _) => graphs.extend(build(
            program,
            Entry::Bare(body),
            &items,
            options,
            &mut budget,
            &mut problems,
        )),
        (None, Some(main)) => {
            let called = called_by_operators(&program.ast);
            let twice = problems.has_errors();
            // Functions that are never called are checked as well.
            for function in program.functions.iter().filter(|f| !std::ptr::eq(*f, main)) {
                // A function that an operator calls is checked at that call, where more may be known.
                let called = function.name.as_ref().is_some_and(|n| called.contains(&n.name));
                if !called && function.params.iter().all(|p| p.ty.is_some()) && !twice {
                    let mut own = Diagnostics::new();
                    build(
                        program,
                        Entry::Function(function),
                        &items,
                        options,
                        &mut budget,
                        &mut own,
                    );
                    problems.extend(own);
                }
            }
            graphs.extend(build(
                program,
                Entry::Function(main),
                &items,
                options,
                &mut budget,
                &mut problems,
            ));
        }
        (None, None) => problems.push(
            Diagnostic::error("T0108", "the program has nothing to run")
                .label(tautomer_diag::Span::default(), "")
                .help("write an expression, or a function: `fn main(x: f32[n]) { … }`"),
        ),
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let unique: Diagnostics = problems
        .into_iter()
        .filter(|p| seen.insert((p.code, p.span(), p.message.clone())))
        .collect();
    let mut problems = unique.in_source(source);
    problems.sort();
    match graphs.pop() {
        Some(graph) => problems.into_result(graph),
        None => Err(problems),
    }
}

/// The names used as attributes, which include the functions that operators call.
fn called_by_operators(ast: &Ast) -> rustc_hash::FxHashSet<Arc<str>> {
    let attributes = ast.iter().filter_map(|(_, expr)| match &expr.kind {
        ExprKind::Call { attrs: Some(attrs), .. } => Some(attrs),
        _ => None,
    });
    let values = attributes.flat_map(|attrs| attrs.entries.iter().map(|entry| ast.kind(entry.value)));
    values
        .filter_map(|kind| match kind {
            ExprKind::Name(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn main_function(program: &Program) -> Option<&Function> {
    let named = |f: &&Function| f.name.as_ref().is_some_and(|n| n.as_str() == "main");
    program
        .functions
        .iter()
        .find(named)
        .or(match program.functions.as_slice() {
            [only] => Some(only),
            several => several.last(),
        })
}

/// The graph of one function that is not part of a program, such as an example of a rule.
///
/// # Errors
/// Every problem found, with its location.
pub fn build_function(ast: &Ast, function: &Function, options: &BuildOptions) -> Result<Graph, Diagnostics> {
    let mut problems = Diagnostics::new();
    let graph = assemble(
        ast,
        Entry::Function(function),
        None,
        Within::default(),
        options,
        &mut Budget::new(ast, options),
        &mut problems,
    );
    let problems = problems.in_source(&ast.source);
    match graph {
        Some(graph) => problems.into_result(graph),
        None => Err(problems),
    }
}

/// The context in which a function is called.
#[derive(Default)]
pub(super) struct Within {
    /// The enclosing functions, itself last; empty for a function that is not called by an operator.
    pub(super) path: Vec<Arc<str>>,
    /// The symbols defined there.
    pub(super) symbols: Vec<Arc<str>>,
    /// The declared operators that may be mentioned there.
    pub(super) scope: Scope,
}

/// The graph of a function that an operator calls.
pub(super) fn function_graph(
    ast: &Ast,
    function: &Function,
    items: Option<&Arc<Items<'_>>>,
    within: Within,
    budget: &mut Budget,
    problems: &mut Diagnostics,
) -> Option<Graph> {
    let options = BuildOptions {
        scope: within.scope.clone(),
        ..BuildOptions::default()
    };
    assemble(
        ast,
        Entry::Function(function),
        items,
        within,
        &options,
        budget,
        problems,
    )
}

#[derive(Clone, Copy)]
enum Entry<'a> {
    Function(&'a Function),
    Bare(&'a Block),
}

fn build(
    program: &Program,
    entry: Entry<'_>,
    items: &Arc<Items<'_>>,
    options: &BuildOptions,
    budget: &mut Budget,
    problems: &mut Diagnostics,
) -> Option<Graph> {
    assemble(
        &program.ast,
        entry,
        Some(items),
        Within::default(),
        options,
        budget,
        problems,
    )
}

fn assemble(
    ast: &Ast,
    entry: Entry<'_>,
    items: Option<&Arc<Items<'_>>>,
    within: Within,
    options: &BuildOptions,
    budget: &mut Budget,
    problems: &mut Diagnostics,
) -> Option<Graph> {
    if budget.spent {
        return None;
    }
    let mut graph = Graph::new();
    let inputs = match entry {
        Entry::Function(function) => Inputs::declared(ast, function, options, problems),
        Entry::Bare(block) => Inputs::free(ast, block, options),
    };
    graph.reserve_unknown(inputs.unknown);
    let mut vertices = Vec::new();
    for (name, class, ty) in &inputs.list {
        vertices.push(match class {
            // A called function receives its parameters from the call.
            ParamClass::Param if within.path.is_empty() => graph.param(name, ty.clone()),
            ParamClass::Param | ParamClass::Input => graph.input(name, ty.clone()),
        });
    }
    if let Entry::Function(f) = entry {
        graph.name = f.name.as_ref().map(|n| n.name.to_string()).unwrap_or_default();
        graph.doc = f.doc.clone();
        for (param, v) in f.params.iter().zip(&vertices) {
            graph.set_span(*v, param.span);
        }
    }
    let mut builder = Builder::new(ast, &mut graph);
    builder.budget = budget.clone();
    builder.scope = options.scope.clone();
    if let Some(items) = items {
        builder.declare(items);
    }
    builder.path = within.path;
    for symbol in within.symbols.iter().chain(&inputs.symbols) {
        builder.symbol(symbol);
    }
    for ((name, ..), v) in inputs.list.iter().zip(&vertices) {
        builder.bind(name, Some(Term::Value(*v)));
    }
    let result = build_result(&mut builder, entry);
    problems.extend(std::mem::take(&mut builder.problems));
    *budget = builder.budget;
    let (vertex, span, declared) = result?;
    if let Some((declared, place)) = declared
        && let actual = graph.ty(vertex)
        && !declared.admits(actual)
    {
        problems.push(
            Diagnostic::error(
                "T0204",
                format!("the function is declared to return {declared}, but returns {actual}"),
            )
            .label(span, format!("this is {actual}"))
            .secondary(place, "declared here"),
        );
        return None;
    }
    add_outputs(&mut graph, vertex);
    graph.retain_reachable();
    Some(graph)
}

/// The value of a body and its span in the text, and the declared type with its span.
type BuiltResult = (super::VertexId, Span, Option<(Type, Span)>);

/// Builds the body of `entry`.
fn build_result<'a>(builder: &mut Builder<'a>, entry: Entry<'a>) -> Option<BuiltResult> {
    let ast = builder.ast;
    let (value, span, declared) = match entry {
        Entry::Function(f) => {
            let value = builder.block(&f.body);
            let mut unknown = || Dim::unknown(u32::MAX);
            let declared = f
                .result
                .as_ref()
                .and_then(|t| Some((builder.type_of(t, &mut unknown)?, t.span)));
            (value, ast.span(f.body.result), declared)
        }
        Entry::Bare(block) => (builder.block(block), ast.span(block.result), None),
    };
    let value = match &declared {
        Some((declared, _)) => value.and_then(|t| builder.coerced(t, declared, span)),
        None => value,
    };
    Some((value.and_then(|t| builder.vertex(t, span))?, span, declared))
}

/// The inputs of a graph, before it is built.
#[derive(Default)]
struct Inputs {
    list: Vec<(Arc<str>, ParamClass, Type)>,
    /// The number of dimensions that are declared unknown.
    unknown: u32,
    /// The symbols of declared dimensions, in order of appearance.
    symbols: Vec<Arc<str>>,
}

impl Inputs {
    /// The inputs that a function declares.
    fn declared(ast: &Ast, function: &Function, options: &BuildOptions, problems: &mut Diagnostics) -> Inputs {
        let mut inputs = Inputs::default();
        // A builder of their own reports problems of their types; nothing is added to its graph.
        let mut sink = Graph::new();
        let mut typer = Builder::new(ast, &mut sink);
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for param in &function.params {
            let name = param.name.as_str();
            if let Some(before) = seen.get(name) {
                typer.report(
                    Diagnostic::error("T0105", format!("there are two inputs `{name}`"))
                        .label(param.span, "again here")
                        .secondary(*before, "first here")
                        .help("rename one of the two"),
                );
            }
            seen.entry(name).or_insert(param.span);
            let mut unknown = || {
                inputs.unknown += 1;
                Dim::unknown(inputs.unknown - 1)
            };
            let ty = param.ty.as_ref().and_then(|ty| typer.type_of(ty, &mut unknown));
            let ty = ty.unwrap_or_else(|| untyped(options, name));
            inputs.list.push((param.name.name.clone(), param.class, ty));
        }
        problems.extend(std::mem::take(&mut typer.problems));
        for (_, _, ty) in &inputs.list {
            ty.visit_dims(&mut |d| {
                d.visit_atoms(&mut |a| {
                    if let Atom::Symbol(s) = a {
                        inputs.symbols.push(s.clone());
                    }
                });
            });
        }
        inputs
    }

    /// The free names of a bare expression.
    fn free(ast: &Ast, block: &Block, options: &BuildOptions) -> Inputs {
        let input = |name: Arc<str>| {
            let ty = untyped(options, &name);
            (name, ParamClass::Input, ty)
        };
        Inputs {
            list: free_names(ast, block).into_iter().map(input).collect(),
            ..Inputs::default()
        }
    }
}

/// The type of an input without a declared one.
fn untyped(options: &BuildOptions, name: &str) -> Type {
    let given = options.inputs.get(name).cloned();
    given.unwrap_or_else(|| TensorType::any_rank(DType::F32).into())
}

/// Adds the results; a tuple is split into its elements.
fn add_outputs(graph: &mut Graph, root: super::VertexId) {
    let mut stack = vec![root];
    while let Some(v) = stack.pop() {
        match graph.ty(v).clone() {
            Type::Tuple(_) if matches!(graph.vertex(v).node, super::Node::Tuple) => {
                stack.extend(graph.pred(v).into_iter().rev())
            }
            Type::Tuple(items) => {
                for i in (0..items.len()).rev() {
                    stack.extend(graph.project(v, i));
                }
            }
            _ => graph.output(v, None),
        }
    }
}

/// The free names of a bare expression, positional ones first, then in order of appearance.
fn free_names(ast: &Ast, block: &Block) -> Vec<Arc<str>> {
    let mut defined: Vec<Arc<str>> = block.lets.iter().flat_map(names_of).collect();
    for (_, expr) in ast.iter() {
        match &expr.kind {
            ExprKind::Comprehension { var, .. } => defined.push(var.name.clone()),
            ExprKind::If { then, otherwise, .. } | ExprKind::When { then, otherwise, .. } => {
                defined.extend(then.lets.iter().chain(&otherwise.lets).flat_map(names_of));
            }
            _ => {}
        }
    }
    let mut positional: Vec<u32> = Vec::new();
    let mut named: Vec<Arc<str>> = Vec::new();
    let mut known: rustc_hash::FxHashSet<Arc<str>> = defined.into_iter().collect();
    let mut names: Vec<(u32, Arc<str>)> = Vec::new();
    for (_, expr) in ast.iter() {
        match &expr.kind {
            ExprKind::Positional(i) if !positional.contains(i) => positional.push(*i),
            ExprKind::Name(name) => names.push((expr.span.start, name.clone())),
            _ => {}
        }
    }
    names.sort();
    for (_, name) in names {
        if name.parse::<DType>().is_err() && &*name != "none" && known.insert(name.clone()) {
            named.push(name);
        }
    }
    positional.sort_unstable();
    let all = positional.last().map_or(0, |last| last + 1).min(1 << 16);
    (0..all).map(|i| format!("@{i}").into()).chain(named).collect()
}

fn names_of(item: &tautomer_lang::ast::Let) -> Vec<Arc<str>> {
    match &item.names {
        tautomer_lang::ast::LetNames::One(name) => vec![name.name.clone()],
        tautomer_lang::ast::LetNames::Tuple(names) => names.iter().map(|n| n.name.clone()).collect(),
    }
}

/// The operators whose bodies are programs.
pub fn composites() -> impl Iterator<Item = &'static OpDef> {
    tautomer_op::table().filter(|op| op.composite_body().is_some())
}
