//! Compiled programs, kept for expressions that compute the same.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Schema};
use rustc_hash::FxHashMap;

use super::machine::Machine;
use crate::options::Options;
use crate::program::{Key, NodeId, Program};
use crate::simplify::simplify;
use crate::types::Type;

/// What decides how a program is compiled: no names, and no text.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    nodes: Vec<(Key, Type)>,
    roots: Vec<NodeId>,
    columns: Vec<DataType>,
    options: Options,
}

/// Compiled expressions, which are used again for expressions that compute the same over columns of the same types,
/// whatever their text and the names of columns. It may be shared by threads.
///
/// ```
/// use tautomer_columns::{Compiled, Expressions, Projector, schema};
///
/// let compiled = Compiled::new(1000);
/// for (columns, text) in [("x: f64", "x + 1"), ("price: f64", "price+1")] {
///     let expressions = Expressions::parse(&schema(columns).unwrap(), text).unwrap();
///     Projector::make_with(&[expressions], &compiled).unwrap();
/// }
/// assert_eq!(compiled.len(), 1);
/// ```
pub struct Compiled {
    most: usize,
    machines: Mutex<FxHashMap<Identity, Arc<Machine>>>,
}

impl Compiled {
    /// Keeps at most so many; when there are more, all are forgotten.
    pub fn new(most: usize) -> Self {
        Compiled {
            most,
            machines: Mutex::new(FxHashMap::default()),
        }
    }

    /// The number that is kept.
    pub fn len(&self) -> usize {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn machine(
        &self,
        program: &Program,
        roots: &[NodeId],
        schema: &Schema,
        options: &Options,
    ) -> Arc<Machine> {
        let compile = || {
            let (program, roots) = simplify(program, roots, schema, options);
            Arc::new(Machine::new(program, roots, schema, options.clone()))
        };
        if self.most == 0 {
            return compile();
        }
        let identity = Identity {
            nodes: program.key(),
            roots: roots.to_vec(),
            columns: schema.fields().iter().map(|field| field.data_type().clone()).collect(),
            options: options.clone(),
        };
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = machines.get(&identity) {
            return Arc::clone(machine);
        }
        if machines.len() >= self.most {
            machines.clear();
        }
        let machine = compile();
        machines.insert(identity, Arc::clone(&machine));
        machine
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("len", &self.len()).finish()
    }
}
