//! Tests of the library and the program from outside, in one binary: each file covers one subject.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests that skip say so, and some count"
)]

mod built_files;
mod checker;
mod cli;
mod command;
mod common;
mod docs;
mod expressions;
mod fail;
mod faults;
mod fixed_point;
mod flow;
mod found;
mod fuzz_seeds;
mod graph_laws;
mod gsl;
mod gsl_random;
mod hostile;
mod limits;
mod lookalikes;
mod lowering;
mod mutants;
mod op_vectors;
mod operator_names;
mod operators;
mod optimize;
mod optimize_command;
mod own_costs;
mod pnnx;
mod pnnx_files;
mod pnnx_types;
mod pnnx_vectors;
mod property_tests;
mod published;
mod random_rules;
mod referee;
mod rule_sets;
mod rules;
mod rules_command;
mod runs;
mod scripts;
mod shapes;
mod spellings;
mod strided;
mod suggest;
mod surface;
mod targets;
mod taso;
mod tidy;
mod values;
mod verdicts;
mod verdicts_command;
mod why;
mod written;
mod wrong_rules;
mod xla;
