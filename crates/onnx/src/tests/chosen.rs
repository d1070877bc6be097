//! Operators that choose or sample elements, in the forms of several operator sets.

use super::*;

/// The text of the graph and the names of the operators it is exported with; the exported model is imported again.
fn forms(model: ModelProto) -> (String, Vec<NodeProto>) {
    let (imported, exported) = round_trip(model);
    let program = tautomer_graph::to_program(&imported.workload.graph);
    (
        tautomer_lang::format_program(&program),
        graph_of(&exported).node.clone(),
    )
}

fn has(node: &NodeProto, attr: &str) -> bool {
    node.attribute.iter().any(|a| a.name.as_deref() == Some(attr))
}

#[test]
fn the_number_of_elements_was_an_attribute() {
    let ints = value("places", &Type::tensor(DType::I64, [2, 2]));
    for opset in [9, 10, 11, 24] {
        let inputs: &[&str] = if opset < 10 { &["x"] } else { &["x", "k"] };
        let mut top = with(node("TopK", inputs, &["", "places"]), "axis", AttrValue::int(-1));
        if opset < 10 {
            top = with(top, "k", AttrValue::int(2));
        }
        let plain = model(opset, &[floats("x", [2, 3])], &[top], std::slice::from_ref(&ints));
        let (text, nodes) = forms(weights(plain, &[("k", Tensor::vector(vec![2i64]))]));
        assert!(text.contains("top_k(x) {k = 2}.1"), "{text}");
        let top = nodes.iter().find(|n| n.op_type() == "TopK").unwrap();
        assert_eq!(has(top, "k"), opset < 10, "{opset}");
    }
}

#[test]
fn interpolations_had_other_names() {
    let places = floats("places", [1, 2, 2, 2]);
    for (opset, name) in [(16, "bicubic"), (20, "cubic")] {
        let sample = with(
            node("GridSample", &["x", "places"], &["y"]),
            "mode",
            AttrValue::str(name),
        );
        let inputs = [floats("x", [1, 1, 3, 3]), places.clone()];
        let (text, nodes) = forms(model(opset, &inputs, &[sample], &[floats("y", [1, 1, 2, 2])]));
        assert!(text.contains("mode = \"cubic\""), "{text}");
        assert_eq!(nodes[0].attribute[0].s.as_deref(), Some(name.as_bytes()));
    }
}

#[test]
fn regions_counted_from_the_edge() {
    let inputs = [
        floats("x", [1, 1, 3, 3]),
        floats("rois", [2, 4]),
        value("of", &Type::tensor(DType::I64, [2])),
    ];
    for opset in [10, 16] {
        let align = node("RoiAlign", &["x", "rois", "of"], &["y"]);
        let (text, nodes) = forms(model(opset, &inputs, &[align], &[floats("y", [2, 1, 1, 1])]));
        assert_eq!(text.contains("output_half_pixel"), opset < 16, "{text}");
        assert!(nodes[0].attribute.is_empty());
    }
}

#[test]
fn the_axis_of_a_signal_became_an_operand() {
    for opset in [17, 20] {
        let dft = node("DFT", &["x"], &["y"]);
        let (text, nodes) = forms(model(
            opset,
            &[floats("x", [2, 3, 4, 1])],
            &[dft],
            &[floats("y", [2, 3, 4, 2])],
        ));
        assert_eq!(text.contains("axis = 1"), opset < 20, "{text}");
        let dft = nodes.iter().find(|n| n.op_type() == "DFT").unwrap();
        assert_eq!(dft.input.len() > 1, opset >= 20);
    }
}

#[test]
fn regions_whose_extents_depend_on_values_are_carried() {
    let mut resize = node("Resize", &["x", "roi", "scales"], &["y"]);
    resize = with(
        resize,
        "coordinate_transformation_mode",
        AttrValue::str("tf_crop_and_resize"),
    );
    let inputs = [floats("x", [4]), floats("roi", [2])];
    let plain = model(
        13,
        &inputs,
        &[resize],
        &[floats("y", [Dim::symbol("n")].into_iter().collect::<Shape>())],
    );
    let imported = read(weights(plain, &[("scales", Tensor::vector(vec![2.0f32]))]));
    assert_eq!(imported.notes.iter().count(), 1);
}
