//! Element types of PNNX, and torch's type promotion.

use std::fmt;

use tautomer_tensor::DType;

use super::expression::Function;

/// An element type as written in `.pnnx.param` files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the format")]
pub enum ElementType {
    Null,
    F32,
    F64,
    F16,
    I32,
    I64,
    I16,
    I8,
    U8,
    Bool,
    C64,
    C128,
    C32,
    Bf16,
}

/// The category of numbers that an element type holds; each category includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Real numbers.
    Float,
    /// Complex numbers.
    Complex,
}

/// How an operand affects the type of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// A tensor with axes.
    Tensor,
    /// A tensor without axes.
    Scalar,
    /// A host number, such as a literal.
    Host,
}

use ElementType as E;

impl ElementType {
    /// Every element type, in the order of its number in the format.
    pub const ALL: [ElementType; 14] = [
        E::Null,
        E::F32,
        E::F64,
        E::F16,
        E::I32,
        E::I64,
        E::I16,
        E::I8,
        E::U8,
        E::Bool,
        E::C64,
        E::C128,
        E::C32,
        E::Bf16,
    ];

    /// The name in the format.
    pub const fn name(self) -> &'static str {
        match self {
            E::Null => "null",
            E::F32 => "f32",
            E::F64 => "f64",
            E::F16 => "f16",
            E::I32 => "i32",
            E::I64 => "i64",
            E::I16 => "i16",
            E::I8 => "i8",
            E::U8 => "u8",
            E::Bool => "bool",
            E::C64 => "c64",
            E::C128 => "c128",
            E::C32 => "c32",
            E::Bf16 => "bf16",
        }
    }

    /// The element type with this torch name; torch's short names are accepted as well.
    ///
    /// ```
    /// use tautomer_pnnx::ElementType;
    /// assert_eq!(ElementType::of_torch("long"), ElementType::of_torch("int64"));
    /// ```
    pub fn of_torch(name: &str) -> Option<ElementType> {
        Some(match name.strip_prefix("torch.").unwrap_or(name) {
            "float" | "float32" => E::F32,
            "double" | "float64" => E::F64,
            "half" | "float16" => E::F16,
            "bfloat16" => E::Bf16,
            "int" | "int32" => E::I32,
            "long" | "int64" => E::I64,
            "short" | "int16" => E::I16,
            "int8" => E::I8,
            "uint8" => E::U8,
            "bool" => E::Bool,
            "cfloat" | "complex64" => E::C64,
            "cdouble" | "complex128" => E::C128,
            "chalf" | "complex32" => E::C32,
            _ => return None,
        })
    }

    /// The torch name, as accepted by [`of_torch`](ElementType::of_torch), without the prefix.
    pub const fn torch_name(self) -> &'static str {
        match self {
            E::Null => "None",
            E::F32 => "float",
            E::F64 => "double",
            E::F16 => "half",
            E::I32 => "int",
            E::I64 => "long",
            E::I16 => "int16",
            E::I8 => "int8",
            E::U8 => "uint8",
            E::Bool => "bool",
            E::C64 => "complex64",
            E::C128 => "complex128",
            E::C32 => "complex32",
            E::Bf16 => "bfloat16",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            E::Null => 0,
            E::I8 | E::U8 | E::Bool => 1,
            E::F16 | E::I16 | E::Bf16 => 2,
            E::F32 | E::I32 | E::C32 => 4,
            E::F64 | E::I64 | E::C64 => 8,
            E::C128 => 16,
        }
    }

    /// The type of tensors with these elements; complex numbers are pairs of real ones along a last axis.
    pub const fn dtype(self) -> Option<DType> {
        Some(match self {
            E::Null => return None,
            E::F32 | E::C64 => DType::F32,
            E::F64 | E::C128 => DType::F64,
            E::F16 | E::C32 => DType::F16,
            E::I32 => DType::I32,
            E::I64 => DType::I64,
            E::I16 => DType::I16,
            E::I8 => DType::I8,
            E::U8 => DType::U8,
            E::Bool => DType::Bool,
            E::Bf16 => DType::BF16,
        })
    }

    /// The element type of a tensor of real numbers, integers or booleans.
    pub const fn of_dtype(dtype: DType) -> Option<ElementType> {
        Some(match dtype {
            DType::F32 => E::F32,
            DType::F64 => E::F64,
            DType::F16 => E::F16,
            DType::BF16 => E::Bf16,
            DType::I32 => E::I32,
            DType::I64 => E::I64,
            DType::I16 => E::I16,
            DType::I8 => E::I8,
            DType::U8 => E::U8,
            DType::Bool => E::Bool,
            _ => return None,
        })
    }

    /// The category of its numbers.
    pub const fn category(self) -> Category {
        match self {
            E::Bool => Category::Bool,
            E::I8 | E::U8 | E::I16 | E::I32 | E::I64 => Category::Int,
            E::C32 | E::C64 | E::C128 => Category::Complex,
            _ => Category::Float,
        }
    }

    /// True for complex types.
    pub fn is_complex(self) -> bool {
        self.category() == Category::Complex
    }

    /// The complex type with parts of this type; torch has none for bfloat16.
    const fn complex(self) -> Option<ElementType> {
        Some(match self {
            E::F16 | E::C32 => E::C32,
            E::Bf16 => return None,
            E::F64 | E::C128 => E::C128,
            _ => E::C64,
        })
    }

    /// The type of the parts of a complex type; other types are unchanged.
    pub const fn real(self) -> ElementType {
        match self {
            E::C32 => E::F16,
            E::C64 => E::F32,
            E::C128 => E::F64,
            other => other,
        }
    }

    /// The smallest type that holds both, according to torch.
    ///
    /// ```
    /// use tautomer_pnnx::ElementType as E;
    /// assert_eq!(E::U8.promote(E::I8), Some(E::I16));
    /// assert_eq!(E::F16.promote(E::Bf16), Some(E::F32));
    /// ```
    pub fn promote(self, other: ElementType) -> Option<ElementType> {
        if self == other {
            return Some(self);
        }
        let (low, high) = if self.category() <= other.category() {
            (self, other)
        } else {
            (other, self)
        };
        if low.category() < high.category() {
            return match (high.category(), low.category()) {
                (Category::Complex, Category::Float) => high.wider(low.complex().unwrap_or(E::C64)),
                _ => Some(high),
            };
        }
        low.wider(high)
    }

    /// The wider of two types of the same category.
    fn wider(self, other: ElementType) -> Option<ElementType> {
        Some(match (self, other) {
            _ if self == other => self,
            (E::U8, E::I8) | (E::I8, E::U8) => E::I16,
            (E::F16, E::Bf16) | (E::Bf16, E::F16) => E::F32,
            _ if self.size() >= other.size() => self,
            _ => other,
        })
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for ElementType {
    type Err = ();
    fn from_str(text: &str) -> Result<ElementType, ()> {
        ElementType::ALL.into_iter().find(|t| t.name() == text).ok_or(())
    }
}

/// The type that torch computes with: tensors with axes decide, then tensors without axes, then host numbers, each only
/// if its category is higher than those before. `None` if there is no such type.
///
/// ```
/// use tautomer_pnnx::{ElementType as E, Weight, common_type};
/// assert_eq!(common_type(&[(E::I32, Weight::Tensor), (E::F32, Weight::Host)]), Some(E::F32));
/// assert_eq!(common_type(&[(E::F16, Weight::Tensor), (E::F64, Weight::Scalar)]), Some(E::F16));
/// ```
pub fn common_type(operands: &[(ElementType, Weight)]) -> Option<ElementType> {
    let mut out: Option<ElementType> = None;
    for weight in [Weight::Tensor, Weight::Scalar, Weight::Host] {
        let mut level: Option<ElementType> = None;
        for (ty, _) in operands.iter().filter(|(_, w)| *w == weight) {
            level = Some(match level {
                None => *ty,
                Some(so_far) => so_far.promote(*ty)?,
            });
        }
        let Some(level) = level else { continue };
        out = Some(match out {
            None => level,
            Some(above) if above.category() >= level.category() => above,
            Some(above) if level.is_complex() && above.category() == Category::Float => above.complex()?,
            Some(_) => level,
        });
    }
    out
}

/// The element type of the result of a function of tensors and numbers in torch; `None` if torch rejects it.
///
/// ```
/// use tautomer_pnnx::{ElementType as E, Function, Weight, result_type};
/// let f = |name| Function::by_name(name).unwrap();
/// assert_eq!(result_type(f("div"), &[(E::I32, Weight::Tensor), (E::I32, Weight::Host)]), Some(E::F32));
/// assert_eq!(result_type(f("abs"), &[(E::C64, Weight::Tensor)]), Some(E::F32));
/// assert_eq!(result_type(f("sub"), &[(E::Bool, Weight::Tensor), (E::F32, Weight::Tensor)]), None);
/// ```
pub fn result_type(function: Function, operands: &[(ElementType, Weight)]) -> Option<ElementType> {
    use Function as F;
    let common = common_type(operands)?;
    let category = common.category();
    let float = if category < Category::Float { E::F32 } else { common };
    let all_bool = operands.iter().all(|(ty, _)| *ty == E::Bool);
    let any_bool = operands.iter().any(|(ty, _)| *ty == E::Bool);
    match function {
        F::Abs if category == Category::Bool => None,
        F::Abs => Some(common.real()),
        F::Neg => (category != Category::Bool).then_some(common),
        F::Sign => (category != Category::Complex).then_some(common),
        F::Square if category == Category::Bool => Some(E::I64),
        F::Square | F::Add | F::Mul => Some(common),
        F::Ceil | F::Floor | F::Round | F::Trunc => {
            matches!(category, Category::Int | Category::Float).then_some(common)
        }
        F::Erf => (category != Category::Complex).then_some(float),
        F::Sub => (!any_bool).then_some(common),
        // Torch has no complex half-precision division with the tensor as dividend.
        F::Div => {
            let halves = common == E::C32 && operands.first().is_some_and(|(ty, _)| !ty.is_complex());
            (!halves).then_some(float)
        }
        F::Pow => {
            let by_host = operands.get(1).is_some_and(|(_, weight)| *weight == Weight::Host);
            ((by_host || !all_bool) && common != E::C32).then_some(common)
        }
        F::FloorDivide | F::Remainder | F::Fmod => (!all_bool && category != Category::Complex).then_some(common),
        F::Max | F::Maximum | F::Min | F::Minimum => (category != Category::Complex).then_some(common),
        F::Atan2 => (category != Category::Complex).then_some(float),
        F::Logaddexp => (category >= Category::Float).then_some(common),
        F::And | F::Or | F::Xor => (category <= Category::Int).then_some(common),
        F::Lshift | F::Rshift => (category <= Category::Int && !all_bool).then_some(common),
        F::Int => Some(E::I64),
        F::Cast(to) => Some(to),
        F::Size => Some(E::I64),
        _ => Some(float),
    }
}
