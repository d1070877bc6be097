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

    "T0015" "membership in an empty list"
"`x in (1, 2)` is true where x is one of the members, so a list without members is a mistake: nothing is in it. What
never holds is written `false`."

    "T0101" "unknown operator"
"The call names no operator of the table, no function of the file and no declared operator. Operators are called like
those of ONNX in snake case: `reduce_mean`, `layer_normalization`, `conv`. `tautomer explain` does not list them; the
message suggests names that are close.

An operator that is only carried along is declared with its type, and no rule looks into it:

    opaque \"com.example::Warp\"(x: f32[..]) -> f32[..];

or gets its type where it is called: `let y: f32[n, 4] = \"com.example::Warp\"(x);`."

    "T0102" "wrong number of operands"
"An operator or function takes another number of operands. The message lists their names; `?` marks those that may be
left out, `...` one that may be repeated. An operand in the middle is left out by `none`: `clip(x, none, 6.0)`."

    "T0103" "attribute refused"
"An attribute in braces is unknown, given twice, missing, or of another kind than the operator takes: an axis is an
integer, `axes` a list, a mode one of a few texts. An attribute that is left out takes the default of its operator.

    softmax(x) {axis = 1}      conv(x, w) {strides = [2, 2]}

Attributes are fixed when the graph is built, so their values are made of literals, dimensions and constants."

    "T0104" "unknown name"
"Nothing of this name is defined here. Names are inputs and parameters of the function, symbols of their shapes
(`n` of `f32[n]`), and what a `let` above defines. A `let` further below does not count, nor do the names of another
function."

    "T0105" "defined twice"
"Two functions of a file, or two inputs of a function, have one name. A `let` may use a name again; it hides the
earlier one from there on."

    "T0106" "attribute expression without a value"
"What stands in braces, in a shape or after `where` is computed when the graph is built. It is made of integers, lists,
texts, symbols of dimensions, types of values (`x.shape`, `x.rank`, `x.dtype`) and functions: len sum prod min max range
reverse zip all any sorted inverse. The message points at the part that has no value."

    "T0107" "recursion"
"Functions are inlined where they are called, so that no function may call itself, not even through others."

    "T0108" "nothing to run"
"A program is an expression, or has a function. `main` is run, or else the last function."

    "T0201" "operand refused"
"The types of the operands do not fit the operator: element types that differ, shapes that do not broadcast, an inner
extent of a product that differs. The message shows the type of each operand.

    fn main(x: f32[2, 3], y: f32[4]) { x + y }
                                       ^^^^^ shapes [2, 3] and [4] do not broadcast

Shapes are aligned at their last axes; two extents fit if they are equal or one of them is 1. Element types are never
converted silently; `cast(x) {to = f32}` does it."

    "T0202" "not a dimension"
"A dimension is an integer that is not negative, a symbol, an integer expression over symbols, or `?`:
`f32[n, 64, 2 * h + 1, ?]`. `f32[..]` leaves even the number of axes open."

    "T0203" "literal refused"
"A literal does not fit its element type, or its rows differ in length. A literal without a suffix takes its type from
where it is used: in `x + 300` with `x: u8[4]` it is a `u8`, which ends at 255."

    "T0204" "another type than expected"
"A value has another type than the one that is declared for it by a `let`, a result or a parameter of a function; or a
tuple is used where a tensor is needed, or the other way round."

    "T0205" "element type missing"
"In a program, every shape has an element type before it: `f32[2, 3]`. Only rules may leave it out."

    "T0301" "not bound by the source"
"The target or a condition of a rule uses a variable, an attribute or `..rest` that the source does not bind. A match
gives values only to what occurs in the source."

    "T0302" "variable without a use"
"A variable of the rule does not occur in its source, so that no match can give it a value."

    "T0303" "different numbers of outputs"
"Both sides of a rule have as many outputs: `(p, q) => (r, s)`."

    "T0304" "a source that matches everywhere"
"The source of a rule is a lone variable or literal. It would match every vertex; a source has at least one call."

    "T0305" "outputs are not connected"
"The outputs of a rule must hang together: each shares an operand with an earlier one, so that a match can be found by
walking the graph. Outputs without anything in common belong to different rules."

    "T0306" "rule or variable defined twice"
"Two rules of a file, or two variables of a rule, have one name. Reports and `--skip-rules` name rules, so their names
are unique."

    "T0307" "unknown rule"
"There is no rule of this name. `tautomer rules list` shows all rules; the backward direction of a rule with `<=>` is
called like it with `-reversed` appended."

    "T0308" "cannot be matched"
"The pattern uses a form that rules cannot apply, or that has no place in a pattern. The help says how to write it."

    "T0309" "rewriting changed a type"
