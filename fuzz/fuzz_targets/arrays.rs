//! Reads any bytes as a file of arrays.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = tautomer_fuzz::arrays(bytes);
});
