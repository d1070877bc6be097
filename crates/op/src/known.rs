//! Operators that code in other crates calls, and functions that laws are about, by names that the compiler checks.
//!
//! To find out what an operator *means*, read its row; a name only says *which* operator to use.

use super::FAMILIES;

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The name itself; does not compile if no row of the table has it.
const fn checked(name: &'static str) -> &'static str {
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            if same(FAMILIES[family][row].name, name) {
                return name;
            }
            row += 1;
        }
        family += 1;
    }
    panic!("no operator has this name")
}

macro_rules! names {
    ($($constant:ident = $name:literal,)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $constant: &str = checked($name);
        )*
    };
}

names! {
    ABS = "abs",
    ADD = "add",
    AND = "and",
    ASIN = "asin",
    ASINH = "asinh",
    ATAN = "atan",
    ATANH = "atanh",
    BITWISE_AND = "bitwise_and",
    BITWISE_NOT = "bitwise_not",
    BITWISE_OR = "bitwise_or",
    BITWISE_XOR = "bitwise_xor",
    BRANCH = "branch",
    CAST = "cast",
    CEIL = "ceil",
    CONCAT = "concat",
    CONSTANT_OF_SHAPE = "constant_of_shape",
    COS = "cos",
    COSH = "cosh",
    DIV = "div",
    DROPOUT_IN_TRAINING = "dropout_in_training",
    EQUAL = "equal",
    ERF = "erf",
    EXP = "exp",
    FLOOR = "floor",
    FLOOR_MOD = "floor_mod",
    FULL = "full",
    GATHER = "gather",
    GATHER_ELEMENTS = "gather_elements",
    GATHER_ND = "gather_nd",
    GREATER = "greater",
    GREATER_OR_EQUAL = "greater_or_equal",
    IS_NAN = "is_nan",
    LESS = "less",
    LESS_OR_EQUAL = "less_or_equal",
    LOG = "log",
    LOOP = "loop",
    MATMUL = "matmul",
    MAX = "max",
    MIN = "min",
    NOT = "not",
    OPTIONAL = "optional",
    OPTIONAL_MISSING = "optional_missing",
    OR = "or",
    POW = "pow",
    RELU = "relu",
    RESHAPE = "reshape",
    ROUND = "round",
    SCAN = "scan",
    SEQUENCE_CONSTRUCT = "sequence_construct",
    SEQUENCE_MAP = "sequence_map",
    SIGN = "sign",
    SIN = "sin",
    SINH = "sinh",
    SLICE = "slice",
    SPLIT = "split",
    SQRT = "sqrt",
    SQUEEZE = "squeeze",
    TAN = "tan",
    TANH = "tanh",
    TENSORDOT = "tensordot",
    TILE = "tile",
    TRANSPOSE = "transpose",
    UNSQUEEZE = "unsqueeze",
    WHERE = "where",
    XOR = "xor",
}
