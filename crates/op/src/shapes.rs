//! How the shapes of operands and the attributes of a call have to fit together. Inference checks a call; these rules
//! are for code that chooses operands, such as the verifier.

/// The relation between the dimensions of operands and the attributes in a call that inference accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeRule {
    /// Not stated: whoever chooses operands has to find it out by trying.
    Unstated,
    /// The operands broadcast against each other.
    Broadcast,
    /// An image, a kernel with as many axes, and a vector with an element for each channel of the result.
    Convolution {
        /// The kernel has the channels of the image along its first axis, not its second.
        transposed: bool,
    },
    /// An image, a kernel, an offset along each spatial axis for each element of a window at each of its positions, a
    /// vector with an element for each channel of the result, and a factor for each offset.
    DeformedConvolution,
    /// Columns, one for each position of a window in an image.
    Columns,
    /// A sequence, weights for it and for the state, and optional operands; see [`Cell`].
    Recurrent(Cell),
    /// Windows slide over the axes of the first operand after batch and channels; these attributes have integers for
    /// each such axis.
    Windows(&'static [PerAxis]),
    /// These attributes have integers for each axis of the first operand.
    Lists(&'static [PerAxis]),
    /// Matrices along the last two axes; those before broadcast.
    MatrixProduct,
    /// Two matrices, each transposed if an attribute says so, and an operand that is added to their product.
    Gemm,
    /// Operands that differ only along the axis `axis`.
    Concat,
    /// The `sizes` of the parts add up to the dimension along `axis`.
    Split,
    /// The operands after the first are vectors with its dimension along one axis.
    PerChannel(Channel),
    /// `axes` are axes of the result.
    InsertAxes,
    /// The first operand has dimension 1 along `axes`.
    RemoveAxes,
    /// `starts`, `ends`, `axes` and `steps` have one integer for each axis that is sliced.
    Slice,
    /// `shape` has as many elements as the first operand.
    Reshape,
    /// The first operand broadcasts to `shape`.
    Expand,
    /// `perm` is a permutation of the axes of the first operand.
    Permute,
}

/// What a layer computes at each step of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The number of matrices in the weights, one for each gate.
    pub gates: usize,
    /// The number of activations for each direction.
    pub activations: usize,
    /// The names of the activations there are.
    pub names: &'static [&'static str],
}

/// The axis of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The second axis.
    Second,
    /// The last axis.
    Last,
    /// The axis that the attribute `axis` names.
    Named,
}

/// An attribute that is a list with a fixed number of integers for each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerAxis {
    /// The name of the attribute.
    pub attr: &'static str,
    /// The number of integers for each axis.
    pub each: usize,
    /// An integer that changes nothing.
    pub neutral: i64,
}

impl PerAxis {
    /// An attribute with this many integers for each axis.
    pub const fn new(attr: &'static str, each: usize, neutral: i64) -> PerAxis {
        PerAxis { attr, each, neutral }
    }
}
