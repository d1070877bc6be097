//! Random instances of rules.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, build_program};
use tautomer::lang::parse_program;

use super::Loaded;

/// Numbers that are the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 33) ^ (self.0 >> 50)) % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// A dimension, mostly small, so that dimensions of several tensors are often equal, and often 1.
    fn extent(&mut self) -> usize {
        self.of(&[0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3])
    }

    fn extents(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| self.extent()).collect()
    }

    fn list(&mut self, n: usize, from: &[usize]) -> Vec<usize> {
        (0..n).map(|_| self.of(from)).collect()
    }
}

/// Shapes of the variables, and values of the attributes that the source binds.
pub(crate) fn instance(loaded: &Loaded, random: &mut Random) -> (Vec<Vec<usize>>, Vec<(&'static str, String)>) {
    let names: Vec<&str> = loaded.rule.variables.iter().map(|v| &*v.name).collect();
    if !loaded.source.contains("..a") {
        let rank = random.of(&[1, 2, 2, 2, 3, 4]);
        let mut shapes: Vec<Vec<usize>> = Vec::new();
        for _ in names {
            let other = random.of(&[0, 1, 2, 3]);
            let own = if random.chance(75) { rank } else { other };
            let mut shape = random.extents(own);
            if random.chance(60) && !shapes.is_empty() {
                shape.clone_from(&shapes[random.below(shapes.len())]);
                if random.chance(50) && !shape.is_empty() {
                    let axis = random.below(shape.len());
                    shape[axis] = random.extent();
                }
            }
            shapes.push(shape);
        }
        return (shapes, Vec::new());
    }
    let spatial = random.of(&[1, 1, 2]);
    let (grouped, single) = (loaded.source.contains("group = g"), loaded.source.contains("group = 1"));
    let g = if single { 1 } else { random.of(&[1, 1, 2, 3]) };
    let h = if grouped { random.of(&[g, 1, 2]) } else { g };
    // A tensor that is its own kernel needs padding for the window to move.
    let own_kernel = names.contains(&"z");
    let pads = random.list(2 * spatial, if own_kernel { &[1, 2] } else { &[0, 0, 1, 2] });
    let mut rest = format!(
        "strides = {:?}, pads = {pads:?}, dilations = {:?}",
        random.list(spatial, &[1, 1, 2, 3]),
        random.list(spatial, &[1, 1, 1, 2]),
    );
    if !grouped && !single {
        rest += &format!(", group = {g}");
    }
    let (inner, outer) = (random.of(&[1, 1, 2]), random.of(&[1, 1, 2]));
    let mut shapes: Vec<Vec<usize>> = Vec::new();
    for (k, name) in names.iter().enumerate() {
        let is_kernel = |name: &str| ["v", "w"].contains(&name);
        let group = if grouped && ["y", "w"].contains(name) { h } else { g };
        let mut shape = match (is_kernel(name), own_kernel) {
            (_, true) => vec![random.extent(), random.of(&[1, 2])],
            (true, _) => vec![
                outer
                    * if random.chance(80) {
                        group
                    } else {
                        random.of(&[1, 2, 3])
                    },
                inner,
            ],
            (false, _) => vec![random.extent(), inner * group],
        };
        shape.extend(random.list(
            spatial,
            if is_kernel(name) || own_kernel {
                &[1, 2, 3]
            } else {
                &[0, 1, 3, 4, 5]
            },
        ));
        if let Some(like) = (0..k)
            .find(|&i| is_kernel(names[i]) == is_kernel(name))
            .filter(|_| random.chance(75))
        {
            let (channels, axis) = (shape[usize::from(!is_kernel(name))], random.below(shape.len()));
            let changed = shape[axis];
            shape.clone_from(&shapes[like]);
            if grouped {
                shape[usize::from(!is_kernel(name))] = channels;
            } else if random.chance(30) {
                shape[axis] = if random.chance(50) { 1 } else { changed };
            }
        }
        shapes.push(shape);
    }
    (
        shapes,
        vec![
            ("..a", rest),
            ("= g", format!("= {g}")),
            ("= h", format!("= {h}")),
            ("+ h", format!("+ {h}")),
        ],
    )
}

/// A side as a program over inputs of these shapes, if it has a type.
pub(crate) fn program(loaded: &Loaded, text: &str, shapes: &[Vec<usize>], attrs: &[(&str, String)]) -> Option<Graph> {
    let mut text = text.to_owned();
    for (name, value) in attrs {
        text = text.replace(&format!(" {name}"), &format!(" {value}"));
        text = text.replace(&format!("{{{name}"), &format!("{{{value}"));
    }
    let params: Vec<String> = loaded
        .rule
        .variables
        .iter()
        .zip(shapes)
        .map(|(v, shape)| {
            if shape.is_empty() {
                format!("{}: f32", v.name)
            } else {
                format!("{}: f32{shape:?}", v.name)
            }
        })
        .collect();
    let text = format!("fn main({}) {{ {text} }}", params.join(", "));
    let parsed = parse_program(Arc::new(Source::new("instance", text.as_str())));
    let parsed = parsed.unwrap_or_else(|e| panic!("{text}\n{}", e.render(false)));
    build_program(&parsed, &BuildOptions::default()).ok()
}
