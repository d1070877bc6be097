//! Expressions with known values, from the tests of ExprTk.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array};
use tautomer_columns::{Expressions, Options, Projector, Scalar, Type};

use crate::{batch, column};

fn check(name: &str, text: &str, at: [f64; 4], at_least: usize) {
    let columns: Vec<ArrayRef> = at.iter().map(|&value| column::<Float64Array>(vec![value])).collect();
    let batch = batch("x: f64, y: f64, z: f64, w: f64", columns);
    let mut problems = Vec::new();
    let mut count = 0;
    #[cfg(feature = "rewrite")]
    let mut sizes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (expression, value) = line.split_once('\t').expect("an expression and its value");
        let wanted: f64 = value.trim().parse().expect("a number");
        count += 1;
        let found = Expressions::parse_with(&batch.schema(), expression, &Options::calculator())
            .and_then(|parsed| {
                assert_eq!(parsed.types(), [Type::Float64]);
                Projector::make(&[parsed])?.evaluate(&batch)
            })
            .map(|outputs| outputs[0].as_primitive::<Float64Type>().value(0));
        #[cfg(feature = "rewrite")]
        if let Ok(parsed) = Expressions::parse_with(&batch.schema(), expression, &Options::calculator()) {
            let after = crate::rewrite::REAL.rewrite(&parsed);
            sizes.push(after.calls);
            let value = Projector::make(&[after.expressions]).and_then(|projector| projector.evaluate(&batch));
            let value = value.map(|outputs| outputs[0].as_primitive::<Float64Type>().value(0));
            match value {
                Ok(value) if (value - wanted).abs() <= 1e-9 * wanted.abs() || value == wanted => {}
                Ok(value) => problems.push(format!(
                    "{name}:{}: {expression} is {value} by {:?}, not {wanted}",
                    number + 1,
                    after.rules
                )),
                Err(found) => problems.push(format!("{name}:{}: {expression}, rewritten\n{found}", number + 1)),
            }
        }
        let single = Scalar::compile(expression, &["x", "y", "z", "w"]).map(|scalar| scalar.eval(&at));
        if let (Ok(found), Ok(single)) = (&found, &single)
            && found.to_bits() != single.to_bits()
        {
            problems.push(format!(
                "{name}:{}: {expression} is {found}, of single numbers {single}",
                number + 1
            ));
        }
        match found {
            Err(_) if single.is_ok() => problems.push(format!("{name}:{}: only of single numbers", number + 1)),
            Ok(found) if (found - wanted).abs() <= 1e-10 * wanted.abs() || found == wanted => {}
            Ok(found) => problems.push(format!("{name}:{}: {expression} is {found}, not {wanted}", number + 1)),
            Err(found) => problems.push(format!("{name}:{}: {expression}\n{found}", number + 1)),
        }
    }
    #[cfg(feature = "rewrite")]
    {
        let smaller = sizes.iter().filter(|(before, after)| after < before).count();
        let larger = sizes.iter().filter(|(before, after)| after > before).count();
        // With one more of both, since a result may have no call.
        let ratio = |&(before, after): &(usize, usize)| ((after + 1) as f64 / (before + 1) as f64).ln();
        let mean = (sizes.iter().map(ratio).sum::<f64>() / sizes.len() as f64).exp();
        eprintln!(
            "{name}: {smaller} of {} are smaller, {larger} larger; size {mean:.3}",
            sizes.len()
        );
        assert!(smaller * 20 > sizes.len(), "{smaller} of {} are smaller", sizes.len());
    }
    assert!(count >= at_least, "{name} has {count} lines");
    let shown = problems.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(problems.is_empty(), "{} of {count} differ:\n{shown}", problems.len());
}

#[test]
fn expressions_of_calculators_have_their_values() {
    let Some(data) = tautomer_testing::shared_data("expressions") else {
        return;
    };
    let read = |name: &str| std::fs::read_to_string(data.join(name)).unwrap();
    let first = [
        11.123456789107374,
        22.123456789107372,
        33.12345678910737,
        44.12345678910737,
    ];
    check("exprtk_functional.tsv", &read("exprtk_functional.tsv"), first, 3500);
    let second = [11.1237567810735, 13.1239567810735, 15.1233567810735, 19.1235567810735];
    check(
        "exprtk_functional_ext.tsv",
        &read("exprtk_functional_ext.tsv"),
        second,
        4700,
    );
}
