//! The compiled part of the Python package: thin wrappers of the library. What is Python's own - messages, notebooks,
//! tracing of functions, other packages' models - is written in Python beside it.

mod arrays;
mod drawn;
mod interrupt;
mod lent;
mod model;
mod optimize;
mod problems;
mod rules;
mod session;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command; `args` begin with the name of the program. Returns the exit code.
#[pyfunction]
fn cli(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| tautomer::cli::run(args))
}

/// The explanation of a message code, if there is one.
#[pyfunction]
fn explain(code: &str) -> Option<String> {
    tautomer::diag::explain(code).map(|info| format!("{}: {}\n\n{}", info.code, info.title, info.text))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<lent::Elements>()?;
    module.add_class::<rules::RuleSet>()?;
    module.add_class::<optimize::Optimized>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<drawn::Instances>()?;
    module.add_function(wrap_pyfunction!(cli, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(drawn::grown, module)?)?;
    module.add_function(wrap_pyfunction!(rules::format_rule_text, module)?)?;
    module.add_function(wrap_pyfunction!(optimize::optimize, module)?)?;
    module.add_function(wrap_pyfunction!(optimize::verify, module)?)?;
    Ok(())
}
