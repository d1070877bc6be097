//! The text of rules and of declarations of operators, read by the grammar `rule.pest`.

use std::{collections::BTreeMap, sync::OnceLock};

use num_rational::BigRational;
use pest::Parser as _;

use self::grammar::{Rule as Is, Text};
use crate::poly::decimal;

/// Limits on brackets within brackets, each of which takes some stack, and on the length of a rule.
const DEPTH: usize = 60;
const LENGTH: usize = 12_000;

mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "rule.pest"]
    pub(super) struct Text;
}

type Part<'a> = pest::iterators::Pair<'a, Is>;

type Res<T> = Result<T, String>;

/// An expression. All but numbers and names are calls: `x + y` is `add(x, y)`, `x.rank` is `.rank(x)`, `[x]` is `[](x)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ex {
    Number(BigRational),
    Name(String),
    /// An operator with its operands and attributes, of which `..a` has the name `..`.
    Call(String, Vec<Ex>, Vec<(String, Ex)>),
}

pub(crate) type Side = (Vec<(String, Ex)>, Ex);

#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// The variables, each with its element type, if that is written.
    pub(crate) variables: Vec<(String, Vec<String>)>,
    /// Names that stand for each operator of a list.
    pub(crate) families: Vec<(String, Vec<String>)>,
    pub(crate) sides: Vec<Side>,
    pub(crate) conditions: Vec<Ex>,
    pub(crate) both: bool,
}

/// An operator as it is declared, with the defaults of attributes, and perhaps with a body.
#[derive(Debug, Clone)]
pub(crate) struct Declaration {
    pub(crate) operands: Vec<String>,
    pub(crate) attributes: Vec<(String, Option<Ex>)>,
    pub(crate) body: Option<Side>,
}

/// Operators between operands, each followed by the name of its call; others are called what they are written.
const BETWEEN: &str =
    "|| or && and == equal <= less_or_equal >= greater_or_equal < less > greater + add - sub * mul / div";

/// The definitions of composite operators, which are the tool's, and the checker's own declarations of others.
const TEXTS: [&str; 11] = [
    include_str!("../operators.ops"),
    include_str!("../../../ops/activation.ops"),
    include_str!("../../../ops/along.ops"),
    include_str!("../../../ops/elementary.ops"),
    include_str!("../../../ops/kernels.ops"),
    include_str!("../../../ops/like.ops"),
    include_str!("../../../ops/matmul.ops"),
    include_str!("../../../ops/norm.ops"),
    include_str!("../../../ops/onnxruntime.ops"),
    include_str!("../../../ops/pool.ops"),
    include_str!("../../../ops/softmax.ops"),
];

pub(crate) fn table() -> &'static BTreeMap<String, Declaration> {
    static TABLE: OnceLock<BTreeMap<String, Declaration>> = OnceLock::new();
    let all = |text: &&'static str| Text::parse(Is::whole_table, text).into_iter().flatten();
    TABLE.get_or_init(|| TEXTS.iter().rev().flat_map(all).filter_map(|part| declaration(part)?.ok()).collect())
}

pub(crate) fn rule(text: &str) -> Res<Rule> {
    let deepest = text.bytes().try_fold(0, |depth: usize, byte| match byte {
        b'(' | b'[' | b'{' => (depth < DEPTH).then_some(depth + 1),
        b')' | b']' | b'}' => Some(depth.saturating_sub(1)),
        _ => Some(depth),
    });
    if text.len() > LENGTH || deepest.is_none() {
        return Err("it is too long, or nested too deeply".to_owned());
    }
    let read = Text::parse(Is::whole_rule, text).map_err(|why| why.variant.message().into_owned())?;
    let mut out = Rule::default();
    for part in read.filter(|part| part.as_rule() == Is::rule).flat_map(Part::into_inner) {
        match part.as_rule() {
            Is::dashed => out.name = part.as_str().to_owned(),
            Is::variables => out.variables = part.into_inner().map(list_of_names).collect(),
            Is::families => out.families = part.into_inner().map(list_of_names).collect(),
            Is::arrow => out.both = part.as_str() == "<=>",
            Is::side => out.sides.push(side(part)?),
            _ => out.conditions = all(part)?,
        }
    }
    Ok(out)
}

/// The texts of the parts that are names.
fn names(part: Part<'_>) -> impl Iterator<Item = String> {
    let is_name = |part: &Part<'_>| matches!(part.as_rule(), Is::name | Is::word);
    part.into_inner().filter(is_name).map(|part| part.as_str().trim_matches('"').to_owned())
}

fn list_of_names(part: Part<'_>) -> (String, Vec<String>) {
    let mut names = names(part);
    (names.next().unwrap_or_default(), names.collect())
}

