//! Recurrent layers.

use super::{Args, read_by};
use crate::import::{Done, Importer, Typed, Val, element, few, unknown, wrong};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

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

rows! {
    read_by("nn.RNN", "input", |i, a| i.recurrent(a, "rnn", &[0])),
    // torch's order is reset, update, new; ONNX's is update, reset, new.
    read_by("nn.GRU", "input", |i, a| i.recurrent(a, "gru", &[1, 0, 2])),
    // torch's order is input, forget, cell, output; ONNX's is input, output, forget, cell.
    read_by("nn.LSTM", "input", |i, a| i.recurrent(a, "lstm", &[0, 3, 1, 2])),
    read_by("nn.LSTMCell", "input", |i, a| i.cell(a, LSTM_CELL)),
    read_by("nn.GRUCell", "input", |i, a| i.cell(a, GRU_CELL)),
    read_by("nn.RNNCell", "input", |i, a| i.cell(a, RNN_CELL)),
}

impl Importer<'_> {
    /// A stack of recurrent layers; `order` has the position of each gate of the operator among those of torch.
    fn recurrent(&mut self, args: &Args<'_>, op: &str, order: &[usize]) -> Done<Vec<Val>> {
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
    fn cell(&mut self, args: &Args<'_>, program: &'static str) -> Done<Vec<Val>> {
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
