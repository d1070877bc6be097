//! Operators whose result is a view of the operand.

use super::call::or_decline;
use super::layout::seen;
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::Tensor;

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::any("diagonal", diagonal), Kernel::any("unfold", unfold)];

fn diagonal(call: &Call<'_>) -> Done {
    let offset = or_decline!(call.int("offset"));
    let (first, second) = (or_decline!(call.int("dim1")), or_decline!(call.int("dim2")));
    seen(call, &|layout| layout.diagonal(offset, first, second))
}

fn unfold(call: &Call<'_>) -> Done {
    let natural = |name: &str| call.int(name).and_then(|n| usize::try_from(n).ok());
    let axis = or_decline!(call.int("axis"));
    let (size, step) = (or_decline!(natural("size")), or_decline!(natural("step")));
    seen(call, &|layout| layout.windows(axis, size, step))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::Tensor;

    #[test]
    fn diagonals() {
        for (shape, first, second) in [
            (&[3usize, 4][..], 0, 1),
            (&[4, 3], 1, 0),
            (&[2, 3, 4], 0, 2),
            (&[2, 3, 4, 5], -1, 1),
            (&[0, 3, 4], 1, 2),
            (&[3, 0], 0, 1),
        ] {
            for offset in [0, 1, -1, 3, -7, i64::MAX, i64::MIN] {
                Case::new("diagonal", &[f32s(shape, 1)])
                    .int("offset", offset)
                    .int("dim1", first)
                    .int("dim2", second)
                    .check();
            }
        }
        let texts = Tensor::new(&[2, 2], ["a", "b", "c", "d"].map(str::to_owned).to_vec()).unwrap();
        Case::new("diagonal", &[texts]).check();
    }

    #[test]
    fn windows() {
        for (shape, axis) in [(&[7usize][..], 0), (&[2, 7], 1), (&[7, 3, 2], -3)] {
            for (size, step) in [(1, 1), (3, 1), (3, 2), (7, 5), (0, 1)] {
                Case::new("unfold", &[f32s(shape, 1)])
                    .int("axis", axis)
                    .int("size", size)
                    .int("step", step)
                    .check();
            }
        }
    }
}
