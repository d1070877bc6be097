//! Any text is a PNNX model, or there is a message; what is written of a model is read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tautomer_fuzz::pnnx(bytes);
});
