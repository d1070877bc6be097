//! Facts in Rust about operators that are declared in files, besides their bodies, under the names that `laws` clauses
//! use.
//!
//! A type that is computed here is found without building the body of a call, and its messages say what is wrong with
//! the operands. An operator without such a law gets its type from its body.

use super::{AxesRule, Canonical, Channel, OpDef, ShapeRule};

/// `types = …`: the type of the value of a call.
pub(crate) mod types {
    pub(crate) use crate::activation::infer_prelu as prelu;
    pub(crate) use crate::along::infer_group as groups_along;
    pub(crate) use crate::along::infer_instance as beside_batch;
    pub(crate) use crate::along::infer_l2 as l2;
    pub(crate) use crate::along::infer_vectors as vectors;
    pub(crate) use crate::attention::infer_cache as attention_with_cache;
    pub(crate) use crate::attention::infer_value as attention;
    pub(crate) use crate::common::same_float as float;
    pub(crate) use crate::elementary::infer_float as floats;
    pub(crate) use crate::elementary::infer_number as numbers;
    pub(crate) use crate::integer::infer_conv as integer_conv;
    pub(crate) use crate::integer::infer_nbits as nbits;
    pub(crate) use crate::integer::infer_product as integer_product;
    pub(crate) use crate::integer::infer_quantized_conv as quantized_conv;
    pub(crate) use crate::integer::infer_quantized_product as quantized_product;
    pub(crate) use crate::layer_norm::infer_rms as rms;
    pub(crate) use crate::layer_norm::infer_statistics as statistics;
    pub(crate) use crate::like::infer_broadcast_to_like as broadcast_to_like;
    pub(crate) use crate::like::infer_collapse_sum_like as collapse_sum_like;
    pub(crate) use crate::like::infer_collapse_sum_to as collapse_sum_to;
    pub(crate) use crate::like::infer_layout_transform as layout_transform;
    pub(crate) use crate::like::infer_reshape_like as reshape_like;
    pub(crate) use crate::loss::infer_loss as loss;
    pub(crate) use crate::matmul::infer_batch_matmul as batch_matmul;
    pub(crate) use crate::matmul::infer_bias_add as bias_add;
    pub(crate) use crate::matmul::infer_dense as dense;
    pub(crate) use crate::norm::infer_group as groups;
    pub(crate) use crate::norm::infer_layer as layer;
    pub(crate) use crate::norm::infer_lp as lp_norm;
    pub(crate) use crate::norm::infer_lrn as response;
    pub(crate) use crate::norm::infer_per_channel as per_channel;
    pub(crate) use crate::norm::infer_spatial as spatial;
    pub(crate) use crate::pool::infer_global as global_pool;
    pub(crate) use crate::quantize::infer_dequantize as dequantize;
    pub(crate) use crate::quantize::infer_dynamic as dynamic_quantize;
    pub(crate) use crate::quantize::infer_quantize as quantize;
    pub(crate) use crate::rotary::infer_causal_conv as causal_conv;
    pub(crate) use crate::rotary::infer_rotary as rotary;
    pub(crate) use crate::softmax::infer as softmax;
    pub(crate) use crate::strided::infer_dice as dice;
    pub(crate) use crate::strided::infer_shuffle as shuffle;
    pub(crate) use crate::strided::infer_tensordot as tensordot;
}

/// `normal = …`: the normal form of the attributes of a call.
pub(crate) mod normal {
    pub(crate) use crate::along::canonical_l2 as l2;
    pub(crate) use crate::conv::canonical_conv as conv;
    pub(crate) use crate::integer::canonical_conv as integer_conv;
    pub(crate) use crate::integer::canonical_quantized_conv as quantized_conv;
    pub(crate) use crate::quantize::canonical_dequantize as dequantize;
    pub(crate) use crate::quantize::canonical_quantize as quantize;
    pub(crate) use crate::strided::canonical_dice as dice;
}

