//! Any text must be a PNNX model or give a message; a written model is read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::pnnx(bytes);
});
