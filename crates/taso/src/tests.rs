use prost::Message;

use super::proto::{MapOutputProto, OperatorProto, ParameterProto, RuleProto, TensorProto};
use super::*;

fn text(lines: &str) -> ImportedRules {
    import_rules("r.txt", lines.as_bytes(), "t").unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn refused(name: &str, bytes: &[u8]) -> String {
    match import_rules(name, bytes, "t") {
        Ok(rules) => panic!("accepted: {}", rules.text),
        Err(problems) => problems.render(false),
    }
}

/// Removes blanks and final commas.
fn dense(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    text.replace(",)", ")").replace(",}", "}").replace(",]", "]")
}

/// The only rule, without blanks and final commas.
fn body(rules: &ImportedRules) -> String {
    let at = rules.text.find("rule ").unwrap_or_else(|| panic!("{}", rules.text));
    dense(&rules.text[at..])
}

fn operator(kind: i32, inputs: &[(i32, i32)], parameters: &[(i32, i32)]) -> OperatorProto {
    let tensor = |&(op, ts): &(i32, i32)| TensorProto {
        op_id: Some(op),
        ts_id: Some(ts),
    };
    let parameter = |&(key, value): &(i32, i32)| ParameterProto {
        key: Some(key),
        value: Some(value),
    };
    OperatorProto {
        r#type: Some(kind),
        input: inputs.iter().map(tensor).collect(),
        para: parameters.iter().map(parameter).collect(),
    }
}

fn output(from: (i32, i32), to: (i32, i32)) -> MapOutputProto {
    MapOutputProto {
        src_op_id: Some(from.0),
        dst_op_id: Some(to.0),
        src_ts_id: Some(from.1),
        dst_ts_id: Some(to.1),
    }
}

fn file(rules: &[RuleProto]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for rule in rules {
        bytes.push(0x0a);
        rule.encode_length_delimited(&mut bytes).unwrap();
    }
    bytes
}

/// `(x · v, x · w)` as one product.
fn parallel_products() -> RuleProto {
    RuleProto {
        src_op: vec![
            operator(18, &[(-1, 0), (-2, 0)], &[(9, 0)]),
            operator(18, &[(-1, 0), (-3, 0)], &[(9, 0)]),
        ],
        dst_op: vec![
            operator(12, &[(-2, 0), (-3, 0)], &[(1, 2), (11, 1), (10, 2)]),
            operator(18, &[(-1, 0), (0, 0)], &[(9, 0)]),
            operator(13, &[(1, 0)], &[(2, 2), (11, 1)]),
        ],
        mapped_output: vec![output((0, 0), (2, 0)), output((1, 0), (2, 1))],
    }
}

#[test]
fn a_split_is_cut_where_its_operand_was_joined() {
    let rules = import_rules("r.pb", &file(&[parallel_products()]), "taso").unwrap();
    let wanted = "rule taso-0-matmul-and-matmul(x1, x2, x3) { (matmul(x1, x2), matmul(x1, x3)) => \
        let y1 = split(matmul(x1, concat(x2, x3) {axis = 1})) {axis = 1, sizes = [x2.shape[1], x3.shape[1]]}; \
        (y1.0, y1.1) numerics real }";
    let wanted = dense(wanted);
    assert_eq!(body(&rules), wanted);
    let lines = "(matmul 0 ?x ?v)=>(split_0 (split 1 (matmul 0 ?x (concat 1 2 ?v ?w))))\n\
        (matmul 0 ?x ?w)=>(split_1 (split 1 (matmul 0 ?x (concat 1 2 ?v ?w))))\n";
    assert_eq!(body(&text(lines)).replace("rulet-0", "ruletaso-0"), wanted);
    let older = "(matmul ?x ?v)=>(split_0 1 (matmul ?x (concat 1 ?v ?w)))\n\
        (matmul ?x ?w)=>(split_1 1 (matmul ?x (concat 1 ?v ?w)))\n";
    assert_eq!(body(&text(older)).replace("rulet-0", "ruletaso-0"), wanted);
}

#[test]
fn activations_become_calls() {
    let rules = text("(concat 0 4 (conv2d 1 1 1 2 ?x ?w) (relu ?y))=>(relu (concat 0 4 (conv2d 1 1 1 0 ?x ?w) ?y))");
    assert_eq!(
        body(&rules),
        dense(
            "rule t-0-concat-of-relus(x1, x2, x3) {
               concat(relu(conv(x1, x2) {strides = [1, 1], pads = [0, 0, 0, 0], group = _}), relu(x3)) {axis = 0}
               => relu(concat(conv(x1, x2) {
                 strides = [1, 1], pads = [0, 0, 0, 0], group = x1.shape[1] / x2.shape[1]
               }, x3) {axis = 0})
               numerics real
             }"
        )
    );
}

