//! Dimensions and attributes that an operator accepts, derived from the shapes of its operands by the rule that its row
//! of the table states.

mod layers;

use super::random::Random;
use super::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, Channel, PerAxis, ShapeRule};
use tautomer_tensor::Dim;

/// The list attributes of convolutions except `kernel_shape`, which follows from the kernel.
const OF_CONVOLUTIONS: [PerAxis; 4] = [
    PerAxis::new("strides", 1, 1),
    PerAxis::new("dilations", 1, 1),
    PerAxis::new("pads", 2, 0),
    PerAxis::new("output_padding", 1, 0),
];

/// The recipe with the operands and attributes of the call at `step` set so that its operator is likely to accept
/// them; only operands that are leaves, or constants with equal elements, change.
pub(crate) fn solved(recipe: &Recipe, step: usize, random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    let Step::Call { def, operands, .. } = &recipe.steps[step] else {
        return out;
    };
    let shapes: Vec<Option<Vec<i64>>> = shapes(recipe, step, operands);
    let mut call = Call {
        recipe: &mut out,
        step,
        operands: operands.clone(),
        shapes,
        random,
    };
    match def.shape_rule() {
        ShapeRule::Convolution { transposed } => call.conv(transposed),
        ShapeRule::DeformedConvolution => call.deformed_convolution(),
        ShapeRule::Columns => call.columns(),
        ShapeRule::Recurrent(cell) => call.recurrent(cell),
        ShapeRule::Windows(lists) => call.windows(lists),
        ShapeRule::Lists(lists) => call.lists_of_all_axes(lists),
        ShapeRule::MatrixProduct => call.matmul(),
        ShapeRule::Gemm => call.gemm(),
        ShapeRule::Concat => call.concat(),
        ShapeRule::Split => call.split(),
        ShapeRule::PerChannel(Channel::Second) => call.per_channel(1),
        ShapeRule::PerChannel(Channel::Last) => call.per_channel(usize::MAX),
        ShapeRule::PerChannel(Channel::Named) => call.per_named_channel(),
        ShapeRule::InsertAxes => call.insert_axes(),
        ShapeRule::RemoveAxes => call.remove_axes(),
        ShapeRule::Slice => call.slice(),
        ShapeRule::Reshape => call.reshape(),
        ShapeRule::Expand => call.expand(),
        ShapeRule::Permute => call.permute(),
        ShapeRule::Broadcast => call.broadcast(),
        // `operators_without_a_shape_rule` in `op` lists them.
        ShapeRule::Unstated => {}
    }
    out
}

/// The shapes of the operands, as far as inference gives them types.
fn shapes(recipe: &Recipe, step: usize, operands: &[usize]) -> Vec<Option<Vec<i64>>> {
    let mut before = Recipe {
        steps: recipe.steps[..step].to_vec(),
        roots: operands.to_vec(),
    };
    before.roots.dedup();
    let Ok((graph, _)) = before.build() else {
        return vec![None; operands.len()];
    };
    // Vertices are created in the order of the steps.
    let ids: Vec<_> = graph.ids().collect();
    operands
        .iter()
        .map(|&u| {
            let ty = graph.ty(*ids.get(u)?).as_tensor()?;
            ty.shape.as_ref()?.iter().map(Dim::as_const).collect()
        })
        .collect()
}

struct Call<'a> {
    recipe: &'a mut Recipe,
    step: usize,
    operands: Vec<usize>,
    shapes: Vec<Option<Vec<i64>>>,
    random: &'a mut Random,
}

