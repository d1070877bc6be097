//! Drawings as SVG. Boxes are arranged in layers: each is one layer below the lowest of those that lead to it.

use std::fmt::Write as _;

use super::drawing::{Drawing, Part, Shape};
use super::xml::escaped;

/// Sizes in pixels.
const CHARACTER: f64 = 6.7;
const LINE: f64 = 14.0;
const MARGIN: f64 = 16.0;
const BETWEEN_BOXES: f64 = 18.0;
const BETWEEN_LAYERS: f64 = 38.0;
const BETWEEN_PARTS: f64 = 44.0;
const TITLE: f64 = 22.0;

/// How many times boxes are moved toward their neighbors.
const SWEEPS: usize = 6;

/// A placed box, or a bend where an edge passes through a layer.
struct Placed {
    /// The x-coordinate of the center.
    x: f64,
    width: f64,
    height: f64,
    layer: usize,
    /// The index of the box; `None` for a bend.
    drawn: Option<usize>,
}

/// A part with its boxes placed.
struct Layout {
    placed: Vec<Placed>,
    /// For each edge, what it passes through, including its ends.
    routes: Vec<Vec<usize>>,
    /// The top of each layer, and the height of its tallest box.
    layers: Vec<(f64, f64)>,
    width: f64,
    height: f64,
}

impl Drawing {
    /// The drawing as SVG text: boxes in layers from the inputs down, parts side by side.
    pub fn to_svg(&self) -> String {
        let layouts: Vec<Layout> = self.parts.iter().map(lay_out).collect();
        let gaps = BETWEEN_PARTS * layouts.len().saturating_sub(1) as f64;
        let width = layouts.iter().map(|l| l.width).sum::<f64>() + gaps + 2.0 * MARGIN;
        let height = layouts.iter().map(|l| l.height).fold(0.0, f64::max) + 2.0 * MARGIN + TITLE;
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">"
        );
        let _ = writeln!(out, "<title>{}</title>", escaped(&self.title));
        out.push_str("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#444\"/></marker></defs>\n");
        let _ = writeln!(
            out,
            "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>"
        );
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"13\" font-weight=\"bold\">{}</text>",
            MARGIN + 4.0,
            escaped(&self.title)
        );
        let mut left = MARGIN;
        for (k, (part, layout)) in self.parts.iter().zip(&layouts).enumerate() {
            if k > 0 {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"22\" text-anchor=\"middle\">⇒</text>",
                    left - BETWEEN_PARTS / 2.0,
                    MARGIN + TITLE + layout.height / 2.0
                );
            }
            let _ = writeln!(out, "<g transform=\"translate({left:.1} {:.1})\">", MARGIN + TITLE);
            draw(&mut out, part, layout);
            out.push_str("</g>\n");
            left += layout.width + BETWEEN_PARTS;
        }
        out.push_str("</svg>\n");
        out
    }
}

