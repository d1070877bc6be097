//! Any text as a script that is checked and run with small budgets: values of the types that were said, or messages.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::scripts(bytes);
});
