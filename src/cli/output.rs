//! Writing: programs, models, arrays; tensors for people.

use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::formats::pnnx;
use tautomer::formats::{arrays, atomic};
use tautomer::tensor::{DType, Tensor};

use super::input::{Kind, plain};
use super::{Done, Failure};

pub(super) use tautomer::model::{output_names, program_text, write_text, write_workload};

/// Tensors with more elements than this are abbreviated.
const MAX_ELEMENTS: usize = 1000;

/// Tensors with more elements than this even after abbreviation are not shown at all.
const MAX_SHOWN: usize = 10_000;

/// Elements shown at either end of an abbreviated axis.
const EDGE: usize = 3;

/// The kind of file to write a workload to. Called before any work is done, to reject what cannot be written.
pub(super) fn destination(path: &Path) -> Result<Kind, Failure> {
    let kind = Kind::of_result(path)?;
    has_folder(path)?;
    if kind == Kind::Pnnx {
        has_folder(&pnnx::weights_beside(path))?;
    }
    Ok(kind)
}

/// Rejects a path that no file can be written to.
pub(super) fn has_folder(path: &Path) -> Done {
    let problem = match path.parent() {
        _ if path.is_dir() => format!("{}: is a directory", path.display()),
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let what = if folder.exists() {
                "is not a directory"
            } else {
                "does not exist"
            };
            format!("{}: `{}` {what}", path.display(), folder.display())
        }
        _ => match atomic::writable(path) {
            Ok(()) => return Ok(()),
            Err(e) => format!("{}: cannot be written: {}", path.display(), plain(&e)),
        },
    };
    Err(Failure::new("T0401", problem))
}

/// Formats a tensor as NumPy does; inner elements of large tensors are left out.
pub(super) fn tensor_text(tensor: &Tensor) -> String {
    let shape = tensor.shape();
    if tensor.is_empty() {
        return "[]".to_owned();
    }
    if let Some(instead) = not_shown(tensor) {
        return instead;
    }
    let brief = tensor.len() > MAX_ELEMENTS;
    let texts = element_texts(tensor, brief);
    let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    let mut places = vec![0usize; shape.len()];
    let mut at = 0;
    // Like an odometer over the shown elements: brackets open and close where axes begin and end.
    let rank = shape.len();
    out.push_str(&"[".repeat(rank));
    loop {
        let text = texts.get(at).map_or("", String::as_str);
        at += 1;
        let _ = write!(out, "{text:>width$}");
        let mut axis = rank;
        loop {
            if axis == 0 {
                out.push_str(&"]".repeat(rank));
                return out;
            }
            axis -= 1;
            places[axis] += 1;
            let cut = brief && shape[axis] > 2 * EDGE && places[axis] == EDGE;
            if cut {
                places[axis] = shape[axis] - EDGE;
            }
            if places[axis] < shape[axis] {
                separate(&mut out, rank, axis, cut);
                break;
            }
            places[axis] = 0;
        }
    }
}

/// Appends the separator between two elements whose indices first differ in `axis`.
fn separate(out: &mut String, rank: usize, axis: usize, cut: bool) {
    let closed = rank - 1 - axis;
    out.push_str(&"]".repeat(closed));
    if closed == 0 {
        out.push_str(if cut { " ... " } else { " " });
        return;
    }
    let gap = format!("{}{}", "\n".repeat(closed), " ".repeat(axis + 1));
    if cut {
        out.push_str(&gap);
        out.push_str("...");
    }
    out.push_str(&gap);
    out.push_str(&"[".repeat(closed));
}

/// The shown elements as strings, in order.
pub(super) fn element_texts(tensor: &Tensor, brief: bool) -> Vec<String> {
    let shape = tensor.shape();
    let shown = |n: usize| -> Vec<usize> {
        match brief && n > 2 * EDGE {
            true => (0..EDGE).chain(n - EDGE..n).collect(),
            false => (0..n).collect(),
        }
    };
    // Like an odometer over the shown positions of each axis; the others are never visited.
    let axes: Vec<Vec<usize>> = shape.iter().map(|&n| shown(n)).collect();
    let count: usize = axes.iter().map(Vec::len).product();
    let mut places = vec![0usize; axes.len()];
    let mut positions = Vec::with_capacity(count);
    for _ in 0..count {
        positions.push(places.iter().zip(&axes).map(|(&p, axis)| axis[p]).collect::<Vec<_>>());
        for (place, axis) in places.iter_mut().zip(&axes).rev() {
            *place += 1;
            if *place < axis.len() {
                break;
            }
            *place = 0;
        }
    }
    match tensor.picked(&positions) {
        Tensor::Bool(a) => a.iter().map(bool::to_string).collect(),
        Tensor::Utf8(a) => a.iter().map(|s| format!("{s:?}")).collect(),
        some if some.dtype() == DType::F64 => some.to_f64s().unwrap_or_default().into_iter().map(number).collect(),
        some if some.dtype().is_float() => {
            let values = some.to_f64s().unwrap_or_default();
            values.into_iter().map(|v| number(v as f32)).collect()
        }
        some => some.to_ints().unwrap_or_default().iter().map(i128::to_string).collect(),
    }
}

