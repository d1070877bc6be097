//! What an element of a result is, as data that proofs calculate with.
//!
//! Reference semantics compute a call on numbers; a proof needs to know the same at positions that are symbols. Where an
//! element of a result is a formula in elements of the operands, the operator's row says which one, so that no other code
//! has to know the operator by its name. Reductions compute their reference semantics from the same description.

/// How an element of a result follows from elements of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Not stated. Every primitive operator of the table states one, or is elementwise.
    Unstated,
    /// None that proofs know: each element may depend on whole operands.
    Whole,
    /// A function of the elements at one position, after broadcasting.
    Function(Function),
    /// Elements along axes, combined.
    Reduction(Reduction),
    /// The elements of a window, combined: their mean, if the fold is a sum.
    Window(Fold),
    /// A sum of products.
    Product(Products),
    /// Made from dimensions and attributes alone.
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
    /// The first operand as a number of another element type; a second operand says which.
    Conversion,
    /// The second operand where the first is true, else the third.
    Choice,
    /// A power.
    Power,
    /// Another one, for which the operator stands.
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
    /// What is applied to each element.
    pub each: Each,
    /// How the results are combined.
    pub fold: Fold,
    /// What is applied to the total.
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
    /// Of matrices along the last two axes; those before broadcast.
    Matrices,
    /// Of two matrices, each transposed if an attribute says so, with factors and a third operand that is added.
    Gemm,
    /// Of windows of an image with kernels.
    Convolution,
    /// Of elements of an image with kernels, added up where they overlap.
    TransposedConvolution,
    /// Of operands with named axes, by the attribute `equation`.
    Equation,
}

/// What is known without the elements of operands.
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
    /// A matrix, or matrices, with the shape of the operand; the elements depend on which diagonal they are on.
    Diagonals,
}

/// How the axes of operands and those of the result belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxesRule {
    /// Not stated.
    Unstated,
    /// Operands broadcast: axes are the same, counted from the last one.
    Broadcast,
    /// The last two axes are multiplied as matrices; those before broadcast.
    Matrices,
    /// Operands have a fixed number of axes, at most two.
    Fixed,
    /// The first two axes of the first operand are those of samples and channels, and the other operands are vectors
    /// over channels; along other axes, elements are alone.
    Channels,
    /// All operands and results have the same axes, among them one that the attribute `axis` names.
    Along,
    /// The attribute `axes` has axes of the operand that are reduced.
    Reduced,
    /// The attribute `axes` has axes of the operand that the result lacks.
    Removed,
    /// The attribute `axes` has axes of the result that the operand lacks.
    Inserted,
    /// The attribute `perm` orders the axes of the operand.
    Permuted,
}
