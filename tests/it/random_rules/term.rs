//! Terms over variables of symbolic shapes, and random ones.

use super::Random;

/// A dimension: a sum of symbols; `[ONE]` is 1.
pub(super) type Dim = Vec<u8>;

pub(super) const ONE: u8 = b'1';

/// One side of a rule, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Term {
    Variable(usize),
    /// The scalar constant of the rule, which a condition bounds.
    Factor,
    Number(i64),
    Call(&'static str, Attr, Vec<Term>),
}

/// The attributes of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attr {
    None,
    Perm(Vec<usize>),
    /// The axis of a reduction that keeps it, of a concatenation, or of a reversal.
    Axis(usize),
}

pub(super) const UNARY: &[&str] = &["neg", "abs", "relu"];
pub(super) const BINARY: &[&str] = &["add", "sub", "mul", "max", "min"];
pub(super) const REDUCTIONS: &[&str] = &["reduce_sum", "reduce_max", "reduce_min"];

pub(super) fn unary(op: &'static str, x: Term) -> Term {
    Term::Call(op, Attr::None, vec![x])
}

pub(super) fn binary(op: &'static str, x: Term, y: Term) -> Term {
    Term::Call(op, Attr::None, vec![x, y])
}

/// The variables of a rule by their shapes.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(pub(super) Vec<Vec<Dim>>);

impl Variables {
    /// The shape of a term; `None` for a scalar, which broadcasts.
    pub(super) fn shape(&self, term: &Term) -> Option<Vec<Dim>> {
        let (op, attr, operands) = match term {
            Term::Variable(i) => return Some(self.0[*i].clone()),
            Term::Factor | Term::Number(_) => return None,
            Term::Call(op, attr, operands) => (*op, attr, operands),
        };
        let mut shape = operands.iter().find_map(|x| self.shape(x))?;
        match attr {
            Attr::None => {}
            Attr::Perm(perm) => shape = perm.iter().map(|&i| shape[i].clone()).collect(),
            Attr::Axis(k) if op == "concat" => {
                shape[*k] = operands
                    .iter()
                    .filter_map(|x| self.shape(x))
                    .flat_map(|s| s[*k].clone())
                    .collect();
                shape[*k].sort_unstable();
            }
            Attr::Axis(k) if REDUCTIONS.contains(&op) => shape[*k] = vec![ONE],
            Attr::Axis(_) => {}
        }
        Some(shape)
    }

    /// A random term of a shape.
    pub(super) fn term(&mut self, shape: &[Dim], depth: usize, random: &mut Random) -> Term {
        if depth == 0 || random.chance(15) {
            return self.leaf(shape, random);
        }
        match random.below(12) {
            0 | 1 => unary(random.of(UNARY), self.term(shape, depth - 1, random)),
            2..=5 => {
                let op = random.of(BINARY);
                binary(
                    op,
                    self.term(shape, depth - 1, random),
                    self.term(shape, depth - 1, random),
                )
            }
            6 => {
                let number = Term::Number(random.below(4) as i64);
                binary(random.of(BINARY), self.term(shape, depth - 1, random), number)
            }
            7 => binary("mul", Term::Factor, self.term(shape, depth - 1, random)),
            8 | 9 if shape.len() > 1 => {
                let perm = random.permutation(shape.len());
                let mut inner = shape.to_vec();
                perm.iter()
                    .enumerate()
                    .for_each(|(to, &from)| inner[from] = shape[to].clone());
                Term::Call(
                    "transpose",
                    Attr::Perm(perm),
                    vec![self.term(&inner, depth - 1, random)],
                )
            }
            10 => {
                let axis = random.below(shape.len());
                Term::Call("reverse", Attr::Axis(axis), vec![self.term(shape, depth - 1, random)])
            }
            _ => {
                let ones: Vec<usize> = (0..shape.len()).filter(|&k| shape[k] == [ONE]).collect();
                if ones.is_empty() {
                    return self.leaf(shape, random);
                }
                let axis = random.of(&ones);
                let mut inner = shape.to_vec();
                inner[axis] = vec![random.of(b"nmkl")];
                let op = random.of(REDUCTIONS);
                Term::Call(op, Attr::Axis(axis), vec![self.term(&inner, depth - 1, random)])
            }
        }
    }