impl OpDef {
    /// True if the normal form of a call's attributes leaves this one as it is written; `given` if it is not left out.
    ///
    /// Axes are counted from the front before that, and are not considered here.
    pub fn keeps_attribute(&self, name: &str, given: bool) -> bool {
        let Some(own) = self.canonical else { return true };
        let is = |normal: Canonical| std::ptr::fn_addr_eq(own, normal);
        if is(normal::conv) {
            !matches!(name, "auto_pad" | "strides" | "dilations" | "pads" | "ceil_mode")
        } else if is(normal::quantize) || is(normal::dequantize) {
            name != "axis" && (given || name != "output_dtype")
        } else {
            false
        }
    }

    /// True if the normal form of a call's attributes has this one, whether it is written or not.
    pub fn fills_attribute(&self, name: &str) -> bool {
        let is = |normal: Canonical| self.canonical.is_some_and(|own| std::ptr::fn_addr_eq(own, normal));
        (is(normal::quantize) || is(normal::dequantize)) && name == "output_dtype"
    }

    /// The operand whose element type an attribute has in the normal form, if the attribute is left out and the operand
    /// is given.
    pub fn type_filled_from(&self, name: &str) -> Option<usize> {
        let is = |normal: Canonical| self.canonical.is_some_and(|own| std::ptr::fn_addr_eq(own, normal));
        match name {
            "output_dtype" if is(normal::quantize) => Some(2),
            "output_dtype" if is(normal::dequantize) => Some(1),
            _ => None,
        }
    }

    /// True if, in the normal form, an attribute is the element type of this operand whenever that is given, written or
    /// not.
    pub fn type_equal_to(&self, name: &str) -> Option<usize> {
        let is = |normal: Canonical| self.canonical.is_some_and(|own| std::ptr::fn_addr_eq(own, normal));
        (is(normal::quantize) && name == "output_dtype").then_some(2)
    }

    /// The operands that the normal form of the attributes of a convolution depends on: an image and its weights.
    pub fn normal_form_depends_on(&self) -> Option<[usize; 2]> {
        let is = |normal: Canonical| self.canonical.is_some_and(|own| std::ptr::fn_addr_eq(own, normal));
        if is(normal::quantized_conv) {
            Some([0, 3])
        } else if is(normal::integer_conv) || is(normal::conv) {
            Some([0, 1])
        } else {
            None
        }
    }

    /// True if the attributes of both operators have the same normal form.
    pub fn has_normal_form_of(&self, other: &OpDef) -> bool {
        matches!((self.canonical, other.canonical), (Some(own), Some(other)) if std::ptr::fn_addr_eq(own, other))
    }
}

/// `work = …`: the number of operations of a call.
pub(crate) mod work {
    pub(crate) use crate::attention::flops as attention;
    pub(crate) use crate::conv::fused_flops as fused_conv;
    pub(crate) use crate::integer::conv_flops as integer_conv;
    pub(crate) use crate::integer::product_flops as integer_product;
    pub(crate) use crate::integer::quantized_conv_flops as quantized_conv;
    pub(crate) use crate::integer::quantized_product_flops as quantized_product;
    pub(crate) use crate::matmul::fused_flops as fused_product;
    pub(crate) use crate::matmul::product_flops as product;
    pub(crate) use crate::strided::tensordot_flops as tensordot;
}

/// `shapes = …`: how the shapes of operands fit together.
pub(crate) mod shapes {
    use super::{Channel, ShapeRule};

    pub(crate) const SECOND_AXIS: ShapeRule = ShapeRule::PerChannel(Channel::Second);
    pub(crate) const LAST_AXIS: ShapeRule = ShapeRule::PerChannel(Channel::Last);
    pub(crate) const NAMED_AXIS: ShapeRule = ShapeRule::PerChannel(Channel::Named);
}

/// `axes = …`: how the axes of operands and results correspond.
pub(crate) mod axes {
    use super::AxesRule;

    pub(crate) const ALONG: AxesRule = AxesRule::Along;
    pub(crate) const CHANNELS: AxesRule = AxesRule::Channels;
    pub(crate) const ROWS: AxesRule = AxesRule::Rows;
}
