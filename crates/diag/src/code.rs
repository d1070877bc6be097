//! The table of message codes.
//!
//! The families are `T00` syntax, `T01` names, arity and attributes, `T02` types and shapes, `T03` rules, `T04` values
//! and weights, `T05` other formats, `T06` limits, `T07` expressions over columns. A code is never reused with another
//! meaning.

/// The description of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// `T0001`
    pub code: &'static str,
    /// A short title.
    pub title: &'static str,
    /// The full explanation: what the code means, an example, what to do.
    pub text: &'static str,
}

macro_rules! codes {
    ($($code:literal $title:literal $text:literal)*) => {
        const CODES: &[CodeInfo] = &[$(CodeInfo { code: $code, title: $title, text: $text }),*];
    };
}

codes! {
    "T0001" "syntax error"
"The text does not follow the grammar. The message lists what was expected there.

    fn main(x: f32[2]) { x + }
                             ^ expected an expression, found `}`

Two frequent causes: a `let` without its final `;`, and a `;` after the last expression of a block.
That expression is the value of the block and has no `;`."

    "T0002" "mismatched brackets"
"An opening or closing bracket has no partner, or the two are of different kinds.

    f(a, [b, c)
      -  ^ this `[` is not closed

The message points at the opening bracket and at the place where its partner was expected."

    "T0003" "unterminated string"
"A string ends on the line where it begins. Inside it, a line break is written `\\n` and the quote itself `\\\"`."

    "T0004" "number out of range"
"Integers have up to 128 bits while a file is read; their element type limits them further. Tuple projections `e.0` and
positional inputs `@0` go up to 4294967295."

    "T0005" "unknown number suffix"
"A number may be followed by an element type: `1i64`, `2.5f32`, `1_000u8`, `inf_f32`. Without one its type
follows from where it is used; on their own, integers are `i32` and floats `f32`."

    "T0006" "fraction with an integer suffix"
"`2.5i32` is an integer type with a fractional value. Write `2i32`, or a floating-point suffix: `2.5f32`."

    "T0007" "comparisons do not chain"
"`a < b < c` would compare a boolean with `c`. Write `a < b && b < c`."

    "T0008" "unknown escape in a string"
"Known escapes: `\\n \\t \\r \\0 \\\\ \\\" \\'` and `\\u{1F600}` with up to six hexadecimal digits."

    "T0009" "part written twice"
"A part that may occur only once occurs again: `numerics` in a rule, `..rest` in attributes, `shape` or `dtype` of an
input."

    "T0010" "wrong number of parts in `if`"
"`if` has two forms: `if (condition) { a } else { b }` with one condition, and `if(condition, a, b)` with three parts."

    "T0011" "unknown element type"
"Element types: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 utf8 binary date32 timestamp. The names `float32`,
`int64` and so on are accepted as well."

    "T0012" "unknown equality class"
"`numerics` takes `bitwise` (the same bits, NaN payloads aside), `real` (equal over the real numbers; only rounding
differs) or `approx(e)` (relative error bounded by e, which is at least 0)."

    "T0013" "`use` after other items"
"A rule file names the files that it builds on before its first rule."

    "T0014" "invalid description of an input"
"An input is described by its `shape` and `dtype`, as in `x {shape = (n, 64), dtype = \"f32\"}`. The short form is
`x: f32[n, 64]`."

    "T0015" "membership in an empty list"
"`x in (1, 2)` is true if `x` is one of the members. An empty list has no members, so membership in it is always false.
Write `false` for a condition that never holds."

    "T0101" "unknown operator"
"The name called is not an operator of the table, a function of the file or a declared operator. Operators have the
names of ONNX in snake case: `reduce_mean`, `layer_normalization`, `conv`. `tautomer explain` does not list them; the
message suggests similar names.

An unsupported operator can be declared with its type. It is passed through unchanged, and no rule looks into it:

    opaque \"com.example::Warp\"(x: f32[..]) -> f32[..];

Its type may also be given where it is called: `let y: f32[n, 4] = \"com.example::Warp\"(x);`."

    "T0102" "wrong number of operands"
"The operator or function takes a different number of operands. The message lists their names; `?` marks optional ones
and `...` one that may be repeated. Write `none` to omit an operand in the middle: `clip(x, none, 6.0)`."

    "T0103" "invalid attribute"
"An attribute in braces is unknown, given twice, missing, or of the wrong kind for the operator: an axis is an integer,
`axes` a list, a mode one of a few strings. An omitted attribute has the default of its operator.

    softmax(x) {axis = 1}      conv(x, w) {strides = [2, 2]}

Attributes are fixed when the graph is built, so their values consist of literals, dimensions and constants."

    "T0104" "unknown name"
"The name is not defined here. Names refer to inputs and parameters of the function, symbols of their shapes (`n` in
`f32[n]`), and definitions by an earlier `let`. Later definitions and the names of other functions are not in scope."

    "T0105" "defined twice"