#[test]
fn rules_that_say_nothing_or_repeat_are_comments() {
    let rules = text(
        "(relu (conv2d 1 1 0 0 ?x ?w))=>(conv2d 1 1 0 2 ?x ?w)\n\
         (ewadd ?a (ewadd ?b ?c))=>(ewadd (ewadd ?a ?b) ?c)\n\
         (ewadd ?p (ewadd ?q ?r))=>(ewadd (ewadd ?p ?q) ?r)\n\
         (matmul 0 ?a Imatmul)=>(ewadd ?a ?a)\n",
    );
    assert_eq!(rules.written, 1);
    assert_eq!(rules.saying_nothing, ["t-0-relu-of-conv"]);
    assert_eq!(rules.repeated, ["t-2-add-of-add"]);
    assert_eq!(rules.refused[0].0, "t-3-matmul-of-other");
    for comment in [
        "// `t-0-relu-of-conv`: trivial",
        "// `t-2-add-of-add`: the same as `t-1-add-of-add`.",
    ] {
        assert!(rules.text.contains(comment), "{}", rules.text);
    }
}

#[test]
fn forms_without_a_counterpart_are_refused_with_a_reason() {
    for (line, reason) in [
        ("?x=>(ewadd ?x ?x)", "a source that is a variable"),
        ("(relu ?x)=>(split_0 (split 1 (relu ?x)))", "where its split cuts"),
        ("(matmul 0 ?x Imatmul)=>(relu ?x)", "an identity matrix"),
        (
            "(conv2d 1 1 0 0 ?x (Cpool 3 3))=>(poolavg 3 3 1 1 0 ?x)",
            "an averaging kernel",
        ),
        ("(concat 0 2 ?x Iewmul)=>(relu ?x)", "a tensor of ones"),
    ] {
        let rules = text(line);
        assert_eq!(rules.written, 0, "{line}");
        assert!(rules.refused[0].1.contains(reason), "{line}: {:?}", rules.refused);
    }
    let pair = "(relu ?x)=>(split_0 (split 0 (relu (concat 0 2 ?x ?y))))\n(relu ?y)=>(split_1 (split 0 (relu (concat 0 2 ?x ?y))))";
    assert!(text(pair).refused[0].1.contains("nothing in common"));
}

#[test]
fn every_operator_has_a_form_that_loads() {
    let lines = "(poolavg 3 3 2 2 0 (relu ?x))=>(conv2d 2 2 0 0 (relu ?x) (Cpool 3 3))\n\
        (poolmax 2 2 2 2 1 (tanh ?x))=>(tanh (poolmax 2 2 2 2 1 ?x))\n\
        (conv2d 1 1 0 0 (sigmoid ?x) ?w)=>(conv2d 1 1 0 0 (sigmoid ?x) (enlarge 3 3 ?w))\n\
        (ewadd (conv2d 2 2 0 0 ?x ?w) (conv2d 2 2 0 0 ?x ?v))=>(conv2d 2 2 0 0 ?x (ewadd ?w (enlarge ?v ?w)))\n\
        (conv2d 1 1 0 0 ?x (enlarge 3 3 ?w))=>(conv2d 1 1 0 0 ?x ?w)\n\
        (smul (matmul 0 ?a ?b) ?s)=>(matmul 0 (smul ?a ?s) ?b)\n\
        (ewmul (ewadd ?a ?b) Iewmul)=>(ewadd ?b ?a)\n\
        (transpose (transpose ?x 1_0 1) 1_0 1)=>(ewmul ?x Iewmul)\n\
        (split_0 (split 1 (relu (concat 1 2 ?a ?b))))=>(relu ?a)\n\
        (batchnorm (ewadd ?x ?x) ?s ?b ?m ?v)=>(ewadd (batchnorm ?x ?s ?b ?m ?v) ?x)\n\
        (concat3 0 2 ?a ?b ?c)=>(concat 0 2 ?a (concat 0 2 ?b ?c))\n";
    let rules = text(lines);
    assert_eq!((rules.written, rules.refused.len()), (11, 0), "{:?}", rules.refused);
    let source = Arc::new(Source::new("rules", rules.text.as_str()));
    let loaded = parse_rules(source).and_then(tautomer_rule::load_rules);
    assert_eq!(
        loaded
            .unwrap_or_else(|e| panic!("{}\n{}", e.render(false), rules.text))
            .rules
            .len(),
        11
    );
}

