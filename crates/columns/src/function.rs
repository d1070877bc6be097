//! The registry: functions, their names, their signatures.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use arrow_array::ArrayRef;

use crate::kernels::cell::{Cell, Failure};
use crate::kernels::column::{Column, Context};
use crate::kernels::families;
use crate::types::{Type, TypeSet};

/// What a function takes at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arg {
    /// The type that the signature is over, the same wherever it occurs.
    T,
    /// Any of these types.
    Of(TypeSet),
}

/// What a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    /// The type that the signature is over.
    T,
    /// Always this type.
    Is(Type),
    /// `f32` if the signature is over `f32`, else `f64`.
    Float,
}

/// One form of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signature {
    /// The types that `T` may be.
    pub(crate) over: TypeSet,
    /// The arguments.
    pub(crate) args: &'static [Arg],
    /// The last argument may be repeated until there are so many.
    pub(crate) up_to: usize,
    /// The result.
    pub(crate) returns: Returns,
}

impl Signature {
    /// A signature over the types `over`.
    pub(crate) const fn new(over: TypeSet, args: &'static [Arg], returns: Returns) -> Self {
        let up_to = args.len();
        Signature {
            over,
            args,
            up_to,
            returns,
        }
    }

    /// The same, where the last argument may be repeated.
    pub(crate) const fn repeated(self, up_to: usize) -> Self {
        Signature { up_to, ..self }
    }

    /// The argument at `at`.
    pub(crate) fn arg(&self, at: usize) -> Arg {
        self.args[at.min(self.args.len() - 1)]
    }

    /// True if it takes so many arguments.
    pub(crate) fn takes(&self, count: usize) -> bool {
        self.args.len() <= count && count <= self.up_to
    }

    /// What remains possible if the arguments and the result have types from these sets: the types of `T`; `None` if
    /// nothing does.
    pub(crate) fn fit(&self, args: &[TypeSet], result: TypeSet) -> Option<TypeSet> {
        let mut over = self.over;
        for (at, set) in args.iter().enumerate() {
            match self.arg(at) {
                Arg::T => over = over.and(*set),
                Arg::Of(types) if types.and(*set).is_empty() => return None,
                Arg::Of(_) => {}
            }
        }
        match self.returns {
            Returns::T => over = over.and(result),
            Returns::Is(ty) if !result.has(ty) => return None,
            Returns::Is(_) => {}
            Returns::Float => {
                if !result.has(Type::Float32) {
                    over = over.without(TypeSet::one(Type::Float32));
                }
                if !result.has(Type::Float64) {
                    over = over.and(TypeSet::one(Type::Float32));
                }
            }
        }
        (!over.is_empty()).then_some(over)
    }

    /// The types of results if `T` is one of these.
    pub(crate) fn results(&self, over: TypeSet) -> TypeSet {
        let single = TypeSet::one(Type::Float32);
        match self.returns {
            Returns::T => over,
            Returns::Is(ty) => TypeSet::one(ty),
            Returns::Float if over == single => single,
            Returns::Float if over.has(Type::Float32) => TypeSet::FLOATS,
            Returns::Float => TypeSet::one(Type::Float64),
        }
    }

    /// As shown in messages: `(T, T) -> T where T: any number`.
    pub(crate) fn describe(&self) -> String {
        let mut out = String::from("(");
        let shown = |arg: &Arg| match arg {
            Arg::T => match self.over.only() {
                Some(ty) => ty.to_string(),
                None => "T".to_owned(),
            },
            Arg::Of(types) => types.to_string(),
        };
        let args: Vec<String> = self.args.iter().map(shown).collect();
        out += &args.join(", ");
        if self.up_to > self.args.len() {
            out += ", …";
        }
        let _ = match (self.returns, self.over.only()) {
            (Returns::T, Some(ty)) | (Returns::Is(ty), _) => write!(out, ") -> {ty}"),
            (Returns::T, None) => write!(out, ") -> T"),
            (Returns::Float, _) => write!(out, ") -> f64, or f32 for f32"),
        };
        let open = self.args.contains(&Arg::T) && self.over.only().is_none();
        if open {
            let _ = write!(out, " where T: {}", self.over);
        }
        out
    }
}

/// How a function treats nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// The result is null where any argument is; validity is computed apart from values, 64 rows at a time.
    Strict,
    /// The function reads the validity of its arguments and writes its own.
    Own,
}

/// The implementation of a function.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    /// Over whole arrays.
    Arrays(fn(&Context<'_>, &[ArrayRef]) -> Column),
    /// Row by row.
    Rows(for<'a> fn(&Context<'_>, &[Cell<'a>]) -> Result<Cell<'a>, Failure>),
}

/// A function of doubles, for calls of single values.
#[derive(Clone, Copy)]
pub(crate) enum Real {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Test(fn(f64, f64) -> bool),
}

/// A function.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Its names; the first one is shown in messages.
    pub(crate) names: &'static [&'static str],
    /// Its forms, in the order they are tried.
    pub(crate) signatures: &'static [Signature],
    /// How it treats nulls.
    pub(crate) nulls: Nulls,
    /// Whether equal calls have equal values.
    pub(crate) pure_function: bool,
    /// The implementation.
    pub(crate) kernel: Kernel,
    /// The same for single doubles, if there is a faster way.
    pub(crate) real: Option<Real>,
}

