//! Reads any bytes as a model that is optimized, written, and read back.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::round_trip(bytes);
});
