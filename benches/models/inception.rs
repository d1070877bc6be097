//! Inception-v3, complete: 94 convolutions, branches of one input, a dense layer at the end.

use super::{Text, Value, Window, input};

/// The operators that follow a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// A bias and a relu.
    Bias,
    /// Normalization with given statistics, and a relu.
    BatchNorm,
}

struct Net {
    text: Text,
    block: Block,
}

impl Net {
    fn conv(&mut self, x: &Value, channels: usize, window: Window) -> Value {
        let shape = window.over(&x.shape, channels);
        let [h, w] = window.kernel;
        let kernel = self.text.param(&[channels, x.shape[1], h, w]);
        let attrs = window.attrs();
        let y = self
            .text
            .let_(&format!("conv({}, {kernel}) {{{attrs}}}", x.name), &shape);
        let z = match self.block {
            Block::Bias => {
                let bias = self.text.param(&[channels]);
                self.text.same(&format!("bias_add({}, {bias})", y.name), &y)
            }
            Block::BatchNorm => {
                let [g, b, m, v] = [(); 4].map(|()| self.text.param(&[channels]));
                self.text
                    .same(&format!("batch_normalization({}, {g}, {b}, {m}, {v})", y.name), &y)
            }
        };
        self.text.same(&format!("relu({})", z.name), &z)
    }

    fn square(&mut self, x: &Value, channels: usize, kernel: usize, stride: usize, pad: usize) -> Value {
        self.conv(x, channels, Window::square(kernel, stride, pad))
    }

    fn point(&mut self, x: &Value, channels: usize) -> Value {
        self.square(x, channels, 1, 1, 0)
    }

    /// A convolution with a kernel of `h` rows or `w` columns that preserves the shape.
    fn line(&mut self, x: &Value, channels: usize, kernel: [usize; 2]) -> Value {
        let pad = [kernel[0] / 2, kernel[1] / 2];
        self.conv(x, channels, Window { kernel, stride: 1, pad })
    }

    fn pool(&mut self, x: &Value, op: &str, stride: usize, pad: usize) -> Value {
        let window = Window::square(3, stride, pad);
        let shape = window.over(&x.shape, x.shape[1]);
        self.text
            .let_(&format!("{op}({}) {{{}}}", x.name, window.pool_attrs()), &shape)
    }

    fn block_a(&mut self, x: &Value, pool: usize) -> Value {
        let one = self.point(x, 64);
        let five = self.point(x, 48);
        let five = self.square(&five, 64, 5, 1, 2);
        let double = self.point(x, 64);
        let double = self.square(&double, 96, 3, 1, 1);
        let double = self.square(&double, 96, 3, 1, 1);
        let pooled = self.pool(x, "average_pool", 1, 1);
        let pooled = self.point(&pooled, pool);
        self.text.concat(&[&one, &five, &double, &pooled])
    }

    fn block_b(&mut self, x: &Value) -> Value {
        let three = self.square(x, 384, 3, 2, 0);
        let double = self.point(x, 64);
        let double = self.square(&double, 96, 3, 1, 1);
        let double = self.square(&double, 96, 3, 2, 0);
        let pooled = self.pool(x, "max_pool", 2, 0);
        self.text.concat(&[&three, &double, &pooled])
    }

    fn block_c(&mut self, x: &Value, inner: usize) -> Value {
        let one = self.point(x, 192);
        let seven = self.point(x, inner);
        let seven = self.line(&seven, inner, [1, 7]);
        let seven = self.line(&seven, 192, [7, 1]);
        let double = self.point(x, inner);
        let double = self.line(&double, inner, [7, 1]);
        let double = self.line(&double, inner, [1, 7]);
        let double = self.line(&double, inner, [7, 1]);
        let double = self.line(&double, 192, [1, 7]);
        let pooled = self.pool(x, "average_pool", 1, 1);
        let pooled = self.point(&pooled, 192);
        self.text.concat(&[&one, &seven, &double, &pooled])
    }

    fn block_d(&mut self, x: &Value) -> Value {
        let three = self.point(x, 192);
        let three = self.square(&three, 320, 3, 2, 0);
        let seven = self.point(x, 192);
        let seven = self.line(&seven, 192, [1, 7]);
        let seven = self.line(&seven, 192, [7, 1]);
        let seven = self.square(&seven, 192, 3, 2, 0);
        let pooled = self.pool(x, "max_pool", 2, 0);
        self.text.concat(&[&three, &seven, &pooled])
    }

    fn block_e(&mut self, x: &Value) -> Value {
        let one = self.point(x, 320);
        let three = self.point(x, 384);
        let three = [self.line(&three, 384, [1, 3]), self.line(&three, 384, [3, 1])];
        let double = self.point(x, 448);
        let double = self.square(&double, 384, 3, 1, 1);
        let double = [self.line(&double, 384, [1, 3]), self.line(&double, 384, [3, 1])];
        let pooled = self.pool(x, "average_pool", 1, 1);
        let pooled = self.point(&pooled, 192);
        self.text
            .concat(&[&one, &three[0], &three[1], &double[0], &double[1], &pooled])
    }
}

/// The program of Inception-v3 for one 299-by-299 image.
pub(crate) fn inception_v3(block: Block) -> String {
    let shape = [1, 3, 299, 299];
    let mut net = Net {
        text: Text::new(),
        block,
    };
    let mut x = net.square(&input(&shape), 32, 3, 2, 0);
    x = net.square(&x, 32, 3, 1, 0);
    x = net.square(&x, 64, 3, 1, 1);
    x = net.pool(&x, "max_pool", 2, 0);
    x = net.point(&x, 80);
    x = net.square(&x, 192, 3, 1, 0);
    x = net.pool(&x, "max_pool", 2, 0);
    for pool in [32, 64, 64] {
        x = net.block_a(&x, pool);
    }
    x = net.block_b(&x);
    for inner in [128, 160, 160, 192] {
        x = net.block_c(&x, inner);
    }
    x = net.block_d(&x);
    x = net.block_e(&x);
    x = net.block_e(&x);
    let mut text = net.text;
    let means = text.let_(&format!("global_average_pool({})", x.name), &[1, 2048, 1, 1]);
    let flat = text.let_(&format!("reshape({}) {{shape = [1, 2048]}}", means.name), &[1, 2048]);
    let (w, b) = (text.param(&[1000, 2048]), text.param(&[1000]));
    let result = text.let_(&format!("softmax(dense({}, {w}, {b}))", flat.name), &[1, 1000]);
    text.finish(&shape, &result)
}