"Two functions of a file, or two inputs of a function, have the same name. A `let` may reuse a name; it hides the
earlier definition from there on."

    "T0106" "attribute expression without a value"
"Expressions in braces, in a shape or after `where` are computed when the graph is built. They consist of integers,
lists, strings, dimension symbols, types of values (`x.shape`, `x.rank`, `x.dtype`) and functions: len sum prod min max
range reverse zip all any sorted inverse. The message points at the part that has no value."

    "T0107" "recursion"
"Functions are inlined where they are called, so no function may call itself, directly or through others."

    "T0108" "nothing to run"
"A program is an expression or has at least one function. `main` is run if it exists, otherwise the last function."

    "T0109" "invalid declaration of an operator"
"A declaration gives an operator a name, operands, attributes and what it computes, or at least the type of its result:

    operator twice(x) { x + x }
    operator \"com.example::Warp\"(x: f32[n, m], table?: f32[k]) {steps: int = 3} -> f32[n, m];

Operands that may be left out (`?`) come last, and so does one that takes several values (`...`). Attributes have a kind
(int, float, bool, string, type, tensor, axis, a list such as [int], or alternatives such as `\"linear\" | \"nearest\"`)
and a default, unless they must be given; `k: int?` has no value when it is left out."

    "T0110" "a body contradicts its declaration"
"The body of an operator computes a value of another type, or another number of results, than is declared. A call would
have the type that its body computes, so the declaration promises something that does not hold."

    "T0201" "invalid operand"
"The types of the operands do not fit the operator: the element types differ, the shapes do not broadcast, or the inner
dimensions of a matrix product differ. The message shows the type of each operand.

    fn main(x: f32[2, 3], y: f32[4]) { x + y }
                                       ^^^^^ shapes [2, 3] and [4] do not broadcast

Shapes are aligned at their last axes; two dimensions are compatible if they are equal or one of them is 1. Element
types are never converted implicitly; use `cast(x) {to = f32}`."

    "T0202" "not a dimension"
"A dimension is a non-negative integer, a symbol, an integer expression over symbols, or `?`:
`f32[n, 64, 2 * h + 1, ?]`. `f32[..]` leaves the rank open as well."

    "T0203" "invalid literal"
"A literal does not fit its element type, or its rows differ in length. The type of a literal without
a suffix follows from where it is used: in `x + 300` with `x: u8[4]` it is a `u8`, whose maximum is 255."

    "T0204" "type mismatch"
"The type of a value differs from the one declared by a `let`, a function result or a function parameter; or a tuple is
used where a tensor is needed, or the reverse."

    "T0205" "missing element type"
"In a program, every shape follows an element type: `f32[2, 3]`. Only rules may omit it."

    "T0301" "not bound by the source"
"The target or a condition of a rule uses a variable, an attribute or `..rest` that the source does not bind. A match
binds only what occurs in the source."

    "T0302" "unused variable"
"A variable of the rule does not occur in its source, so no match can bind it."

    "T0303" "different numbers of outputs"
"Both sides of a rule have the same number of outputs: `(p, q) => (r, s)`."

    "T0304" "source matches everywhere"
"The source of a rule is a single variable or literal, which would match every node. A source needs at least one call."

    "T0305" "outputs are not connected"
"The outputs of a rule must be connected: each shares an operand with an earlier one, so that a match can be found by
walking the graph. Outputs with nothing in common belong in separate rules."

    "T0306" "rule or variable defined twice"
"Two rules of a file, or two variables of a rule, have the same name. Reports and `--skip-rules` refer to rules by name,
so rule names must be unique."

    "T0307" "unknown rule"
"No rule has this name. `tautomer rules list` shows all rules; the reverse direction of a rule with `<=>` has the suffix
`-reversed`."

    "T0308" "cannot be matched"
"The pattern uses a form that rules cannot apply or that is not valid in a pattern. The help says how to write it."

    "T0309" "rewriting changed a type"
