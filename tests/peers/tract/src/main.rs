//! Runs a model with tract; `../../peer.rs` says how.

use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::multithread::{Executor, multithread_tract_scope};

#[path = "../../peer.rs"]
mod peer;

use peer::{Array, Elements, Request, Result};

/// A model that is ready to run.
struct Loaded {
    state: TypedSimpleState,
    inputs: TVec<TValue>,
    executor: Executor,
}

fn load(request: &Request) -> Result<Loaded> {
    let mut model = tract_onnx::onnx().model_for_path(&request.model)?;
    let mut inputs = TVec::new();
    for (i, outlet) in model.input_outlets()?.to_vec().iter().enumerate() {
        let name = &model.node(outlet.node).name;
        let array = request.inputs.iter().find(|array| array.name == *name);
        let value = tensor(array.ok_or_else(|| format!("there is no value for {name}"))?)?;
        model.set_input_fact(i, InferenceFact::dt_shape(value.datum_type(), value.shape()))?;
        inputs.push(value.into_tvalue());
    }
    Ok(Loaded {
        state: model.into_optimized()?.into_runnable()?.spawn()?,
        inputs,
        executor: match request.threads {
            1 => Executor::SingleThread,
            n => Executor::multithread(n),
        },
    })
}

fn tensor(array: &Array) -> Result<Tensor> {
    let shape = &array.shape;
    Ok(match &array.elements {
        Elements::F32(list) => Tensor::from_shape(shape, list)?,
        Elements::I32(list) => Tensor::from_shape(shape, list)?,
        Elements::I64(list) => Tensor::from_shape(shape, list)?,
        Elements::I8(list) => Tensor::from_shape(shape, list)?,
        Elements::U8(list) => Tensor::from_shape(shape, list)?,
        Elements::Bool(list) => Tensor::from_shape(shape, list)?,
    })
}

fn run(loaded: &mut Loaded) -> Result<TVec<TValue>> {
    let Loaded {
        state,
        inputs,
        executor,
    } = loaded;
    Ok(multithread_tract_scope(executor.clone(), || state.run(inputs.clone()))?)
}

fn array(value: &TValue) -> Result<Array> {
    let ty = value.datum_type();
    let elements = if ty == i64::datum_type() {
        Elements::I64(value.to_plain_array_view::<i64>()?.iter().copied().collect())
    } else if ty == bool::datum_type() {
        Elements::Bool(value.to_plain_array_view::<bool>()?.iter().copied().collect())
    } else {
        let value = value.cast_to::<f32>()?;
        Elements::F32(value.to_plain_array_view::<f32>()?.iter().copied().collect())
    };
    Ok(Array {
        name: String::new(),
        shape: value.shape().to_vec(),
        elements,
    })
}

fn main() -> Result<()> {
    Request::read()?.measure(load, run, |results| results.iter().map(array).collect())
}
