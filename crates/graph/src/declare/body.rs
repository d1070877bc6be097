//! The body of a declared operator as a function.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use tautomer_diag::Source;
use tautomer_lang::ast::{Function, Item, Mark, OperatorDecl, Param, ParamClass, Program, RuleFile};
use tautomer_op::{AttrDef, AttrValue, OpDef, Operand, OperandKind, Scope, Semantics, table};
use tautomer_tensor::Type;

use super::{Code, synthetic};
use crate::build::Builder;
use crate::sink::ValueId;
use crate::term::{self, Term};

/// The data kept with an operator that has a declaration.
pub(crate) fn code_of(def: &OpDef) -> Option<&'static Code> {
    match def.declared {
        Some(declared) => {
            let code: &'static dyn Any = declared.code;
            code.downcast_ref()
        }
        None => of_table(def),
    }
}

/// The declaration of an operator of the table, which is read when it is first needed.
fn of_table(def: &OpDef) -> Option<&'static Code> {
    static READ: OnceLock<HashMap<&'static str, OnceLock<Option<Code>>>> = OnceLock::new();
    let Semantics::Composite(body) = def.semantics else {
        return None;
    };
    let read = READ.get_or_init(|| {
        let composites = table().filter(|op| op.composite_body().is_some());
        composites.map(|op| (op.name, OnceLock::new())).collect()
    });
    let code = read.get(def.name)?.get_or_init(|| {
        let source = Source::new(format!("<declaration of {}>", def.name), body.text);
        // The build wrote the tree.
        let file = RuleFile::from_bytes(body.tree, Arc::new(source)).ok()?;
        let Some(Item::Operator(decl)) = file.items.into_iter().next() else {
            return None;
        };
        let decl = *decl;
        Some(Code {
            program: program(&decl),
            decl,
            scope: Scope::default(),
        })
    });
    code.as_ref()
}

/// The expressions of a declaration, and its body as the only function.
pub(super) fn program(decl: &OperatorDecl) -> Program {
    let mut program = synthetic(decl);
    let params = decl.operands.iter().map(|operand| Param {
        name: operand.name.clone(),
        positional: None,
        class: ParamClass::Input,
        // The type of a variadic operand is that of each value.
        ty: operand.ty.clone().filter(|_| operand.mark != Mark::Variadic),
        span: operand.span,
    });
    program.functions.extend(decl.body.clone().map(|body| Function {
        doc: None,
        name: Some(decl.name.clone()),
        params: params.collect(),
        result: None,
        body,
        span: decl.span,
    }));
    program
}

/// Binds the names of the operands and attributes of a call in the body of its operator. A variadic operand is the list
/// of its values.
pub(crate) fn bind_operands(
    builder: &mut Builder<'_>,
    (declared, attr_defs): (&[Operand], &[AttrDef]),
    names: &[std::sync::Arc<str>],
    operands: &[ValueId],
    attrs: &[AttrValue],
) {
    for (attr, value) in attr_defs.iter().zip(attrs) {
        builder.bind(&attr.name.into(), Some(term::from_attr(value)));
    }
    for (i, name) in names.iter().enumerate() {
        let value = match declared.get(i).map(|o| o.kind) {
            Some(OperandKind::Variadic) => {
                let rest = operands.get(i..).unwrap_or_default();
                Term::List(rest.iter().copied().map(Term::Value).collect())
            }
            _ => {
                let given = operands
                    .get(i)
                    .copied()
                    .filter(|v| *builder.sink.ty(*v) != Type::Absent);
                given.map_or(Term::None, Term::Value)
            }
        };
        builder.bind(name, Some(value));
    }
}
