//! Recurrent layers and attention.

use super::layers::Args;
use super::val::{Typed, Val};
use super::{Done, Importer, element, few, unknown, wrong};
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

const LSTM_CELL: &str = "fn cell(x, h, c, wi, wh, bi, bh, hidden, relu) {
    let (a, b, g, o) = split(dense(x, wi, bi) + dense(h, wh, bh)) {axis = -1, sizes = [hidden, hidden, hidden, hidden]};
    let next = sigmoid(b) * c + sigmoid(a) * tanh(g);
    (sigmoid(o) * tanh(next), next)
}";

const GRU_CELL: &str = "fn cell(x, h, c, wi, wh, bi, bh, hidden, relu) {
    let (a, b, n) = split(dense(x, wi, bi)) {axis = -1, sizes = [hidden, hidden, hidden]};
    let (p, q, m) = split(dense(h, wh, bh)) {axis = -1, sizes = [hidden, hidden, hidden]};
    let kept = sigmoid(b + q);
    let fresh = tanh(n + sigmoid(a + p) * m);
    (h - fresh) * kept + fresh
}";

const RNN_CELL: &str = "fn cell(x, h, c, wi, wh, bi, bh, hidden, relu) {
    let sum = dense(x, wi, bi) + dense(h, wh, bh);
    when relu == true { relu(sum) } else { tanh(sum) }
}";

