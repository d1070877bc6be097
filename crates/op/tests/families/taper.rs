use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_sizes() {
    table(
        infer,
        &[
            ("hann_window", "size=4", &[], "f32[4]"),
            ("hamming_window", "size=5 output_datatype=f64", &[], "f64[5]"),
            ("blackman_window", "", &["i64"], "f32[?]"),
            ("hann_window", "size=-1", &[], "`size` must not be negative, but is -1"),
            (
                "mel_weight_matrix",
                "num_mel_bins=8 dft_length=16 sample_rate=8192 lower_edge_hertz=0.5 upper_edge_hertz=4096.5",
                &[],
                "f32[9, 8]",
            ),
        ],
    );
}

#[test]
fn windows_taper_off() {
    table(
        eval,
        &[
            ("hann_window", "size=4 periodic=false", &[], "f32[4] 0 0.75 0.75 0"),
            ("hann_window", "", &["i64 4"], "f32[4] 0 0.5 1 0.5"),
            ("hann_window", "size=1 periodic=false", &[], "f32[1] 1"),
            ("blackman_window", "size=0", &[], "f32[0]"),
            ("hann_window", "size=4 output_datatype=i32", &[], "i32[4] 0 0 1 0"),
        ],
    );
}
