//! Tests of the library and the program from outside, in one binary: each file is a subject.

mod cli;
mod command;
mod common;
mod docs;
mod fail;
mod faults;
mod flow;
mod found;
mod fuzz_seeds;
mod graph_laws;
mod gsl;
mod gsl_random;
mod lookalikes;
mod mutants;
mod op_vectors;
mod optimize;
mod pnnx;
mod pnnx_files;
mod pnnx_types;
mod published;
mod rules;
mod rules_command;
mod runs;
mod scripts;
mod shapes;
mod spellings;
mod strided;
mod taso;
mod tidy;
mod values;
mod verdicts;
mod verdicts_command;
mod why;

#[path = "../../src/testing.rs"]
mod testing;
