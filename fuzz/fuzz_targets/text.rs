//! Parses any text as a program, a rule file, a script and an expression, for messages or for something that can be
//! printed and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = tautomer_fuzz::text(text);
});
