//! Formulas for the elements of a result, as data that proofs calculate with.
//!
//! Reference semantics compute a call on numbers; a proof needs the same at symbolic positions. If an element of a
//! result is a formula over elements of the operands, the operator's row states it, so that no other code has to know
//! the operator by its name. Reductions compute their reference semantics from the same description.

/// How an element of a result follows from elements of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Not stated. Every primitive operator of the table states one, or is elementwise.
    Unstated,
    /// Of the elements along the axis `axis`, the position of the largest or of the smallest.
    Place(Fold),
    /// The elements along the axis `axis` in order, and their positions.
    Sorted,
    /// None that proofs know: each element may depend on whole operands.
    Whole,
    /// A function of the elements at one position, after broadcasting.
    Function(Function),
    /// Elements along axes, combined.
    Reduction(Reduction),
    /// Elements along the axis `axis` up to each, combined: without itself if `exclusive`, from the end if `reverse`.
    Running(Fold),
    /// The elements of a window, combined: their mean, if the fold is a sum.
    Window(Fold),
    /// A sum of products.
    Product(Products),
    /// Computed from dimensions and attributes alone.
    Made(Made),
}

/// A function of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The first operand.
    Same,
    /// The sum of the operands.
    Sum,
    /// The sum of the operands divided by their number.
    Mean,
    /// `a - b`
    Difference,
    /// `a * b`
    Product,
    /// `-x`
    Negation,
    /// `a / b`; for integers, rounded.
    Quotient,
    /// `1 / x`
    Inverse,
    /// The operand, at least the attribute `min` and at most `max`.
    Limits,
    /// The first operand converted to another element type, which the second operand gives.
    Conversion,
    /// The second operand where the first is true, else the third.
    Choice,
    /// A power.
    Power,
    /// A different function, the one that the operator is named after.
    Named,
}

/// How numbers are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// A reduction: `total` of the `fold` of `each` element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// The function applied to each element.
    pub each: Each,
    /// How the results are combined.
    pub fold: Fold,
    /// The function applied to the total.
    pub total: Total,
}

/// A function of an element that is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// `x`
    Itself,
    /// `|x|`
    Magnitude,
    /// `x * x`
    Square,
    /// `exp(x)`
    Exponential,
}

/// A function of the total of a reduction; for integers, rounded towards zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// The total itself.
    Itself,
    /// Divided by the number of elements.
    Mean,
    /// The square root.
    Root,
    /// The logarithm.
    Logarithm,
}

/// A sum of products of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// The product of matrices along the last two axes; the axes before them broadcast.
    Matrices,
    /// The product of two matrices, each transposed if an attribute says so, with factors and a third operand that is
    /// added.
    Gemm,
    /// Products of an image's windows with kernels.
    Convolution,
    /// Products of an image's elements with kernels, added up where they overlap.
    TransposedConvolution,
    /// Products of operands with named axes, according to the attribute `equation`.
    Equation,
}

/// A result that can be computed without the elements of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// The dimensions of the operand from axis `start` up to axis `end`.
    Extents,
    /// The number of elements of the operand.
    Count,
    /// One number throughout.
    Filled {
        /// The number; that of the attribute `value` if `None`.
        number: Option<i64>,
        /// It has the shape of the operand, not that of the attribute `shape`.
        like: bool,
    },
    /// A number, the first operand, plus a multiple of the third at each position.
    Steps,
    /// A matrix, or matrices, with the shape of the operand; the elements depend on which diagonal they are on.
    Diagonals,
}

/// How the axes of operands and of the result correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxesRule {
    /// Not stated.
    Unstated,
    /// Operands broadcast: axes are the same, counted from the last one.
    Broadcast,
    /// The last two axes are multiplied as matrices; those before broadcast.
    Matrices,
    /// The last axis of the first operand is multiplied with that of the second, a matrix, whose first axis comes in
    /// its place; another operand is a vector with an entry for each row of that matrix.
    Rows,
    /// Operands have a fixed number of axes, at most two.
    Fixed,
    /// The first two axes of the first operand are the batch and channel axes, and the other operands are vectors over
    /// channels; along other axes, elements are independent of each other.
    Channels,
    /// All operands and results have the same axes, among them one that the attribute `axis` names.
    Along,
    /// The attribute `axes` has axes of the operand that are reduced.
    Reduced,
    /// The attribute `axis` names the only axis of the operand that is reduced.
    ReducedAlong,
    /// The attribute `axes` has axes of the operand that the result lacks.
    Removed,
    /// The attribute `axes` has axes of the result that the operand lacks.
    Inserted,
    /// The attribute `perm` orders the axes of the operand.
    Permuted,
}
