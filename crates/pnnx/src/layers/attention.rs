//! Attention.

use super::{Args, read_by};
use crate::import::{Done, Importer, Val, few, unknown, wrong};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{Dim, Tensor};

/// Multi-head attention; the biases `b…` may be missing.
const HEADS: &str = "fn heads(q, k, v, wq, wk, wv, bq, bk, bv, wo, bo, mask, padding, heads, head) {
    let wide = [q.shape[0], -1, heads, head];
    let p = dense(q, wq, bq); let r = dense(k, wk, bk); let s = dense(v, wv, bv);
    let queries = transpose(reshape(p) {shape = wide}) {perm = [0, 2, 1, 3]};
    let keys = transpose(reshape(r) {shape = wide}) {perm = [0, 2, 3, 1]};
    let values = transpose(reshape(s) {shape = wide}) {perm = [0, 2, 1, 3]};
    let products = matmul(queries / sqrt(head), keys);
    let masked = when given(mask) {
      let m = when mask.rank == 3 { reshape(mask) {shape = [-1, heads, mask.shape[1], mask.shape[2]]} } else { mask };
      when m.dtype == bool { where(m, -inf, products) } else { products + m }
    } else { products };
    let padded = when given(padding) {
      let p = unsqueeze(padding) {axes = [1, 2]};
      when p.dtype == bool { where(p, -inf, masked) } else { masked + p }
    } else { masked };
    let mixed = matmul(softmax(padded) {axis = -1}, values);
    dense(reshape(transpose(mixed) {perm = [0, 2, 1, 3]}) {shape = [q.shape[0], -1, heads * head]}, wo, bo)
}";

/// Scaled dot-product attention.
const ATTENTION: &str = "fn attention(q, k, v, mask, causal, scale) {
    let last = k.rank;
    let keys = transpose(k) {perm = range(0, last - 2) ++ [last - 1, last - 2]};
    let products = matmul(q, keys) * (when given(scale) { scale } else { 1.0 / sqrt(q.shape[q.rank - 1]) });
    let seen = when given(causal) { where(causal, products, -inf) } else { products };
    let masked = when given(mask) {
      when mask.dtype == bool { where(mask, seen, -inf) } else { seen + mask }
    } else { seen };
    matmul(softmax(masked) {axis = -1}, v)
}";

/// Heads of keys or values, each shared by `times` heads of queries.
const SHARED: &str = "fn shared(x, times) {
    let s = x.shape;
    let wide = expand(unsqueeze(x) {axes = [2]}) {shape = [s[0], s[1], times, s[2], s[3]]};
    reshape(wide) {shape = [s[0], s[1] * times, s[2], s[3]]}
}";

rows! {
    read_by("nn.MultiheadAttention", "input", |i, a| i.multihead_attention(a)),
    read_by("F.scaled_dot_product_attention", "query key value attn_mask", |i, a| i.attention(a)),
}

