//! Which functions of columns are operators of the graph, and over which types.

use tautomer_tensor::DType;

use crate::options::{FloatOrder, Options, Overflow};
use crate::types::Type;

/// The operands that a pair of a function and an operator is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Floats, and integers if they wrap.
    Numbers,
    /// The same without unsigned integers.
    Signed,
    Floats,
    Integers,
    Truths,
    /// Numbers, compared.
    Compared,
    /// Numbers and truth values, compared.
    Equated,
}

/// Functions and the operators that compute the same, bit by bit but for the last places of `exp`, `ln` and the like.
const PAIRS: &[(&str, &str, Over)] = &[
    ("add", "add", Over::Numbers),
    ("subtract", "sub", Over::Numbers),
    ("multiply", "mul", Over::Numbers),
    ("divide", "div", Over::Floats),
    ("negative", "neg", Over::Signed),
    ("abs", "abs", Over::Signed),
    ("power", "pow", Over::Floats),
    ("sqrt", "sqrt", Over::Floats),
    ("exp", "exp", Over::Floats),
    ("ln", "log", Over::Floats),
    ("sin", "sin", Over::Floats),
    ("cos", "cos", Over::Floats),
    ("tan", "tan", Over::Floats),
    ("asin", "asin", Over::Floats),
    ("acos", "acos", Over::Floats),
    ("atan", "atan", Over::Floats),
    ("sinh", "sinh", Over::Floats),
    ("cosh", "cosh", Over::Floats),
    ("tanh", "tanh", Over::Floats),
    ("floor", "floor", Over::Floats),
    ("ceil", "ceil", Over::Floats),
    ("bround", "round", Over::Floats),
    ("bitwise_and", "bitwise_and", Over::Integers),
    ("bitwise_or", "bitwise_or", Over::Integers),
    ("bitwise_xor", "bitwise_xor", Over::Integers),
    ("bitwise_not", "bitwise_not", Over::Integers),
    ("equal", "equal", Over::Equated),
    ("less_than", "less", Over::Compared),
    ("less_than_or_equal_to", "less_or_equal", Over::Compared),
    ("greater_than", "greater", Over::Compared),
    ("greater_than_or_equal_to", "greater_or_equal", Over::Compared),
    ("not", "not", Over::Truths),
    ("bitwise_xor", "xor", Over::Truths),
];

impl Over {
    fn has(self, ty: Type, options: &Options) -> bool {
        let wraps = options.overflow == Overflow::Wrap;
        let unsigned = matches!(ty, Type::UInt8 | Type::UInt16 | Type::UInt32 | Type::UInt64);
        let ordered = ty.is_float() && options.float_order == FloatOrder::Partial;
        match self {
            Over::Numbers => ty.is_float() || (ty.is_integer() && wraps),
            Over::Signed => ty.is_float() || (ty.is_integer() && wraps && !unsigned),
            Over::Floats => ty.is_float(),
            Over::Integers => ty.is_integer(),
            Over::Truths => ty == Type::Bool,
            Over::Compared => ordered || ty.is_integer(),
            Over::Equated => ordered || ty.is_integer() || ty == Type::Bool,
        }
    }
}

/// The operator that computes a function of arguments of this type.
pub(super) fn operator(function: &str, ty: Type, options: &Options) -> Option<&'static str> {
    let pair = PAIRS.iter().find(|pair| pair.0 == function && pair.2.has(ty, options));
    pair.map(|pair| pair.1)
}

/// The function that an operator on operands of this type is.
pub(super) fn function(operator: &str, ty: Type, options: &Options) -> Option<&'static str> {
    let pair = PAIRS.iter().find(|pair| pair.1 == operator && pair.2.has(ty, options));
    pair.map(|pair| pair.0)
}

/// True if functions of this name and arguments of this type have a result in every row without a null argument, and
/// none elsewhere; those in the table of operators aside.
pub(super) fn is_total(function: &str, ty: Type) -> bool {
    match function {
        "equal" | "not_equal" | "less_than" | "less_than_or_equal_to" | "greater_than" | "greater_than_or_equal_to" => {
            true
        }
        "greatest" | "least" | "cbrt" | "log10" | "cot" | "radians" | "degrees" | "atan2" | "sign" | "mod" => {
            ty.is_float()
        }
        _ => false,
    }
}

/// True for functions that are never null.
pub(super) fn is_never_null(function: &str) -> bool {
    matches!(
        function,
        "isnull"
            | "isnotnull"
            | "isnumeric"
            | "istrue"
            | "isfalse"
            | "isnottrue"
            | "isnotfalse"
            | "is_distinct_from"
            | "is_not_distinct_from"
    )
}

/// The element type of values that operators compute with.
pub(super) fn element(ty: Type) -> Option<DType> {
    Some(match ty {
        Type::Bool => DType::Bool,
        Type::Int8 => DType::I8,
        Type::Int16 => DType::I16,
        Type::Int32 => DType::I32,
        Type::Int64 => DType::I64,
        Type::UInt8 => DType::U8,
        Type::UInt16 => DType::U16,
        Type::UInt32 => DType::U32,
        Type::UInt64 => DType::U64,
        Type::Float32 => DType::F32,
        Type::Float64 => DType::F64,
        _ => return None,
    })
}

/// The type of columns that an element type stands for.
pub(super) fn column_type(dtype: DType) -> Option<Type> {
    Type::ALL.into_iter().find(|&ty| element(ty) == Some(dtype))
}

/// True for conversions of which every value has exactly one result: no rounding, no failure.
pub(super) fn is_exact_cast(from: Type, to: Type) -> bool {
    let bits = |ty: Type| match ty {
        Type::Float32 => 24,
        Type::Float64 => 53,
        _ => 0,
    };
    let fits = |(low, high): (i128, i128), (least, most): (i128, i128)| least <= low && high <= most;
    match (from.range(), to.range()) {
        (Some(from), Some(to)) => fits(from, to),
        (Some((low, high)), None) if to.is_float() => low >= -(1 << bits(to)) && high <= 1 << bits(to),
        _ => from.is_float() && to.is_float() && bits(from) <= bits(to),
    }
}