"The result of an optimisation has other output types than its input. A rule is wrong; leave rules out with
`--skip-rules` to find which one, and run its examples with `tautomer rules test`."

    "T0310" "rule without documentation"
"A line `/// …` above a rule says what it does; lists and reports show it."

    "T0311" "never matches"
"No graph can ever match the source: no operator has all the properties asked for, a condition is false whatever the
match, or compares a tensor with a number or an element type with a string, the types of two places of one value exclude
each other, or a constant stands as an operand where every graph has an attribute.

    rule part(x, s: const) { slice(x, s, s) => x }        write `slice(x) {starts = s, ends = s}`
    rule one(x, s: const) { x * s => x where s == 1 }     write `where value(s) == 1`

It is a warning where the source asks for a form of an attribute that graphs have only as long as shapes are not known,
such as an `auto_pad` other than `NOTSET`, or the 0 and -1 of `reshape`."

    "T0312" "variable of the source alone"
"The target does not depend on this variable. That may be meant, as in `where(_, x, x) => x`, and then `_` says so; it may
also be a variable that was forgotten in the target."

    "T0313" "rule with other names"
"Two rules are one up to the names of their variables, attributes and parts: the same source, target, conditions and
class. One of them is searched for in vain."

    "T0314" "rule that does nothing new"
"Whatever this rule does, another rule does as well: its source is a special case of the other's, or contains such a case,
its conditions include those of the other, and both make the same of it.

    rule a(x) { x + 0 => x }
    rule b(x) { relu(x) + 0 => relu(x) }      `a` does this

A special case is worth a rule of its own only if it holds in a stricter class, or under fewer conditions."

    "T0315" "rule that never ends"
"The rule matches what it has made, and makes it larger each time. Substitution in a graph would go on for ever, and
saturation spends its limits on it unless the two happen to be one value. A condition that the result does not fulfil
ends it."

    "T0316" "sides of different types"
"Operands were tried for which the source has a type: of several ranks and element types, those that the variables
declare, and those that fulfil the conditions. The target never had the type of the source, or none at all. Rewriting
refuses such a target each time, so the rule has no effect. The message shows one such case.

    rule compare(x, y) { less(x, y) => y - x }      truth values on the left, numbers on the right

It is an error where no operands can agree, and a warning where only those agree, if any, that were not tried."

    "T0317" "set that is part of itself"
"A `ruleset` has rules and other sets as members, and one of these leads back to the set itself."

    "T0320" "rule without a current verdict"
"Nobody knows whether the rule is true: it was never tried, or it has changed since, or another version of the verifier
tried it. Verdicts are kept in `verdicts.lock` beside the rule files.

    tautomer verify more.rules --lock

tries the rules that have none and keeps what is found out. `optimize --verdict tested` leaves the others out."

    "T0321" "refuted rule"
"There are operands for which the two sides of the rule differ by more than its class allows. `tautomer verify FILE`
shows the smallest that was found, and a condition under which the rule is right, if there is one.

`optimize --verdict tested` leaves refuted rules out; `--allow-refuted` applies them all the same, and the result may be
wrong."

    "T0322" "lock file that cannot be read"
"The file `verdicts.lock` beside a rule file is damaged, was merged badly, or was written by another version. It holds
nothing that cannot be found out again: delete it, and `tautomer verify FILE --lock` writes it anew."

    "T0401" "file cannot be read or written"
"The system refuses: the file does not exist, may not be read, or the disk is full; or a text file is not UTF-8."

    "T0402" "unknown kind of file"
"The suffix tells what a file holds: `.taut` a program, `.rules` a rule file, `.onnx` a model. `--from` says it for files
with another suffix and for standard input. Some commands read or write only some of them: `verify` takes rule files, or
two graphs."

    "T0403" "parameters are not computed with ahead of time"
"An expression of parameters and constants alone is computed ahead of time, unless that fails, as where an integer is
divided by zero, takes more memory or operations than it may (`--max-fold-bytes`, `--max-fold-operations`), or makes the
file larger (`--fold-all`). Then it stays as it is and is computed at each run."

    "T0404" "parameter without a fitting value"
"A program is run with values for its parameters. They come from the file that `--params` names, or from the
`.safetensors` file of the same stem beside the program, and must have the declared types."

    "T0405" "unknown code"
"`tautomer explain` without a code lists all codes."

    "T0406" "cannot be run"
"The computation cannot be carried out: an operator is only carried along, a step failed for these values, or the
dimensions of the inputs contradict each other. Two graphs that cannot be run cannot be compared either."

    "T0407" "input refused"
"The arrays given do not fit the inputs of the program: one is missing, unknown, given twice, or has another type.
`--input file.npy` gives inputs in order, `--input x=file.npy` by name."

    "T0408" "shape refused"