impl Function {
    /// A function whose result is null where an argument is.
    pub(crate) const fn strict(
        names: &'static [&'static str],
        signatures: &'static [Signature],
        kernel: Kernel,
    ) -> Self {
        Function {
            names,
            signatures,
            nulls: Nulls::Strict,
            pure_function: true,
            kernel,
            real: None,
        }
    }

    /// A function that treats nulls in its own way.
    pub(crate) const fn own(names: &'static [&'static str], signatures: &'static [Signature], kernel: Kernel) -> Self {
        Function {
            nulls: Nulls::Own,
            ..Function::strict(names, signatures, kernel)
        }
    }

    /// The function with its form for single doubles.
    pub(crate) const fn with_real(self, real: Real) -> Self {
        Function {
            real: Some(real),
            ..self
        }
    }

    /// The name shown in messages.
    pub(crate) fn name(&self) -> &'static str {
        self.names[0]
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Functions by their names in lower case.
static BY_NAME: LazyLock<BTreeMap<String, &'static Function>> = LazyLock::new(|| {
    let mut out = BTreeMap::new();
    for function in families().iter().copied().flatten() {
        for name in function.names {
            out.insert(name.to_ascii_lowercase(), function);
        }
    }
    out
});

/// The function of a name, in any case.
pub(crate) fn lookup(name: &str) -> Option<&'static Function> {
    match BY_NAME.get(name) {
        Some(function) => Some(function),
        None => BY_NAME.get(&name.to_ascii_lowercase()).copied(),
    }
}

/// The names of all functions, as they are written in the table.
///
/// ```
/// assert!(tautomer_columns::function_names().any(|name| name == "castFLOAT8"));
/// ```
pub fn function_names() -> impl Iterator<Item = &'static str> {
    families()
        .iter()
        .copied()
        .flatten()
        .flat_map(|function| function.names.iter().copied())
}

/// A function as it is listed in documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its names.
    pub names: &'static [&'static str],
    /// Its forms: `(T, T) -> T where T: any number`.
    pub forms: Vec<String>,
    /// True if the result is null where an argument is.
    pub strict: bool,
}

/// All functions, in the order of the table.
///
/// ```
/// let add = &tautomer_columns::functions()[0];
/// assert_eq!(add.names, ["add"]);
/// assert_eq!(add.forms[0], "(T, T) -> T where T: any number");
/// ```
pub fn functions() -> Vec<FunctionInfo> {
    let all = families().iter().copied().flatten();
    all.map(|function| FunctionInfo {
        names: function.names,
        forms: function.signatures.iter().map(Signature::describe).collect(),
        strict: function.nulls == Nulls::Strict,
    })
    .collect()
}

/// The type that a function returns for arguments of these types; `None` if it has no such form.
///
/// ```
/// use tautomer_columns::{Type, return_type};
///
/// assert_eq!(return_type("castfloat8", &[Type::Int32]), Some(Type::Float64));
/// assert_eq!(return_type("add", &[Type::Int32, Type::Int64]), None);
/// ```
pub fn return_type(name: &str, args: &[Type]) -> Option<Type> {
    let sets: Vec<TypeSet> = args.iter().map(|&ty| TypeSet::one(ty)).collect();
    lookup(name)?
        .signatures
        .iter()
        .filter(|signature| signature.takes(args.len()))
        .find_map(|signature| signature.results(signature.fit(&sets, TypeSet::ALL)?).only())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_without_case() {
        let names: Vec<String> = function_names().map(str::to_ascii_lowercase).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        // Two functions may differ in case alone only if they are one function.
        for name in distinct {
            let of: Vec<_> = families()
                .iter()
                .copied()
                .flatten()
                .filter(|f| f.names.iter().any(|n| n.eq_ignore_ascii_case(name)))
                .collect();
            assert_eq!(of.len(), 1, "{name}");
        }
    }

    #[test]
    fn no_forms_differ_in_their_results_alone() {
        for function in families().iter().copied().flatten() {
            for (i, a) in function.signatures.iter().enumerate() {
                for b in &function.signatures[i + 1..] {
                    for count in a.args.len()..=a.up_to {
                        if !b.takes(count) {
                            continue;
                        }
                        let overlap = overlap(a, b, count);
                        assert!(!overlap, "{}: {} and {}", function.name(), a.describe(), b.describe());
                    }
                }
            }
        }
    }

    /// True if both forms take some arguments of the same types.
    fn overlap(a: &Signature, b: &Signature, count: usize) -> bool {
        let choices = |signature: &Signature, ty: Option<Type>, at: usize| match (signature.arg(at), ty) {
            (Arg::T, Some(ty)) => TypeSet::one(ty),
            (Arg::T, None) => TypeSet::NONE,
            (Arg::Of(types), _) => types,
        };
        a.over.iter().any(|x| {
            b.over
                .iter()
                .any(|y| (0..count).all(|at| !choices(a, Some(x), at).and(choices(b, Some(y), at)).is_empty()))
        })
    }
}
