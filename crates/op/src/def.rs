//! A row of the operator table.

use super::infer::{Infer, OpError};
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, CostRule, Declared, ForeignName, Formula, Function, Movement, Reference,
    ShapeRule,
};
use tautomer_tensor::Type;

/// Fills in attribute values of a call that depend on its operands.
pub type Canonical = fn(&Infer<'_>, &mut [AttrValue]) -> Result<(), OpError>;

/// An operator: one definition that every stage reads.
#[derive(Clone, Copy)]
pub struct OpDef {
    /// Its name: the ONNX name in snake case.
    pub name: &'static str,
    /// Other names accepted in program text.
    pub aliases: &'static [&'static str],
    /// One line: what it computes.
    pub doc: &'static str,
    /// Its operands, in order.
    pub operands: &'static [Operand],
    /// Its attributes, in order.
    pub attrs: &'static [AttrDef],
    /// The type of its value.
    pub infer: fn(&Infer<'_>) -> Result<Type, OpError>,
    /// Fills in attribute values that depend on ranks and shapes, so that equal calls have equal attributes; runs
    /// before `infer`.
    pub canonical: Option<Canonical>,
    /// What it computes.
    pub semantics: Semantics,
    /// Algebraic properties.
    pub traits: OpTraits,
    /// How its cost is estimated.
    pub cost: CostRule,
    /// How the shapes of its operands and its attributes fit together.
    pub shapes: ShapeRule,
    /// The formula for an element of its result, for proofs; read it with [`law`](OpDef::law).
    pub formula: Formula,
    /// How the axes of its operands and of its result correspond; read it with [`axes_rule`](OpDef::axes_rule).
    pub axes: AxesRule,
    /// The result is its first operand, unpacked from a form that takes fewer bytes.
    pub unpacks: bool,
    /// The elements of a result differ even if all operands are single numbers.
    pub counts: bool,
    /// Its counterpart in ONNX.
    pub onnx: Option<OnnxName>,
    /// The rest of its declaration, if it is not in the table but declared in a file.
    pub declared: Option<Declared>,
}

/// What an operator computes.
#[derive(Clone, Copy)]
pub enum Semantics {
    /// Not given yet; no finished row of the table has this.
    Missing,
    /// A function over arrays, generic over the number system.
    Primitive(Reference),
    /// It moves elements: where each element of its results comes from.
    Movement(Movement),
    /// Defined by a body in the program language: its declaration.
    Composite(Body),
    /// A function about which nothing is known except that equal calls have equal values.
    Uninterpreted,
    /// Control flow, or a value that is not a tensor: defined by other operators and the functions it calls.
    Flow(Flow),
}

/// The declaration of an operator that a body defines.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    /// In canonical form.
    pub text: &'static str,
    /// The syntax tree of the text as the build wrote it, for an operator of the table; empty for others.
    pub tree: &'static [u8],
}

/// Operators that decide which functions run, and operators on values that are not tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// One of two functions.
    Branch,
    /// Calls a function repeatedly.
    Loop,
    /// Calls a function for each slice of its operands.
    Scan,
    /// Calls a function for each element of a sequence.
    Map,
    /// A sequence of its operands.
    Sequence,
    /// An empty sequence.
    Empty,
    /// An element of a sequence.
    At,
    /// A sequence with one element inserted.
    Insert,
    /// A sequence with one element removed.
    Erase,
    /// The number of elements.
    Length,
    /// A tensor split into a sequence of parts.
    Split,
    /// The elements of a sequence concatenated.
    Concat,
    /// An optional value.
    Optional,
    /// An optional value that is absent.
    Missing,
    /// The content of an optional value.
    Inside,
    /// Whether an optional value is present.
    IsThere,
}

/// An operator of the ONNX default domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnnxName {
    /// `Conv`
    pub name: &'static str,
    /// The first operator set in which it has its present meaning, even if its attributes had another form then.
    pub since: u32,
}

/// An operand as the table declares it.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    /// Its name.
    pub name: &'static str,
    /// How many values it takes.
    pub kind: OperandKind,
    /// The attribute it stands for: a constant operand becomes the attribute.
    pub attr: Option<&'static str>,
    /// The number of its axes, if that is the same in all calls.
    pub rank: Option<usize>,
    /// A call without it computes the same as one with zeros.
    pub zeros: bool,
}

