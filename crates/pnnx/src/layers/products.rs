//! Matrix products, and sums with them.

use super::{Args, both, read, read_by, write, write_by};
use crate::import::{Done, Importer, Val, wrong};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;

/// A product added to the first operand, both scaled. A factor of 0 drops the first operand, even if it is NaN.
macro_rules! added {
    ($product:literal) => {
        concat!(
            "let p = ",
            $product,
            ";
             let q = when not given(alpha) or alpha == 1 { p } else { p * alpha };
             when not given(beta) or beta == 1 { input + q } else { when beta == 0 { q } else { input * beta + q } }"
        )
    };
}

rows! {
    read("F.linear nn.Linear", "input weight bias in_features out_features",
        "when weight.rank == 1 { matmul(input, weight) } else {
           when given(bias) { dense(input, weight, bias) } else { dense(input, weight) }
         }")
    .writes(&[write("dense", "input weight bias")]),
    both("torch.matmul", "input other", "matmul", "input other"),
    read("torch.bmm torch.mm", "input mat2", "matmul(input, mat2)"),
    read("torch.mv", "input vec", "matmul(input, vec)"),
    read("torch.cross torch.linalg.cross", "input other dim",
        "let axis = when given(dim) { dim } else { index(input.shape, 3) };
         let a = split(input) {axis = axis, num_outputs = 3};
         let b = split(other) {axis = axis, num_outputs = 3};
         concat(a.1 * b.2 - a.2 * b.1, a.2 * b.0 - a.0 * b.2, a.0 * b.1 - a.1 * b.0) {axis = axis}"),
    read("torch.addmm", "input mat1 mat2 beta alpha", added!("matmul(mat1, mat2)")).positional("aten::addmm"),
    read("torch.baddbmm", "input batch1 batch2 beta alpha", added!("matmul(batch1, batch2)"))
        .positional("aten::baddbmm"),
    read("torch.addbmm", "input batch1 batch2 beta alpha",
        added!("reduce_sum(matmul(batch1, batch2)) {axes = [0], keepdims = false}")).positional("aten::addbmm"),
    read("torch.addmv", "input mat vec beta alpha", added!("matmul(mat, vec)")).positional("aten::addmv"),
    read("torch.addr", "input vec1 vec2 beta alpha",
        added!("unsqueeze(vec1) {axes = [1]} * unsqueeze(vec2) {axes = [0]}")).positional("aten::addr"),
    read("torch.dot", "input other", "matmul(input, other)").positional("aten::dot"),
    read("torch.outer torch.ger", "input vec2", "unsqueeze(input) {axes = [1]} * unsqueeze(vec2) {axes = [0]}")
        .positional("aten::outer"),
    read("nn.Bilinear F.bilinear", "input1 input2 weight bias in1_features in2_features out_features",
        "let y = einsum(input1, weight, input2) {equation = \"...i,oij,...j->...o\"};
         when given(bias) { y + bias } else { y }").positional("aten::bilinear=input1,input2,weight,bias"),
    read_by("torch.einsum", "", |i, a| i.einsum(a)).writes(&[write_by("einsum", |_, call, line| {
        // The equation has signs that parameters otherwise have not.
        let equation = call.text("equation");
        let plain = !equation.contains(char::is_whitespace) && !equation.is_empty();
        plain.then(|| line.param("equation", equation))
    })]),
}

impl Importer<'_> {
    fn einsum(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let operands = args.operands().iter().map(|v| self.tensor(v).map(|t| t.v));
        let operands: Vec<VertexId> = operands.collect::<Done<_>>()?;
        let equation = match args.op.params.iter().find(|(key, _)| key == "equation") {
            Some((_, text)) => AttrValue::str(text),
            None => return wrong("it has no equation"),
        };
        let v = self.call("einsum", &operands, &[("equation", equation)])?;
        self.untyped(v)
    }
}
