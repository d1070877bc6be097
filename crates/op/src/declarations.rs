//! The operators that the files in `ops/` declare, as the build script made rows of them.

include!(concat!(env!("OUT_DIR"), "/declarations.rs"));
