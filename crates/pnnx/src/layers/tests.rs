use super::*;
use std::collections::HashSet;
use std::sync::Arc;
use tautomer_diag::Source;
use tautomer_op::lookup;

#[test]
fn every_kind_is_in_one_row() {
    let mut known = HashSet::new();
    for kind in rows().flat_map(|row| row.kinds.split_whitespace()) {
        assert!(known.insert(kind), "{kind}");
        let (row, dims) = find(&kind.replace('#', "3")).unwrap();
        assert!(row.kinds.split_whitespace().any(|known| known == kind), "{kind}");
        assert_eq!(dims, if kind.contains('#') { 3 } else { 2 }, "{kind}");
    }
    assert!(find("F.conv4d").is_none() && find("F.conv").is_none() && find("F.convd").is_none());
}

#[test]
fn every_program_can_be_parsed() {
    for row in rows() {
        let body = match row.read {
            Read::Call(Write {
                op,
                form: Form::Call(form),
                ..
            }) => call::program(op, form),
            Read::Program(body) => body.to_owned(),
            _ => continue,
        };
        let names: Vec<&str> = row.bare_names().collect();
        let text = format!("fn body({}) {{ {body} }}", names.join(", "));
        let parsed = tautomer_lang::parse_program(Arc::new(Source::new("row", text)));
        assert!(parsed.is_ok(), "{}: {body}", row.kinds);
    }
}

#[test]
fn forms_name_what_the_row_and_the_operator_have() {
    for (row, write) in rows().flat_map(|row| row.written().map(move |write| (row, write))) {
        let def = lookup(write.op).unwrap_or_else(|| panic!("{}", write.op));
        assert_eq!(def.name, write.op);
        let Form::Call(form) = write.form else { continue };
        let calls = matches!(row.read, Read::Call(_));
        for word in form.split_whitespace() {
            let has = |name: &str| row.bare_names().any(|known| known == name);
            match word.split_once('=') {
                None => assert!(word == "..." || has(word), "{}: {word}", row.kinds),
                Some((attr, source)) => {
                    assert!(
                        call::is_value(attr) || def.attrs.iter().any(|known| known.name == attr),
                        "{}: {word}",
                        row.kinds
                    );
                    let param = source.trim_matches(['[', ']', '?']);
                    let read = call::is_value(source) || has(param);
                    assert!(!calls || !call::is_value(attr) && read, "{}: {word}", row.kinds);
                }
            }
        }
    }
}

#[test]
fn overloads_have_the_names_of_their_row() {
    let mut known = HashSet::new();
    for (row, word) in rows().flat_map(|row| row.positional.split_whitespace().map(move |word| (row, word))) {
        let (overload, names) = word.split_once('=').unwrap_or((word, ""));
        assert!(known.insert(overload) && overload.starts_with("aten::"), "{word}");
        assert!(find(overload).is_none(), "{word}");
        for name in names.split(',').filter(|name| !name.is_empty()) {
            assert!(row.bare_names().any(|known| known == name), "{word}: {name}");
        }
    }
}