"`--shape x=1,3,h,w` gives an input a shape: a number, a name or `?` for each axis, `?` for one that stays as it is. The
input has another number of axes, or an axis with another extent; a name would stand for two numbers; or an operator does
not take operands of the shapes that follow."

    "T0501" "file refused"
"The file cannot be read, is cut short, or is of another format. The message names the file and the reason. Files of
tensors end in `.npy`, `.npz`, `.safetensors` or `.pb`, models in `.onnx`
or `.pnnx.param`."

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
"The operator is not known in this form: another domain, values of another kind than tensors, sequences and optional
values, or an attribute whose meaning is not covered. A note says why a node with nested graphs is not looked into. The node stays where it is and is written back unchanged; nothing is rewritten across
it."

    "T0506" "operator set raised"
"The graph has a node that the operator set of the model lacks, so that the model is written for the smallest newer
operator set that has it. The message names the node; rules make no such nodes. Runtimes that do not know that set will refuse the model."

    "T0507" "no form in ONNX"
"A call, a type or an extent cannot be written as ONNX: an operator without a counterpart, an element type such as
`date32`, an extent that follows from no input, or a parameter without a value."

    "T0508" "declared shape not believed"
"A model may say the shapes of values inside it and of its results. Here it says one that the value does not have, as
follows from the inputs and the operators. The inferred shape is used, and the declared one is not written back. Models
get such declarations from tools that change a model and keep what was said about it before."

    "T0509" "expression of PNNX"
"An expression is written as calls in brackets, such as `add(mul(@0,@1),2)`. Some exporters scatter the brackets of
functions that they do not know, as in `add(expm1,@0),1`; such a text is read as prefix notation, each function taking as
many operands as it has, and a note says what it is read as. The place is counted in bytes of the expression."

    "T0510" "PNNX model says too little"
"A line has no type for an input, or the archive beside the text has no value for a tensor. The input is taken to be `f32`
of any rank; the parameter has no value, and the model can be optimized but not run."

    "T0511" "no form in PNNX"
"A call, a type or an attribute cannot be written as PNNX: an element type such as `u64`, an operator of another format,
an attribute that is a tensor. Calls that torch has no operator for are written as `tautomer.name`, with a note: this
program reads them back, and no other does."

    "T0512" "refused by other programs"
"The model can be read here, and breaks a rule of ONNX, so that other programs refuse it: a result of a nested graph is
a value of a graph around it that no node of the nested graph computes. An `Identity` node mends it; so does
`tautomer convert`."

    "T0513" "the result cannot be read back"
"What is written is read back before it replaces a file: it should have as many inputs and results as what was written,
of the same types. Here it does not, or the reader refuses it, so that nothing is written. The format has no form for some
part of the model, often for a node that was carried along unread."

    "T0514" "weights of another model"
"The archive of weights says that it was written with another text than the one beside it. One of the two files was
replaced, or writing them ended in between. If the text was changed by hand, this can be ignored."

    "T0601" "brackets too deep"
"Brackets may be nested 20000 deep, and tuple types 64 deep. Name inner values with `let`."

    "T0602" "text too long"
"One file has less than 4 GiB."

    "T0603" "program too large"
"Functions are inlined and comprehensions written out; a few functions that call each other twice make a graph that grows
exponentially. They may have 262144 expressions then, those of the text itself not counted; `--max-inlined N` raises
the limit. A graph has at most four million vertices.

    fn double(x: f32[2]) { x + x }
    fn main(x: f32[2]) { double(double(x)) }

A value of a script has at most sixteen million elements; `--max-elements N` raises the limit."

    "T0604" "pattern too deep"
"A pattern of a rule may be nested 200 deep."

    "T0605" "tuples too large"
"The tuples that a program makes have at most 1048576 elements together, those of inner tuples counted, and are nested at
most 64 deep. Each tuple below has twice as many elements as the one before.

    let a = (x, x);
    let b = (a, a);

Take the elements that are needed out of a tuple before it is part of another one: `(a.0, x)`."

    "T0606" "file too large"
"A text has at most 256 MiB. A compressed archive of arrays may hold 256 MiB, or a hundred times as many bytes as the
archive itself has: what unpacks to more is unpacked first, or written as `.npy`. Only regular files are read, and what
standard input or another process passes as `/dev/stdin` or `/dev/fd/3`."
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
    fn every_code_in_use_is_explained() {
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        let mut used = std::collections::BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let codes = text.split('"').filter(|part| {
                        part.len() == 5 && part.starts_with("T0") && part[1..].bytes().all(|b| b.is_ascii_digit())
                    });
                    used.extend(codes.map(str::to_owned));
                }
            }
        }
        let unknown: Vec<_> = used.iter().filter(|code| super::explain(code).is_none()).collect();
        assert!(used.len() > 30 && unknown.is_empty(), "no text for {unknown:?}");
    }

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(codes().windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