#[test]
fn damaged_texts_are_refused_at_their_place() {
    for (text, place, what) in [
        (
            "(relu ?x)=>(relu ?x)\n(relu ?x)=>(relux ?x)",
            "r.txt:2:12",
            "did you mean `relu`?",
        ),
        ("(relu ?x)", "byte 9", "there is no rule"),
        ("(relu ?x)=>(relu ?x\n", "r.txt:1:12", "not closed"),
        ("(relu ?x)=>(relu ?x))", "r.txt:1:21", "no parenthesis is open"),
        ("(relu ?x)=>?x ?y", "r.txt:1:15", "one expression"),
        ("(relu ?x)=>", "r.txt:1:12", "a side is missing"),
        ("(ewadd ?x)=>?x", "r.txt:1:1", "does not take these arguments"),
        (
            "(conv2d 0 1 0 0 ?x ?w)=>?x",
            "r.txt:1:1",
            "not a valid window size or stride",
        ),
        ("(conv2d 1 1 2 0 ?x ?w)=>?x", "r.txt:1:1", "not a padding"),
        ("(transpose ?x 1_1 0)=>?x", "r.txt:1:1", "not a permutation of axes"),
        ("(relu ?x)=>(relu ?y)", "r.txt:1:1", "two lines make a rule"),
        ("((relu ?x))=>?x", "r.txt:1:1", "begins with the name"),
    ] {
        let message = refused("r.txt", text.as_bytes());
        assert!(message.contains(place) && message.contains(what), "{text}: {message}");
    }
    let deep = format!("{}?x{}=>?x", "(relu ".repeat(5000), ")".repeat(5000));
    assert!(refused("r.txt", deep.as_bytes()).contains("more than 100 operators"));
    assert!(refused("r.txt", b"(relu ?x)=>\xff").contains("byte 11"));
}

#[test]
fn damaged_messages_are_refused_at_their_place() {
    let good = file(&[parallel_products(), parallel_products()]);
    for cut in 0..good.len() {
        let damaged = &good[..cut];
        if cut != good.len() / 2 {
            assert!(refused("r.pb", damaged).contains("byte "), "{cut}");
        }
    }
    // Any byte may be wrong: this must not panic, and errors must name a place.
    for at in 0..good.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[at] ^= flip;
            if let Err(problems) = import_rules("r.pb", &damaged, "t") {
                assert!(problems.render(false).contains("byte "), "{at} {flip}");
            }
        }
    }
    let wrong = |change: fn(&mut RuleProto)| {
        let mut rule = parallel_products();
        change(&mut rule);
        refused("r.pb", &file(&[parallel_products(), rule]))
    };
    let second = format!("byte {}: rule 1: ", good.len() / 2);
    for (change, what) in [
        (
            (|r| r.src_op[0].r#type = None) as fn(&mut RuleProto),
            "source operator 0 has no type",
        ),
        (
            |r| r.dst_op[2].para.clear(),
            "target operator 2 of type 13 has no parameter 11",
        ),
        (
            |r| r.dst_op[1].input[1].op_id = Some(1),
            "operator 1 refers to operator 1",
        ),
        (
            |r| r.dst_op[2].input[0].ts_id = Some(1),
            "refers to result 1 of operator 1",
        ),
        (|r| r.src_op[0].input.truncate(1), "takes 2 operands, but 1 are given"),
        (|r| r.src_op[0].para[0].value = Some(9), "9 is not an activation"),
        (|r| r.mapped_output.clear(), "there is no output"),
        (
            |r| r.mapped_output[0].src_op_id = Some(7),
            "output 0 refers to operator 7",
        ),
        (|r| r.src_op = vec![r.src_op[0].clone(); 101], "at most 100"),
    ] {
        let message = wrong(change);
        assert!(message.contains(&second) && message.contains(what), "{what}: {message}");
    }
    let mut unknown = parallel_products();
    unknown.src_op[0].r#type = Some(44);
    let rules = import_rules("r.pb", &file(&[unknown]), "t").unwrap();
    assert!(
        rules.refused[0].1.contains("an operator of type 44"),
        "{:?}",
        rules.refused
    );
}

#[test]
fn long_and_shared_terms_are_written_once() {
    // Each operator uses the previous one twice: as a tree, the last one has 2^90 leaves.
    let mut rule = RuleProto::default();
    for i in 0..90 {
        rule.src_op.push(operator(16, &[(i - 1, 0), (i - 1, 0)], &[]));
    }
    rule.dst_op = rule.src_op.clone();
    rule.dst_op.push(operator(13, &[(89, 0)], &[(11, 0)]));
    rule.mapped_output = vec![output((89, 0), (90, 1))];
    let rules = import_rules("r.pb", &file(std::slice::from_ref(&rule)), "t").unwrap();
    assert!(
        rules.refused[0].1.contains("where its split cuts"),
        "{:?}",
        rules.refused
    );
    rule.dst_op[90] = operator(8, &[(89, 0)], &[]);
    rule.mapped_output = vec![output((89, 0), (90, 0))];
    let rules = import_rules("r.pb", &file(&[rule]), "t").unwrap();
    assert_eq!(rules.written, 1);
    assert!(rules.text.len() < 10_000);
    let deep = format!("{}?x{}=>(relu ?x)", "(relu ".repeat(99), ")".repeat(99));
    assert_eq!(text(&deep).written, 1);
}
