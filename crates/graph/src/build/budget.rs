//! Limits on the size of what a text builds, since an expression written once may be evaluated very often.

use crate::program::BuildOptions;
use crate::term::MAX_TERM_STEPS;
use tautomer_diag::Diagnostic;
use tautomer_lang::ast::Ast;
use tautomer_tensor::Type;

/// Help for tuples that are too large.
pub(super) const TUPLE_HELP: &str = "select the needed elements of a tuple before making it part of another one";

/// The maximum total number of elements in constants made by functions of a script.
const MAX_CONSTANTS: usize = 1 << 26;

/// The maximum number of comparisons for suggesting names: enough for the first hundreds of problems.
const MAX_COMPARISONS: usize = 200_000;

/// The remaining budget for the functions of one program.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// The configured limits.
    limits: BuildOptions,
    /// Remaining evaluations of expressions.
    evaluations: usize,
    /// Remaining steps of attribute expressions.
    pub(super) steps: usize,
    /// Remaining elements of tuples.
    elements: usize,
    /// Remaining elements of constants made by functions of a script.
    constants: usize,
    /// Remaining comparisons with unknown names, for suggestions.
    comparisons: usize,
    /// True once its exhaustion has been reported.
    pub(crate) spent: bool,
}

impl Default for Budget {
    /// The budget for a few expressions added to a graph of any size.
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
    /// The budget for a text. Each of its expressions is evaluated once, and those in called functions and
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

    /// The remaining budget, extended for another text according to its length.
    pub(crate) fn for_more(&self, ast: &Ast) -> Budget {
        Budget {
            evaluations: self.evaluations.saturating_add(ast.len()),
            steps: self.steps.saturating_add(ast.len().saturating_mul(4)),
            spent: false,
            ..self.clone()
        }
    }

    /// Counts the elements of a constant that a script makes; returns a problem if the limit is exceeded.
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

    /// Whether an unknown name may be compared with this many others.
    pub(super) fn compare(&mut self, names: usize) -> bool {
        let left = self.comparisons.checked_sub(names);
        self.comparisons = left.unwrap_or(0);
        left.is_some()
    }

    /// Counts `count` evaluations, with `vertices` values made so far; returns a problem if a limit is exceeded.
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

    /// Sets the remaining steps of attribute expressions. With none left, nothing more is built, since the problem has
    /// been reported.
    pub(super) fn leave_steps(&mut self, steps: usize) {
        self.steps = steps;
        self.spent |= steps == 0;
    }

    /// Counts the elements of a new tuple; returns a problem if the limit is exceeded.
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

/// The number of elements of a tuple type, including those of inner tuples, and its nesting depth.
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
