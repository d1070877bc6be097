//! Reads any bytes as a file of arrays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tautomer::formats::{npy, onnx, safetensors};

fuzz_target!(|bytes: &[u8]| {
    let _ = npy::read_npy(bytes);
    let _ = npy::read_npz(bytes);
    let _ = safetensors::read(bytes);
    let _ = onnx::read_tensor_file(bytes, None);
});
