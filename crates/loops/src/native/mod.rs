//! Machine code made at run time. Only `machine` has unsafe code.

mod assembler;
mod generate;
mod instructions;
mod layout;
mod machine;
mod narrow;
mod registers;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use machine::Machine;