/// As declarations write it: `x`, `x?` if it may be left out, `x...` if it takes one value or more.
impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        f.write_str(match self.kind {
            OperandKind::One => "",
            OperandKind::Optional => "?",
            OperandKind::Variadic => "...",
        })
    }
}

/// How many values an operand takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandKind {
    /// Exactly one.
    One,
    /// One or none.
    Optional,
    /// Any number, at least one; only as the last operand.
    Variadic,
}

impl Operand {
    /// An operand that must be given.
    pub const fn one(name: &'static str) -> Operand {
        Operand {
            name,
            kind: OperandKind::One,
            attr: None,
            rank: None,
            zeros: false,
        }
    }

    /// An operand that may be left out.
    pub const fn optional(name: &'static str) -> Operand {
        Operand {
            name,
            kind: OperandKind::Optional,
            attr: None,
            rank: None,
            zeros: false,
        }
    }

    /// One or more operands.
    pub const fn variadic(name: &'static str) -> Operand {
        Operand {
            name,
            kind: OperandKind::Variadic,
            attr: None,
            rank: None,
            zeros: false,
        }
    }

    /// An attribute whose value may be computed while the graph runs.
    pub const fn attr(name: &'static str) -> Operand {
        Operand {
            name,
            kind: OperandKind::Optional,
            attr: Some(name),
            rank: None,
            zeros: false,
        }
    }

    /// An operand that may be left out, which is then the same as zeros.
    pub const fn or_zeros(name: &'static str) -> Operand {
        let mut out = Operand::optional(name);
        out.zeros = true;
        out
    }

    /// States the number of its axes.
    pub const fn ranked(mut self, rank: usize) -> Operand {
        self.rank = Some(rank);
        self
    }
}

/// Algebraic properties of an operator, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpTraits(u32);

impl OpTraits {
    /// No property.
    pub const NONE: OpTraits = OpTraits(0);
    /// Works on each position separately, after broadcasting.
    pub const ELEMENTWISE: OpTraits = OpTraits(1);
    /// One operand.
    pub const UNARY: OpTraits = OpTraits(1 << 1);
    /// Two operands.
    pub const BINARY: OpTraits = OpTraits(1 << 2);
    /// `f(a, b) = f(b, a)`, bit for bit.
    pub const COMMUTATIVE: OpTraits = OpTraits(1 << 3);
    /// `f(f(a, b), c) = f(a, f(b, c))` over the reals.
    pub const ASSOCIATIVE: OpTraits = OpTraits(1 << 4);
    /// `f(f(x)) = f(x)`.
    pub const IDEMPOTENT: OpTraits = OpTraits(1 << 5);
    /// `f(f(x)) = x`.
    pub const INVOLUTION: OpTraits = OpTraits(1 << 6);
    /// Linear in its first operand.
    pub const LINEAR: OpTraits = OpTraits(1 << 7);
    /// The result does not decrease where the operand increases.
    pub const MONOTONE: OpTraits = OpTraits(1 << 8);
    /// Moves or drops elements without computing.
    pub const MOVEMENT: OpTraits = OpTraits(1 << 9);
    /// A boolean result from a comparison of order or equality.
    pub const COMPARISON: OpTraits = OpTraits(1 << 10);
    /// Combines the elements along axes.
    pub const REDUCTION: OpTraits = OpTraits(1 << 11);
    /// Two calls with equal operands may have different values.
    pub const NONDETERMINISTIC: OpTraits = OpTraits(1 << 12);
    /// Has no value for some integers, as a quotient by zero.
    pub const PARTIAL: OpTraits = OpTraits(1 << 13);

    const NAMES: &[(&str, OpTraits)] = &[
        ("elementwise", OpTraits::ELEMENTWISE),
        ("unary", OpTraits::UNARY),
        ("binary", OpTraits::BINARY),
        ("commutative", OpTraits::COMMUTATIVE),
        ("associative", OpTraits::ASSOCIATIVE),
        ("idempotent", OpTraits::IDEMPOTENT),
        ("involution", OpTraits::INVOLUTION),
        ("linear", OpTraits::LINEAR),
        ("monotone", OpTraits::MONOTONE),
        ("movement", OpTraits::MOVEMENT),
        ("comparison", OpTraits::COMPARISON),
        ("reduction", OpTraits::REDUCTION),
        ("nondeterministic", OpTraits::NONDETERMINISTIC),
        ("partial", OpTraits::PARTIAL),
    ];