impl Call<'_> {
    fn shape(&self, i: usize) -> Option<Vec<i64>> {
        self.shapes.get(i)?.clone()
    }

    /// Sets the shape of operand `i`, if it is a leaf.
    fn set(&mut self, i: usize, shape: Vec<i64>) {
        if let Some(&u) = self.operands.get(i)
            && let Some(place) = self.recipe.shape_mut(u)
        {
            place.clone_from(&shape);
            self.shapes[i] = Some(shape);
        }
    }

    fn is_leaf(&self, i: usize) -> bool {
        self.operands.get(i).is_some_and(|&u| self.recipe.shape(u).is_some())
    }

    fn attr(&mut self, name: &str) -> Option<&mut Option<AttrValue>> {
        let Step::Call { def, attrs, .. } = &mut self.recipe.steps[self.step] else {
            return None;
        };
        attrs.get_mut(def.attr_index(name)?)
    }

    fn int(&mut self, name: &str) -> Option<i64> {
        match self.attr(name)? {
            Some(AttrValue::Int(d)) => d.as_const(),
            _ => None,
        }
    }

    /// Truncates or pads lists to a fixed number of elements for each of `n` axes.
    fn lists(&mut self, n: usize, lists: &[PerAxis]) {
        for PerAxis { attr, each, neutral } in lists {
            if let Some(Some(AttrValue::Ints(list))) = self.attr(attr) {
                let last = list.last().cloned().unwrap_or(Dim::Const(*neutral));
                list.resize(n * each, last);
            }
        }
    }

    fn lists_of_all_axes(&mut self, lists: &[PerAxis]) {
        if let Some(x) = self.shape(0) {
            self.lists(x.len(), lists);
        }
    }

    fn windows(&mut self, lists: &[PerAxis]) {
        if let Some(x) = self.shape(0) {
            self.lists(x.len().saturating_sub(2), lists);
        }
    }

    /// A random dimension of a kernel.
    fn window(&mut self) -> i64 {
        1 + self.random.below(3) as i64
    }

    fn conv(&mut self, transposed: bool) {
        let group = self.int("group").unwrap_or(1).clamp(1, 6);
        let (Some(mut x), Some(mut w)) = (self.shape(0), self.shape(1)) else {
            return;
        };
        if self.is_leaf(1) && x.len() >= 3 {
            while w.len() < x.len() {
                let window = self.window();
                w.push(window);
            }
            w.truncate(x.len());
            if x[1] % group != 0 && self.is_leaf(0) {
                x[1] = group * (1 + self.random.below(2) as i64);
                self.set(0, x.clone());
            }
            if transposed {
                w[0] = x[1];
            } else {
                w[1] = x[1] / group;
                w[0] = (w[0] / group).max(1) * group;
            }
            self.set(1, w.clone());
        } else if self.is_leaf(0) && w.len() >= 3 {
            while x.len() < w.len() {
                let extent = 2 + self.window();
                x.push(extent);
            }
            x.truncate(w.len());
            x[1] = if transposed { w[0] } else { w[1] * group };
            self.set(0, x.clone());
        }
        let axes = x.len().saturating_sub(2);
        self.lists(axes, &OF_CONVOLUTIONS);
        if let Some(Some(AttrValue::Ints(kernel))) = self.attr("kernel_shape") {
            *kernel = w.iter().skip(2).copied().map(Dim::Const).collect();
        }
        let channels = if transposed {
            w.get(1).map(|c| c * group)
        } else {
            w.first().copied()
        };
        if let Some(channels) = channels.filter(|_| self.is_leaf(2)) {
            self.set(2, vec![channels]);
        }
    }

    fn matmul(&mut self) {
        let (Some(mut a), Some(mut b)) = (self.shape(0), self.shape(1)) else {
            return;
        };
        if let (true, Some(&inner)) = (self.is_leaf(1), a.last()) {
            match b.len() {
                0 => b.push(inner),
                1 => b[0] = inner,
                n => b[n - 2] = inner,
            }
            // Batch axes: none, or those of the other operand.
            if a.len() > 2 && b.len() >= 2 && self.random.chance(1, 2) {
                b.splice(..b.len() - 2, a[..a.len() - 2].iter().copied());
            } else if b.len() > 2 {
                b.drain(..b.len() - 2);
            }
            self.set(1, b);
        } else if let (true, false) = (self.is_leaf(0), b.is_empty()) {
            let inner = if b.len() == 1 { b[0] } else { b[b.len() - 2] };
            match a.last_mut() {
                Some(last) => *last = inner,
                None => a.push(inner),
            }
            self.set(0, a);
        }
    }

    fn gemm(&mut self) {
        let (Some(a), Some(mut b)) = (self.shape(0), self.shape(1)) else {
            return;
        };
        let mut flag = |name| matches!(self.attr(name), Some(Some(AttrValue::Bool(true))));
        let (ta, tb) = (flag("transA"), flag("transB"));
        if let ([m, k], true) = (&a[..], self.is_leaf(1)) {
            let inner = if ta { *m } else { *k };
            b.resize(2, 2);
            b[usize::from(tb)] = inner;
            self.set(1, b.clone());
        }
        if let (&[_, _], true) = (&b[..], self.is_leaf(2)) {
            self.set(2, vec![b[usize::from(!tb)]]);
        }
    }

    fn concat(&mut self) {
        let Some(like) = self.shape(0) else { return };
        let rank = like.len() as i64;
        if rank == 0 {
            return;
        }
        let axis = self.int("axis").unwrap_or(0).rem_euclid(rank) as usize;
        for i in 1..self.operands.len() {
            if self.is_leaf(i) {
                let mut shape = like.clone();
                shape[axis] = 1 + self.random.below(3) as i64;
                self.set(i, shape);
            }
        }
    }

    /// The other operands are vectors with the dimension of the first operand along `axis`, or along its last axis.
    fn per_channel(&mut self, axis: usize) {
        let Some(x) = self.shape(0) else { return };
        let Some(&channels) = x.get(axis.min(x.len().saturating_sub(1))) else {
            return;
        };
        for i in 1..self.operands.len() {
            self.set(i, vec![channels]);
        }
    }

    /// The other operands are vectors with the dimension along the axis that the attribute names.
    fn per_named_channel(&mut self) {
        let Some(x) = self.shape(0) else { return };
        if x.is_empty() {
            return;
        }
        let axis = self.int("axis").unwrap_or(1).rem_euclid(x.len() as i64);
        if self
            .int("num_groups")
            .is_some_and(|n| n < 1 || x[axis as usize] % n != 0)
            && let Some(groups) = self.attr("num_groups")
        {
            *groups = Some(AttrValue::int(1));
        }
        self.per_channel(axis as usize);
    }

    /// Distinct axes of the result.
    fn insert_axes(&mut self) {
        let Some(x) = self.shape(0) else { return };
        let n = self.axis_count();
        let axes = self.some_axes(x.len() + n, n);
        self.set_axes(&axes);
    }

    /// Distinct axes, along which the operand gets dimension 1.
    fn remove_axes(&mut self) {
        let Some(mut x) = self.shape(0) else { return };
        let n = self.axis_count();
        let axes = self.some_axes(x.len(), n);
        for &axis in &axes {
            x[axis as usize] = 1;
        }
        self.set(0, x);
        self.set_axes(&axes);
    }

    /// How many `axes` there are.
    fn axis_count(&mut self) -> usize {
        match self.attr("axes") {
            Some(Some(AttrValue::Ints(list))) => list.len(),
            _ => 1,
        }
    }

    /// `n` of the axes of a value, in order.
    fn some_axes(&mut self, rank: usize, n: usize) -> Vec<i64> {
        let mut all: Vec<i64> = (0..rank as i64).collect();
        while all.len() > n {
            all.remove(self.random.below(all.len()));
        }
        all
    }

    fn set_axes(&mut self, values: &[i64]) {
        if let Some(axes) = self.attr("axes") {
            *axes = Some(AttrValue::ints(values));
        }
    }

    /// Lists of equal length, with valid axes.
    fn slice(&mut self) {
        let Some(x) = self.shape(0) else { return };
        let n = match self.attr("axes") {
            Some(Some(AttrValue::Ints(list))) => list.len(),
            _ => x.len(),
        };
        let n = n.min(x.len());
        let begin = self.random.below(x.len() + 1 - n) as i64;
        if let Some(axes) = self.attr("axes") {
            *axes = Some(AttrValue::ints(&(begin..begin + n as i64).collect::<Vec<_>>()));
        }
        let ends: Vec<i64> = x.iter().skip(begin as usize).take(n).copied().collect();
        let whole = self.random.chance(1, 2);
        if let Some(attr) = self.attr("ends").filter(|attr| whole || attr.is_none()) {
            *attr = Some(AttrValue::ints(&ends));
        }
        if let Some(attr @ None) = self.attr("starts") {
            *attr = Some(AttrValue::ints(&vec![0; n]));
        }
        for (name, fill) in [("starts", 0), ("ends", 1), ("steps", 1)] {
            if let Some(Some(AttrValue::Ints(list))) = self.attr(name) {
                list.resize(n, Dim::Const(fill));
            }
        }
    }

    fn reshape(&mut self) {
        let Some(mut x) = self.shape(0) else { return };
        // The same shape with a 1 inserted, a 1 removed, or two axes joined.
        match self.random.below(4) {
            0 => x.insert(self.random.below(x.len() + 1), 1),
            1 => {
                if let Some(at) = x.iter().position(|&d| d == 1) {
                    x.remove(at);
                }
            }
            2 if x.len() > 1 => {
                let at = self.random.below(x.len() - 1);
                let joined = x.remove(at);
                x[at] = x[at].saturating_mul(joined);
            }
            _ => {}
        }
        if let Some(shape) = self.attr("shape") {
            *shape = Some(AttrValue::ints(&x));
        }
    }

    fn expand(&mut self) {
        let Some(mut x) = self.shape(0) else { return };
        for extent in x.iter_mut().filter(|d| **d == 1) {
            *extent = 1 + self.random.below(3) as i64;
        }
        if self.random.chance(1, 2) {
            x.insert(0, 2);
        }
        if let Some(shape) = self.attr("shape") {
            *shape = Some(AttrValue::ints(&x));
        }
    }

    fn permute(&mut self) {
        let Some(x) = self.shape(0) else { return };
        let mut perm: Vec<i64> = (0..x.len() as i64).collect();
        self.random.shuffle(&mut perm);
        if let Some(attr) = self.attr("perm") {
            *attr = Some(AttrValue::ints(&perm));
        }
    }

    fn split(&mut self) {
        let Some(x) = self.shape(0) else { return };
        let axis = self.int("axis").unwrap_or(0);
        let extent = x.get(axis.rem_euclid(x.len().max(1) as i64) as usize).copied();
        if let (Some(extent), Some(Some(AttrValue::Ints(sizes)))) = (extent, self.attr("sizes")) {
            let others: i64 = sizes
                .iter()
                .skip(1)
                .filter_map(Dim::as_const)
                .fold(0, i64::saturating_add);
            if let Some(first) = sizes.first_mut() {
                *first = Dim::Const(extent.saturating_sub(others).max(0));
            }
        }
    }

    /// One of the leaves gets the shape of another operand, perhaps with a 1 along one axis or without leading axes.
    fn broadcast(&mut self) {
        let known: Vec<Vec<i64>> = self.shapes.iter().flatten().cloned().collect();
        let leaves: Vec<usize> = (0..self.operands.len()).filter(|&i| self.is_leaf(i)).collect();
        let Some(i) = self.random.pick(&leaves) else { return };
        let Some(mut shape) = known.get(self.random.below(known.len())).cloned() else {
            return;
        };
        if self.random.chance(1, 3) && !shape.is_empty() {
            let at = self.random.below(shape.len());
            shape[at] = 1;
        }
        if self.random.chance(1, 3) {
            shape.drain(..self.random.below(shape.len() + 1));
        }
        self.set(i, shape);
    }
}
