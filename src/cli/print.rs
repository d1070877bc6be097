//! `tautomer print`: a program or model at some stage of processing.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::formats::{DOT_LIMIT, to_dot};
use tautomer::graph::{Graph, Node};
use tautomer::kuiper::{Expression, Rpn, Token};
use tautomer::lang::{format_program, format_rules, parse_program, parse_rules};
use tautomer::rule::Class;

use super::input::{self, Kind};
use super::optimize::parse_class;
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param), or an expression for `tokens` and `rpn`; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What to show
    #[arg(long, value_enum, default_value = "graph")]
    stage: Stage,
    /// How to show it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// How exact results have to be, for `--stage plan`, as for `run`
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// The file type, regardless of its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The syntax tree
    Ast,
    /// The typed graph
    Graph,
    /// The execution plan
    Plan,
    /// The tokens of an expression as KuiperInfer reads it; the expression takes the place of the file:
    /// `add(@0,mul(@1,@2))`
    Tokens,
    /// The same in reverse Polish notation
    Rpn,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let format = if shell.json { Format::Json } else { args.format };
    if args.stage == Stage::Ast {
        return ast(args, format, shell);
    }
    if matches!(args.stage, Stage::Tokens | Stage::Rpn) {
        return expression(args, format, shell);
    }
    let loaded = input::read(&args.file, args.from, None, shell)?;
    let graph = &loaded.workload.graph;
    match (args.stage, format) {
        (Stage::Plan, Format::Dot) => Err(no_form("a plan", "DOT")),
        (Stage::Plan, _) => {
            let plan = tautomer::plan_within(graph, args.class)?;
            if format == Format::Text {
                return shell.result(&plan.to_string());
            }
            let plan = serde_json::to_value(&plan).map_err(|e| Failure::new("T0406", e.to_string()))?;
            shell.json(json!({ "plan": plan }))
        }
        (_, Format::Text) => shell.result(&output::program_text(&loaded.workload).0),
        (_, Format::Json) => shell.json(graph_json(graph)),
        (_, Format::Dot) => shell.result(&to_dot(graph, DOT_LIMIT)),
    }
}

fn ast(args: &Args, format: Format, shell: &Shell) -> Done {
    if format != Format::Text {
        return Err(no_form(
            "a syntax tree",
            if format == Format::Json { "JSON" } else { "DOT" },
        ));
    }
    let text = match Kind::of(&args.file, args.from)? {
        Kind::Taut => format_program(&parse_program(input::source(&args.file)?)?),
        Kind::Rules => format_rules(&parse_rules(input::source(&args.file)?)?),
        Kind::Onnx | Kind::Pnnx => {
            let problem = Diagnostic::error("T0402", "a model has no syntax tree");
            return Err(problem.help("`--stage graph` shows it as a program").into());
        }
    };
    shell.result(&text)
}

/// Prints the tokens or the reverse Polish notation of an expression.
fn expression(args: &Args, format: Format, shell: &Shell) -> Done {
    let text = match args.file.is_file() {
        true => input::source(&args.file)?.text.to_string(),
        false => args.file.to_string_lossy().into_owned(),
    };
    let expression = Expression::parse(&text)?;
    match (args.stage, format) {
        (_, Format::Dot) => Err(no_form("an expression", "DOT")),
        (Stage::Tokens, Format::Text) => {
            let line = |t: &Token| format!("{:8}  [{},{})  {}\n", t.text, t.start, t.end, t.kind);
            shell.result(&expression.tokens().iter().map(line).collect::<String>())
        }
        (_, Format::Text) => shell.result(&format!("{}\n", expression.rpn_text())),
        (_, Format::Json) => {
            let token = |t: &Token| json!({ "text": t.text, "kind": t.kind.to_string(), "code": t.kind.code(), "start": t.start, "end": t.end });
            let item = |r: &Rpn| json!({ "text": r.to_string(), "num_index": r.num_index() });
            let tokens: Vec<Value> = expression.tokens().iter().map(token).collect();
            let rpn: Vec<Value> = expression.rpn().iter().map(item).collect();
            shell.json(json!({ "tokens": tokens, "rpn": rpn }))
        }
    }
}

fn no_form(what: &str, format: &str) -> Failure {
    Failure::new("T0402", format!("{what} has no {format} form"))
}

/// The graph as JSON: vertices in reverse post-order, operands as indices into that order.
fn graph_json(graph: &Graph) -> Value {
    let mut order = graph.rpo();
    let reached: rustc_hash::FxHashSet<_> = order.iter().copied().collect();
    order.extend(graph.inputs().iter().copied().filter(|v| !reached.contains(v)));
    let place: rustc_hash::FxHashMap<_, _> = order.iter().enumerate().map(|(i, &v)| (v, i)).collect();
    let vertices: Vec<Value> = order
        .iter()
        .map(|&v| {
            let vertex = graph.vertex(v);
            let operands: Vec<usize> = graph.pred(v).iter().map(|u| place[u]).collect();
            let mut out = json!({ "type": vertex.ty.to_string(), "operands": operands });
            let Value::Object(map) = &mut out else { return out };
            let kind = match &vertex.node {
                Node::Input => "input",
                Node::Param => "param",
                Node::Const(value) => {
                    map.insert("value".to_owned(), output::tensor_json("", value)["values"].clone());
                    "const"
                }
                Node::Absent => "none",
                Node::Tuple => "tuple",
                Node::Proj(i) => {
                    map.insert("index".to_owned(), json!(i));
                    "projection"
                }
                Node::Call { op, attrs } => {
                    map.insert("op".to_owned(), json!(op.name()));
                    let given = op
                        .attr_names()
                        .into_iter()
                        .zip(attrs.iter())
                        .filter(|(_, v)| !v.is_none());
                    let attrs: serde_json::Map<String, Value> = given
                        .map(|(name, value)| (name.to_owned(), json!(value.to_string())))
                        .collect();
                    if !attrs.is_empty() {
                        map.insert("attrs".to_owned(), Value::Object(attrs));
                    }
                    "call"
                }
            };
            map.insert("kind".to_owned(), json!(kind));
            if let Some(name) = &vertex.name {
                map.insert("name".to_owned(), json!(name));
            }
            if !vertex.rules.is_empty() {
                map.insert("rules".to_owned(), json!(vertex.rules));
            }
            out
        })
        .collect();
    let places = |ids: &[_]| -> Vec<usize> { ids.iter().filter_map(|v| place.get(v).copied()).collect() };
    let outputs: Vec<_> = graph.outputs().iter().map(|o| o.vertex).collect();
    json!({
        "name": if graph.name.is_empty() { "main" } else { &graph.name },
        "inputs": places(graph.inputs()),
        "params": places(graph.params()),
        "outputs": places(&outputs),
        "vertices": vertices,
    })
}