    /// The union of both sets.
    pub const fn and(self, other: OpTraits) -> OpTraits {
        OpTraits(self.0 | other.0)
    }

    /// True if it contains all of `other`.
    pub const fn contains(self, other: OpTraits) -> bool {
        self.0 & other.0 == other.0
    }

    /// The property of that name, as written in rules.
    pub fn by_name(name: &str) -> Option<OpTraits> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, t)| *t)
    }

    /// The names of its properties.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .iter()
            .filter(move |(_, t)| self.contains(*t))
            .map(|(n, _)| *n)
    }

    /// All names that [`by_name`](OpTraits::by_name) accepts.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(n, _)| *n)
    }
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn no_inference(_: &Infer<'_>) -> Result<Type, OpError> {
    Err(OpError::new("this operator has no type inference"))
}

impl OpDef {
    /// A row to complete with the methods below.
    pub const fn new(name: &'static str, doc: &'static str) -> OpDef {
        OpDef {
            name,
            aliases: &[],
            doc,
            operands: &[],
            attrs: &[],
            infer: no_inference,
            canonical: None,
            semantics: Semantics::Missing,
            traits: OpTraits::NONE,
            cost: CostRule::Elementwise(1.0),
            shapes: ShapeRule::Unstated,
            formula: Formula::Unstated,
            axes: AxesRule::Unstated,
            unpacks: false,
            counts: false,
            onnx: None,
            declared: None,
        }
    }

