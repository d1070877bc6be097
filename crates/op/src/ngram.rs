//! Counts of token sequences.

use super::common::{Out, count, flat, typed};
use super::value::shaped;
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, System, Value};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "tfidf_vectorizer",
    "Counts how often each listed sequence of tokens occurs in each row, optionally weighted.",
)
.operands(&[Operand::one("x")])
.attrs(&[
    AttrDef::new(
        "max_gram_length",
        AttrKind::Int,
        Default::Required,
        "the number of tokens of the longest sequences",
    ),
    AttrDef::new(
        "min_gram_length",
        AttrKind::Int,
        Default::Required,
        "the number of tokens of the shortest sequences",
    ),
    AttrDef::new(
        "max_skip_count",
        AttrKind::Int,
        Default::Required,
        "the maximum number of tokens to skip between two",
    ),
    AttrDef::new(
        "mode",
        AttrKind::OneOf(&["TF", "IDF", "TFIDF"]),
        Default::Required,
        "the count, the weight of sequences that occur, or the count times the weight",
    ),
    AttrDef::new(
        "ngram_counts",
        AttrKind::Ints,
        Default::Required,
        "where sequences of each length start in the pool",
    ),
    AttrDef::new(
        "ngram_indexes",
        AttrKind::Ints,
        Default::Required,
        "the position of each sequence in the result",
    ),
    AttrDef::new(
        "pool_int64s",
        AttrKind::Ints,
        Default::Required,
        "the sequences, concatenated",
    ),
    AttrDef::new(
        "weights",
        AttrKind::Floats,
        Default::None,
        "the weight of each sequence; 1 if left out",
    ),
])
.infer(infer)
.reference(reference!(vectorize))
.formula(Formula::Whole)
.cost(CostRule::PerInput(16.0))
.onnx("TfIdfVectorizer", 9)];

/// A sequence to count.
struct Gram {
    tokens: Vec<i128>,
    /// Its position in the result.
    index: usize,
}

/// The sequences of the pool, from the attributes.
fn grams(attr: &dyn Fn(&str) -> Option<Vec<i64>>) -> Result<Vec<Gram>, OpError> {
    let list = |name: &str| {
        attr(name).ok_or_else(|| OpError::new(format!("`{name}` must be a list of known integers")).attr(name))
    };
    let (pool, starts, indexes) = (list("pool_int64s")?, list("ngram_counts")?, list("ngram_indexes")?);
    let mut out = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(pool.len() as i64);
        let part = usize::try_from(start)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(a, b)| pool.get(a..b))
            .filter(|part| part.len() % (i + 1) == 0)
            .ok_or_else(|| {
                OpError::new("`ngram_counts` does not divide the pool into sequences").attr("ngram_counts")
            })?;
        for tokens in part.chunks(i + 1) {
            let index = indexes.get(out.len()).and_then(|&n| usize::try_from(n).ok());
            let index =
                index.ok_or_else(|| OpError::new("a sequence has no position in the result").attr("ngram_indexes"))?;
            out.push(Gram {
                tokens: tokens.iter().copied().map(i128::from).collect(),
                index,
            });
        }
    }
    Ok(out)
}

fn width(indexes: &[i64]) -> i64 {
    indexes.iter().copied().max().unwrap_or(-1).saturating_add(1)
}

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_int, "integers")?;
    grams(&|name| call.const_ints(name))?;
    let size = Dim::Const(width(&call.const_ints("ngram_indexes").unwrap_or_default()));
    let (least, most) = (call.const_int("min_gram_length"), call.const_int("max_gram_length"));
    if least.is_some_and(|n| n < 1) || least > most || call.const_int("max_skip_count").is_some_and(|n| n < 0) {
        return Err(OpError::new("the lengths of sequences must be positive and in order").attr("min_gram_length"));
    }
    if let (Some(weights), Some(indexes)) = (call.floats("weights"), call.ints("ngram_indexes"))
        && weights.len() != indexes.len()
    {
        let message = format!("there are {} weights for {} sequences", weights.len(), indexes.len());
        return Err(OpError::new(message).attr("weights"));
    }
    let out: Option<Shape> = match call.shape(0)? {
        None => None,
        Some(shape) => Some(match &shape[..] {
            [] | [_] => [size].into_iter().collect(),
            [rows, _] => [rows.clone(), size].into_iter().collect(),
            _ => return Err(OpError::new(format!("`x` must have at most 2 axes, but has {}", shape.len())).at(0)),
        }),
    };
    Ok(typed(DType::F32, out))
}

/// How often `gram` occurs in `row` with a distance of `skip` from one of its tokens to the next.
fn occurrences(row: &[i128], gram: &[i128], skip: usize) -> i128 {
    let matches = |start: usize| {
        let token = |i: usize| row.get(i.checked_mul(skip)?.checked_add(start)?);
        (0..gram.len()).all(|i| token(i) == Some(&gram[i]))
    };
    (0..row.len()).filter(|&start| matches(start)).count() as i128
}

fn vectorize<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.int()?;
    let out = e.out_shape(0)?;
    let grams = grams(&|name| e.ints(name))?;
    let length = |name: &str| e.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (least, most, skips) = (
        length("min_gram_length"),
        length("max_gram_length"),
        length("max_skip_count"),
    );
    let (rows, width) = match out.as_slice() {
        [rows, width] => (*rows, *width),
        [width] => (1, *width),
        _ => return Err(OpError::new("expected rows of tokens")),
    };
    let tokens = flat(x);
    let in_row = tokens.len().checked_div(rows).unwrap_or(0);
    let mut counts = vec![0i128; count(&out)?];
    for row in 0..rows {
        let tokens = &tokens[row * in_row..(row + 1) * in_row];
        for gram in grams.iter().filter(|g| (least..=most).contains(&g.tokens.len())) {
            // A single token has nothing to skip, and no more can be skipped than the row has.
            let distances = if gram.tokens.len() == 1 {
                1
            } else {
                skips.min(in_row) + 1
            };
            for distance in 1..=distances {
                counts[row * width + gram.index] += occurrences(tokens, &gram.tokens, distance);
            }
        }
    }
    let mut weights = vec![1.0; width];
    if let Some(given) = e.floats("weights") {
        for (gram, weight) in e.ints("ngram_indexes").unwrap_or_default().iter().zip(given) {
            if let Some(slot) = usize::try_from(*gram).ok().and_then(|i| weights.get_mut(i)) {
                *slot = weight;
            }
        }
    }
    let mode = e.text("mode");
    let values = counts
        .iter()
        .enumerate()
        .map(|(i, &n)| {
            let weight = S::from_f64(weights[i % width])?;
            Ok(match mode {
                "TF" => S::from_int(n),
                "IDF" if n == 0 => S::zero(),
                "IDF" => weight,
                _ => weight.mul(&S::from_int(n)),
            })
        })
        .collect::<Result<Vec<_>, OpError>>()?;
    Ok(vec![Value::Real(shaped(&out, values)?)])
}
