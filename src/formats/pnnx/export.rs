//! Graphs into models.

use indexmap::IndexMap;

use super::ParamFile;
use crate::diag::Diagnostics;
use crate::graph::{Graph, Params};

/// A model made from a graph.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The operators.
    pub file: ParamFile,
    /// The tensors, by the name of operator and attribute.
    pub weights: IndexMap<String, Vec<u8>>,
    /// What the user should know; no errors.
    pub notes: Diagnostics,
}

/// The model of a graph.
pub fn export(_: &Graph, _: &Params) -> Result<Exported, Diagnostics> {
    Ok(Exported { file: ParamFile::default(), weights: IndexMap::new(), notes: Diagnostics::new() })
}
