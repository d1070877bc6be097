//! NASNet-A (mobile): each separable convolution starts with its own relu, so many of them are equal.

use super::{Text, Value, Window, input};

/// The number of normal cells in each of the three stages.
const CELLS: usize = 4;

struct Net {
    text: Text,
}

impl Net {
    fn relu(&mut self, x: &Value) -> Value {
        self.text.same(&format!("relu({})", x.name), x)
    }

    fn conv(&mut self, x: &Value, channels: usize, window: Window, group: usize) -> Value {
        let [h, w] = window.kernel;
        let kernel = self.text.param(&[channels, x.shape[1] / group, h, w]);
        let attrs = window.attrs();
        let expr = format!("conv({}, {kernel}) {{{attrs}, group = {group}}}", x.name);
        self.text.let_(&expr, &window.over(&x.shape, channels))
    }

    fn norm(&mut self, x: &Value) -> Value {
        let [g, b, m, v] = [(); 4].map(|()| self.text.param(&[x.shape[1]]));
        let expr = format!("batch_normalization({}, {g}, {b}, {m}, {v})", x.name);
        self.text.same(&expr, x)
    }

    fn pool(&mut self, op: &str, x: &Value, stride: usize) -> Value {
        let window = Window::square(3, stride, 1);
        let expr = format!("{op}({}) {{{}}}", x.name, window.pool_attrs());
        self.text.let_(&expr, &window.over(&x.shape, x.shape[1]))
    }

    fn add(&mut self, x: &Value, y: &Value) -> Value {
        self.text.same(&format!("{} + {}", x.name, y.name), x)
    }

    /// Twice: a relu, a depthwise convolution, a pointwise convolution, a normalization.
    fn separable(&mut self, x: &Value, channels: usize, kernel: usize, stride: usize) -> Value {
        let mut y = x.clone();
        for stride in [stride, 1] {
            y = self.relu(&y);
            let depth = y.shape[1];
            y = self.conv(&y, depth, Window::square(kernel, stride, kernel / 2), depth);
            y = self.conv(&y, channels, Window::square(1, 1, 0), 1);
            y = self.norm(&y);
        }
        y
    }

    fn squeeze(&mut self, x: &Value, channels: usize, stride: usize) -> Value {
        let y = self.relu(x);
        let y = self.conv(&y, channels, Window::square(1, stride, 0), 1);
        self.norm(&y)
    }

    /// The two inputs of a cell with equal numbers of channels and the spatial size of the second.
    fn adjust(&mut self, before: &Value, x: &Value, channels: usize) -> (Value, Value) {
        let stride = before.shape[2].div_ceil(x.shape[2]);
        let before = self.squeeze(before, channels, stride);
        let x = self.squeeze(x, channels, 1);
        (before, x)
    }

    fn normal(&mut self, before: &Value, x: &Value, channels: usize) -> Value {
        let (p, h) = self.adjust(before, x, channels);
        let (a, b) = (self.separable(&h, channels, 5, 1), self.separable(&p, channels, 3, 1));
        let first = self.add(&a, &b);
        let (a, b) = (self.separable(&p, channels, 5, 1), self.separable(&p, channels, 3, 1));
        let second = self.add(&a, &b);
        let a = self.pool("average_pool", &h, 1);
        let third = self.add(&a, &p);
        let (a, b) = (self.pool("average_pool", &p, 1), self.pool("average_pool", &p, 1));
        let fourth = self.add(&a, &b);
        let a = self.separable(&h, channels, 3, 1);
        let fifth = self.add(&a, &h);
        self.text.concat(&[&p, &first, &second, &third, &fourth, &fifth])
    }

    fn reduction(&mut self, before: &Value, x: &Value, channels: usize) -> Value {
        let (p, h) = self.adjust(before, x, channels);
        let (a, b) = (self.separable(&h, channels, 5, 2), self.separable(&p, channels, 7, 2));
        let first = self.add(&a, &b);
        let (a, b) = (self.pool("max_pool", &h, 2), self.separable(&p, channels, 7, 2));
        let second = self.add(&a, &b);
        let (a, b) = (self.pool("average_pool", &h, 2), self.separable(&p, channels, 5, 2));
        let third = self.add(&a, &b);
        let a = self.pool("average_pool", &first, 1);
        let fourth = self.add(&a, &second);
        let (a, b) = (self.separable(&first, channels, 3, 1), self.pool("max_pool", &h, 2));
        let fifth = self.add(&a, &b);
        self.text.concat(&[&second, &third, &fourth, &fifth])
    }
}

/// The program of NASNet-A for one 224-by-224 image.
pub(crate) fn nasnet() -> String {
    let shape = [1, 3, 224, 224];
    let mut net = Net { text: Text::new() };
    let stem = net.conv(&input(&shape), 32, Window::square(3, 2, 1), 1);
    let stem = net.norm(&stem);
    let mut before = stem.clone();
    let mut x = net.reduction(&stem, &stem, 11);
    let mut cells = vec![(true, 22)];
    for stage in 0..3 {
        if stage > 0 {
            cells.push((true, 44 << stage));
        }
        cells.extend([(false, 44 << stage); CELLS]);
    }
    for (reduces, channels) in cells {
        let y = if reduces {
            net.reduction(&before, &x, channels)
        } else {
            net.normal(&before, &x, channels)
        };
        before = std::mem::replace(&mut x, y);
    }
    let y = net.relu(&x);
    let mut text = net.text;
    let channels = y.shape[1];
    let means = text.let_(&format!("global_average_pool({})", y.name), &[1, channels, 1, 1]);
    let flat = text.let_(
        &format!("reshape({}) {{shape = [1, {channels}]}}", means.name),
        &[1, channels],
    );
    let (w, b) = (text.param(&[1000, channels]), text.param(&[1000]));
    let result = text.let_(&format!("softmax(dense({}, {w}, {b}))", flat.name), &[1, 1000]);
    text.finish(&shape, &result)
}