"The output types of an optimized graph differ from those of the original, so a rule is wrong. Exclude rules with
`--skip-rules` to find out which one, and run its examples with `tautomer rules test`."

    "T0310" "rule without documentation"
"A line `/// …` above a rule describes what it does; lists and reports show it."

    "T0311" "never matches"
"No graph can match the source: no operator has all the required traits, a condition is false for every match or
compares a tensor with a number or an element type with a string, one value would need two incompatible types, or a
constant is an operand where every graph has an attribute.

    rule part(x, s: const) { slice(x, s, s) => x }        write `slice(x) {starts = s, ends = s}`
    rule one(x, s: const) { x * s => x where s == 1 }     write `where value(s) == 1`

It is a warning if the source requires a form of an attribute that graphs have only while shapes are unknown, such as an
`auto_pad` other than `NOTSET`, or the 0 and -1 of `reshape`."

    "T0312" "variable occurs only in the source"
"The target does not depend on this variable. If that is intended, as in `where(_, x, x) => x`, write `_`; otherwise the
variable may have been forgotten in the target."

    "T0313" "duplicate rule"
"Two rules are equal up to the names of their variables, attributes and parts: they have the same source, target,
conditions and class. Searching for both is wasted work."

    "T0314" "redundant rule"
"Another rule does everything that this rule does: its source is a special case of the other's, or contains such a case,
its conditions include those of the other, and both give the same result.

    rule a(x) { x + 0 => x }
    rule b(x) { relu(x) + 0 => relu(x) }      `a` does this

A special case needs its own rule only if it holds in a stricter class or under fewer conditions."

    "T0315" "nonterminating rule"
"The rule matches its own result and makes it larger each time. Substitution in a graph would never terminate, and
saturation exhausts its limits on the rule unless source and target turn out to be the same value. Add a condition that
the result does not satisfy."

    "T0316" "sides of different types"
"The rule was tried on operands for which the source has a type: several ranks and element types, the types that the
variables declare, and types that satisfy the conditions. The target never had the type of the source, or had no type
at all. Rewriting rejects such a target each time, so the rule has no effect. The message shows one such case.

    rule compare(x, y) { less(x, y) => y - x }      booleans on the left, numbers on the right

It is an error if no operands can make the types agree, and a warning if only operands that were not tried might."

    "T0317" "recursive rule set"
"The members of a `ruleset` are rules and other sets, and one of them leads back to the set itself."

    "T0320" "rule without a current verdict"
"It is not known whether the rule is correct: it was never verified, has changed since, or was verified by another
version of the verifier. Verdicts are kept in `verdicts.lock` beside the rule files.

    tautomer verify more.rules --lock

verifies the rules that have no verdict and records the results. `optimize --verdict tested` leaves out rules without
one."

    "T0321" "refuted rule"
"For some operands the two sides of the rule differ by more than its class allows. `tautomer verify FILE` shows the
smallest counterexample found, and a condition under which the rule is correct, if there is one.

`optimize --verdict tested` leaves refuted rules out; `--allow-refuted` applies them anyway, and the result may be
wrong."

    "T0322" "unreadable lock file"
"The file `verdicts.lock` beside a rule file is damaged, was merged badly, or was written by another version. Everything
in it can be recomputed: delete it, and `tautomer verify FILE --lock` writes a new one."

    "T0331" "unknown name in a target"
"A clause of a target names something that does not exist: an operator, an element type, another target, a file of
declarations, a rule file or a set of rules, an operand or attribute in a condition. The message suggests similar names.

    target mine {
      extends onnx
      only conv, relu, \"com.microsoft::Gelu\"
      rules \"built-in\", \"mine.rules\"
    }

Operators have the names of the program language, and declared ones their names in quotes. Paths are relative to the
file."

    "T0332" "inconsistent target"
"Parts of a target contradict each other or the format: targets extend each other in a cycle, two have one name, no
operator is left, the operator set lacks a listed operator or is unknown, a condition has no value for any tensor, or a
cost is not positive."

    "T0401" "file cannot be read or written"
"The system reports an error: the file does not exist, permission is denied, or the disk is full; or a text file is not
UTF-8."

    "T0402" "unknown kind of file"
"The suffix determines what a file holds: `.taut` a program, `.rules` a rule file, `.onnx` a model. `--from` sets it for
files with another suffix and for standard input. Some commands read or write only some of these formats: `verify` takes
rule files, or two graphs."

    "T0403" "constant expression not folded"
