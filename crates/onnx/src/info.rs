//! The parts of a model other than its computation, kept for writing it back.

use std::sync::Arc;

use indexmap::IndexMap;

use super::proto::{
    DeviceConfigurationProto, FunctionProto, NodeDeviceConfigurationProto, StringStringEntryProto, TensorAnnotation,
    TensorProto, TrainingInfoProto, TypeProto, ValueInfoProto,
};
use super::types::Symbols;

/// The operator set of graphs that do not come from a model.
const DEFAULT_OPSET: i64 = 21;

/// Everything in a model that its graph and parameters do not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxInfo {
    /// Version of the file format.
    pub ir_version: i64,
    /// Version of the operator set of each domain; the default domain is `""`.
    pub opsets: IndexMap<String, i64>,
    /// The tool that wrote the model.
    pub producer_name: Option<String>,
    /// The version of that tool.
    pub producer_version: Option<String>,
    /// Reverse domain name of the model.
    pub domain: Option<String>,
    /// Version of the model.
    pub model_version: Option<i64>,
    /// Documentation of the model.
    pub doc_string: Option<String>,
    /// Named metadata of the model.
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Training steps.
    pub training_info: Vec<TrainingInfoProto>,
    /// Functions local to the model.
    pub functions: Vec<FunctionProto>,
    /// Configurations for several devices.
    pub configuration: Vec<DeviceConfigurationProto>,
    /// Named metadata of the graph.
    pub graph_metadata: Vec<StringStringEntryProto>,
    /// Quantization parameters of values.
    pub quantization: Vec<TensorAnnotation>,
    /// Values as declared, by name.
    pub values: IndexMap<Arc<str>, ValueInfoProto>,
    /// Information about nodes other than their computation, by the name of their first result.
    pub nodes: IndexMap<Arc<str>, NodeInfo>,
    /// Initializers that a caller of the model could replace.
    pub overridable: Vec<Arc<str>>,
    /// Tensors used as quantization parameters, by name.
    pub(super) annotated: IndexMap<Arc<str>, TensorProto>,
    /// Types of values that are not tensors, or whose element type tensors do not support.
    pub(super) foreign: IndexMap<Arc<str>, TypeProto>,
    pub(super) symbols: Symbols,
}

/// Information about a node other than its computation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeInfo {
    /// Its name.
    pub name: Option<String>,
    /// Its operator.
    pub op_type: String,
    /// The overload, if several functions share a name.
    pub overload: Option<String>,
    /// Documentation.
    pub doc_string: Option<String>,
    /// Named metadata.
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Placement on devices.
    pub device_configurations: Vec<NodeDeviceConfigurationProto>,
}

impl OnnxInfo {
    /// Stores information about a node; values of two nested graphs may have the same name.
    pub(super) fn keep_node(&mut self, first: Arc<str>, node: NodeInfo) {
        let other = self.nodes.get(&first).is_some_and(|old| old.op_type != node.op_type);
        let key = match other {
            true => format!("{first}\0{}", node.op_type).into(),
            false => first,
        };
        self.nodes.insert(key, node);
    }

    /// The information about the node with that operator and that name of its first result.
    pub(super) fn node(&self, first: &str, op_type: &str) -> Option<&NodeInfo> {
        let same = |node: &&NodeInfo| node.op_type == op_type;
        let other = || self.nodes.get(format!("{first}\0{op_type}").as_str());
        self.nodes.get(first).filter(same).or_else(other).filter(same)
    }

    /// The version of the default operator set.
    pub fn opset(&self) -> i64 {
        self.opsets.get("").copied().unwrap_or(DEFAULT_OPSET)
    }
}

impl Default for OnnxInfo {
    fn default() -> OnnxInfo {
        OnnxInfo {
            ir_version: 10,
            opsets: IndexMap::from([(String::new(), DEFAULT_OPSET)]),
            producer_name: Some("tautomer".to_string()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_string()),
            domain: None,
            model_version: None,
            doc_string: None,
            metadata_props: Vec::new(),
            training_info: Vec::new(),
            functions: Vec::new(),
            configuration: Vec::new(),
            graph_metadata: Vec::new(),
            quantization: Vec::new(),
            values: IndexMap::new(),
            nodes: IndexMap::new(),
            overridable: Vec::new(),
            annotated: IndexMap::new(),
            foreign: IndexMap::new(),
            symbols: Symbols::default(),
        }
    }
}
