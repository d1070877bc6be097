//! Loads any text as rules and verifies them with a small budget, for messages or verdicts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = tautomer_fuzz::rules(text);
});
