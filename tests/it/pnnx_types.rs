//! Element types of expressions compared with tables produced by torch.
//!
//! The tables are not part of this repository; without `TAUTOMER_TEST_DATA` these tests print a message and do nothing.

use serde_json::{Map, Value};
use tautomer::formats::pnnx::{ElementType, Function, ParamFile, Weight, import, result_type};
use tautomer::tensor::{DType, Type};

fn tables() -> Option<Map<String, Value>> {
    let path = tautomer_testing::shared_data("vectors/torch_dtype_tables.json")?;
    let text = std::fs::read_to_string(path).unwrap();
    match serde_json::from_str(&text).unwrap() {
        Value::Object(tables) => Some(tables),
        other => panic!("{other}"),
    }
}

/// The rows of a table: names, and the type, `None` for an error.
fn rows(tables: &Map<String, Value>, name: &str) -> Vec<(Vec<String>, Option<ElementType>)> {
    let Value::Object(table) = &tables[name] else {
        panic!("{name} is no table")
    };
    let row = |(key, value): (&String, &Value)| {
        let names = key.split(',').map(str::to_owned).collect();
        let ty = value.as_str().unwrap();
        (names, (ty != "error").then(|| ElementType::of_torch(ty).unwrap()))
    };
    table.iter().map(row).collect()
}

/// A tensor of a type, or a host number.
fn operand(name: &str, host: bool) -> (ElementType, Weight) {
    let number = match name {
        "bool" if host => ElementType::Bool,
        "int" if host => ElementType::I64,
        "float" if host => ElementType::F32,
        "complex" if host => ElementType::C64,
        _ => return (ElementType::of_torch(name).unwrap(), Weight::Tensor),
    };
    (number, Weight::Host)
}

#[test]
fn types_are_promoted_as_torch_does() {
    let Some(tables) = tables() else { return };
    for (names, expected) in rows(&tables, "promote") {
        let [a, b] = [&names[0], &names[1]].map(|name| ElementType::of_torch(name).unwrap());
        assert_eq!(a.promote(b), expected, "{names:?}");
    }
}

/// Every row of a table of functions, with its operands; those at `hosts` are host numbers.
fn each(
    table: &str,
    hosts: [bool; 2],
    check: impl Fn(Function, &[(ElementType, Weight)], Option<ElementType>),
) -> usize {
    let Some(tables) = tables() else { return 0 };
    let rows = rows(&tables, table);
    let count = rows.len();
    for (names, expected) in rows {
        let function = Function::by_name(&names[0]).unwrap_or_else(|| panic!("{names:?}"));
        // In the tables of numbers, a name may mean both: at the given position it is a number.
        let operands: Vec<_> = names[1..]
            .iter()
            .zip(hosts)
            .map(|(name, host)| operand(name, host))
            .collect();
        check(function, &operands, expected);
    }
    count
}

const TABLES: [(&str, [bool; 2]); 4] = [
    ("unary", [false, false]),
    ("binary", [false, false]),
    ("scalar_rhs", [false, true]),
    ("scalar_lhs", [true, false]),
];

#[test]
fn results_have_torchs_types() {
    for (table, hosts) in TABLES {
        let count = each(table, hosts, |function, operands, expected| {
            assert_eq!(result_type(function, operands), expected, "{function} {operands:?}");
        });
        assert!(count == 0 || count > 300, "{table} has {count} rows");
    }
}

/// A number of that type, as written in an expression.
fn number(ty: ElementType) -> &'static str {
    match ty {
        ElementType::Bool => "True",
        ElementType::I64 => "3",
        _ => "2.5",
    }
}

#[test]
fn graphs_have_torchs_types() {
    for (table, hosts) in TABLES {
        each(table, hosts, |function, operands, expected| {
            if operands.iter().any(|(ty, _)| ty.is_complex()) || expected.is_some_and(ElementType::is_complex) {
                return;
            }
            let mut text = String::new();
            let (mut words, mut inputs) = (Vec::new(), Vec::new());
            for (i, (ty, weight)) in operands.iter().enumerate() {
                if *weight == Weight::Host {
                    words.push(number(*ty).to_owned());
                    continue;
                }
                text += &format!("pnnx.Input in{i} 0 1 {i} #{i}=(2)%s\n").replace("%s", ty.name());
                words.push(format!("@{}", inputs.len()));
                inputs.push(i.to_string());
            }
            let count = inputs.len();
            let expression = format!("{function}({})", words.join(","));
            text += &format!("pnnx.Expression e {count} 1 {} r expr={expression}\n", inputs.join(" "));
            text += "pnnx.Output o 1 0 r\n";
            let text = format!("7767517\n{} {}\n{text}", count + 2, count + 1);
            let file = ParamFile::read("table", &text).unwrap_or_else(|e| panic!("{}", e.render(false)));
            let found = import("table", &text, &file, None).ok().map(|imported| {
                let graph = imported.workload.graph;
                graph.ty(graph.outputs()[0].vertex).clone()
            });
            let expected = expected
                .and_then(ElementType::dtype)
                .map(|dtype: DType| Type::tensor(dtype, [2]));
            assert_eq!(found, expected, "{expression} of {operands:?}");
        });
    }
}