    /// Sets the other names.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> OpDef {
        self.aliases = aliases;
        self
    }

    /// Sets the operands.
    pub const fn operands(mut self, operands: &'static [Operand]) -> OpDef {
        self.operands = operands;
        self
    }

    /// Sets the attributes.
    pub const fn attrs(mut self, attrs: &'static [AttrDef]) -> OpDef {
        self.attrs = attrs;
        self
    }

    /// Sets type inference.
    pub const fn infer(mut self, infer: fn(&Infer<'_>) -> Result<Type, OpError>) -> OpDef {
        self.infer = infer;
        self
    }

    /// Sets the function that completes attributes.
    pub const fn canonical(mut self, f: Canonical) -> OpDef {
        self.canonical = Some(f);
        self
    }

    /// Makes it primitive.
    pub const fn reference(mut self, reference: Reference) -> OpDef {
        self.semantics = Semantics::Primitive(reference);
        self
    }

    /// Makes it an operator that moves elements.
    pub const fn movement(mut self, movement: Movement) -> OpDef {
        self.semantics = Semantics::Movement(movement);
        self
    }

    /// Makes it a composite with this declaration and its tree.
    pub(crate) const fn body(mut self, text: &'static str, tree: &'static [u8]) -> OpDef {
        self.semantics = Semantics::Composite(Body { text, tree });
        self
    }

    /// Makes it a control flow operator.
    pub const fn flow(mut self, flow: Flow) -> OpDef {
        self.semantics = Semantics::Flow(flow);
        self
    }

    /// Sets the algebraic properties.
    pub const fn traits(mut self, traits: OpTraits) -> OpDef {
        self.traits = traits;
        self
    }

    /// Sets the cost.
    pub const fn cost(mut self, cost: CostRule) -> OpDef {
        self.cost = cost;
        self
    }

    /// States how the shapes of its operands and its attributes fit together.
    pub const fn shapes(mut self, shapes: ShapeRule) -> OpDef {
        self.shapes = shapes;
        self
    }

    /// States the formula for an element of its result.
    pub const fn formula(mut self, formula: Formula) -> OpDef {
        self.formula = formula;
        self
    }

    /// States how the axes of its operands and of its result correspond.
    pub const fn axes(mut self, axes: AxesRule) -> OpDef {
        self.axes = axes;
        self
    }

    /// States that the result takes more bytes than the operand, which holds all of it.
    pub const fn unpacks(mut self) -> OpDef {
        self.unpacks = true;
        self
    }

    /// States that the elements of a result differ even if all operands are single numbers.
    pub const fn counts(mut self) -> OpDef {
        self.counts = true;
        self
    }

    /// Sets the counterpart in ONNX.
    pub const fn onnx(mut self, name: &'static str, since: u32) -> OpDef {
        self.onnx = Some(OnnxName { name, since });
        self
    }

    /// The name and all aliases.
    pub fn names(&'static self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The position of an attribute in the declaration.
    pub fn attr_index(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|a| a.name == name)
    }

    /// The attribute `name` among `attrs`, which are in declared order; [`AttrValue::None`] if it is not there.
    pub fn attr_in<'a>(&self, attrs: &'a [AttrValue], name: &str) -> &'a AttrValue {
        self.attr_index(name)
            .and_then(|i| attrs.get(i))
            .unwrap_or(&AttrValue::None)
    }

    /// The declaration with its body, in canonical form, if a body defines it.
    pub fn composite_body(&self) -> Option<&'static str> {
        match self.semantics {
            Semantics::Composite(body) => Some(body.text),
            _ => None,
        }
    }

    /// Its counterpart in models, if that is in a domain other than the default.
    pub fn foreign(&self) -> Option<ForeignName> {
        self.declared?.onnx
    }

    /// True if nothing is known about what it computes.
    pub fn is_uninterpreted(&self) -> bool {
        matches!(self.semantics, Semantics::Uninterpreted)
    }

    /// Where the elements of its results come from, if all it does is move elements.
    pub fn moves(&self) -> Option<Movement> {
        match self.semantics {
            Semantics::Movement(movement) => Some(movement),
            _ => None,
        }
    }

    /// True if its meaning is not given by other operators.
    pub fn is_primitive(&self) -> bool {
        matches!(self.semantics, Semantics::Primitive(_) | Semantics::Movement(_))
    }

    /// The operand at position `i` of a call; a variadic operand repeats.
    pub fn operand(&self, i: usize) -> Option<&'static Operand> {
        self.operands
            .get(i)
            .or_else(|| self.operands.last().filter(|o| o.kind == OperandKind::Variadic))
    }

    /// The minimum and maximum number of operands; `None` if there is no maximum.
    pub fn arity(&self) -> (usize, Option<usize>) {
        let least = self.operands.iter().filter(|o| o.kind != OperandKind::Optional).count();
        let variadic = self.operands.last().is_some_and(|o| o.kind == OperandKind::Variadic);
        (least, (!variadic).then_some(self.operands.len()))
    }

    /// How the shapes of its operands and its attributes fit together: as stated, or as its properties imply.
    pub fn shape_rule(&self) -> ShapeRule {
        match self.shapes {
            ShapeRule::Unstated if self.traits.contains(OpTraits::ELEMENTWISE) => ShapeRule::Broadcast,
            stated => stated,
        }
    }

    /// The formula for an element of its result: as stated, or the function that an elementwise operator computes.
    pub fn law(&self) -> Formula {
        match self.formula {
            Formula::Unstated if self.traits.contains(OpTraits::ELEMENTWISE) => Formula::Function(Function::Named),
            stated => stated,
        }
    }

    /// How the axes of its operands and of its result correspond: as stated, or as its properties imply.
    pub fn axes_rule(&self) -> AxesRule {
        match (self.axes, self.law()) {
            (AxesRule::Unstated, Formula::Reduction(_)) => AxesRule::Reduced,
            (AxesRule::Unstated, _) if self.traits.contains(OpTraits::ELEMENTWISE) && !self.has_axes() => {
                AxesRule::Broadcast
            }
            (stated, _) => stated,
        }
    }

    /// True if an attribute names axes.
    pub fn has_axes(&self) -> bool {
        let names = |attr: &AttrDef| matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_));
        self.attrs.iter().any(names)
    }

    /// True if both inference and semantics are given.
    pub fn is_complete(&self) -> bool {
        !matches!(self.semantics, Semantics::Missing)
            && !std::ptr::fn_addr_eq(self.infer, no_inference as fn(&Infer<'_>) -> Result<Type, OpError>)
    }
}
