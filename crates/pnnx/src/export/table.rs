//! Operators that correspond to a single torch operator, including all attributes.

use super::{Call, Line, attr_text};
use tautomer_op::AttrValue;

/// A way to write a call.
struct Form {
    op: &'static str,
    kind: &'static str,
    /// Names of the operands, separated by blanks.
    operands: &'static str,
    /// Names of attributes and parameters, as `axis:dim`, separated by blanks. All other attributes must have their
    /// defaults.
    attrs: &'static str,
}

const fn form(op: &'static str, kind: &'static str, operands: &'static str, attrs: &'static str) -> Form {
    Form {
        op,
        kind,
        operands,
        attrs,
    }
}

const FORMS: &[Form] = &[
    form("relu", "F.relu", "input", ""),
    form("sigmoid", "F.sigmoid", "input", ""),
    form("silu", "F.silu", "input", ""),
    form("hard_swish", "F.hardswish", "input", ""),
    form("mish", "F.mish", "input", ""),
    form("gelu", "F.gelu", "input", "approximate:approximate"),
    form("elu", "F.elu", "input", "alpha:alpha"),
    form("celu", "F.celu", "input", "alpha:alpha"),
    form("selu", "F.selu", "input", ""),
    form("leaky_relu", "F.leaky_relu", "input", "alpha:negative_slope"),
    form("softsign", "F.softsign", "input", ""),
    form("is_nan", "torch.isnan", "input", ""),
    form("not", "torch.logical_not", "input", ""),
    form("bitwise_not", "torch.bitwise_not", "input", ""),
    form("where", "torch.where", "condition input other", ""),
    form("softmax", "F.softmax", "input", "axis:dim"),
    form("log_softmax", "F.log_softmax", "input", "axis:dim"),
    form("cumsum", "torch.cumsum", "input", "axis:dim"),
    form("cumprod", "torch.cumprod", "input", "axis:dim"),
    form("gather_elements", "torch.gather", "input index", "axis:dim"),
    form("reduce_sum", "torch.sum", "input", "axes:dim keepdims:keepdim"),
    form("reduce_mean", "torch.mean", "input", "axes:dim keepdims:keepdim"),
    form("reduce_max", "torch.amax", "input", "axes:dim keepdims:keepdim"),
    form("reduce_min", "torch.amin", "input", "axes:dim keepdims:keepdim"),
    form("reduce_prod", "torch.prod", "input", "axes:dim keepdims:keepdim"),
    form(
        "reduce_log_sum_exp",
        "torch.logsumexp",
        "input",
        "axes:dim keepdims:keepdim",
    ),
    form("argmax", "torch.argmax", "input", "axis:dim keepdims:keepdim"),
    form("argmin", "torch.argmin", "input", "axis:dim keepdims:keepdim"),
    form("matmul", "torch.matmul", "input other", ""),
    form("dense", "F.linear", "input weight bias", ""),
    form("transpose", "Tensor.permute", "input", "perm:dims"),
    form("squeeze", "torch.squeeze", "input", "axes:dim"),
    form("zeros_like", "torch.zeros_like", "input", ""),
    form("ones_like", "torch.ones_like", "input", ""),
    form(
        "diagonal",
        "torch.diagonal",
        "input",
        "offset:offset dim1:dim1 dim2:dim2",
    ),
    form("sort", "torch.sort", "input", "axis:dim descending:descending"),
    form("unfold", "Tensor.unfold", "input", "axis:dimension size:size step:step"),
    form("channel_shuffle", "F.channel_shuffle", "input", "groups:groups"),
];

/// The torch name of an operator.
pub(super) fn find(op: &str) -> Option<&'static str> {
    FORMS.iter().find(|form| form.op == op).map(|form| form.kind)
}

/// The line of a call, if it has one of these forms.
pub(super) fn line(call: &Call<'_>) -> Option<Line> {
    let form = FORMS.iter().find(|form| form.op == call.def.name)?;
    let pairs: Vec<(&str, &str)> = form
        .attrs
        .split_whitespace()
        .filter_map(|pair| pair.split_once(':'))
        .collect();
    let written: Vec<&str> = pairs.iter().map(|(attr, _)| *attr).collect();
    let names: Vec<&'static str> = form.operands.split_whitespace().collect();
    if !call.plain_but(&written) || call.operands.len() > names.len() {
        return None;
    }
    let mut line = Line::new(form.kind, call.operands).named(names.get(..call.operands.len())?);
    for (attr, param) in pairs {
        let value = call.attr(attr);
        // An empty list would be read as no list.
        if matches!(value, AttrValue::Ints(list) if list.is_empty()) {
            return None;
        }
        line = line.param(param, attr_text(value)?);
    }
    Some(line)
}