/// The number of elements shown.
fn shown_count(shape: &[usize], brief: bool) -> usize {
    let shown = shape.iter().map(|&n| if brief { n.min(2 * EDGE) } else { n });
    shown.fold(1, usize::saturating_mul)
}

/// The text shown for a tensor that is too large even when abbreviated.
pub(super) fn not_shown(tensor: &Tensor) -> Option<String> {
    let brief = tensor.len() > MAX_ELEMENTS;
    (shown_count(tensor.shape(), brief) > MAX_SHOWN).then(|| {
        format!(
            "[... {} elements along {} axes are not shown ...]",
            tensor.len(),
            tensor.shape().len()
        )
    })
}

fn number<T: Into<f64> + std::fmt::Display + std::fmt::LowerExp + Copy>(value: T) -> String {
    let wide: f64 = value.into();
    let magnitude = wide.abs();
    if wide.is_nan() || wide.is_infinite() {
        return if wide.is_nan() { "nan".into() } else { format!("{wide}") };
    }
    if magnitude != 0.0 && !(1e-4..1e8).contains(&magnitude) {
        return format!("{value:.6e}");
    }
    let text = format!("{value}");
    let digits = text.split_once('.').map_or(0, |(_, d)| d.len());
    match digits {
        0 => format!("{text}."),
        d if d > 8 => format!("{wide:.8}"),
        _ => text,
    }
}

/// A tensor as JSON; large tensors without their elements.
pub(super) fn tensor_json(name: &str, tensor: &Tensor) -> Value {
    let mut out = json!({ "name": name, "dtype": tensor.dtype().name(), "shape": tensor.shape() });
    if tensor.len() <= MAX_ELEMENTS
        && let Value::Object(map) = &mut out
    {
        let values = match tensor {
            Tensor::Bool(a) => a.iter().map(|v| json!(v)).collect(),
            Tensor::Utf8(a) => a.iter().map(|v| json!(v)).collect(),
            _ if tensor.dtype().is_float() => tensor.to_f64s().unwrap_or_default().iter().map(real_json).collect(),
            _ => tensor.to_ints().unwrap_or_default().iter().map(int_json).collect(),
        };
        map.insert("values".to_owned(), Value::Array(values));
    }
    out
}

/// JSON has no infinities or NaN; they become strings.
fn real_json(v: &f64) -> Value {
    if v.is_finite() { json!(v) } else { json!(v.to_string()) }
}

fn int_json(v: &i128) -> Value {
    i64::try_from(*v).map_or_else(|_| json!(v.to_string()), |v| json!(v))
}

/// Rejects a path at which there is something other than a directory.
pub(super) fn is_directory(folder: &Path) -> Done {
    match folder.exists() && !folder.is_dir() {
        true => Err(
            Diagnostic::error("T0401", format!("{}: is not a directory", folder.display()))
                .help("each result is written to its own file; name a directory for them")
                .into(),
        ),
        false => Ok(()),
    }
}

/// Writes arrays into a directory, one file for each.
pub(super) fn write_outputs(folder: &Path, outputs: &[Tensor]) -> Done {
    is_directory(folder)?;
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::new("T0401", format!("{}: {}", folder.display(), plain(&e))))?;
    for (i, tensor) in outputs.iter().enumerate() {
        let path = folder.join(format!("out{i}.npy"));
        let one = IndexMap::from([(format!("out{i}"), tensor.clone())]);
        arrays::write(&path, &one).map_err(|e| Failure::new("T0401", e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_look_like_numpy() {
        let small = Tensor::new(&[2, 2], vec![1.0f32, -2.5, 0.1, 1e-9]).unwrap();
        assert_eq!(
            tensor_text(&small),
            "[[         1.        -2.5]\n [        0.1 1.000000e-9]]"
        );
        assert_eq!(tensor_text(&Tensor::scalar(3i64)), "3");
        assert_eq!(tensor_text(&Tensor::vector(vec![true, false])), "[ true false]");
        let long = Tensor::vector((0..2000i64).collect::<Vec<_>>());
        assert_eq!(tensor_text(&long), "[   0    1    2 ... 1997 1998 1999]");
        let wide = Tensor::new(&[40, 40], (0..1600i64).collect::<Vec<_>>()).unwrap();
        assert_eq!(tensor_text(&wide).lines().count(), 7);
        let deep = Tensor::new(&[2; 16], vec![0u8; 1 << 16]).unwrap();
        assert_eq!(
            tensor_text(&deep),
            "[... 65536 elements along 16 axes are not shown ...]"
        );
    }
}
