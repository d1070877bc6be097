use super::super::check::{eval, infer, table};
