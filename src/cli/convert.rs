//! `tautomer convert`: a program or model in another format.

use std::path::PathBuf;

use super::input::{self, Kind};
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write it (.taut, .onnx or .pnnx.param); the weights of a .pnnx.param go into the .bin file beside it
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Values for the parameters (.safetensors or .npz) [default: the .safetensors file beside the program]
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The file type, regardless of its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    if input::is_standard(&args.result) {
        return Err(Failure::new(
            "T0402",
            "`convert` writes to a file, not to standard output",
        ));
    }
    output::destination(&args.result)?;
    let loaded = input::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let notes = output::write_workload(&args.result, &loaded.workload, loaded.info.as_ref())?;
    shell.notes(&notes);
    Ok(())
}
