//! Random texts.

use super::data::Data;
use crate::instance::random::Random;
use tautomer_graph::{Graph, Node};
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

/// Pieces of texts: letters in both cases, one whose other case has more letters, digits, spaces.
const PIECES: [&str; 8] = ["a", "b", "A", "1", " ", " a", "ß", "text"];

/// The most pieces of a text.
const LONGEST: usize = 8;

/// Limit on the words of one constant.
const WORDS: usize = 8;

/// Short texts, many of them equal, of common pieces and of the given words, their beginnings and ends. Ties differ in
/// their lengths alone, so that texts put together in several ways are equal.
pub(super) fn texts(words: &[String], shape: &[usize], data: Data, random: &mut Random) -> Option<Tensor> {
    let n = shape.iter().product();
    if data == Data::Ties {
        return Tensor::new::<String>(shape, (0..n).map(|_| "a".repeat(random.below(4))).collect());
    }
    let piece = |random: &mut Random| -> String {
        let word: Vec<char> = match random.chance(1, 2) && !words.is_empty() {
            true => words[random.below(words.len())].chars().collect(),
            false => return random.pick(&PIECES).unwrap_or("a").to_owned(),
        };
        let at = random.below(word.len() + 1);
        match random.below(4) {
            0 => word[..at].iter().collect(),
            1 => word[at..].iter().collect(),
            _ => word.iter().collect(),
        }
    };
    let text = |random: &mut Random| match random.below(5) {
        0 => format!("text {}", random.below(3)),
        1 => piece(random),
        // Parts between separators.
        2 => {
            let short: Vec<&String> = words.iter().filter(|word| word.chars().count() < 4).collect();
            let between = random.pick(&short).map_or(" ", |word| word.as_str());
            let parts: Vec<String> = (0..1 + random.below(LONGEST)).map(|_| piece(random)).collect();
            parts.join(between)
        }
        _ => {
            let count = random.below(LONGEST + 1);
            (0..count).map(|_| piece(random)).collect()
        }
    };
    Tensor::new::<String>(shape, (0..n).map(|_| text(random)).collect())
}

/// The words in the attributes and constants of a graph.
pub(super) fn words(graph: &Graph) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for v in graph.ids() {
        match &graph.vertex(v).node {
            Node::Const(Tensor::Utf8(texts)) => out.extend(texts.iter().take(WORDS).cloned()),
            Node::Call { attrs, .. } => {
                for attr in attrs.iter() {
                    match attr {
                        AttrValue::Str(word) => out.push(word.to_string()),
                        AttrValue::Strs(list) => out.extend(list.iter().map(ToString::to_string)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    out
}
