//! Mutants that are no wrong rules.

/// Names of mutants, and why each is equal to the rule that it was made from or a weaker one.
pub(crate) const EQUIVALENT: &[(&str, &str)] = &[];