    fn leaf(&mut self, shape: &[Dim], random: &mut Random) -> Term {
        // A declaration has no sums.
        if let Some(axis) = shape.iter().position(|d| d.len() > 1) {
            let (mut first, mut rest) = (shape.to_vec(), shape.to_vec());
            first[axis].truncate(1);
            rest[axis].remove(0);
            let parts = vec![self.leaf(&first, random), self.leaf(&rest, random)];
            return Term::Call("concat", Attr::Axis(axis), parts);
        }
        let fitting: Vec<usize> = (0..self.0.len()).filter(|&i| self.0[i] == shape).collect();
        if !fitting.is_empty() && (self.0.len() >= 3 || random.chance(50)) {
            return Term::Variable(random.of(&fitting));
        }
        self.0.push(shape.to_vec());
        Term::Variable(self.0.len() - 1)
    }
}

impl Term {
    /// The text of the term as a pattern, a target, or the body of a program.
    pub(super) fn text(&self) -> String {
        let (op, attr, operands) = match self {
            Term::Variable(i) => return format!("x{i}"),
            Term::Factor => return "c".to_owned(),
            Term::Number(n) => return n.to_string(),
            Term::Call(op, attr, operands) => (*op, attr, operands),
        };
        let operands: Vec<String> = operands.iter().map(Term::text).collect();
        let operands = operands.join(", ");
        match attr {
            Attr::None => format!("{op}({operands})"),
            Attr::Perm(perm) => format!("transpose({operands}) {{perm = {perm:?}}}"),
            Attr::Axis(k) if op == "reverse" => {
                format!(
                    "slice({operands}) {{starts = [-1], ends = [-9223372036854775807], axes = [{k}], steps = [-1]}}"
                )
            }
            Attr::Axis(k) if op == "concat" => format!("concat({operands}) {{axis = {k}}}"),
            Attr::Axis(k) => format!("{op}({operands}) {{axes = [{k}], keepdims = true}}"),
        }
    }

    /// The terms below and this one, each as the way to it.
    pub(super) fn places(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new()];
        if let Term::Call(.., operands) = self {
            for (i, operand) in operands.iter().enumerate() {
                out.extend(operand.places().into_iter().map(|mut way| {
                    way.insert(0, i);
                    way
                }));
            }
        }
        out
    }

    pub(super) fn at(&self, way: &[usize]) -> &Term {
        match (self, way) {
            (Term::Call(.., operands), [first, rest @ ..]) => operands[*first].at(rest),
            _ => self,
        }
    }

    pub(super) fn with(&self, way: &[usize], new: Term) -> Term {
        match (self, way) {
            (Term::Call(op, attr, operands), [first, rest @ ..]) => {
                let mut operands = operands.clone();
                operands[*first] = operands[*first].with(rest, new);
                Term::Call(op, attr.clone(), operands)
            }
            _ => new,
        }
    }

    pub(super) fn mentions(&self, wanted: &Term) -> bool {
        self.places().iter().any(|way| self.at(way) == wanted)
    }

    /// True if a number is in a sum. In a pattern it stands for constants of every shape, which broadcast the other
    /// operand, so that elements are counted more often than on the other side.
    pub(super) fn sums_a_number(&self) -> bool {
        let all = |term: &Term, test: &dyn Fn(&Term) -> bool| term.places().iter().any(|way| test(term.at(way)));
        let is_sum = |term: &Term| matches!(term, Term::Call("reduce_sum", ..));
        all(self, &|term| {
            is_sum(term) && all(term, &|part| matches!(part, Term::Number(_)))
        })
    }
}
