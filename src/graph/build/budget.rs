//! How much may be built from a text: what is written once may be evaluated very often.

use crate::diag::Diagnostic;
use crate::graph::program::BuildOptions;
use crate::graph::term::MAX_TERM_STEPS;
use crate::lang::ast::Ast;
use crate::tensor::Type;

/// What to do about tuples that are too large.
pub(super) const TUPLE_HELP: &str = "select the needed elements of a tuple before making it part of another one";

/// The most elements of all constants together that functions of a script make.
const MAX_CONSTANTS: usize = 1 << 26;

/// How many names are compared with unknown ones: for the first hundreds of problems, whoever reads them.
const MAX_COMPARISONS: usize = 200_000;

/// What is left for the functions of one program.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// The limits as they were set.
    limits: BuildOptions,
    /// Evaluations of expressions.
    evaluations: usize,
    /// Steps of attribute expressions.
    pub(super) steps: usize,
    /// Elements of tuples.
    elements: usize,
    /// Elements of the constants that functions of a script make.
    constants: usize,
    /// Names that an unknown one is compared with, to say which was meant.
    comparisons: usize,
    /// Whether its end has been reported.
    pub(crate) spent: bool,
}

impl Default for Budget {
    /// The budget for a few expressions that are added to a graph of any size.
    fn default() -> Budget {
        let options = BuildOptions {
            max_vertices: usize::MAX,
            ..BuildOptions::default()
        };
        Budget {
            evaluations: options.max_inlined,
            steps: MAX_TERM_STEPS,
            elements: options.max_tuple_elements,
            limits: options,
            constants: MAX_CONSTANTS,
            comparisons: MAX_COMPARISONS,
            spent: false,
        }
    }
}

impl Budget {
    /// The budget for a text: each of its expressions is evaluated once, those in functions that are called and in
    /// comprehensions more often.
    pub(crate) fn new(ast: &Ast, options: &BuildOptions) -> Budget {
        Budget {
            limits: BuildOptions {
                inputs: rustc_hash::FxHashMap::default(),
                ..options.clone()
            },
            evaluations: options.max_inlined.saturating_add(ast.len()),
            steps: MAX_TERM_STEPS.saturating_add(ast.len().saturating_mul(4)),
            elements: options.max_tuple_elements,
            constants: MAX_CONSTANTS,
            comparisons: MAX_COMPARISONS,
            spent: false,
        }
    }

    /// What is left, and as much again for another text as its own length allows.
    pub(crate) fn for_more(&self, ast: &Ast) -> Budget {
        Budget {
            evaluations: self.evaluations.saturating_add(ast.len()),
            steps: self.steps.saturating_add(ast.len().saturating_mul(4)),
            spent: false,
            ..self.clone()
        }
    }

    /// Counts the elements of a constant that a script makes; what to report if there are more than may be.
    pub(super) fn constant(&mut self, elements: usize) -> Option<Diagnostic> {
        match self.constants.checked_sub(elements) {
            Some(left) => {
                self.constants = left;
                None
            }
            None => Some(
                Diagnostic::error(
                    "T0603",
                    format!("the constants of a script have more than {MAX_CONSTANTS} elements in total, the limit"),
                )
                .help("read large arrays from files: `tautomer run FILE --input x=x.npy` with a program"),
            ),
        }
    }

    /// Whether an unknown name may be compared with so many others.
    pub(super) fn compare(&mut self, names: usize) -> bool {
        let left = self.comparisons.checked_sub(names);
        self.comparisons = left.unwrap_or(0);
        left.is_some()
    }

    /// Counts so many evaluations, beside values made so far; what to report if there are more than may be.
    pub(super) fn evaluate(&mut self, count: usize, vertices: usize) -> Option<Diagnostic> {
        let problem = if vertices > self.limits.max_vertices {
            Diagnostic::error(
                "T0603",
                format!("the program has more than {} nodes", self.limits.max_vertices),
            )
            .help("the limit is `max_vertices` of `BuildOptions`")
        } else if let Some(left) = self.evaluations.checked_sub(count) {
            self.evaluations = left;
            return None;
        } else {
            let most = self.limits.max_inlined;
            let problem = format!("functions and comprehensions expand to more than {most} expressions");
            Diagnostic::error("T0603", problem)
                .note(
                    "functions are inlined where they are called: a few that call each other twice grow exponentially",
                )
                .help("raise the limit with `--max-inlined N`, in a library call with `max_inlined` of `BuildOptions`")
        };
        self.spent = true;
        Some(problem)
    }

    /// Notes how many steps of attribute expressions are left. Without any, nothing more is built: that they have ended has
    /// been reported.
    pub(super) fn leave_steps(&mut self, steps: usize) {
        self.steps = steps;
        self.spent |= steps == 0;
    }

    /// Counts the elements of a tuple that is made; what to report if there are more than may be.
    pub(super) fn tuple(&mut self, parts: usize) -> Option<Diagnostic> {
        match self.elements.checked_sub(parts) {
            Some(left) => {
                self.elements = left;
                None
            }
            None => {
                self.spent = true;
                let most = self.limits.max_tuple_elements;
                let problem =
                    format!("the tuples have more than {most} elements in total, including those of inner tuples");
                Some(Diagnostic::error("T0605", problem).help(TUPLE_HELP))
            }
        }
    }
}

/// How many elements a type has that is a tuple, those of inner tuples counted, and how deep they are nested.
pub(crate) fn tuple_size(ty: &Type) -> (usize, usize) {
    match ty {
        Type::Tuple(items) => items
            .iter()
            .map(tuple_size)
            .fold((0, 1), |(size, depth), (inner, nested)| {
                (size + 1 + inner, depth.max(nested + 1))
            }),
        Type::Sequence(item) | Type::Optional(item) => tuple_size(item),
        Type::Tensor(_) | Type::Absent => (0, 0),
    }
}
