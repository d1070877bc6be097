//! Exchanges on small, long, cyclic and random problems.

use egg::Id;

use super::super::choice::{Candidate, Class};
use super::super::cost::Price;
use super::super::enode::ENode;
use super::*;

/// E-nodes of one class, each with its cost and operands.
type Given = &'static [(u64, &'static [u32])];

fn problem(classes: impl IntoIterator<Item = Vec<(u64, Vec<u32>)>>, roots: &[u32]) -> Problem {
    let class = |nodes: Vec<(u64, Vec<u32>)>| {
        let candidate = |(i, (cost, children)): (usize, (u64, Vec<u32>))| Candidate {
            enode: ENode {
                head: Head::Op(i as u32),
                children: children.iter().map(|&c| Id::from(c as usize)).collect(),
            },
            children: children.into(),
            cost: Price::legal(cost),
        };
        Class {
            nodes: nodes.into_iter().enumerate().map(candidate).collect(),
            is_static: false,
        }
    };
    Problem::new(classes.into_iter().map(class).collect(), roots.to_vec())
}

fn listed(classes: &[Given], roots: &[u32]) -> Problem {
    let owned = |nodes: &Given| nodes.iter().map(|(cost, c)| (*cost, c.to_vec())).collect();
    problem(classes.iter().map(owned), roots)
}

fn improved(problem: &Problem, start: &[Option<u32>]) -> (u64, Vec<Option<u32>>) {
    let (trees, _) = problem.trees();
    let choice = Solution::new(problem, start.to_vec(), &trees).improved();
    (problem.cost_of(&choice).unwrap().picos, choice)
}

#[test]
fn what_is_shared_is_paid_once() {
    // The root needs 1 and 2; each has a cheapest form of its own, but both are cheaper in a form that shares an
    // operand.
    let shared: [Given; 4] = [
        &[(1, &[1, 2])],
        &[(5, &[]), (1, &[3])],
        &[(5, &[]), (1, &[3])],
        &[(4, &[])],
    ];
    let p = listed(&shared, &[0]);
    let start = [Some(0), Some(1), Some(0), Some(0)];
    assert_eq!(p.cost_of(&start), Some(Price::legal(11)));
    assert_eq!(improved(&p, &start).0, 7);
}

#[test]
fn cycles_are_refused() {
    // Cheap e-nodes lead from 1 to 2 and back, and only one of them may be chosen.
    let cyclic: [Given; 3] = [&[(1, &[1, 2])], &[(9, &[]), (1, &[2])], &[(9, &[]), (1, &[1])]];
    let p = listed(&cyclic, &[0]);
    let (cost, choice) = improved(&p, &[Some(0), Some(0), Some(0)]);
    assert_eq!(cost, 11);
    assert!(p.order(&choice).is_some());
    let (trees, bound) = p.trees();
    assert!(p.order(&trees).is_some());
    assert_eq!(bound, Price::legal(10));
}

#[test]
fn exchanges_deep_down_are_found_in_a_long_chain() {
    // Each class is computed from the one before, at cost 2 or through a detour of two classes at cost 1 in all.
    const STEPS: u32 = 60_000;
    let mut classes: Vec<Vec<(u64, Vec<u32>)>> = vec![vec![(1, vec![])]];
    for i in 0..STEPS {
        classes.push(vec![(2, vec![2 * i]), (1, vec![2 * i + 2])]);
        classes.push(vec![(0, vec![2 * i])]);
    }
    // Odd positions hold the chain, even ones the detours; a detour starts at the chain.
    for i in 0..STEPS as usize {
        let before = if i == 0 { 0 } else { 2 * i as u32 - 1 };
        classes[2 * i + 1][0].1 = vec![before];
        classes[2 * i + 2][0].1 = vec![before];
    }
    let p = problem(classes, &[2 * STEPS - 1]);
    let start: Vec<Option<u32>> = vec![Some(0); p.classes.len()];
    assert_eq!(p.cost_of(&start), Some(Price::legal(u64::from(STEPS) * 2 + 1)));
    assert_eq!(improved(&p, &start).0, u64::from(STEPS) + 1);
}

#[test]
fn elements_of_a_tuple_move_together() {
    // Two results at 6 each, or as elements of a tuple that costs 8.
    let split: [Given; 4] = [
        &[(0, &[1, 2])],
        &[(6, &[]), (1, &[3])],
        &[(6, &[]), (1, &[3])],
        &[(8, &[])],
    ];
    let mut p = listed(&split, &[0]);
    for c in [1, 2] {
        p.classes[c].nodes[1].enode.head = Head::Proj(c as u32 - 1);
    }
    assert_eq!(improved(&p, &[Some(0); 4]).0, 10);
}

#[test]
fn results_of_random_problems_are_valid_and_no_worse() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut optimal = 0;
    for _ in 0..400 {
        let n = 4 + random(5) as u32;
        let classes: Vec<Vec<(u64, Vec<u32>)>> = (0..n)
            .map(|c| {
                let mut nodes = vec![(
                    1 + random(9),
                    if c == 0 {
                        vec![]
                    } else {
                        vec![random(u64::from(c)) as u32]
                    },
                )];
                for _ in 0..random(3) {
                    let children = (0..random(3)).map(|_| random(u64::from(n)) as u32).collect();
                    nodes.push((1 + random(9), children));
                }
                nodes
            })
            .collect();
        let counts: Vec<usize> = classes.iter().map(Vec::len).collect();
        let p = problem(classes, &[n - 1, n - 2]);
        let start = vec![Some(0); n as usize];
        let (cost, choice) = improved(&p, &start);
        assert_eq!(p.cost_of(&choice), Some(Price::legal(cost)));
        assert!(Price::legal(cost) <= p.cost_of(&start).unwrap());
        let least = (0..counts.iter().product())
            .filter_map(|mut code: usize| {
                let digits = counts.iter().map(|&k| {
                    let digit = code % k;
                    code /= k;
                    Some(digit as u32)
                });
                p.cost_of(&digits.collect::<Vec<_>>()).map(|price| price.picos)
            })
            .min();
        assert!(Some(cost) >= least);
        assert!(p.trees().1 <= Price::legal(least.unwrap()));
        optimal += usize::from(Some(cost) == least);
    }
    // Local exchanges are not exact, but nearly so on problems of this size.
    assert!(optimal >= 350, "{optimal} of 400 are optimal");
}
