//! The `tautomer` command.
fn main() {}
