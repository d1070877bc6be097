//! The operators that the files in `ops/` declare, as rows made by the build script.

include!(concat!(env!("OUT_DIR"), "/declarations.rs"));
