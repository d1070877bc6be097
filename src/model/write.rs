//! Writing: programs and models.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Diagnostics, Source};
use crate::formats::onnx::{OnnxInfo, write_model};
use crate::formats::{arrays, atomic, pnnx, readback};
use crate::graph::{BuildOptions, Workload, build_program, to_program};
use crate::lang::ast::ParamClass;
use crate::lang::{format_program, parse_program};
use crate::tensor::Tensor;

use super::{Kind, failed, plain};

/// The text of a workload, and the values of its parameters under the names that the text uses.
pub(crate) fn program_text(workload: &Workload) -> (String, IndexMap<String, Tensor>) {
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

/// Writes a workload as a model, or as a program with a parameter file next to it.
pub(crate) fn write_workload(
    path: &Path,
    workload: &Workload,
    info: Option<&OnnxInfo>,
) -> Result<Diagnostics, Diagnostics> {
    let Workload { graph, params } = workload;
    match Kind::of_result(path)? {
        Kind::Taut => {
            let (text, values) = program_text(workload);
            let name = path.display().to_string();
            let source = Arc::new(Source::new(name.clone(), text.clone()));
            let again = parse_program(source).and_then(|program| build_program(&program, &BuildOptions::default()));
            readback::check(&name, graph, again)?;
            if !values.is_empty() {
                let beside = path.with_extension("safetensors");
                arrays::write(&beside, &values).map_err(|e| failed("T0401", e.to_string()))?;
            }
            write_text(path, &text)?;
            Ok(Diagnostics::new())
        }
        Kind::Onnx => write_model(path, graph, params, info.unwrap_or(&OnnxInfo::default())),
        Kind::Pnnx => pnnx::write_model(path, graph, params),
        Kind::Rules => Ok(Diagnostics::new()),
    }
}

/// Writes a text file atomically.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Diagnostics> {
    atomic::write(path, text.as_bytes()).map_err(|e| failed("T0401", format!("{}: {}", path.display(), plain(&e))))
}