"An expression of only parameters and constants is computed ahead of time, unless this fails, as for an integer division
by zero, exceeds a limit on memory or operations (`--max-fold-bytes`, `--max-fold-operations`), or would make the file
larger (`--fold-all` allows that). Then it is left unchanged and computed at each run."

    "T0404" "missing or mistyped parameter value"
"Running a program needs values for its parameters. They come from the file named by `--params`, or from the
`.safetensors` file with the same stem beside the program, and must have the declared types."

    "T0405" "unknown code"
"`tautomer explain` without a code lists all codes."

    "T0406" "cannot be run"
"The computation is not possible: an operator is opaque, a step failed for these values, or the dimensions of the inputs
contradict each other. Graphs that cannot be run cannot be compared either."

    "T0407" "invalid input"
"The given arrays do not fit the inputs of the program: one is missing, unknown, given twice, or has the wrong type.
`--input file.npy` gives inputs in order, `--input x=file.npy` by name."

    "T0408" "invalid shape"
"`--shape x=1,3,h,w` sets the shape of an input: for each axis a number, a name, a sum such as `n+1`, or `?`, which
leaves the axis unchanged. Here the input has another rank or a different dimension at an axis, a name would stand for
two numbers, or an operator rejects operands of the resulting shapes."

    "T0409" "cancelled"
"The caller asked to stop before the work was done: a function given to `cancel_when`, or Ctrl-C in Python. Nothing is
written."

    "T0410" "the result differs"
"The result of an optimization differs from its original by more than the rules allow, on random inputs or in the audit
of everything that the rules made. The message names the rule at fault if it was found. A rule is wrong; without it, the
result is right: `--skip-rules` leaves it out, and `tautomer verify` shows a counterexample to it."

    "T0411" "not possible on the target"
"With `optimize --target`, calls that the target does not have are replaced by bodies of composite operators and by
rules, whatever that costs. Here neither leads to calls that the target has. The message names the reason, the nodes, and
what would be legal: other element types, fewer axes, fixed shapes (`--shape`), a newer operator set, or a rule of your own
that replaces the call (`--rules`). The result is written as far as it goes, and the exit code is 1."

    "T0501" "invalid file"
"The file cannot be read, is truncated, or has another format. The message names the file and the reason. Tensor files
end in `.npy`, `.npz`, `.safetensors` or `.pb`, models in `.onnx` or `.pnnx.param`."

    "T0502" "invalid model"
"The model is inconsistent: a node uses a value that no node computes, two values have the same name, nodes form a
cycle, a result is missing, or the operator set is newer than any supported one."

    "T0503" "invalid node"
"The operands or attributes of a node do not fit its operator. The message shows the position, name and operator of the
node, and the inferred types of its operands; types that the model declares for intermediate values are not trusted."

    "T0504" "invalid initializer"
"The elements of an initializer do not fit its shape, or its external data is missing, too short, or outside the
directory of the model."

    "T0505" "unsupported node kept as opaque"
"The operator is not supported in this form: it has another domain, values other than tensors, sequences and optional
values, or an unsupported attribute. For a node with nested graphs, a note gives the reason why they are not read. The
node stays where it is and is written back unchanged; nothing is rewritten across it."

    "T0506" "operator set raised"
"The graph has a node that the operator set of the model lacks, so the model is written for the lowest newer operator
set that has it. The message names the node; rules create no such nodes. Runtimes without support for that operator set
will reject the model."

    "T0507" "not expressible in ONNX"
"A call, a type or a dimension cannot be written as ONNX: an operator without a counterpart, an element type such as
`date32`, a dimension that does not follow from any input, or a parameter without a value."

    "T0508" "wrong declared shape"
"A model may declare the shapes of its intermediate values and results. Here a declared shape contradicts the one
inferred from the inputs and the operators. The inferred shape is used, and the declared one is not written back. Such
declarations come from tools that change a model and keep its old shape annotations."

    "T0509" "PNNX expression"
"An expression is written as nested calls, such as `add(mul(@0,@1),2)`. Some exporters misplace the brackets of
functions that they do not know, as in `add(expm1,@0),1`; such text is read as prefix notation, with each function
taking its number of operands, and a note shows how it was read. Positions are byte offsets in the expression."

    "T0510" "incomplete PNNX model"
"A line has no type for an input, or the archive beside the text has no value for a tensor. The input is assumed to be
`f32` of any rank; the parameter has no value, and the model can be optimized but not run."

    "T0511" "not expressible in PNNX"
