//! Lists of integers that are only known at run time.

use super::{Done, Exporter, Line, tuple};
use tautomer_graph::VertexId;
use tautomer_tensor::{Atom, Dim};

impl Exporter<'_> {
    /// The line with a list of integers, as a parameter or as an operand.
    pub(crate) fn with_integers(&mut self, mut line: Line, key: &'static str, dims: &[Dim]) -> Option<Line> {
        match self.integers(dims) {
            Ok(Ok(text)) => line = line.param(key, text),
            Ok(Err(list)) => line.lists.push((key, list)),
            Err(_) => return None,
        }
        Some(line)
    }

    /// The integers as a parameter, or else as the name of a list computed by an expression.
    fn integers(&mut self, dims: &[Dim]) -> Done<Result<String, String>> {
        let known: Option<Vec<i64>> = dims.iter().map(Dim::as_const).collect();
        if let Some(known) = known {
            return Ok(Ok(tuple(&known)));
        }
        let mut operands: Vec<VertexId> = Vec::new();
        let mut items = Vec::new();
        for dim in dims {
            items.push(self.extent(dim, &mut operands)?);
        }
        let mut inputs = Vec::new();
        for v in operands {
            inputs.push(self.value(v)?);
        }
        let name = self.fresh();
        let label = format!("pnnx_expr_{}", self.file.operators.len());
        let op = self.push("pnnx.Expression", &label, inputs, vec![name.clone()]);
        op.params.push(("expr".to_owned(), format!("[{}]", items.join(","))));
        Ok(Err(name))
    }

    /// A symbolic dimension as an expression of the sizes of inputs.
    fn extent(&self, dim: &Dim, operands: &mut Vec<VertexId>) -> Done<String> {
        let mut sum: Option<String> = None;
        for (atoms, factor) in dim.terms() {
            let mut term: Option<String> = (factor != 1 || atoms.is_empty()).then(|| factor.to_string());
            for atom in atoms.iter() {
                let (name, a, b) = match atom {
                    Atom::Symbol(symbol) => {
                        let Some(&(v, axis)) = self.sizes.get(&**symbol) else {
                            return Err(format!("no input has the dimension `{symbol}`"));
                        };
                        let place = operands.iter().position(|&u| u == v).unwrap_or_else(|| {
                            operands.push(v);
                            operands.len() - 1
                        });
                        term = Some(joined(term, &format!("size(@{place},{axis})"), "mul"));
                        continue;
                    }
                    Atom::Unknown(_) => return Err("a dimension is unknown".to_owned()),
                    Atom::FloorDiv(a, b) => ("floor_divide", a, b),
                    Atom::Mod(a, b) => ("remainder", a, b),
                    Atom::Min(a, b) => ("min", a, b),
                    Atom::Max(a, b) => ("max", a, b),
                };
                let inner = format!("{name}({},{})", self.extent(a, operands)?, self.extent(b, operands)?);
                term = Some(joined(term, &inner, "mul"));
            }
            sum = Some(joined(sum, &term.unwrap_or_else(|| "1".to_owned()), "add"));
        }
        Ok(sum.unwrap_or_else(|| "0".to_owned()))
    }
}

fn joined(so_far: Option<String>, next: &str, name: &str) -> String {
    match so_far {
        None => next.to_owned(),
        Some(so_far) => format!("{name}({so_far},{next})"),
    }
}