fn lay_out(part: &Part) -> Layout {
    let mut layer = vec![0usize; part.boxes.len()];
    for _ in 0..part.boxes.len() {
        let mut changed = false;
        for edge in &part.edges {
            let below = layer[edge.from] + 1;
            if layer[edge.to] < below && below < part.boxes.len() {
                layer[edge.to] = below;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut placed: Vec<Placed> = part
        .boxes
        .iter()
        .zip(&layer)
        .enumerate()
        .map(|(i, (drawn, &layer))| {
            let longest = drawn.lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
            Placed {
                x: 0.0,
                width: (longest as f64 * CHARACTER + 18.0).max(30.0),
                height: drawn.lines.len() as f64 * LINE + 8.0,
                layer,
                drawn: Some(i),
            }
        })
        .collect();
    let mut routes = Vec::with_capacity(part.edges.len());
    for edge in &part.edges {
        let mut route = vec![edge.from];
        for layer in layer[edge.from] + 1..layer[edge.to] {
            route.push(placed.len());
            placed.push(Placed {
                x: 0.0,
                width: 6.0,
                height: 0.0,
                layer,
                drawn: None,
            });
        }
        route.push(edge.to);
        routes.push(route);
    }
    let count = placed.iter().map(|p| p.layer + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (i, p) in placed.iter().enumerate() {
        rows[p.layer].push(i);
    }
    let width = arrange(&mut placed, &mut rows, &routes).max(part.title.chars().count() as f64 * CHARACTER + 24.0);
    let mut layers = Vec::with_capacity(count);
    let mut y = TITLE + 8.0;
    for row in &rows {
        let height = row.iter().map(|&i| placed[i].height).fold(0.0, f64::max);
        layers.push((y, height));
        y += height + BETWEEN_LAYERS;
    }
    Layout {
        placed,
        routes,
        layers,
        width,
        height: (y - BETWEEN_LAYERS + MARGIN).max(60.0),
    }
}

/// Places the boxes of each row side by side, close to their neighbors; returns the width of the widest row.
fn arrange(placed: &mut [Placed], rows: &mut [Vec<usize>], routes: &[Vec<usize>]) -> f64 {
    let row_width = |placed: &[Placed], row: &[usize]| -> f64 {
        row.iter().map(|&i| placed[i].width).sum::<f64>() + BETWEEN_BOXES * (row.len() as f64 + 1.0)
    };
    let width = rows.iter().map(|row| row_width(placed, row)).fold(0.0, f64::max);
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); placed.len()];
    for pair in routes.iter().flat_map(|r| r.windows(2)) {
        near[pair[0]].push(pair[1]);
        near[pair[1]].push(pair[0]);
    }
    let spread = |placed: &mut [Placed], row: &[usize]| {
        let mut x = (width - row_width(placed, row)) / 2.0 + BETWEEN_BOXES;
        for &i in row {
            placed[i].x = x + placed[i].width / 2.0;
            x += placed[i].width + BETWEEN_BOXES;
        }
    };
    for row in rows.iter() {
        spread(placed, row);
    }
    for _ in 0..SWEEPS {
        for row in rows.iter_mut() {
            let middle = |i: usize| {
                let others = &near[i];
                match others.len() {
                    0 => placed[i].x,
                    n => others.iter().map(|&o| placed[o].x).sum::<f64>() / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|&i| (middle(i), i)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = keyed.into_iter().map(|(_, i)| i).collect();
            spread(placed, row);
        }
    }
    width
}

fn draw(out: &mut String, part: &Part, layout: &Layout) {
    let _ = writeln!(
        out,
        "<rect width=\"{:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"#fafafa\" stroke=\"#bbb\"/>",
        layout.width, layout.height
    );
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"17\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
        layout.width / 2.0,
        escaped(&part.title)
    );
    // Edges that end at one box are placed side by side, in operand order.
    let mut entered = vec![0usize; part.boxes.len()];
    let mut arriving = vec![0usize; part.boxes.len()];
    for edge in &part.edges {
        arriving[edge.to] += 1;
    }
    for (edge, route) in part.edges.iter().zip(&layout.routes) {
        entered[edge.to] += 1;
        let share = entered[edge.to] as f64 / (arriving[edge.to] as f64 + 1.0) - 0.5;
        let end = &layout.placed[edge.to];
        let last = (end.x + share * end.width, layout.layers[end.layer].0);
        let begin = &layout.placed[edge.from];
        let mut at = (begin.x, layout.layers[begin.layer].0 + begin.height);
        let mut path = format!("M{:.1} {:.1}", at.0, at.1);
        let bends = route[1..route.len() - 1].iter().map(|&i| {
            let bend = &layout.placed[i];
            let (top, height) = layout.layers[bend.layer];
            ((bend.x, top), (bend.x, top + height))
        });
        for (enter, leave) in bends.chain([(last, last)]) {
            let half = (enter.1 - at.1) / 2.0;
            let _ = write!(
                path,
                "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                at.0,
                at.1 + half,
                enter.0,
                enter.1 - half,
                enter.0,
                enter.1
            );
            if leave != enter {
                let _ = write!(path, "L{:.1} {:.1}", leave.0, leave.1);
            }
            at = leave;
        }
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#444\" marker-end=\"url(#tip)\"/>"
        );
        if !edge.text.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\" fill=\"#444\">{}</text>",
                last.0 + 4.0,
                last.1 - 9.0,
                escaped(&edge.text)
            );
        }
    }
    for place in &layout.placed {
        let Some(drawn) = place.drawn.map(|i| &part.boxes[i]) else {
            continue;
        };
        let top = layout.layers[place.layer].0;
        let left = place.x - place.width / 2.0;
        let (fill, stroke, round) = match drawn.shape {
            Shape::Call => ("white", "#333", 5.0),
            Shape::Value => ("#e8f0fe", "#4a6ea9", place.height / 2.0),
            Shape::Constant => ("#f0f0f0", "#999", 0.0),
            Shape::Plain => ("none", "none", 0.0),
        };
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
            place.width, place.height
        );
        for (i, line) in drawn.lines.iter().enumerate() {
            let weight = if i == 0 && drawn.shape == Shape::Call {
                " font-weight=\"bold\""
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\"{weight}>{}</text>",
                place.x,
                top + 15.0 + i as f64 * LINE,
                escaped(line)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> Drawing {
        let mut part = Part::new("a < b");
        let x = part.add(vec!["x".into()], Shape::Value);
        let left = part.add(vec!["relu".into()], Shape::Call);
        let sum = part.add(vec!["add".into(), "\"quoted\" & more".into()], Shape::Call);
        part.connect(x, left, "");
        part.connect(left, sum, "0");
        part.connect(x, sum, "1");
        Drawing {
            title: "rule".into(),
            parts: vec![part.clone(), part],
        }
    }

    #[test]
    fn every_box_and_edge_is_drawn_and_text_is_escaped() {
        let text = diamond().to_svg();
        assert_eq!(text.matches("<path d=\"M").count(), 1 + 6);
        assert_eq!(text.matches("&quot;quoted&quot; &amp; more").count(), 2);
        assert_eq!(text.matches("a &lt; b").count(), 2);
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    }

    #[test]
    fn boxes_stand_below_what_leads_to_them_and_never_overlap() {
        let drawing = diamond();
        let layout = lay_out(&drawing.parts[0]);
        for edge in &drawing.parts[0].edges {
            assert!(layout.placed[edge.from].layer < layout.placed[edge.to].layer);
        }
        for (i, a) in layout.placed.iter().enumerate() {
            for b in &layout.placed[i + 1..] {
                let apart = (a.x - b.x).abs() >= (a.width + b.width) / 2.0;
                assert!(a.layer != b.layer || apart);
            }
        }
        // The edge past the middle layer has a bend there.
        assert_eq!(layout.routes[2].len(), 3);
    }
}
