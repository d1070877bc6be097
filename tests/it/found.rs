//! Damaged models of a few hundred bytes, found by random search, that were once written incorrectly.

use prost::Message as _;

use tautomer::formats::onnx::{decode_model, export, import};
use tautomer::pipeline::{Options, optimize};

/// A written model can be read back, with results of the same types; a rejected one has a message.
#[test]
fn what_is_written_is_read_again() {
    let mut read = 0;
    for entry in std::fs::read_dir("tests/data/found").unwrap() {
        let path = entry.unwrap().path();
        let model = decode_model(std::fs::read(&path).unwrap().into()).unwrap();
        let Ok(imported) = import(model, None) else {
            continue;
        };
        let before = imported.workload.graph.clone();
        let outcome = optimize(imported.workload, &Options::default()).unwrap();
        let written = export(&outcome.workload.graph, &outcome.workload.params, &imported.info).unwrap();
        let bytes = written.model.encode_to_vec();
        let again = import(decode_model(bytes.into()).unwrap(), None)
            .unwrap_or_else(|e| panic!("{}: {}", path.display(), e.render(false)));
        let again = again.workload.graph;
        assert_eq!(before.inputs().len(), again.inputs().len(), "{}", path.display());
        for (a, b) in before.outputs().iter().zip(again.outputs()) {
            let (a, b) = (before.ty(a.vertex), again.ty(b.vertex));
            assert!(a.admits(b), "{}: a result was {a} but is {b}", path.display());
        }
        read += 1;
    }
    assert!(read > 0, "no model was read");
}
