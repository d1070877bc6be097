//! The `tautomer` command.

fn main() -> std::process::ExitCode {
    tautomer::cli::run(std::env::args_os()).into()
}
