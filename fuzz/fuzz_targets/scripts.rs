//! Checks and runs any text as a script with small budgets, for values of the declared types or messages.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::scripts(bytes);
});