impl Importer<'_> {
    fn attention(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let [q, k, v] = [("query", 0), ("key", 1), ("value", 2)].map(|(name, place)| self.operand(args, name, place));
        let (q, mut k, mut v) = (q?, k?, v?);
        if args.param("dropout_p").float().unwrap_or(0.0) != 0.0 {
            return unknown("attention with dropout");
        }
        if args.flag("enable_gqa") {
            let (queries, keys) = (self.shape(q.v)?, self.shape(k.v)?);
            let heads = |shape: &[Dim]| shape.get(1).and_then(Dim::as_const).filter(|&n| n > 0);
            let (Some(many), Some(own), 4, 4) = (heads(&queries), heads(&keys), queries.len(), keys.len()) else {
                return unknown("the numbers of heads are unknown");
            };
            if many % own != 0 {
                return wrong(format!("{many} query heads are not a multiple of {own} key heads"));
            }
            if many != own {
                for operand in [&mut k, &mut v] {
                    let times = Given::Attr(AttrValue::int(many / own));
                    operand.v = self.program(SHARED, &[("x", Given::Value(operand.v)), ("times", times)])?;
                }
            }
        }
        let mut given = vec![
            ("q", Given::Value(q.v)),
            ("k", Given::Value(k.v)),
            ("v", Given::Value(v.v)),
        ];
        if args.flag("is_causal") {
            let rows = |shape: Vec<Dim>| shape.iter().rev().nth(1).and_then(Dim::as_const);
            let (Some(rows), Some(columns)) = (rows(self.shape(q.v)?), rows(self.shape(k.v)?)) else {
                return unknown("the numbers of queries and keys are unknown");
            };
            few(rows.saturating_mul(columns))?;
            let seen: Vec<bool> = (0..rows).flat_map(|i| (0..columns).map(move |j| j <= i)).collect();
            let Some(seen) = Tensor::new(&[few(rows)?, few(columns)?], seen) else {
                return wrong("it has too many queries and keys");
            };
            given.push(("causal", Given::Value(self.graph.constant(seen))));
        }
        if let Val::Tensor(mask) = args.get("attn_mask", Some(3)) {
            given.push(("mask", Given::Value(mask.v)));
        }
        if let Some(scale) = args.param("scale").float() {
            given.push(("scale", Given::Attr(AttrValue::float(scale))));
        }
        let out = self.program(ATTENTION, &given)?;
        self.one(out, q.element)
    }

    fn multihead_attention(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        if args.flag("add_bias_kv") || args.flag("add_zero_attn") {
            return unknown("additional keys");
        }
        if args.op.outputs.len() > 1 {
            return unknown("its weights are a result");
        }
        let x = self.operand(args, "query", 0)?;
        let mut operands: Vec<VertexId> = Vec::new();
        let (mut mask, mut padding) = (None, None);
        for (name, value) in args.op.names_of_inputs().iter().zip(args.operands()) {
            match (name, value) {
                (Some("attn_mask"), Val::Tensor(t)) => mask = Some(t.v),
                (Some("key_padding_mask"), Val::Tensor(t)) => padding = Some(t.v),
                (_, Val::Tensor(t)) => operands.push(t.v),
                _ => return unknown("an operand that is not a tensor"),
            }
        }
        // One operand serves as queries, keys and values; two are queries, and keys that are also values.
        let (mut q, mut k, mut v) = match operands.as_slice() {
            [x] => (*x, *x, *x),
            [q, k] => (*q, *k, *k),
            [q, k, v] => (*q, *k, *v),
            _ => return unknown("unsupported combination of operands"),
        };
        let batch_first = args.flag("batch_first");
        let swap = [("perm", AttrValue::ints(&[1, 0, 2]))];
        if self.shape(q)?.len() != 3 {
            return unknown("operands without a batch axis");
        }
        if !batch_first {
            for operand in [&mut q, &mut k, &mut v] {
                *operand = self.call("transpose", &[*operand], &swap)?;
            }
        }
        let (embed, heads) = (args.int("embed_dim")?, args.int("num_heads")?);
        few(embed)?;
        if heads < 1 || embed % heads != 0 {
            return wrong("the embedding size is not a multiple of the number of heads");
        }
        let thirds = [("axis", AttrValue::int(0)), ("sizes", AttrValue::ints(&[embed; 3]))];
        let weights = match self.optional(args, "in_proj_weight") {
            Some(w) => self.calls("split", &[w], &thirds)?,
            None => {
                let names = ["q_proj_weight", "k_proj_weight", "v_proj_weight"];
                let found: Option<Vec<VertexId>> = names.iter().map(|name| self.optional(args, name)).collect();
                match found {
                    Some(weights) => weights,
                    None => return wrong("it has no weights"),
                }
            }
        };
        let mut given = vec![("q", Given::Value(q)), ("k", Given::Value(k)), ("v", Given::Value(v))];
        given.extend(
            ["wq", "wk", "wv"]
                .into_iter()
                .zip(weights)
                .map(|(name, w)| (name, Given::Value(w))),
        );
        if let Some(b) = self.optional(args, "in_proj_bias") {
            let biases = self.calls("split", &[b], &thirds)?;
            given.extend(
                ["bq", "bk", "bv"]
                    .into_iter()
                    .zip(biases)
                    .map(|(name, b)| (name, Given::Value(b))),
            );
        }
        for (name, key) in [("wo", "out_proj.weight"), ("bo", "out_proj.bias")] {
            given.extend(self.optional(args, key).map(|v| (name, Given::Value(v))));
        }
        given.extend(mask.map(|v| ("mask", Given::Value(v))));
        given.extend(padding.map(|v| ("padding", Given::Value(v))));
        given.push(("heads", Given::Attr(AttrValue::int(heads))));
        given.push(("head", Given::Attr(AttrValue::int(embed / heads))));
        let mut out = self.program(HEADS, &given)?;
        if !batch_first {
            out = self.call("transpose", &[out], &swap)?;
        }
        self.one(out, x.element)
    }
}
