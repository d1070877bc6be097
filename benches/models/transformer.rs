//! The encoder of a transformer: attention whose queries, keys and values are dense layers of the same input.

use super::{Text, Value, input};

/// Sizes of an encoder.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) layers: usize,
    pub(crate) tokens: usize,
    pub(crate) model: usize,
    pub(crate) heads: usize,
    pub(crate) hidden: usize,
}

/// Six layers of 64 features in 4 heads, 128 inside the feed-forward network, 32 tokens.
pub(crate) const SMALL: Sizes = Sizes {
    layers: 6,
    tokens: 32,
    model: 64,
    heads: 4,
    hidden: 128,
};

impl Sizes {
    fn dense(self, text: &mut Text, x: &Value, from: usize, to: usize) -> Value {
        let w = text.param(&[to, from]);
        text.let_(&format!("dense({}, {w})", x.name), &[1, self.tokens, to])
    }

    fn bias(self, text: &mut Text, x: &Value) -> Value {
        let b = text.param(&[x.shape[2]]);
        text.same(&format!("bias_add({}, {b}) {{axis = -1}}", x.name), x)
    }

    /// From `[1, tokens, model]` to `[heads, tokens, model / heads]`.
    fn split_heads(self, text: &mut Text, x: &Value) -> Value {
        let (heads, part) = (self.heads, self.model / self.heads);
        let expr = format!("reshape({}) {{shape = [{}, {heads}, {part}]}}", x.name, self.tokens);
        let y = text.let_(&expr, &[self.tokens, heads, part]);
        let expr = format!("transpose({}) {{perm = [1, 0, 2]}}", y.name);
        text.let_(&expr, &[heads, self.tokens, part])
    }

    fn norm(self, text: &mut Text, x: &Value) -> Value {
        let (g, b) = (text.param(&[self.model]), text.param(&[self.model]));
        text.same(&format!("layer_normalization({}, {g}, {b})", x.name), x)
    }

    fn layer(self, text: &mut Text, x: &Value) -> Value {
        let parts = [(); 3].map(|()| {
            let y = self.dense(text, x, self.model, self.model);
            let y = self.bias(text, &y);
            self.split_heads(text, &y)
        });
        let [q, k, v] = parts.each_ref().map(|p| p.name.as_str());
        let root = (self.model as f64 / self.heads as f64).sqrt();
        let weights = [self.heads, self.tokens, self.tokens];
        let scores = text.let_(&format!("batch_matmul({q}, {k}) / {root:?}"), &weights);
        let weights = text.same(&format!("softmax({})", scores.name), &scores);
        let mixed = text.let_(&format!("matmul({}, {v})", weights.name), &parts[0].shape);
        let shape = [1, self.tokens, self.model];
        let expr = format!(
            "reshape(transpose({}) {{perm = [1, 0, 2]}}) {{shape = {shape:?}}}",
            mixed.name
        );
        let mixed = text.let_(&expr, &shape);
        let out = self.dense(text, &mixed, self.model, self.model);
        let out = self.bias(text, &out);
        let sum = text.same(&format!("{} + {}", x.name, out.name), x);
        let attended = self.norm(text, &sum);
        let inner = self.dense(text, &attended, self.model, self.hidden);
        let inner = self.bias(text, &inner);
        let inner = text.same(&format!("relu({})", inner.name), &inner);
        let outer = self.dense(text, &inner, self.hidden, self.model);
        let outer = self.bias(text, &outer);
        let sum = text.same(&format!("{} + {}", attended.name, outer.name), x);
        self.norm(text, &sum)
    }
}

/// The program of an encoder.
pub(crate) fn encoder(sizes: Sizes) -> String {
    let shape = [1, sizes.tokens, sizes.model];
    let mut text = Text::new();
    let mut x = input(&shape);
    for _ in 0..sizes.layers {
        x = sizes.layer(&mut text, &x);
    }
    text.finish(&shape, &x)
}
