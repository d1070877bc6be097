//! Operators that exporters leave under the names of torch's own library, with positional operands only.
//!
//! Such a line gives neither operand names nor the overload; torch's schemas give both.

use crate::Operator;

/// The name in torch's library, with the number of operands if overloads differ by it; the name that the rest of the
/// importer uses; the names of the operands in order. Operands after the last given one are missing.
const SCHEMAS: &[(&str, &str, &str)] = &[
    (
        "aten::_unique2",
        "aten::unique_flat",
        "input sorted return_inverse return_counts",
    ),
    ("aten::addbmm", "torch.addbmm", "input batch1 batch2 beta alpha"),
    ("aten::addcdiv", "torch.addcdiv", "input tensor1 tensor2 value"),
    ("aten::addcmul", "torch.addcmul", "input tensor1 tensor2 value"),
    ("aten::addmm", "torch.addmm", "input mat1 mat2 beta alpha"),
    ("aten::addmv", "torch.addmv", "input mat vec beta alpha"),
    ("aten::addr", "torch.addr", "input vec1 vec2 beta alpha"),
    (
        "aten::affine_grid_generator",
        "F.affine_grid",
        "theta size align_corners",
    ),
    ("aten::argsort", "torch.argsort", "input dim descending"),
    ("aten::argsort/4", "torch.argsort", "input stable dim descending"),
    ("aten::baddbmm", "torch.baddbmm", "input batch1 batch2 beta alpha"),
    ("aten::bilinear", "F.bilinear", "input1 input2 weight bias"),
    ("aten::cdist", "torch.cdist", "x1 x2 p compute_mode"),
    ("aten::chunk", "torch.chunk", "input chunks dim"),
    ("aten::cosine_similarity", "F.cosine_similarity", "x1 x2 dim eps"),
    ("aten::diff", "torch.diff", "input n dim prepend append"),
    ("aten::dot", "torch.dot", "input other"),
    (
        "aten::empty_like",
        "torch.empty_like",
        "input dtype layout device pin_memory memory_format",
    ),
    ("aten::fft_fft", "torch.fft.fft", "input n dim norm"),
    ("aten::fft_fft2", "torch.fft.fft2", "input s dim norm"),
    ("aten::fft_fftn", "torch.fft.fftn", "input s dim norm"),
    ("aten::fft_fftshift", "torch.fft.fftshift", "input dim"),
    ("aten::fft_hfft", "torch.fft.hfft", "input n dim norm"),
    ("aten::fft_ifft", "torch.fft.ifft", "input n dim norm"),
    ("aten::fft_ifft2", "torch.fft.ifft2", "input s dim norm"),
    ("aten::fft_ifftn", "torch.fft.ifftn", "input s dim norm"),
    ("aten::fft_ifftshift", "torch.fft.ifftshift", "input dim"),
    ("aten::fft_ihfft", "torch.fft.ihfft", "input n dim norm"),
    ("aten::fft_irfft", "torch.fft.irfft", "input n dim norm"),
    ("aten::fft_irfft2", "torch.fft.irfft2", "input s dim norm"),
    ("aten::fft_irfftn", "torch.fft.irfftn", "input s dim norm"),
    ("aten::fft_rfft", "torch.fft.rfft", "input n dim norm"),
    ("aten::fft_rfft2", "torch.fft.rfft2", "input s dim norm"),
    ("aten::fft_rfftn", "torch.fft.rfftn", "input s dim norm"),
    (
        "aten::full_like",
        "torch.full_like",
        "input fill_value dtype layout device pin_memory memory_format",
    ),
    ("aten::index", "Tensor.index", "input expr"),
    ("aten::index_add", "torch.index_add", "input dim index source alpha"),
    ("aten::index_copy", "torch.index_copy", "input dim index source"),
    ("aten::index_fill", "torch.index_fill", "input dim index value"),
    ("aten::isinf", "torch.isinf", "input"),
    ("aten::isnan", "torch.isnan", "input"),
    ("aten::kthvalue", "torch.kthvalue", "input k dim keepdim"),
    ("aten::lerp", "torch.lerp", "input end weight"),
    ("aten::masked_fill", "Tensor.masked_fill", "input mask value"),
    ("aten::masked_scatter", "torch.masked_scatter", "input mask source"),
    ("aten::masked_select", "torch.masked_select", "input mask"),
    ("aten::median", "torch.median", "input dim keepdim"),
    ("aten::nonzero", "torch.nonzero", "input"),
    ("aten::nonzero_numpy", "aten::nonzero_list", "input"),
    ("aten::one_hot", "F.one_hot", "input num_classes"),
    ("aten::outer", "torch.outer", "input vec2"),
    ("aten::pairwise_distance", "F.pairwise_distance", "x1 x2 p eps keepdim"),
    ("aten::rot90", "torch.rot90", "input k dims"),
    ("aten::scatter", "torch.scatter", "input dim index src reduce"),
    ("aten::scatter_add", "torch.scatter_add", "input dim index src"),
    (
        "aten::scatter_reduce",
        "torch.scatter_reduce",
        "input dim index src reduce include_self",
    ),
    ("aten::sort/4", "torch.sort", "input stable dim descending"),
    ("aten::std_mean", "torch.std_mean", "input dim correction keepdim"),
    ("aten::std_mean/2", "torch.std_mean", "input correction"),
    ("aten::take_along_dim", "torch.take_along_dim", "input indices dim"),
    ("aten::topk", "torch.topk", "input k dim largest sorted"),
    ("aten::tril", "torch.tril", "input diagonal"),
    ("aten::triu", "torch.triu", "input diagonal"),
    ("aten::unflatten", "Tensor.unflatten", "input dim sizes"),
    (
        "aten::unique_dim",
        "aten::unique_slices",
        "input dim sorted return_inverse return_counts",
    ),
    ("aten::unsafe_chunk", "torch.chunk", "input chunks dim"),
    ("aten::unsafe_split", "torch.split", "input split_size_or_sections dim"),
    (
        "aten::unsafe_split_with_sizes",
        "torch.split",
        "input split_size_or_sections dim",
    ),
    ("aten::var_mean", "torch.var_mean", "input dim correction keepdim"),
    ("aten::var_mean/2", "torch.var_mean", "input correction"),
];

/// The operator with the names that the importer uses for it and its operands, if it is in the list.
pub(super) fn named(op: &Operator) -> Option<Operator> {
    if !op.kind.starts_with("aten::") || !op.input_names.is_empty() {
        return None;
    }
    let exact = format!("{}/{}", op.kind, op.inputs.len());
    let find = |name: &str| SCHEMAS.iter().find(|(known, _, _)| *known == name);
    let (_, kind, names) = find(&exact).or_else(|| find(&op.kind))?;
    let names: Vec<&str> = names.split_whitespace().collect();
    if op.inputs.len() > names.len() {
        return None;
    }
    let pairs = names.iter().zip(&op.inputs);
    Some(Operator {
        kind: (*kind).to_owned(),
        input_names: pairs.map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ..op.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloads_are_told_apart_by_the_number_of_operands() {
        let op = |count: usize| Operator {
            kind: "aten::argsort".to_owned(),
            inputs: (0..count).map(|i| i.to_string()).collect(),
            ..Operator::default()
        };
        let names = |count: usize| -> Option<Vec<String>> {
            Some(
                named(&op(count))?
                    .input_names
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect(),
            )
        };
        assert_eq!(names(3).unwrap(), ["input", "dim", "descending"]);
        assert_eq!(names(4).unwrap(), ["input", "stable", "dim", "descending"]);
        assert_eq!(names(5), None);
    }
}
