//! Reads any bytes as a model.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::read(bytes);
});