/// A declaration with its name, unless this is something else.
fn declaration(part: Part<'_>) -> Option<Res<(String, Declaration)>> {
    (part.as_rule() == Is::declaration).then(|| {
        let name = names(part.clone()).next().unwrap_or_default();
        let mut out = Declaration { operands: Vec::new(), attributes: Vec::new(), body: None };
        for part in part.into_inner() {
            match part.as_rule() {
                Is::operand => out.operands.extend(names(part).next()),
                Is::declared => out.attributes = part.into_inner().map(typed).collect::<Res<_>>()?,
                Is::side => out.body = Some(side(part)?),
                _ => {}
            }
        }
        Ok((name, out))
    })
}

fn typed(part: Part<'_>) -> Res<(String, Option<Ex>)> {
    let name = names(part.clone()).next().unwrap_or_default();
    let default = part.into_inner().filter(|part| matches!(part.as_rule(), Is::absent | Is::either)).last();
    let value = |part: Part<'_>| match part.as_rule() {
        Is::absent => Ok(Ex::Name("none".to_owned())),
        _ => expression(part),
    };
    Ok((name, default.map(value).transpose()?))
}

fn side(part: Part<'_>) -> Res<Side> {
    let mut parts: Vec<_> = part.into_inner().collect();
    let result = expression(parts.pop().ok_or("no result")?)?;
    let binding = |part: Part<'_>| {
        let name = names(part.clone()).next().unwrap_or_default();
        Ok((name, expression(part.into_inner().last().ok_or("no value")?)?))
    };
    Ok((parts.into_iter().map(binding).collect::<Res<_>>()?, result))
}

fn call(name: &str, operands: Vec<Ex>) -> Ex {
    Ex::Call(name.to_owned(), operands, Vec::new())
}

fn all(part: Part<'_>) -> Res<Vec<Ex>> {
    part.into_inner().map(expression).collect()
}

fn expression(part: Part<'_>) -> Res<Ex> {
    let (kind, text) = (part.as_rule(), part.as_str());
    let mut parts = part.into_inner();
    let mut next = || parts.next().ok_or_else(|| format!("`{text}` is not an expression"));
    Ok(match kind {
        Is::number => Ex::Number(decimal(next()?.as_str()).ok_or_else(|| format!("`{text}` is too long a number"))?),
        Is::name => Ex::Name(text.to_owned()),
        Is::list => call("[]", all(next()?)?),
        Is::tuple => match all(next()?)? {
            mut all if all.len() == 1 => all.remove(0),
            all => call("()", all),
        },
        Is::item => match (expression(next()?)?, parts.next()) {
            (own, None) => own,
            (own, Some(each)) => {
                let (own, each) = (vec![own], vec![Ex::Name(each.as_str().to_owned())]);
                let mut rest: Vec<Ex> = parts.map(expression).collect::<Res<_>>()?;
                let kept = if rest.len() > 1 { rest.remove(1) } else { Ex::Name("true".to_owned()) };
                call("for", [each, rest, own, vec![kept]].concat())
            }
        },
        Is::call => {
            let (name, operands) = (next()?.as_str().trim_matches('"').to_owned(), all(next()?)?);
            let attribute = |part: Part<'_>| {
                let name = names(part.clone()).next().unwrap_or_default();
                match part.into_inner().next_back().filter(|value| value.as_rule() == Is::either) {
                    Some(value) => Ok((name, expression(value)?)),
                    None => Ok(("..".to_owned(), Ex::Name(name))),
                }
            };
            let given = parts.next().map(|given| given.into_inner().map(attribute).collect::<Res<_>>());
            Ex::Call(name, operands, given.transpose()?.unwrap_or_default())
        }
        Is::when => {
            let last = expression(parts.next_back().ok_or("an empty choice")?)?;
            let choice = |other, part| Ok(call("when", [all(part)?, vec![other]].concat()));
            return parts.rev().try_fold(last, choice);
        }
        Is::denied | Is::signed => {
            let own = expression(parts.next_back().ok_or("nothing after a sign")?)?;
            parts.rev().fold(own, |own, sign| call(if sign.as_str() == "-" { "neg" } else { "not" }, vec![own]))
        }
        Is::postfix => {
            let mut out = expression(next()?)?;
            for part in parts {
                out = match part.as_rule() {
                    Is::field => call(part.as_str(), vec![out]),
                    _ => call("[..]", [vec![out], all(part)?].concat()),
                };
            }
            out
        }
        Is::from | Is::until => parts.next().map_or(Ok(Ex::Name("none".to_owned())), expression)?,
        _ => {
            let mut left = expression(next()?)?;
            while let (Some(sign), Some(right)) = (parts.next(), parts.next()) {
                let (sign, right) = (sign.as_str(), expression(right)?);
                let name = BETWEEN.split(' ').skip_while(|word| *word != sign).nth(1).unwrap_or(sign);
                left = match (&left, &right, sign) {
                    (Ex::Name(a), Ex::Name(_), "|") => return Err(format!("the operator `|` after `{a}`")),
                    (_, _, "!=") => call("not", vec![call("equal", vec![left, right])]),
                    _ => call(name, vec![left, right]),
                };
            }
            left
        }
    })
}
