//! Operands of layers that have several of them with related shapes.

use super::Call;
use tautomer_op::{AttrValue, Cell};

/// The number of positions of a window along one axis; at least 0.
fn positions(extent: i64, kernel: i64, stride: i64, dilation: i64, pads: i64) -> i64 {
    let beyond_first = dilation.saturating_mul(kernel.saturating_sub(1));
    let room = extent
        .saturating_add(pads)
        .saturating_sub(beyond_first)
        .saturating_sub(1);
    if room < 0 { 0 } else { room / stride.max(1) + 1 }
}

/// The product of dimensions, or the greatest number there is.
fn product(dims: &[i64]) -> i64 {
    dims.iter().fold(1, |product, n| product.saturating_mul(*n))
}

impl Call<'_> {
    /// The integers of a list; `neutral` for each of the `n` axes if it is left out.
    fn list(&mut self, name: &str, n: usize, neutral: i64) -> Vec<i64> {
        let given = self.attr(name).and_then(|attr| attr.as_ref()?.as_ints());
        let mut list = given.unwrap_or_default();
        list.resize(n, neutral);
        list
    }

    /// The number of positions of a window along each axis.
    fn positions(&mut self, extents: &[i64], kernel: &[i64]) -> Vec<i64> {
        let n = extents.len();
        let strides = self.list("strides", n, 1);
        let dilations = self.list("dilations", n, 1);
        let pads = self.list("pads", 2 * n, 0);
        (0..n)
            .map(|i| {
                let pads = pads[i].saturating_add(pads[n + i]);
                positions(extents[i], kernel[i], strides[i], dilations[i], pads)
            })
            .collect()
    }

    pub(super) fn deformed_convolution(&mut self) {
        let (Some(x), Some(mut w)) = (self.shape(0), self.shape(1)) else {
            return;
        };
        if x.len() < 3 || w.len() < 2 {
            return;
        }
        w.resize(x.len(), 1);
        let group = self.int("group").unwrap_or(1).clamp(1, 6);
        let offset_group = self.int("offset_group").unwrap_or(1).clamp(1, 6);
        w[1] = x[1] / group;
        w[0] = (w[0] / group).max(1) * group;
        self.set(1, w.clone());
        let (extents, kernel) = (&x[2..], &w[2..]);
        let positions = self.positions(extents, kernel);
        let taps = product(kernel).saturating_mul(offset_group);
        let offsets = [vec![x[0], taps.saturating_mul(extents.len() as i64)], positions.clone()].concat();
        self.set(2, offsets);
        self.set(3, vec![w[0]]);
        self.set(4, [vec![x[0], taps], positions].concat());
    }

    pub(super) fn columns(&mut self) {
        let Some(mut x) = self.shape(0) else { return };
        let image = self.attr("image_shape").and_then(|attr| attr.as_ref()?.as_ints());
        let image = image.unwrap_or_default();
        let n = image.len();
        let block = self.list("block_shape", n, 1);
        let elements = product(&block).max(1);
        x.resize(3, 1);
        // As many channels as before, if the block had as many elements.
        let channels = (x[1] / elements).clamp(1, 3);
        x[1] = elements.saturating_mul(channels);
        x[2] = product(&self.positions(&image, &block));
        self.set(0, x);
    }

    pub(super) fn recurrent(&mut self, cell: Cell) {
        let Some(mut x) = self.shape(0) else { return };
        x.resize(3, 1);
        self.set(0, x.clone());
        let hidden = match self.int("hidden_size") {
            Some(hidden) => hidden,
            None => self.shape(2).and_then(|r| r.get(2).copied()).unwrap_or(1),
        };
        let both = matches!(self.attr("direction"), Some(Some(AttrValue::Str(word))) if **word == *"bidirectional");
        let directions = if both { 2 } else { 1 };
        let rows = hidden.saturating_mul(cell.gates as i64);
        let by_batch = self.int("layout") == Some(1);
        let batch = x[if by_batch { 0 } else { 1 }];
        self.set(1, vec![directions, rows, x[2]]);
        self.set(2, vec![directions, rows, hidden]);
        self.set(3, vec![directions, rows.saturating_mul(2)]);
        self.set(4, vec![batch]);
        for state in [5, 6] {
            let shape = match by_batch {
                true => vec![batch, directions, hidden],
                false => vec![directions, batch, hidden],
            };
            self.set(state, shape);
        }
        self.set(7, vec![directions, hidden.saturating_mul(3)]);
    }
}

#[cfg(test)]
mod tests {
    use super::{positions, product};

    #[test]
    fn windows_have_as_many_positions_as_fit() {
        assert_eq!(positions(5, 2, 2, 1, 0), 2);
        assert_eq!(positions(5, 2, 2, 2, 0), 2);
        assert_eq!(positions(1, 3, 1, 1, 2), 1);
        assert_eq!(positions(1, 3, 1, 1, 0), 0);
        assert_eq!(positions(5, i64::MAX, 1, i64::MAX, 0), 0);
        assert_eq!(product(&[3, i64::MAX, 2]), i64::MAX);
    }
}