"A call, a type or an attribute cannot be written as PNNX: an element type such as `u64`, an operator of another format,
an attribute that is a tensor. Calls without a torch operator are written as `tautomer.name`, with a note: only this
program can read them back."

    "T0512" "invalid for other programs"
"The model can be read here but violates ONNX, so other programs reject it: a result of a nested graph is a value of an
enclosing graph that no node of the nested graph computes. An `Identity` node fixes it; so does `tautomer convert`."

    "T0513" "the result cannot be read back"
"Output is read back before it replaces a file: it should have the same number of inputs and results as the graph that
was written, with the same types. Here they differ, or the reader rejects the output, so nothing is written. The format
cannot express some part of the model, often an opaque node."

    "T0514" "weights of another model"
"According to the archive of weights, it was written with a different text than the one beside it. One of the two files
was replaced, or writing was interrupted between them. If the text was edited by hand, ignore this."

    "T0601" "brackets nested too deep"
"Brackets may be nested at most 20000 deep, and tuple types at most 64 deep. Name inner values with `let`."

    "T0602" "text too long"
"A file must be smaller than 4 GiB."

    "T0603" "program too large"
"Functions are inlined and comprehensions expanded; a few functions that call each other twice give a graph that grows
exponentially. The expansion may have at most 262144 expressions, not counting those of the text itself;
`--max-inlined N` raises the limit. A graph has at most four million nodes.

    fn double(x: f32[2]) { x + x }
    fn main(x: f32[2]) { double(double(x)) }

A value of a script has at most sixteen million elements; `--max-elements N` raises the limit."

    "T0604" "pattern too deep"
"A pattern of a rule may be nested at most 200 deep."

    "T0605" "tuples too large"
"All tuples of a program have at most 1048576 elements together, including those of inner tuples, and are nested at most
64 deep. Each tuple below has twice as many elements as the one before.

    let a = (x, x);
    let b = (a, a);

Select the elements you need before making a tuple part of another one: `(a.0, x)`."

    "T0606" "file too large"
"A text file has at most 256 MiB. A compressed archive of arrays may unpack to 256 MiB or to a hundred times its own
size, whichever is larger; unpack a larger one first, or write the arrays as `.npy`. Only regular files are read, and
input from standard input or another process given as `/dev/stdin` or `/dev/fd/3`."

    "T0701" "not an expression over columns"
"Expressions over columns have literals, columns, functions, operators, `if`, `in` and `cast`. Lists in brackets,
comprehensions, `when`, `let` and `@` belong to programs over tensors.

    eval 'x @ y'
          ^^^^^ `@` is not part of expressions over columns"

    "T0702" "no signature fits"
"No form of the function takes arguments of these types, or none returns the type that is needed. The notes list the
forms.

    x + y        with x: i32, y: i64
    -   - i64
    i32

Nothing is widened silently. Convert one operand, `cast(x, i64) + y`, or allow promotion with `--promote`."

    "T0703" "ambiguous type"
"Several forms of a function fit, and nothing decides between them. Write a suffix (`1i64`) or convert an argument
(`cast(x, f64)`)."

    "T0704" "null without a type"
"A `null` has the type of what it is used with: `if(z, x, null)`. On its own it has none: write `cast(null, f64)`."

    "T0705" "not supported"
"A type or a function that expressions over columns do not have: decimals, intervals, and the functions of Gandiva that
need them. The note says what to use instead."

    "T0706" "invalid schema"
"A schema is a list of names with types: `x: int32, y: float64 not null, t: timestamp[ms]`. Names begin with a letter;
others, and words of the language, are written in backquotes."

    "T0707" "no result in a row"
"A function has no result for the values of a row: an integer is divided by zero, a text is not a number, or an
integer result does not fit and `--overflow error` was given. Rows that `if`, `and` and `or` leave out do not count:
`if(y != 0, x / y, 0)` never fails. `--division-by-zero null` and `--invalid null` make such results null."

    "T0708" "batch of another schema"
"Expressions are typed with a schema, and evaluated over batches that have exactly its columns, in order."
}

/// Every code, in order.
pub fn codes() -> &'static [CodeInfo] {
    CODES
}

/// The description of `code`.
///
/// ```
/// assert_eq!(tautomer_diag::explain("T0001").map(|info| info.title), Some("syntax error"));
/// assert!(tautomer_diag::explain("T9999").is_none());
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
