//! The programs that are timed, from `probes.taut`.

use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::{BuildOptions, Graph, build_program};
use tautomer::lang::ast::Program;
use tautomer::lang::parse_program;

/// All programs that are timed.
pub(super) struct Probes {
    /// Calls so small that starting them is all that takes time.
    pub(super) launch: Graph,
    /// Memory is all that takes time.
    pub(super) bandwidth: Graph,
    /// Arithmetic is all that takes time.
    pub(super) speed: Graph,
    /// Calls of groups of operators.
    pub(super) groups: Vec<Probe>,
}

/// A program whose calls all have the cost of one group of operators.
pub(super) struct Probe {
    /// The operators whose kernels it stands for.
    pub(super) operators: Vec<String>,
    pub(super) graph: Graph,
}

impl Probes {
    /// Reads the programs.
    ///
    /// # Errors
    /// Problems of the file; a test checks that there are none.
    pub(super) fn read() -> Result<Probes, Diagnostics> {
        let source = Arc::new(Source::new("probes.taut", include_str!("probes.taut")));
        let program = parse_program(source)?;
        let mut all = (0..program.functions.len()).map(|at| Ok((operators(&program, at), alone(&program, at)?)));
        let mut next = || all.next().unwrap_or_else(|| Ok(Default::default()));
        let [(_, launch), (_, bandwidth), (_, speed)] = [next()?, next()?, next()?];
        let groups = all.map(|probe: Result<_, Diagnostics>| {
            let (operators, graph) = probe?;
            Ok(Probe { operators, graph })
        });
        Ok(Probes {
            launch,
            bandwidth,
            speed,
            groups: groups.collect::<Result<_, Diagnostics>>()?,
        })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.groups.len() + 3
    }
}

/// The operators that the documentation of a function names.
fn operators(program: &Program, at: usize) -> Vec<String> {
    let doc = program.functions[at].doc.as_deref().unwrap_or_default();
    doc.split([',', '\n'])
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The graph of one function.
fn alone(program: &Program, at: usize) -> Result<Graph, Diagnostics> {
    let mut only = program.clone();
    only.functions = vec![program.functions[at].clone()];
    build_program(&only, &BuildOptions::default())
}
