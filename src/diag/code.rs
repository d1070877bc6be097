//! The table of message codes.
//!
//! Families: `T00` syntax, `T01` names, arity and attributes, `T02` types and shapes, `T03` rules, `T04` values and
//! weights, `T05` other formats, `T06` limits. A code is never given a second meaning.

/// What a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// `T0001`
    pub code: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// At length: what it means, an example, what to do.
    pub text: &'static str,
}

macro_rules! codes {
    ($($code:literal $title:literal $text:literal)*) => {
        const CODES: &[CodeInfo] = &[$(CodeInfo { code: $code, title: $title, text: $text }),*];
    };
}

codes! {
    "T0001" "syntax error"
"The text does not follow the grammar. The message names what could have come at that place.

    fn main(x: f32[2]) { x + }
                             ^ expected an expression, found `}`

Two frequent causes: a `let` without its final `;`, and a `;` after the last expression of a block.
That expression is the value of the block and has no `;`."

    "T0002" "brackets do not match"
"An opening bracket has no partner, or a closing bracket has none, or the two are of different kinds.

    f(a, [b, c)
      -  ^ this `[` is not closed

The message points at the opening bracket as well as at the place where the partner was missed."

    "T0003" "text in quotes is not closed"
"A text in quotes ends on the line where it begins. A line break inside is written `\\n`, the quote itself `\\\"`."

    "T0004" "number out of range"
"Integers have up to 128 bits while a file is read; element types narrow that further. Tuple projections `e.0` and
positional inputs `@0` go up to 4294967295."

    "T0005" "unknown suffix of a number"
"A number may be followed by an element type: `1i64`, `2.5f32`, `1_000u8`, `inf_f32`. Without one it takes its type from
where it is used; alone, integers are `i32` and floats `f32`."

    "T0006" "fraction with an integer suffix"
"`2.5i32` asks for an integer that has a fraction. Write `2i32`, or a floating-point suffix: `2.5f32`."

    "T0007" "comparisons do not chain"
"`a < b < c` would compare a truth value with `c`. Write `a < b && b < c`."

    "T0008" "unknown escape in a text"
"Known escapes: `\\n \\t \\r \\0 \\\\ \\\" \\'` and `\\u{1F600}` with up to six hexadecimal digits."

    "T0009" "written twice"
"A part that may occur once occurs again: `numerics` in a rule, `..rest` in attributes, `shape` or `dtype` of an input."

    "T0010" "wrong number of parts in `if`"
"`if` has two forms: `if (condition) { a } else { b }` with one condition, and `if(condition, a, b)` with three parts."

    "T0011" "unknown element type"
"Element types: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 utf8 binary date32 timestamp. The names `float32`,
`int64` and so on are understood as well."

    "T0012" "unknown equality class"
"`numerics` takes `bitwise` (the same bits, NaN payloads aside), `real` (equal over the real numbers; only rounding
differs) or `approx(e)` (relative error bounded by e, a number that is not negative)."

    "T0013" "`use` after other items"
"The files that a rule file builds on are named before its first rule."

    "T0014" "input described in an unknown way"
"`x {shape = (n, 64), dtype = \"f32\"}` knows `shape` and `dtype`. The short form is `x: f32[n, 64]`."

    "T0501" "file refused"
"The file cannot be read, is cut short, or is of another format. The message names the file and the reason. Files of
tensors end in `.npy`, `.npz`, `.safetensors` or `.pb`, models in `.onnx`."

    "T0502" "broken model"
"The parts of a model do not fit together: a node uses a value that nothing computes, two values have one name, nodes
depend on each other in a circle, a result is missing, or the operator set is newer than any this program knows."

    "T0503" "node refused"
"The operands or attributes of a node do not fit its operator. The message names the node by position, name and
operator, and the types of its operands as they were inferred; types that the model declares for inner values are not
believed."

    "T0504" "initializer refused"
"The elements of an initializer do not fit its shape, or its external data is missing, too short, or outside the folder
of the model."

    "T0505" "node carried along unread"
"The operator is not known in this form: another domain, nested graphs, values that are not tensors, or an attribute
whose meaning is not covered. The node stays where it is and is written back unchanged; nothing is rewritten across
it."

    "T0506" "operator set raised"
"The graph has a node that the operator set of the model lacks, so that the model is written for the smallest newer
operator set that has it. Runtimes that do not know that set will refuse the model."

    "T0507" "no form in ONNX"
"A call, a type or an extent cannot be written as ONNX: an operator without a counterpart, an element type such as
`date32`, an extent that follows from no input, or a parameter without a value."

    "T0601" "brackets too deep"
"Brackets may be nested 20000 deep, and tuple types 64 deep. Name inner values with `let`."

    "T0602" "text too long"
"One file has less than 4 GiB."
}

/// Every code, in order.
pub fn codes() -> &'static [CodeInfo] {
    CODES
}

/// What `code` stands for.
///
/// ```
/// assert_eq!(tautomer::diag::explain("T0001").map(|info| info.title), Some("syntax error"));
/// assert!(tautomer::diag::explain("T9999").is_none());
/// ```
pub fn explain(code: &str) -> Option<&'static CodeInfo> {
    CODES.iter().find(|info| info.code.eq_ignore_ascii_case(code))
}

#[cfg(test)]
mod tests {
    use super::codes;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(codes().windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