impl Importer<'_> {
    pub(super) fn attention(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
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
        Ok(vec![Typed::new(out, q.element).into()])
    }

    pub(super) fn multihead_attention(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
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
        Ok(vec![Typed::new(out, x.element).into()])
    }

    /// A stack of recurrent layers.
    pub(super) fn recurrent(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let kind = args.op.kind.as_str();
        let (op, order): (&str, &[usize]) = match kind {
            "nn.RNN" => ("rnn", &[0]),
            // torch's order is reset, update, new; ONNX's is update, reset, new.
            "nn.GRU" => ("gru", &[1, 0, 2]),
            // torch's order is input, forget, cell, output; ONNX's is input, output, forget, cell.
            _ => ("lstm", &[0, 3, 1, 2]),
        };
        if args.param("proj_size").int().and_then(|d| d.as_const()).unwrap_or(0) != 0 {
            return unknown("projections of its state");
        }
        let x = self.operand(args, "input", 0)?;
        let (mut v, batch_first) = (x.v, args.flag("batch_first"));
        if self.shape(v)?.len() != 3 {
            return unknown("operands without a batch axis");
        }
        let swap = [("perm", AttrValue::ints(&[1, 0, 2]))];
        if batch_first {
            v = self.call("transpose", &[v], &swap)?;
        }
        let (layers, hidden) = (args.int("num_layers")?, args.int("hidden_size")?);
        few(layers)?;
        few(hidden)?;
        let both = args.flag("bidirectional");
        let directions = if both { 2 } else { 1 };
        let state = |importer: &mut Self, place: usize| -> Done<Option<Vec<VertexId>>> {
            let Some(Val::Tensor(t)) = args.operands().get(place) else {
                return Ok(None);
            };
            let sizes = vec![directions; usize::try_from(layers).unwrap_or(1)];
            let attrs = [("axis", AttrValue::int(0)), ("sizes", AttrValue::ints(&sizes))];
            Ok(Some(if layers == 1 {
                vec![t.v]
            } else {
                importer.calls("split", &[t.v], &attrs)?
            }))
        };
        let (initial, cells) = (state(self, 1)?, state(self, 2)?);
        let mut last: Vec<Vec<VertexId>> = vec![Vec::new(); if op == "lstm" { 2 } else { 1 }];
        for layer in 0..layers {
            let mut weights: [Vec<VertexId>; 3] = Default::default();
            for reverse in ["", "_reverse"].into_iter().take(directions as usize) {
                for (list, names) in
                    weights
                        .iter_mut()
                        .zip([&["weight_ih"][..], &["weight_hh"], &["bias_ih", "bias_hh"]])
                {
                    let mut parts = Vec::new();
                    for name in names {
                        if let Some(w) = self.optional(args, &format!("{name}_l{layer}{reverse}")) {
                            parts.push(self.gates(w, order, hidden)?);
                        }
                    }
                    if parts.is_empty() {
                        continue;
                    }
                    let joined = match parts.as_slice() {
                        [one] => *one,
                        many => self.call("concat", many, &[("axis", AttrValue::int(0))])?,
                    };
                    list.push(self.call("unsqueeze", &[joined], &[("axes", AttrValue::ints(&[0]))])?);
                }
            }
            let mut operands = vec![v];
            for list in &weights {
                operands.push(match list.as_slice() {
                    [] if operands.len() < 3 => return wrong(format!("layer {layer} has no weights")),
                    [] => self.graph.absent(),
                    [one] => *one,
                    many => self.call("concat", many, &[("axis", AttrValue::int(0))])?,
                });
            }
            for states in [&initial, &cells] {
                let found = states
                    .as_ref()
                    .and_then(|s| s.get(usize::try_from(layer).ok()?))
                    .copied();
                if operands.len() == 4 {
                    operands.push(self.graph.absent());
                }
                if let Some(state) = found {
                    operands.push(state);
                }
            }
            let mut attrs = vec![("hidden_size", AttrValue::int(hidden))];
            if both {
                attrs.push(("direction", AttrValue::str("bidirectional")));
            }
            if op == "gru" {
                attrs.push(("linear_before_reset", AttrValue::Bool(true)));
            }
            if args.text("nonlinearity") == "relu" {
                attrs.push(("activations", AttrValue::Strs(vec!["Relu".into(); directions as usize])));
            }
            let results = self.calls(op, &operands, &attrs)?;
            let Some((&all, states)) = results.split_first() else {
                return wrong("it has no results");
            };
            // Transposes (steps, directions, batch, hidden) to (steps, batch, directions * hidden).
            let shape = self.shape(all)?;
            let [steps, _, batch, _] = shape.as_slice() else {
                return wrong(format!("its states have rank {}, but rank 4 is required", shape.len()));
            };
            let turned = self.call("transpose", &[all], &[("perm", AttrValue::ints(&[0, 2, 1, 3]))])?;
            let target = vec![
                steps.clone(),
                batch.clone(),
                Dim::Const(hidden.saturating_mul(directions)),
            ];
            v = self.call("reshape", &[turned], &[("shape", AttrValue::Ints(target))])?;
            for (list, &state) in last.iter_mut().zip(states) {
                list.push(state);
            }
        }
        if batch_first {
            v = self.call("transpose", &[v], &swap)?;
        }
        let mut out = vec![Val::Tensor(Typed::new(v, x.element))];
        for list in last {
            let v = match list.as_slice() {
                [one] => *one,
                many => self.call("concat", many, &[("axis", AttrValue::int(0))])?,
            };
            out.push(Typed::new(v, x.element).into());
        }
        Ok(out)
    }

    /// One step of a recurrent layer, with torch's order of gates throughout.
    pub(super) fn cell(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let kind = args.op.kind.as_str();
        let x = self.operand(args, "input", 0)?;
        let lone = self.shape(x.v)?.len() == 1;
        let hidden = args.int("hidden_size")?;
        few(hidden)?;
        let mut given = vec![
            ("x", Given::Value(x.v)),
            ("hidden", Given::Attr(AttrValue::int(hidden))),
            (
                "relu",
                Given::Attr(AttrValue::Bool(args.text("nonlinearity") == "relu")),
            ),
        ];
        let weights = [
            ("wi", "weight_ih"),
            ("wh", "weight_hh"),
            ("bi", "bias_ih"),
            ("bh", "bias_hh"),
        ];
        for (name, key) in weights {
            given.extend(self.optional(args, key).map(|v| (name, Given::Value(v))));
        }
        // Without a state, torch starts with zeros.
        let mut states = Vec::new();
        args.operands()
            .iter()
            .skip(1)
            .for_each(|value| value.flatten(&mut states));
        let shape: Vec<Dim> = if lone {
            vec![Dim::Const(hidden)]
        } else {
            vec![element(&self.shape(x.v)?, 0, "the shape")?.clone(), Dim::Const(hidden)]
        };
        for (place, name) in ["h", "c"].into_iter().enumerate() {
            let v = match states.get(place) {
                Some(Val::Tensor(t)) => t.v,
                _ => {
                    let zero = self.fill(self.dtype(x.v)?, &[], 0.0)?;
                    self.call("expand", &[zero], &[("shape", AttrValue::Ints(shape.clone()))])?
                }
            };
            given.push((name, Given::Value(v)));
        }
        let program = match kind {
            "nn.LSTMCell" => LSTM_CELL,
            "nn.GRUCell" => GRU_CELL,
            _ => RNN_CELL,
        };
        let v = self.program(program, &given)?;
        self.untyped(v)
    }

    /// Weights with the blocks of their gates reordered.
    fn gates(&mut self, w: VertexId, order: &[usize], hidden: i64) -> Done<VertexId> {
        if order.len() == 1 {
            return Ok(w);
        }
        let sizes = vec![hidden; order.len()];
        let parts = self.calls(
            "split",
            &[w],
            &[("axis", AttrValue::int(0)), ("sizes", AttrValue::ints(&sizes))],
        )?;
        let parts: Vec<VertexId> = order.iter().filter_map(|&i| parts.get(i).copied()).collect();
        self.call("concat", &parts, &[("axis", AttrValue::int(0))])
    }
}
