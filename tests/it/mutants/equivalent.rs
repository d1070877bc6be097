//! Mutants that are not wrong rules.

/// Names of mutants, and why each is equivalent to the original rule, or also correct, or why no search reaches it.
pub(crate) const EQUIVALENT: &[(&str, &str)] = &[
    (
        "sum-of-matmul: condition dropped: r.shape == y.shape -> true @151",
        "the fused operator broadcasts as the sum does; the condition says what its kernel adds",
    ),
    (
        "clip-of-fused-conv: attribute of the source lost: low = _,  ->  @93",
        "without an activation, the limit has no meaning, and the target states another",
    ),
    (
        "clip-of-fused-matmul: attribute of the source lost: low = _,  ->  @97",
        "without an activation, the limit has no meaning, and the target states another",
    ),
    (
        "masked-attention-of-scaled-scores: condition off by one: 0 -> -1 @317",
        "the operator is defined by a product with the scale, so one below zero is also correct",
    ),
    (
        "slice-of-split-axis: operator replaced by a sibling: * -> / @167",
        "a slice that begins elsewhere has another size, which does not fit the reshape",
    ),
    (
        "squeeze-of-multiple: flag flipped: true -> false @176",
        "only values without elements have sizes of zero, and where types agree there is nothing to differ",
    ),
    (
        "squeeze-of-multiple: wrong axis: [0] -> [other + 1 for other in [0]] @92",
        "the next axis can be removed only if its size is one, too, and then the result is the same",
    ),
    (
        "attention-with-past: stronger class: numerics real -> numerics bitwise @423",
        "the operator joins past and present keys and values just as the source does",
    ),
    (
        "gather-nd-of-rows: list the other way round: [n] -> reverse([n]) @111",
        "a list of one element is the same in reverse",
    ),
    (
        "rotary-of-neighbours: type of a variable dropped: : [i, s, m] ->  @58",
        "cosines of other sizes are expanded to the same values on both sides",
    ),
    (
        "gather-of-one-place: condition dropped: x.shape[k] > 0 -> true @216",
        "an axis of size zero has no place that an index could name",
    ),
    (
        "gather-of-split-axis: condition weakened: > -> >= @340",
        "with a size of zero the result has no elements, or the target has no type",
    ),
    (
        "reshape-as-axes-in-front: condition weakened: > -> >= @152",
        "a reshape to the same shape inserts no axes, which is also correct",
    ),
    (
        "gather-of-uniform: list the other way round: [c.size] -> reverse([c.size]) @146",
        "a list of one element is the same in reverse",
    ),
    (
        "expand-of-uniform: condition weakened: > -> >= @202",
        "a number is also a constant of equal elements",
    ),
    (
        "masked-attention-of-scaled-queries: condition dropped: s != none -> true @185",
        "a missing scale cannot be multiplied by a number: the target has no type",
    ),
    (
        "max-keeps-axes: flag flipped: true -> false @135",
        "the reshape gives the same result in either case",
    ),
    (
        "sum-square-keeps-axes: flag flipped: true -> false @156",
        "the reshape gives the same result in either case",
    ),
    (
        "split-then-add: condition off by one: 1 -> 0 @154",
        "a term with only the last axis is also correct",
    ),
    (
        "attention-of-scaled-scores: type of a variable dropped: : [b, h, s, d] ->  @33",
        "the values agree wherever the types do, as heads are repeated like axes of size one; elsewhere the target has no type",
    ),
    (
        "diagonal-of-transpose: condition weakened: and -> || @223",
        "the same if the two axes come last; otherwise it is not a permutation of axes, and the target has no type",
    ),
    (
        "channels-nearby-by-roots: list the other way round: [1, 1, s, 1] -> reverse([1, 1, s, 1]) @193",
        "the kernel has one channel only for size one, where both lists are the same",
    ),
    (
        "product-of-joined-batches: stronger class: numerics real -> numerics bitwise @222",
        "its bits agree: the class is weaker than necessary",
    ),
    (
        "mean-keeps-axes: flag flipped: true -> false @138",
        "the reshape gives the same result in either case",
    ),
    (
        "reshape-then-scale: condition off by one: 0 -> -1 @231",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "reshape-then-scale: condition weakened: > -> >= @229",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "taso-129-relu-of-conv-and-relu-of-conv: attribute of the source lost: group = 1 ->  @115",
        "the target has one group, and has no type for any other number",
    ),
    (
        "scale-by-one-number-then-biased-conv: condition dropped: c.rank <= x.rank -> true @173",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "biased-gemm-then-add: condition off by one: 1 -> 2 @143",
        "a matrix that broadcasts to the result is also correct",
    ),
    (
        "reshape-of-reshape: condition weakened: > -> >= @115",
        "a dimension 0 means 0 in the normal form",
    ),
    (
        "biased-conv-transpose-then-add: list the other way round: b.shape -> reverse(b.shape) @168",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "taso-79-matmul-and-matmul: off by one: 0 -> -1 @170",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "lower-batch-norm: second choice: when len(t) == 0 { h } else { unsqueeze(h) {axes = t} } -> unsqueeze(h) {axes = t} @351",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "two-parallel-convs: attribute of the source lost: group = 1 ->  @69",
        "the target has one group, and has no type for any other number",
    ),
    (
        "squeeze-of-sum: condition off by one: 0 -> -1 @158",
        "also correct without axes; the condition only excludes rewrites that gain nothing",
    ),
    (
        "lower-group-norm: flag flipped: true -> false @323",
        "only matters for tensors without elements",
    ),
    (
        "slice-of-second-part: off by one: 1 -> 2 @160",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "gelu-by-tanh: condition weakened: < -> <= @477",
        "no number of any element type is exactly on the bound",
    ),
    (
        "unsqueeze-of-l1: rest lost: , ..r ->  @137",
        "the lost attribute only determines the meaning of an empty list of axes, and the list is given",
    ),
    (
        "scale-then-conv: call lost: reshape(c) {shape = [w.shape[1]] ++ [1 for i in range(2, w.rank)]} -> c @97",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "leaky-relu-from-max: condition weakened: < -> <= @119",
        "with a slope of 1, both sides are the operand",
    ),
    (
        "lower-bias-add: second choice: when k == x.rank - 1 { b } else { unsqueeze(b) {axes = range(1, x.rank - k)} } -> unsqueeze(b) {axes = range(1, x.rank - k)} @71",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "transpose-of-squeeze: condition weakened: > -> >= @237",
        "also correct without axes; the condition only excludes rewrites that gain nothing",
    ),
    (
        "conv-then-add-one-number: list the other way round: [1] -> reverse([1]) @119",
        "a list of at most one element is its own reverse",
    ),
    (
        "lower-group-norm: operator replaced by a sibling: / -> * @281",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "parallel-batch-matmuls: condition off by one: 2 -> 1 @254",
        "a single member is also a group; the condition only excludes rewrites that gain nothing",
    ),
    (
        "two-parallel-convs-of-different-kernels: operands swapped: [0, 0] ++ [m[i] - q[i] for i in 0..r] ++ [0, 0] -> [m[i] - q[i] for i in r..2 * r], [m[i] - q[i] for i in r..2 * r] -> ([0, 0] ++ [m[i] - q[i] for i in 0..r] ++ [0, 0]) @419",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "identity-element: second choice: when y.shape == x.shape { x } else { expand(x) {shape = y.shape} } -> expand(x) {shape = y.shape} @237",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "biased-conv-transpose-then-scale: list the other way round: [g, 1, w.shape[1]] -> reverse([g, 1, w.shape[1]]) @182",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "unsqueeze-of-log-sum-exp: rest lost: , ..r ->  @164",
        "the lost attribute only determines the meaning of an empty list of axes, and the list is given",
    ),
    (
        "transpose-twice: second choice: when [p[i] for i in q] == range(x.rank) { x } else { transpose(x) {perm = [p[i] for i in q]} } -> transpose(x) {perm = [p[i] for i in q]} @79",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "conv-transpose-then-batch-norm: off by one: w.shape[..2] -> w.shape[1..2] @333",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "hard-swish-from-hard-sigmoid: condition weakened: < -> <= @135",
        "no number of any element type is exactly on the bound",
    ),
    (
        "lower-layer-norm-along: second choice: when len(t) == 0 { g } else { unsqueeze(g) {axes = t} } -> unsqueeze(g) {axes = t} @267",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "matmul-of-transposes: attribute lost: perm = [1, 0] ->  @129",
        "the axes of matrices are swapped by default, and the swap is its own inverse",
    ),
    (
        "reduction-of-ones-without-axes: attribute of the source lost: keepdims = false,  ->  @230",
        "right for either value",
    ),
    (
        "reshape-of-unsqueeze: condition off by one: 0 -> -1 @149",
        "also correct without axes; the condition only excludes rewrites that gain nothing",
    ),
    (
        "transpose-as-reshape: condition weakened: > -> >= @228",
        "a condition on more axes is stronger",
    ),
    (
        "lower-group-norm: second choice: when len(t) == 0 { b } else { unsqueeze(b) {axes = t} } -> unsqueeze(b) {axes = t} @552",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "size-of-known: condition off by one: 0 -> -1 @58",
        "no size is negative: the condition only requires that it is known",
    ),
    (
        "biased-conv-then-scale: condition dropped: c.size == w.shape[0] -> true @222",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "parallel-matmuls: condition off by one: 1 -> 0 @235",
        "a single member is also a group; the condition only excludes rewrites that gain nothing",
    ),
    (
        "parallel-matmuls: condition weakened: > -> >= @233",
        "a single member is also a group; the condition only excludes rewrites that gain nothing",
    ),
    (
        "biased-pointwise-convs: list the other way round: w2.shape[..2] -> reverse(w2.shape[..2]) @191",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "scale-then-conv: off by one: 1 -> 2 @126",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "unsqueeze-of-l1: attribute lost: keepdims = true,  ->  @122",
        "this is the default value",
    ),
    (
        "scale-then-biased-conv: attribute of the source lost: group = 1,  ->  @84",
        "the target has one group, and has no type for any other number",
    ),
    (
        "reshape-of-squeeze: condition dropped: (0 in k) == false -> true @118",
        "only matters for unknown dimensions",
    ),
    (
        "pad-then-plain-average-pool: condition weakened: < -> <= @543",
        "a window that covers only padding has no value, also in the source",
    ),
    (
        "scale-and-shift-then-biased-conv: list the other way round: [] -> reverse([]) @149",
        "a list of at most one element is its own reverse",
    ),
    (
        "taso-106-conv-of-concats: operands swapped: y -> x, x -> y @149",
        "a convolution of a tensor with itself does not depend on the order of its channels",
    ),
    (
        "batch-norm-as-bias-add: second choice: when a == x.rank - 1 { k } else { unsqueeze(k) {axes = range(1, x.rank - a)} } -> unsqueeze(k) {axes = range(1, x.rank - a)} @204",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "gemm-from-matmul-and-add: condition dropped: broadcasts([a.shape[0], b.shape[1]], c) -> true @111",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "reshape-of-reshape-by-symbols: condition weakened: > -> >= @130",
        "a dimension 0 means 0 in the normal form",
    ),
    (
        "biased-conv-transpose-then-batch-norm: operands swapped: w.shape[0] -> g, g -> w.shape[0] @314",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "reshape-of-reshape: rest lost: , ..r ->  @96",
        "the lost attribute determines the meaning of a dimension 0, but there is none",
    ),
    (
        "taso-78-concat-of-matmuls: stronger class: numerics real -> numerics bitwise @178",
        "its bits agree: the class is weaker than necessary",
    ),
    (
        "unsqueeze-of-prod: rest lost: , ..r ->  @143",
        "the lost attribute only determines the meaning of an empty list of axes, and the list is given",
    ),
    (
        "lower-instance-norm: second choice: when len(t) == 0 { b } else { unsqueeze(b) {axes = t} } -> unsqueeze(b) {axes = t} @374",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "taso-72-concat-of-muls: condition dropped: x.shape == y.shape -> true @149",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "min-of-relu: condition off by one: 0 -> -1 @139",
        "`clip` applies the upper bound last, so an upper bound below 0 gives the same",
    ),
    (
        "lower-batch-norm: second choice: when len(t) == 0 { k } else { unsqueeze(k) {axes = t} } -> unsqueeze(k) {axes = t} @284",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "biased-conv-transpose-then-scale: attribute lost: group = g,  ->  @338",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "concat-of-nothing: condition weakened: > -> >= @160",
        "if all parts are empty, the target has no type",
    ),
    (
        "unsqueeze-of-log-sum: rest lost: , ..r ->  @152",
        "the lost attribute only determines the meaning of an empty list of axes, and the list is given",
    ),
    (
        "lower-layer-norm-along: second choice: when len(t) == 0 { b } else { unsqueeze(b) {axes = t} } -> unsqueeze(b) {axes = t} @334",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "two-parallel-convs: stronger class: numerics real -> numerics bitwise @245",
        "its bits agree: the class is weaker than necessary",
    ),
    (
        "lower-group-norm: wrong axis: t -> [other + 1 for other in t] @536",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        r#"pad-then-conv: attribute of the source lost: auto_pad = "NOTSET",  ->  @107"#,
        "the normal form of a call has explicit pads: there is no other value",
    ),
    (
        "reshape-then-add: call lost: reshape(x + c) {shape = s, ..r} -> (x + c) @74",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "taso-79-matmul-and-matmul: condition off by one: 2 -> 3 @207",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "matmul-of-transposes: list the other way round: [1, 0] -> inverse([1, 0]) @136",
        "the axes of matrices are swapped by default, and the swap is its own inverse",
    ),
    (
        "taso-93-relu-of-conv: operands swapped: x -> z, z -> x @151",
        "a convolution of a tensor with itself does not depend on the order of its channels",
    ),
    (
        "lower-group-norm: second choice: when len(t) == 0 { g } else { unsqueeze(g) {axes = t} } -> unsqueeze(g) {axes = t} @485",
        "`unsqueeze` without axes, the identity permutation and expansion to the same shape are identities",
    ),
    (
        "masked-attention-of-joined-batch-by-one-mask: type of a variable dropped: : [b, t, e] ->  @79",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "pad-of-transpose: operator replaced by a sibling: * -> / @228",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "elementwise-of-squeeze-and-param: condition weakened: > -> >= @264",
        "without axes to remove, neither side removes or adds any",
    ),
    (
        "matmul-of-einsum-of-values: list the other way round: [0, 2, 1, 3] -> inverse([0, 2, 1, 3]) @130",
        "the swap of two axes is its own inverse",
    ),
    (
        "matmul-of-einsum-by-rows: stronger class: numerics real -> numerics bitwise @103",
        "the reference semantics sums both in the same order",
    ),
    (
        "group-norm-then-shift: list the other way round: s.shape -> reverse(s.shape) @158",
        "a scale has one axis: its shape is the same in either order",
    ),
    (
        "group-norm-from-instance-norm: type of a variable dropped: : param [g] ->  @53",
        "instance normalization takes a scale for each of the `g` channels alone",
    ),
    (
        "matrix-of-biased-products: condition off by one: 0 -> -1 @189",
        "with an axis of no elements, the target has the same elements or no type",
    ),
    (
        "gather-of-dequantized: type of a variable dropped: : [] ->  @38",
        "a zero point has the shape of its scale",
    ),
    (
        "group-norm-from-instance-norm: operator replaced by a sibling: / -> * @268",
        "the target has a type only with one group, where quotient and product are the same",
    ),
    (
        "rotary-written-out: type of a variable dropped: : [i, j, m] ->  @42",
        "cosines and sines have three axes where the source has a type, and the last of them is `m`",
    ),
    (
        "matmul-of-bytes: operand lost: sw.rank == 1 && k == w.rank - 1 -> (k == w.rank - 1) @406",
        "without blocks, a scale has at most one axis",
    ),
    (
        "fused-conv-of-bytes: condition off by one: 1 -> 0 @448",
        "a convolution of one channel is right as well; it is left as it is because it would be slower",
    ),
    (
        "fused-biased-conv-of-bytes: type of a variable dropped: : [] ->  @37",
        "a scale has the shape of its zero point, which is a number",
    ),
    (
        "fused-biased-matmul-of-bytes: type of a variable dropped: : [] ->  @39",
        "a scale has the shape of its zero point, which is a number",
    ),
    (
        "bytes-of-biased-conv: attribute of the source lost: block_size = 0,      ->  @171",
        "a scale that is a number has no blocks",
    ),
    (
        "fused-conv-of-bytes: condition weakened: > -> >= @446",
        "a convolution of one channel is right as well; it is left as it is because it would be slower",
    ),
    (
        "layer-norm-then-shift: stronger class: numerics real -> numerics bitwise @196",
        "the definition of layer normalization adds the shift last, as the source does",
    ),
    (
        "rms-norm-then-scale: condition dropped: !is_static(x) -> true @149",
        "the condition keeps constants from growing; the rule is right without it",
    ),
    (
        "movement-of-dequantized: type of a variable dropped: : [] ->  @33",
        "a scale has the shape of its zero point",
    ),
    (
        "heads-of-part: condition off by one: 0 -> -1 @338",
        "a slice that ends at the start of the axis is empty, and the reshape of it has no type",
    ),
    (
        "reshape-of-squeeze-by-symbols: condition weakened: > -> >= @135",
        "a size of zero copies that of an axis: the values agree wherever the types do; elsewhere the target has another type",
    ),
    (
        "gather-of-reshape: condition dropped: all(d > 0 for d in s[2..]) -> true @194",
        "a zero or -1 in the sizes means the same without the first axis; the condition keeps the target free of two open sizes",
    ),
    (
        "gather-of-reshape: condition weakened: > -> >= @200",
        "a zero in the sizes copies the same axis without the first one",
    ),
    (
        "attention-of-heads-after-sequence: condition off by one: 0 -> -1 @481",
        "for heads of size zero the reshape copies the number of heads and has no type",
    ),
    (
        "rotary-of-heads-after-sequence: condition weakened: and -> || @408",
        "the operator asks for as many pairs as the caches have, so there is no type for others",
    ),
    (
        "rotary-of-heads-after-sequence: type of a variable dropped: : [b, s, m] ->  @54",
        "the operator asks for two caches of one shape",
    ),
    (
        "reshape-then-add: condition dropped: c.size == 1 or c.size == x.shape[-1] -> true @182",
        "it excludes dimensions that are not known; where they are, broadcasting says the same",
    ),
    (
        "reshape-then-add: condition weakened: > -> >= @227",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "scale-then-biased-conv: condition off by one: 0 -> -1 @248",
        "without channels, both sides are the bias",
    ),
    (
        "scale-then-biased-conv: condition weakened: > -> >= @246",
        "without channels, both sides are the bias",
    ),
    (
        "gather-of-uniform: condition off by one: 0 -> -1 @246",
        "no element can be taken from an empty constant, so the target has no type",
    ),
    (
        "shift-then-biased-conv: rest lost: , ..a ->  @320",
        "the values agree wherever the types do; elsewhere the target has no type or a different one, as for the rule itself",
    ),
    (
        "masked-attention-written-out: type of a variable dropped: : [b, g, d, t] ->  @52",
        "`attention` and the permutation of the keys ask for the same sizes",
    ),
    (
        "masked-attention-of-joined-batch: type of a variable dropped: : [b, d, t] ->  @53",
        "`attention` and the permutation of the keys ask for the same sizes",
    ),
    (
        "masked-attention-of-scaled-scores: type of a variable dropped: : [b, g, d, t] ->  @57",
        "`attention` and the permutation of the keys ask for the same sizes",
    ),
];
