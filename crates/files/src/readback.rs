//! Reading back what was written before it is put in place.

use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_graph::Graph;
use tautomer_tensor::Type;

/// Checks that what was read back equals what was written: the same number of inputs and results, with the same types.
/// The only allowed difference is that the reader knows less about a shape than the writer.
///
/// # Errors
/// They differ, or the file could not be read back.
pub fn check(file: &str, written: &Graph, again: Result<Graph, Diagnostics>) -> Result<(), Diagnostics> {
    let problem = match again {
        Ok(again) => match differs(written, &again) {
            None => return Ok(()),
            Some(difference) => refused(file, &difference),
        },
        Err(problems) => {
            let first = problems.iter().find(|p| p.severity == Severity::Error);
            let first = first.map_or_else(String::new, |p| {
                // Messages can quote others; only the first line is the reason.
                let line = p.message.lines().next().unwrap_or_default();
                format!("[{}] {line}", p.code)
            });
            refused(file, &format!("the reader rejects it: {first}"))
        }
    };
    Err(problem.into())
}

fn refused(file: &str, why: &str) -> Diagnostic {
    Diagnostic::error("T0513", format!("{file}: the result cannot be read back; {why}"))
        .note("nothing is written")
        .help("write another format: `.taut`, `.onnx` or `.pnnx.param`")
}

/// The first difference of inputs or results in `again`.
fn differs(written: &Graph, again: &Graph) -> Option<String> {
    let inputs = |graph: &Graph| graph.inputs().iter().map(|&v| graph.ty(v).clone()).collect();
    let results = |graph: &Graph| graph.outputs().iter().map(|o| graph.ty(o.vertex).clone()).collect();
    apart("inputs", "input", inputs(written), inputs(again))
        .or_else(|| apart("results", "result", results(written), results(again)))
}

fn apart(many: &str, one: &str, written: Vec<Type>, again: Vec<Type>) -> Option<String> {
    let (written, again) = (parts(written), parts(again));
    if written.len() != again.len() {
        return Some(format!(
            "it has {} {many} but is read back with {}",
            written.len(),
            again.len()
        ));
    }
    let mut pairs = written.iter().zip(&again).enumerate();
    let (i, (a, b)) = pairs.find(|(_, (a, b))| !may_be(a, b))?;
    Some(format!("{one} {i} is {a} but is read back as {b}"))
}

/// The elements of tuples, which formats write individually. An empty tuple stands for an unknown type.
fn parts(types: Vec<Type>) -> Vec<Type> {
    let mut out = Vec::new();
    let mut left: Vec<Type> = types.into_iter().rev().collect();
    while let Some(ty) = left.pop() {
        match ty {
            Type::Tuple(items) if !items.is_empty() => left.extend(items.into_iter().rev()),
            other => out.push(other),
        }
    }
    out
}

/// True if both types may be the same, as far as they are known.
fn may_be(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            let shapes = match (&a.shape, &b.shape) {
                (Some(a), Some(b)) => {
                    let same =
                        |(a, b): (&tautomer_tensor::Dim, &tautomer_tensor::Dim)| match (a.as_const(), b.as_const()) {
                            (Some(a), Some(b)) => a == b,
                            _ => true,
                        };
                    a.len() == b.len() && a.iter().zip(b.iter()).all(same)
                }
                _ => true,
            };
            a.dtype == b.dtype && shapes
        }
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => may_be(a, b),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_tensor::{DType, Dim, Shape, TensorType};

    fn graph(types: &[Type]) -> Graph {
        let mut graph = Graph::new();
        for ty in types {
            let v = graph.input("x", ty.clone());
            graph.output(v, None);
        }
        graph
    }

    #[test]
    fn types_are_compared_so_far_as_they_are_known() {
        let f32s = |dims: &[i64]| Type::tensor(DType::F32, dims.iter().map(|&d| Dim::Const(d)).collect::<Shape>());
        let any = Type::from(TensorType::any_rank(DType::F32));
        let symbol = Type::tensor(DType::F32, [Dim::symbol("n")].into_iter().collect::<Shape>());
        let sequence = |ty: &Type| Type::Sequence(Box::new(ty.clone()));
        let same = |a: &[Type], b: &[Type]| check("m", &graph(a), Ok(graph(b))).is_ok();
        assert!(same(&[f32s(&[2])], &[f32s(&[2])]) && same(&[f32s(&[2])], std::slice::from_ref(&any)));
        assert!(
            same(std::slice::from_ref(&symbol), &[f32s(&[2])])
                && same(&[Type::Tuple(vec![any.clone()])], std::slice::from_ref(&any))
        );
        for other in [
            f32s(&[3]),
            f32s(&[2, 1]),
            Type::from(TensorType::any_rank(DType::F64)),
            sequence(&any),
            Type::Tuple(Vec::new()),
        ] {
            assert!(!same(&[f32s(&[2])], std::slice::from_ref(&other)), "{other}");
        }
        assert!(!same(std::slice::from_ref(&any), &[]) && !same(&[sequence(&f32s(&[1]))], &[sequence(&f32s(&[2]))]));
        let problem = check("m", &graph(&[any]), Err(Diagnostic::error("T0502", "broken").into())).unwrap_err();
        assert!(problem.render(false).contains("[T0502] broken"));
    }
}
