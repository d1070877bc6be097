//! PNNX models: a text is a model or gives a message, and a written model can be read back.

use tautomer::formats::pnnx::{ParamFile, export, import};
use tautomer::graph::Workload;

use super::Random;

/// Reads a text, writes the model, and reads it back. The first result is true for a model, the second for one that
/// could be written.
pub fn pnnx(bytes: &[u8]) -> (bool, bool) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return (false, false);
    };
    let Ok(file) = ParamFile::read("fuzzed", text) else {
        return (false, false);
    };
    let imported = match import("fuzzed", text, &file, None) {
        Ok(imported) => imported,
        Err(problems) => {
            assert!(problems.has_errors(), "a model was rejected without a reason");
            let _ = problems.render(false);
            return (false, false);
        }
    };
    let Workload { graph, params } = &imported.workload;
    graph.validate().unwrap_or_else(|e| panic!("{e}"));
    let Ok(exported) = export(graph, params) else {
        return (true, false);
    };
    let text = exported.file.text();
    let file = ParamFile::read("written", &text).unwrap_or_else(|e| panic!("{}{text}", e.render(false)));
    let again = import("written", &text, &file, None).unwrap_or_else(|e| panic!("{}{text}", e.render(false)));
    let again = &again.workload.graph;
    assert_eq!(graph.outputs().len(), again.outputs().len(), "{text}");
    // Nodes that are carried along unread may become readable when written.
    if imported.notes.iter().any(|note| note.code == "T0505") {
        return (true, true);
    }
    for (a, b) in graph.outputs().iter().zip(again.outputs()) {
        let (a, b) = (graph.ty(a.vertex), again.ty(b.vertex));
        assert!(a.admits(b) || b.admits(a), "a result was {a} but is {b}\n{text}");
    }
    (true, true)
}

/// One of the texts with a few words replaced by words that break readers, or by words of this or another text.
pub fn changed_words(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const ODD: &[&str] = &[
        "",
        "-1",
        "0",
        "1",
        "2",
        "3",
        "7",
        "-2147483648",
        "2147483647",
        "9223372036854775807",
        "-9223372036854775808",
        "1e38",
        "-inf",
        "nan",
        "None",
        "True",
        "False",
        "()",
        "(",
        ")",
        "[",
        "@",
        "@0",
        "@9",
        "?",
        "%n",
        "=",
        " ",
        "f16",
        "bool",
        "i64",
        "c64",
        "same",
        "reflect",
        "sum",
        "0.5",
    ];
    let seed = |random: &mut Random| String::from_utf8_lossy(&seeds[random.below(seeds.len())]).into_owned();
    let split = |text: &str| -> Vec<String> {
        let stops = |c: char| " \n,=()".contains(c);
        text.split_inclusive(stops).map(str::to_owned).collect()
    };
    let mut words = split(&seed(random));
    for _ in 0..=random.below(3) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len());
        let word = match random.below(4) {
            0 => {
                let other = split(&seed(random));
                other.get(random.below(other.len())).cloned().unwrap_or_default()
            }
            1 => words[random.below(words.len())].clone(),
            _ => ODD[random.below(ODD.len())].to_owned(),
        };
        let stop = words[at].chars().last().filter(|c| " \n,=()".contains(*c));
        let bare = word.trim_end_matches([' ', '\n', ',', '=', '(', ')']);
        words[at] = match stop {
            Some(stop) => format!("{}{stop}", if bare.is_empty() { &word } else { bare }),
            None => word,
        };
        if random.below(12) == 0 {
            words.remove(at);
        }
    }
    words.concat().into_bytes()
}
