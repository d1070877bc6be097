//! Expressions over batches of tensors, as the layer `pnnx.Expression` of KuiperInfer computes them; see its course on
//! expressions for the order of operands. [`tautomer_pnnx::kuiper`] parses them.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use crate::diag::Diagnostics;
use crate::exec::{Executor, Mode, Plan};
use crate::graph::{Graph, Params};
use crate::tensor::{Tensor, TensorType};
use tautomer_pnnx::kuiper::Statement;

pub use tautomer_pnnx::kuiper::{Rpn, Token, TokenKind};

/// A statement, parsed once; it computes any number of batches.
///
/// ```
/// use tautomer::kuiper::Expression;
/// use tautomer::tensor::Tensor;
///
/// let expression = Expression::parse("mul(@2, add(@0, @1))").unwrap();
/// assert_eq!(expression.rpn_text(), "2 0 1 add mul");
/// let full = |v: f32| Tensor::new(&[3, 2, 2], vec![v; 12]).unwrap();
/// let mut out = [full(0.0)];
/// expression.forward(&[full(2.0), full(3.0), full(4.0)], &mut out).unwrap();
/// assert_eq!(out[0], full(20.0));
/// ```
pub struct Expression {
    statement: Statement,
    /// The executor for the last types of operands.
    ready: Mutex<Option<(Vec<TensorType>, Arc<Executor>)>>,
}

/// Why a batch was not computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// There are no operands, or one of them has no elements.
    #[error("there are no operands, or one of them has no elements")]
    InputEmpty,
    /// There are no outputs, or one of them has no elements.
    #[error("there are no outputs, or one of them has no elements")]
    OutputEmpty,
    /// There are too few tensors for an operand.
    #[error(
        "operand @{operand} doesn't have appropriate number of tensors: {batch} are wanted from position {from} on, and there are {given} in all"
    )]
    TooFew {
        /// The operand.
        operand: u32,
        /// Tensors of each operand.
        batch: usize,
        /// Where those of this one begin.
        from: usize,
        /// Tensors that were given.
        given: usize,
    },
    /// Operands do not fit each other.
    #[error("in item {item} of the batch: {why}")]
    Operands {
        /// The item of the batch.
        item: usize,
        /// The problem, with the types.
        why: String,
    },
    /// The result has another type than the output that was given for it.
    #[error("item {item} of the batch is {found}, and its output {wanted}")]
    Shape {
        /// The item of the batch.
        item: usize,
        /// The type of the result.
        found: String,
        /// The type of the output.
        wanted: String,
    },
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Expression").field(&self.rpn_text()).finish()
    }
}

impl Expression {
    /// Parses a statement; blanks do not count.
    ///
    /// # Errors
    /// The first problem, with its position.
    pub fn parse(statement: &str) -> Result<Expression, Diagnostics> {
        Ok(Expression {
            statement: Statement::parse(statement)?,
            ready: Mutex::new(None),
        })
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[Token] {
        self.statement.tokens()
    }

    /// Its items in reverse Polish order.
    pub fn rpn(&self) -> &[Rpn] {
        self.statement.rpn()
    }

    /// The same as a line of text.
    pub fn rpn_text(&self) -> String {
        self.statement.rpn_text()
    }

    /// One more than the largest number of an operand.
    pub fn operands(&self) -> usize {
        self.statement.operands()
    }

    /// The graph of the statement for operands of these types.
    ///
    /// # Errors
    /// If types do not fit each other.
    pub fn graph(&self, types: &[TensorType]) -> Result<Graph, String> {
        self.statement.graph(types)
    }

    /// Computes a batch with as many items as there are outputs. The tensors of operand `k` start at `k` times the size
    /// of the batch. Shapes broadcast as elsewhere; each result has the shape of the output that it replaces.
    ///
    /// # Errors
    /// If there is nothing to compute, tensors are missing, or shapes do not fit. Outputs are then unchanged.
    pub fn forward(&self, inputs: &[Tensor], outputs: &mut [Tensor]) -> Result<(), ExpressionError> {
        if inputs.is_empty() || inputs.iter().any(Tensor::is_empty) {
            return Err(ExpressionError::InputEmpty);
        }
        if outputs.is_empty() || outputs.iter().any(Tensor::is_empty) {
            return Err(ExpressionError::OutputEmpty);
        }
        let batch = outputs.len();
        for item in self.rpn() {
            let Rpn::Operand(operand) = *item else { continue };
            let from = (operand as usize).saturating_mul(batch);
            if from.saturating_add(batch) > inputs.len() {
                return Err(ExpressionError::TooFew {
                    operand,
                    batch,
                    from,
                    given: inputs.len(),
                });
            }
        }
        let mut results = Vec::with_capacity(batch);
        for (item, output) in outputs.iter().enumerate() {
            let operands: Vec<Tensor> = (0..self.operands()).map(|k| inputs[k * batch + item].clone()).collect();
            let failed = |why: String| ExpressionError::Operands { item, why };
            let executor = self.ready(&operands).map_err(failed)?;
            let result = executor
                .run(&operands, &Params::default())
                .map_err(|e| failed(e.to_string()))?;
            let Some(result) = result.into_iter().next() else {
                continue;
            };
            if result.ty() != output.ty() {
                return Err(ExpressionError::Shape {
                    item,
                    found: result.ty().to_string(),
                    wanted: output.ty().to_string(),
                });
            }
            results.push(result);
        }
        outputs.clone_from_slice(&results);
        Ok(())
    }

    /// The executor for operands of these types.
    fn ready(&self, operands: &[Tensor]) -> Result<Arc<Executor>, String> {
        let types: Vec<TensorType> = operands.iter().map(Tensor::ty).collect();
        // What another thread left half done is not there.
        let mut ready = self.ready.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((known, executor)) = &*ready
            && *known == types
        {
            return Ok(executor.clone());
        }
        let graph = self.statement.graph(&types)?;
        let plan = Plan::compile(&graph).map_err(|e| e.to_string())?;
        let executor = Arc::new(Executor::new(plan, Mode::Kernels).map_err(|e| e.to_string())?);
        *ready = Some((types, executor.clone()));
        Ok(executor)
    }
}
