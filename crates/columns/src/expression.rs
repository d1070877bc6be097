//! Typed expressions from text.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use rustc_hash::FxHashSet;

use tautomer_diag::{Diagnostic, Diagnostics, Source};
use tautomer_lang::ast::{ExprKind, OutputDecl, Outputs};
use tautomer_lang::parse_outputs;

use crate::infer::{Root, infer};
use crate::options::Options;
use crate::program::{Kind, Node, NodeId, Program};
use crate::schema::data_type;
use crate::types::Type;

/// The length of a name that is taken from the text.
const MAX_NAME: usize = 64;

/// Expressions whose types are known, over the columns of one schema.
#[derive(Debug, Clone)]
pub struct Expressions {
    pub(crate) schema: SchemaRef,
    pub(crate) options: Options,
    pub(crate) program: Program,
    pub(crate) outputs: Vec<Output>,
}

/// One expression: its name, its place in the program.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    /// The column that is passed on as it is, if the expression is written as one.
    pub(crate) column: Option<usize>,
}

impl Expressions {
    /// Parses expressions separated by `;` and infers their types, with the default options.
    ///
    /// ```
    /// use tautomer_columns::{Expressions, Type, schema};
    ///
    /// let schema = schema("x: int32, y: float64, z: boolean").unwrap();
    /// let expressions = Expressions::parse(&schema, "if(z, castFloat8(x), y * 1000.0)").unwrap();
    /// assert_eq!(expressions.types(), [Type::Float64]);
    /// ```
    ///
    /// # Errors
    ///
    /// Syntax, unknown names, types that do not fit: all of them, with their places.
    pub fn parse(schema: &SchemaRef, text: &str) -> Result<Self, Diagnostics> {
        Expressions::parse_with(schema, text, &Options::default())
    }

    /// Parses expressions separated by `;` and infers their types.
    ///
    /// ```
    /// use tautomer_columns::{Expressions, Options, Type, schema};
    ///
    /// let schema = schema("x: i32, y: i64").unwrap();
    /// assert!(Expressions::parse(&schema, "x + y").is_err());
    /// let options = Options { promote: true, ..Options::default() };
    /// assert_eq!(Expressions::parse_with(&schema, "x + y", &options).unwrap().types(), [Type::Int64]);
    /// ```
    ///
    /// # Errors
    ///
    /// Same as for [`Expressions::parse`].
    pub fn parse_with(schema: &SchemaRef, text: &str, options: &Options) -> Result<Self, Diagnostics> {
        let source = Arc::new(Source::new("expression", text));
        let parsed = parse_outputs(Arc::clone(&source), options.caret_is_power)?;
        let mut problems = Diagnostics::new();
        let mut roots = Vec::with_capacity(parsed.outputs.len());
        for output in &parsed.outputs {
            let declared = declared(output).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            });
            roots.push(Root {
                value: output.value,
                declared,
            });
        }
        let names = names(&parsed, &mut problems);
        let mut program = Program::default();
        let nodes = infer(&parsed.ast, schema, options, &roots, &mut program);
        let nodes = nodes.unwrap_or_else(|found| {
            problems.extend(found);
            Vec::new()
        });
        let outputs = names.into_iter().zip(nodes).map(|(name, node)| Output {
            name,
            node,
            column: match program.get(node).kind {
                Kind::Field(column) => Some(column),
                _ => None,
            },
        });
        let outputs: Vec<Output> = outputs.collect();
        let expressions = Expressions {
            schema: Arc::clone(schema),
            options: options.clone(),
            program,
            outputs,
        };
        problems.in_source(&source).into_result(expressions)
    }

    /// The options that the text was parsed with, which also decide how it is evaluated.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether equal rows have equal results: whether no function such as `random` is called.
    ///
    /// ```
    /// use tautomer_columns::{Expressions, schema};
    ///
    /// let schema = schema("x: f64").unwrap();
    /// assert!(Expressions::parse(&schema, "sqrt(x)").unwrap().is_pure());
    /// assert!(!Expressions::parse(&schema, "x * random()").unwrap().is_pure());
    /// ```
    pub fn is_pure(&self) -> bool {
        let pure = |node: &Node| !matches!(&node.kind, Kind::Call(function, _) if !function.pure_function);
        self.program.nodes().iter().all(pure)
    }

    /// The types, in the order of the expressions.
    pub fn types(&self) -> Vec<Type> {
        self.outputs
            .iter()
            .map(|output| self.program.get(output.node).ty)
            .collect()
    }

    /// The names: as written, or that of the column if the expression is one, or else the text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|output| output.name.as_str())
    }

    /// The schema of the results. A column that is passed on keeps its field.
    pub fn output_schema(&self) -> SchemaRef {
        let fields = self.outputs.iter().map(|output| {
            let node = self.program.get(output.node);
            match output.column {
                Some(column) => self.schema.field(column).clone().with_name(&output.name),
                None => Field::new(&output.name, node.ty.arrow(), true),
            }
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

fn declared(output: &OutputDecl) -> Result<Option<(Type, tautomer_diag::Span)>, Diagnostic> {
    let Some(written) = &output.ty else { return Ok(None) };
    let data_type = data_type(written)?;
    match Type::of(&data_type) {
        Some(ty) => Ok(Some((ty, written.span))),
        None => {
            Err(Diagnostic::error("T0705", format!("no expression has the type {data_type}")).label(written.span, ""))
        }
    }
}

/// The names of the results; those that are not written are made different from the others.
fn names(parsed: &Outputs, problems: &mut Diagnostics) -> Vec<String> {
    let (ast, outputs) = (&parsed.ast, &parsed.outputs);
    let mut taken: FxHashSet<String> = FxHashSet::default();
    for output in outputs {
        if let Some(name) = &output.name
            && !taken.insert(name.as_str().to_owned())
        {
            let problem = Diagnostic::error("T0105", format!("the result `{}` is defined twice", name.as_str()));
            problems.push(problem.label(name.span, "again"));
        }
    }
    let mut out = Vec::with_capacity(outputs.len());
    for output in outputs {
        if let Some(name) = &output.name {
            out.push(name.as_str().to_owned());
            continue;
        }
        let text = ast.source.slice(ast.span(output.value)).trim();
        let written = match (ast.kind(output.value), text.char_indices().nth(MAX_NAME)) {
            (ExprKind::Name(name), _) => name.to_string(),
            (_, Some((end, _))) => text[..end].to_owned(),
            (_, None) => text.to_owned(),
        };
        let mut name = written.clone();
        let mut count = 2;
        while !taken.insert(name.clone()) {
            name = format!("{written}_{count}");
            count += 1;
        }
        out.push(name);
    }
    out
}
