//! Help for syntax from other languages: what to write instead in this one.

use super::syntax::Rule;

/// A position that does not parse, checked for syntax from other languages.
pub(super) struct Slip<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) found: &'a str,
    /// The innermost bracket open there.
    pub(super) open: Option<usize>,
    pub(super) positives: &'a [Rule],
    /// True if the text is a rule file.
    pub(super) is_rules: bool,
    /// True if the text is a statement of a script, where names need no `let`.
    pub(super) is_statement: bool,
}

impl Slip<'_> {
    fn wants(&self, rule: Rule) -> bool {
        self.positives.contains(&rule)
    }

    /// The word directly before the position.
    fn word_before(&self) -> &str {
        let before = self.text[..self.at].trim_end();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        &before[before.trim_end_matches(is_word).len()..]
    }

    /// What this language has instead.
    pub(super) fn help(&self) -> Option<String> {
        let item = "`rule add-of-zero(x) { x + 0 => x }`";
        let program = "this looks like a rule file (.rules); a program has functions: `fn main(x: f32[n]) { … }`";
        let last = self.word_before();
        let begins = self.open.is_none();
        let help = match self.found {
            "#" => "comments begin with `//`".to_owned(),
            "=" => return self.keyword(),
            "?" => "variables have no prefix: `rule name(x) { … }` declares `x`, and its sides use `x`".to_owned(),
            "->" if self.is_rules => "the sides of a rule are separated by `=>`".to_owned(),
            ":" if last == "lambda" || self.first_word() == "def" => function_help(),
            "and" | "or" if self.is_called() => {
                let operator = if self.found == "and" { "&&" } else { "||" };
                format!("`{}` has its operands on both sides: `a {operator} b`", self.found)
            }
            "fn" | "opaque" if self.is_rules && begins => {
                format!("this looks like a program (.taut); a rule file has rules: {item}")
            }
            "(" if self.is_rules && begins => format!(
                "a rule is written {item}; `rules import` reads the s-expressions of TENSAT and the rules of TASO"
            ),
            "if" if self.is_rules => "the conditions of a rule follow `where`: `x * c => x where is_one(c)`".to_owned(),
            _ if last == "if" || self.opens_condition() => {
                "put the condition in parentheses: `if (c) { a } else { b }`, or `if(c, a, b)`".to_owned()
            }
            // These words are also valid names; they are mistakes only before another word.
            _ if !self.word_follows() => return None,
            _ => match self.first_word() {
                "rule" | "example" | "ruleset" | "use" if !self.is_rules && begins => program.to_owned(),
                "pragma" => "pragmas belong at the beginning of the file".to_owned(),
                "return" => "the last expression of a block is its value: write it without `return`".to_owned(),
                "def" | "lambda" | "function" | "func" => function_help(),
                "var" | "const" | "val" => "name a value with `let y = relu(x);`".to_owned(),
                "import" | "from" => {
                    "operators need no import; rule files name others by `use \"other.rules\"`".to_owned()
                }
                "rewrite" | "birewrite" if self.is_rules => format!("a rule is written {item}"),
                _ => return None,
            },
        };
        Some(help)
    }

    /// True if what was found is followed by operands in parentheses.
    fn is_called(&self) -> bool {
        self.text[self.at + self.found.len()..].trim_start().starts_with('(')
    }

    /// The first word of the line or statement that contains the position, if a second word or the position follows it.
    fn first_word(&self) -> &str {
        let start = self.text[..self.at].rfind(['\n', ';', '{', '}']).map_or(0, |i| i + 1);
        let line = self.text[start..].trim_start();
        let end = line
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(line.len());
        &line[..end]
    }

    /// Whether a word or a string follows the first word.
    fn word_follows(&self) -> bool {
        let start = self.first_word().as_ptr() as usize - self.text.as_ptr() as usize;
        let rest = &self.text[start + self.first_word().len()..];
        let next = rest.trim_start_matches([' ', '\t']);
        next.len() < rest.len() && next.starts_with(|c: char| c.is_alphanumeric() || "_\"(".contains(c))
    }

    /// Whether the position follows an `if` whose condition has no parentheses.
    fn opens_condition(&self) -> bool {
        self.first_word() == "if" && (self.wants(Rule::paren) || self.found == "{" || self.found == ":")
    }

    /// A misplaced `=`: an attribute among the operands, or a definition without `let`.
    fn keyword(&self) -> Option<String> {
        let name = self.word_before();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        match self.open {
            Some(open) if self.text.as_bytes()[open] == b'(' => {
                let callee = self.text[..open].trim_end();
                let start = callee
                    .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                    .map_or(0, |i| i + 1);
                let callee = callee.get(start..).filter(|word| !word.is_empty())?;
                if ["if", "when"].contains(&callee) {
                    return None;
                }
                let (operands, attrs) = self.operands(open)?;
                Some(format!(
                    "write attributes in braces after the operands: `{callee}({}) {{{}}}`",
                    operands.join(", "),
                    attrs.join(", ")
                ))
            }
            // A statement that assigns a value to a name.
            open if !self.is_statement
                && self.first_word() == name
                && open.is_none_or(|open| self.text.as_bytes()[open] == b'{') =>
            {
                let rest = self.text[self.at + 1..].lines().next().unwrap_or_default().trim();
                let rest = rest.split("//").next().unwrap_or_default().trim().trim_end_matches(';');
                if rest.starts_with('=') {
                    return None;
                }
                let value = if rest.is_empty() || rest.len() > 60 {
                    "…"
                } else {
                    rest
                };
                Some(format!("name a value with `let`: `let {name} = {value};`"))
            }
            _ => None,
        }
    }

    /// The operands and the attributes inside the bracket that begins at `open`.
    fn operands(&self, open: usize) -> Option<(Vec<String>, Vec<String>)> {
        let inside = &self.text[open + 1..];
        let (mut depth, mut begin) = (0usize, 0);
        let mut parts: Vec<&str> = Vec::new();
        for (i, c) in inside.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                ')' => {
                    parts.push(&inside[begin..i]);
                    break;
                }
                ',' if depth == 0 => {
                    parts.push(&inside[begin..i]);
                    begin = i + 1;
                }
                // Text over several lines is too long to repeat in a message.
                '\n' | '"' | '\'' => return None,
                _ => {}
            }
        }
        let (mut operands, mut attrs) = (Vec::new(), Vec::new());
        for part in parts {
            match part.split_once('=') {
                Some((name, value)) if !value.starts_with('=') => {
                    attrs.push(format!("{} = {}", name.trim(), value.trim()));
                }
                _ => operands.push(part.trim().to_owned()),
            }
        }
        Some((operands, attrs))
    }
}

fn function_help() -> String {
    "a function is written `fn name(x: f32[n]) { relu(x) }`".to_owned()
}
