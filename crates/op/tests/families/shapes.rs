//! Which operators state how shapes fit together.

use tautomer_op::{ShapeRule, table};

/// Operators without a rule, by the reason for it.
const WITHOUT: [(&str, &str); 4] = [
    (
        "no operand has a shape",
        "random_uniform random_normal full zeros ones constant_of_shape range hann_window hamming_window \
         blackman_window mel_weight_matrix",
    ),
    (
        "one operand or more of any shape; attributes are axes, or fit any dimensions",
        "l2_normalize dropout dropout_in_training shape size zeros_like ones_like non_zero trilu eye_like \
         random_uniform_like random_normal_like bernoulli reduce_sum reduce_mean reduce_max reduce_min \
         reduce_prod reduce_l1 reduce_l2 reduce_log_sum reduce_log_sum_exp reduce_sum_square argmax argmin \
         cumsum cumprod softmax log_softmax hardmax sort unique unique_consecutive flatten lrn \
         lp_normalization mean_variance_normalization global_average_pool global_max_pool string_normalizer \
         string_split dynamic_quantize_linear one_hot top_k dice roll",
    ),
    (
        "control flow, sequences and optional values: the leaves of instances are tensors",
        "branch loop scan sequence_map sequence_construct sequence_empty sequence_at sequence_insert \
         sequence_erase sequence_length split_to_sequence concat_from_sequence optional optional_missing \
         optional_get_element optional_has_element",
    ),
    (
        "dimensions fit in a way of their own, which mutation has to find",
        "attention attention_with_cache depth_to_space space_to_depth tensor_scatter non_max_suppression \
         einsum det affine_grid gather gather_elements gather_nd scatter_elements scatter_nd matmul_integer \
         matmul_nbits qlinear_matmul conv_integer qlinear_conv rms_normalization layer_normalization_with_statistics tile \
         reshape_like broadcast_to_like collapse_sum_like collapse_sum_to layout_transform linear_attention \
         negative_log_likelihood_loss softmax_cross_entropy_loss softmax_cross_entropy_loss_with_log_prob \
         dense batch_matmul tfidf_vectorizer compress max_pool_with_indices quantize_linear dequantize_linear \
         resize rotary_embedding causal_conv_with_state grid_sample roi_align \
         reverse_sequence center_crop_pad dft stft diagonal unfold channel_shuffle tensordot \
         max_unpool multinomial fused_conv fused_matmul quantized_conv quantized_matmul",
    ),
];

/// A new operator states a rule, or a reason for having none is added here.
#[test]
fn operators_without_a_shape_rule() {
    let without: Vec<&str> = table()
        .filter(|def| def.shape_rule() == ShapeRule::Unstated)
        .map(|def| def.name)
        .collect();
    let listed: Vec<&str> = WITHOUT.iter().flat_map(|(_, names)| names.split(' ')).collect();
    let unlisted: Vec<_> = without.iter().filter(|name| !listed.contains(name)).collect();
    let stale: Vec<_> = listed.iter().filter(|name| !without.contains(name)).collect();
    assert!(
        unlisted.is_empty() && stale.is_empty(),
        "without a rule: {unlisted:?}, with one: {stale:?}"
    );
}
