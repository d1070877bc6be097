//! Runs a model with RTen; `../../peer.rs` says how.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;

#[path = "../../peer.rs"]
mod peer;

use peer::{Array, Elements, Request, Result};

/// A model that is ready to run.
struct Loaded {
    model: Model,
    inputs: Vec<(NodeId, Value)>,
    outputs: Vec<NodeId>,
    pool: Arc<ThreadPool>,
}

fn load(request: &Request) -> Result<Loaded> {
    let model = ModelOptions::with_all_ops()
        .prepack_weights(true)
        .load_file(&request.model)?;
    let inputs = request
        .inputs
        .iter()
        .map(|array| Ok((model.node_id(&array.name)?, value(array)?)));
    let inputs = inputs.collect::<Result<_>>()?;
    Ok(Loaded {
        inputs,
        outputs: model.output_ids().to_vec(),
        pool: Arc::new(ThreadPool::with_num_threads(request.threads)),
        model,
    })
}

/// RTen has integers of 32 bits alone.
fn value(array: &Array) -> Result<Value> {
    let shape = &array.shape;
    Ok(match &array.elements {
        Elements::F32(list) => Value::from_shape(shape, list.clone())?,
        Elements::I32(list) => Value::from_shape(shape, list.clone())?,
        Elements::I64(list) => {
            let list = list.iter().map(|&x| i32::try_from(x));
            Value::from_shape(shape, list.collect::<std::result::Result<Vec<_>, _>>()?)?
        }
        Elements::I8(list) => Value::from_shape(shape, list.clone())?,
        Elements::U8(list) => Value::from_shape(shape, list.clone())?,
        Elements::Bool(list) => Value::from_shape(shape, list.iter().map(|&x| i32::from(x)).collect::<Vec<_>>())?,
    })
}

fn run(loaded: &mut Loaded) -> Result<Vec<Value>> {
    let inputs = loaded.inputs.iter().map(|(id, value)| (*id, value.as_view().into()));
    let mut options = RunOptions::default();
    options.thread_pool = Some(loaded.pool.clone());
    Ok(loaded.model.run(inputs.collect(), &loaded.outputs, Some(options))?)
}

fn array(value: &Value) -> Result<Array> {
    let (shape, elements) = match value {
        Value::FloatTensor(t) => (t.shape(), Elements::F32(t.to_vec())),
        Value::Int32Tensor(t) => (t.shape(), Elements::I32(t.to_vec())),
        Value::Int8Tensor(t) => (t.shape(), Elements::I8(t.to_vec())),
        Value::UInt8Tensor(t) => (t.shape(), Elements::U8(t.to_vec())),
        _ => return Err("a result is not a tensor".into()),
    };
    Ok(Array {
        name: String::new(),
        shape: shape.to_vec(),
        elements,
    })
}

fn main() -> Result<()> {
    Request::read()?.measure(load, run, |results| results.iter().map(array).collect())
}
