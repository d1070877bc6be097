//! Writing: programs, models, arrays; tensors for people.

use std::fmt::Write as _;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value, json};

use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::formats::onnx::{OnnxInfo, write_model};
use tautomer::formats::pnnx;
use tautomer::formats::{arrays, atomic};
use tautomer::graph::{Graph, Workload, to_program};
use tautomer::lang::ast::ParamClass;
use tautomer::lang::format_program;
use tautomer::tensor::{DType, Tensor};

use super::input::Kind;
use super::{Done, Failure};

/// More elements than this are abbreviated.
const MAX_ELEMENTS: usize = 1000;

/// Elements shown at either end of an abbreviated axis.
const EDGE: usize = 3;

/// The kind of file that a workload is to be written to. What cannot be written is refused before work is done for it.
pub(super) fn destination(path: &Path) -> Result<Kind, Failure> {
    let kind = Kind::of(path, None)?;
    if kind == Kind::Rules {
        return Err(no_rule_file(path));
    }
    has_folder(path)?;
    Ok(kind)
}

fn no_rule_file(path: &Path) -> Failure {
    Diagnostic::error("T0402", format!("{}: a program is no rule file", path.display()))
        .help("results are written as `.taut`, `.onnx` or `.pnnx.param`")
        .into()
}

/// Refuses a path that no file can be written to, as its folder is not there.
pub(super) fn has_folder(path: &Path) -> Done {
    let problem = match path.parent() {
        _ if path.is_dir() => format!("{}: a folder is there", path.display()),
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let what = if folder.exists() {
                "is no folder"
            } else {
                "does not exist"
            };
            format!("{}: `{}` {what}", path.display(), folder.display())
        }
        _ => return Ok(()),
    };
    Err(Failure::new("T0401", problem))
}

/// Writes a text, in one step.
pub(super) fn write_text(path: &Path, text: &str) -> Done {
    atomic::write(path, text.as_bytes()).map_err(|e| Failure::new("T0401", format!("{}: {e}", path.display())))
}

/// The text of a workload, and the values of its parameters under the names they have there.
pub(super) fn program_text(workload: &Workload) -> (String, IndexMap<String, Tensor>) {
    let program = to_program(&workload.graph);
    let text = format_program(&program);
    let printed = program.functions.iter().flat_map(|f| &f.params);
    let names = printed
        .filter(|p| p.class == ParamClass::Param)
        .map(|p| p.name.as_str());
    let used: rustc_hash::FxHashSet<_> = workload.graph.rpo().into_iter().collect();
    let graph = &workload.graph;
    let params = graph.params().iter().filter(|v| used.contains(v));
    let values = names.zip(params).filter_map(|(name, &v)| {
        let value = workload.params.get(graph.vertex(v).name.as_deref()?)?;
        Some((name.to_owned(), value.clone()))
    });
    (text, values.collect())
}

/// Writes a workload: as a program with a file of parameters beside it, or as a model.
pub(super) fn write_workload(
    path: &Path,
    workload: &Workload,
    info: Option<&OnnxInfo>,
) -> Result<Diagnostics, Failure> {
    match Kind::of(path, None)? {
        Kind::Taut => {
            let (text, values) = program_text(workload);
            write_text(path, &text)?;
            if !values.is_empty() {
                let beside = path.with_extension("safetensors");
                arrays::write(&beside, &values).map_err(|e| Failure::new("T0401", e.to_string()))?;
            }
            Ok(Diagnostics::new())
        }
        Kind::Onnx => {
            let own = OnnxInfo::default();
            Ok(write_model(
                path,
                &workload.graph,
                &workload.params,
                info.unwrap_or(&own),
            )?)
        }
        Kind::Pnnx => Ok(pnnx::write_model(path, &workload.graph, &workload.params)?),
        Kind::Rules => Err(no_rule_file(path)),
    }
}

/// The name of a result.
pub(super) fn output_name(graph: &Graph, i: usize) -> String {
    let output = graph.outputs().get(i);
    let own = output.and_then(|o| o.name.clone().or_else(|| graph.vertex(o.vertex).name.clone()));
    own.map_or_else(|| format!("out{i}"), |name| name.to_string())
}

/// A tensor like NumPy prints it; inner elements of large ones are left out.
pub(super) fn tensor_text(tensor: &Tensor) -> String {
    let shape = tensor.shape();
    if tensor.is_empty() {
        return "[]".to_owned();
    }
    let brief = tensor.len() > MAX_ELEMENTS;
    let texts = element_texts(tensor, brief);
    let width = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    let mut places = vec![0usize; shape.len()];
    let mut at = 0;
    // An odometer over the shown elements, brackets opened and closed where axes begin and end.
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

/// What stands between two elements whose places differ first in `axis`.
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

/// The texts of the elements that are shown, in order.
pub(super) fn element_texts(tensor: &Tensor, brief: bool) -> Vec<String> {
    let shape = tensor.shape();
    let mut keep = Vec::new();
    let mut places = vec![0usize; shape.len()];
    for i in 0..tensor.len() {
        let shown = |(p, n): (&usize, &usize)| !brief || *n <= 2 * EDGE || *p < EDGE || *p >= n - EDGE;
        if places.iter().zip(shape).all(shown) {
            keep.push(i);
        }
        for (place, extent) in places.iter_mut().zip(shape).rev() {
            *place += 1;
            if *place < *extent {
                break;
            }
            *place = 0;
        }
    }
    match tensor {
        Tensor::Bool(a) => pick(a.iter().map(bool::to_string), &keep),
        Tensor::Utf8(a) => pick(a.iter().map(|s| format!("{s:?}")), &keep),
        _ if tensor.dtype() == DType::F64 => pick(tensor.to_f64s().unwrap_or_default().into_iter().map(number), &keep),
        _ if tensor.dtype().is_float() => {
            let values = tensor.to_f64s().unwrap_or_default();
            pick(values.into_iter().map(|v| number(v as f32)), &keep)
        }
        _ => pick(
            tensor.to_ints().unwrap_or_default().into_iter().map(|v| v.to_string()),
            &keep,
        ),
    }
}

fn pick(texts: impl Iterator<Item = String>, keep: &[usize]) -> Vec<String> {
    let mut next = keep.iter().copied().peekable();
    texts
        .enumerate()
        .filter(|(i, _)| next.next_if_eq(i).is_some())
        .map(|(_, text)| text)
        .collect()
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

/// A tensor as JSON; large ones without their elements.
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

/// JSON has no infinities; they are texts.
fn real_json(v: &f64) -> Value {
    if v.is_finite() { json!(v) } else { json!(v.to_string()) }
}

fn int_json(v: &i128) -> Value {
    i64::try_from(*v).map_or_else(|_| json!(v.to_string()), |v| json!(v))
}

/// Writes arrays into a folder, one file for each.
pub(super) fn write_outputs(folder: &Path, outputs: &[Tensor]) -> Done {
    std::fs::create_dir_all(folder).map_err(|e| Failure::new("T0401", format!("{}: {e}", folder.display())))?;
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
    }
}
