//! Equations of `einsum`.

use std::fmt;

use crate::OpError;

/// The label of an axis: a letter, or a position in an ellipsis, counted from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// An axis of the ellipsis; the last one is 0.
    Dots(usize),
    /// A letter.
    Letter(char),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Dots(_) => f.write_str("..."),
            Label::Letter(letter) => write!(f, "{letter}"),
        }
    }
}

/// The axes of one operand or of the result: the letters before and after an ellipsis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Term {
    before: Vec<char>,
    /// The letters after the ellipsis, if there is one.
    after: Option<Vec<char>>,
}

impl Term {
    fn parse(text: &str) -> Result<Term, OpError> {
        let letters = |text: &str| -> Result<Vec<char>, OpError> {
            match text.chars().find(|c| !c.is_ascii_alphabetic()) {
                Some(c) => {
                    Err(OpError::new(format!("`equation` has {c:?} where a letter is expected")).attr("equation"))
                }
                None => Ok(text.chars().collect()),
            }
        };
        Ok(match text.split_once("...") {
            Some((before, after)) => Term {
                before: letters(before)?,
                after: Some(letters(after)?),
            },
            None => Term {
                before: letters(text)?,
                after: None,
            },
        })
    }

    /// The letters in order.
    fn letters(&self) -> impl Iterator<Item = char> {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }

    /// The labels, with an ellipsis of `dots` axes.
    fn with_dots(&self, dots: usize) -> Vec<Label> {
        let letter = |c: &char| Label::Letter(*c);
        let dots = self.after.iter().flat_map(|_| (0..dots).rev().map(Label::Dots));
        let after = self.after.iter().flatten().map(letter);
        self.before.iter().map(letter).chain(dots).chain(after).collect()
    }

    /// The labels of the axes of an operand of that rank; `None` if they do not fit it.
    pub(super) fn labels(&self, rank: usize) -> Option<Vec<Label>> {
        let dots = rank.checked_sub(self.letters().count())?;
        (dots == 0 || self.after.is_some()).then(|| self.with_dots(dots))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.before.iter().try_for_each(|c| write!(f, "{c}"))?;
        let Some(after) = &self.after else { return Ok(()) };
        f.write_str("...")?;
        after.iter().try_for_each(|c| write!(f, "{c}"))
    }
}

/// The axes of the operands and of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Equation {
    pub(super) operands: Vec<Term>,
    result: Term,
}

impl Equation {
    /// Parses an equation. Without an explicit result, the result is the ellipsis, if any, and then the letters that
    /// occur once, in alphabetical order.
    pub(super) fn parse(text: &str) -> Result<Equation, OpError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let operands = left.split(',').map(Term::parse).collect::<Result<Vec<_>, _>>()?;
        let all: Vec<char> = operands.iter().flat_map(Term::letters).collect();
        let dotted = operands.iter().any(|t| t.after.is_some());
        let result = match right {
            Some(right) => Term::parse(right)?,
            None => {
                let mut once: Vec<char> = all
                    .iter()
                    .copied()
                    .filter(|c| all.iter().filter(|d| *d == c).count() == 1)
                    .collect();
                once.sort_unstable();
                match dotted {
                    true => Term {
                        before: Vec::new(),
                        after: Some(once),
                    },
                    false => Term {
                        before: once,
                        after: None,
                    },
                }
            }
        };
        let mut seen = Vec::new();
        for c in result.letters() {
            if !all.contains(&c) || seen.contains(&c) {
                let why = if seen.contains(&c) {
                    "occurs twice in the result"
                } else {
                    "is in no operand"
                };
                return Err(OpError::new(format!("{c} of `equation` {why}")).attr("equation"));
            }
            seen.push(c);
        }
        Ok(Equation { operands, result })
    }

    /// The same equation with its letters renamed in order of first use, so that equations that differ only in their
    /// letters become equal.
    pub(super) fn in_order(mut self) -> Equation {
        let mut seen: Vec<char> = Vec::new();
        for term in self.operands.iter_mut().chain([&mut self.result]) {
            for letter in term.before.iter_mut().chain(term.after.iter_mut().flatten()) {
                let at = seen.iter().position(|c| c == letter).unwrap_or_else(|| {
                    seen.push(*letter);
                    seen.len() - 1
                });
                *letter = ('a'..='z').chain('A'..='Z').nth(at).unwrap_or(*letter);
            }
        }
        self
    }

    /// The labels of the axes of the result.
    pub(super) fn result(&self, operands: &[Vec<Label>]) -> Vec<Label> {
        let dots = |labels: &Vec<Label>| labels.iter().filter(|l| matches!(l, Label::Dots(_))).count();
        self.result.with_dots(operands.iter().map(dots).max().unwrap_or(0))
    }
}

impl fmt::Display for Equation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.operands.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{term}")?;
        }
        write!(f, "->{}", self.result)
    }
}
