//! The layers of PNNX, in one table for both directions.
//!
//! A row lists torch's names of a layer, its operands and parameters, and how a line of it becomes calls of the
//! operator table. `both` rows correspond to one call: the same data says how that call is written. `read` and
//! `read_by` rows are only imported, unless `writes` lists the calls that are written as such a line. No layer is only
//! exported, since what is written must be readable.

/// The rows of a family. Rustfmt leaves the inside of braces alone, so that a row is a line where that is enough.
macro_rules! rows {
    ($($row:expr,)*) => {
        pub(super) static ROWS: &[super::Row] = &[$($row),*];
    };
}

/// `axis` is `dim` counted from the front.
macro_rules! axis {
    ($x:literal) => {
        concat!("let axis = when dim < 0 { dim + ", $x, ".rank } else { dim };")
    };
}

mod activations;
mod args;
mod arrangement;
mod attention;
mod call;
mod convolutions;
mod creation;
mod functions;
mod indices;
mod normalizations;
mod padding;
mod pools;
mod positional;
mod products;
mod recurrent;
mod reductions;
mod sampling;
mod scatter;
mod selection;
mod short_time;
mod slices;
mod spectral;
mod splits;

pub(crate) use args::Args;
pub(crate) use positional::named;

use crate::export::{Call, Exporter, Line};
use crate::import::{Done, Importer, Val};

/// A layer, or several that differ only in name.
pub(crate) struct Row {
    /// Operator types, separated by blanks; the first is the one that is written. `#` stands for the number of spatial
    /// axes, 1 to 3.
    kinds: &'static str,
    /// Names of operands and parameters in positional order, separated by blanks. A parameter that is not among them
    /// makes the operator unsupported, so that its meaning is not lost; functions of their own read whatever they need.
    /// After a name, `:tensor` turns a number into a tensor with the element type of the first operand, `:int` turns a
    /// boolean into an integer, and `:sum` marks the element type of a sum, which is `i64` for integers.
    names: &'static str,
    /// Names in torch's own library, which have positional operands only: `aten::sort`, or `aten::sort/4` for the
    /// overload with four operands. After a name, `=` and names separated by commas replace those of the row.
    positional: &'static str,
    read: Read,
    writes: &'static [Write],
    /// What must hold for a call that is written, beside what its form says.
    when: Option<fn(&Exporter<'_>, &Call<'_>) -> bool>,
}

/// How a line becomes calls.
enum Read {
    /// As the call that is written in this way.
    Call(Write),
    /// By the body of a function of the names.
    Program(&'static str),
    By(Reader),
}

type Reader = fn(&mut Importer<'_>, &Args<'_>) -> Done<Vec<Val>>;
type Writer = fn(&mut Exporter<'_>, &Call<'_>, Line) -> Option<Line>;

/// A way to write a call of an operator as a line.
pub(crate) struct Write {
    op: &'static str,
    form: Form,
}

enum Form {
    /// The operands of the call by name, and its attributes; see [`call`] for the notation.
    Call(&'static str),
    /// By a function, which gets a line with the operands of the call.
    By(Writer),
}

const fn row(kinds: &'static str, names: &'static str, read: Read) -> Row {
    Row {
        kinds,
        names,
        positional: "",
        read,
        writes: &[],
        when: None,
    }
}

/// A layer that is one call of an operator, in both directions.
const fn both(kinds: &'static str, names: &'static str, op: &'static str, form: &'static str) -> Row {
    row(kinds, names, Read::Call(write(op, form)))
}

/// A layer that is read as a program.
const fn read(kinds: &'static str, names: &'static str, body: &'static str) -> Row {
    row(kinds, names, Read::Program(body))
}

/// A layer that is read by a function.
const fn read_by(kinds: &'static str, names: &'static str, by: Reader) -> Row {
    row(kinds, names, Read::By(by))
}

const fn write(op: &'static str, form: &'static str) -> Write {
    let form = Form::Call(form);
    Write { op, form }
}

const fn write_by(op: &'static str, by: Writer) -> Write {
    let form = Form::By(by);
    Write { op, form }
}

impl Row {
    /// The calls that are written as such a line.
    const fn writes(self, writes: &'static [Write]) -> Row {
        Row { writes, ..self }
    }

    const fn positional(self, positional: &'static str) -> Row {
        Row { positional, ..self }
    }

    const fn when(self, when: fn(&Exporter<'_>, &Call<'_>) -> bool) -> Row {
        let when = Some(when);
        Row { when, ..self }
    }

    fn written(&self) -> impl Iterator<Item = &Write> {
        let own = match &self.read {
            Read::Call(write) => Some(write),
            _ => None,
        };
        own.into_iter().chain(self.writes)
    }

    /// The names without what is said about them.
    fn bare_names(&self) -> impl Iterator<Item = &'static str> {
        let bare = |name: &'static str| name.split_once(':').map_or(name, |(bare, _)| bare);
        self.names.split_whitespace().map(bare)
    }
}

static FAMILIES: &[&[Row]] = &[
    activations::ROWS,
    functions::ROWS,
    reductions::ROWS,
    products::ROWS,
    convolutions::ROWS,
    pools::ROWS,
    sampling::ROWS,
    normalizations::ROWS,
    recurrent::ROWS,
    attention::ROWS,
    arrangement::ROWS,
    slices::ROWS,
    splits::ROWS,
    padding::ROWS,
    creation::ROWS,
    indices::ROWS,
    scatter::ROWS,
    selection::ROWS,
    spectral::ROWS,
    short_time::ROWS,
];

fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten()
}

/// The row of an operator type, and the number of spatial axes in its name; 2 if there is none.
fn find(kind: &str) -> Option<(&'static Row, usize)> {
    let dims_of = |known: &str| match known.split_once('#') {
        None => (known == kind).then_some(2),
        Some((before, after)) => match kind.strip_prefix(before)?.strip_suffix(after)? {
            "1" => Some(1),
            "2" => Some(2),
            "3" => Some(3),
            _ => None,
        },
    };
    let named = rows().find_map(|row| Some((row, row.kinds.split_whitespace().find_map(dims_of)?)));
    named.or_else(|| Some((functions::unary(kind)?, 2)))
}

/// True if a call of this operator may be written as a layer.
pub(crate) fn is_written(op: &str) -> bool {
    rows().flat_map(Row::written).any(|write| write.op == op)
}

/// The line of a call; `None` if torch has no layer for it.
pub(crate) fn line(exporter: &mut Exporter<'_>, call: &Call<'_>) -> Option<Line> {
    if call.operands.is_empty() || call.operands.iter().any(|&v| exporter.is_absent(v)) {
        return None;
    }
    let ways = rows().flat_map(|row| row.written().map(move |write| (row, write)));
    ways.filter(|(_, write)| write.op == call.def.name)
        .find_map(|(row, write)| {
            if row.when.is_some_and(|holds| !holds(exporter, call)) {
                return None;
            }
            let dims = exporter.rank(*call.operands.first()?).and_then(|r| r.checked_sub(2));
            let kind = row.kinds.split_whitespace().next()?;
            let kind = match dims.filter(|dims| (1..=3).contains(dims)) {
                Some(dims) => kind.replace('#', &dims.to_string()),
                None if kind.contains('#') => return None,
                None => kind.to_owned(),
            };
            match write.form {
                Form::Call(form) => call::line(row, kind, form, call, dims),
                Form::By(by) => by(exporter, call, Line::new(kind, call.operands)),
            }
        })
}

#[cfg(test)]
mod tests;
