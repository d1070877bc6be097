//! Any text as rules, which are loaded and verified with a small budget: messages or verdicts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = tautomer_fuzz::rules(text);
});
