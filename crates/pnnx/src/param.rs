//! `.pnnx.param` files: one operator per line.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};
use tautomer_tensor::MAX_RANK;

use super::{ElementType, Value};

/// The first line of a PNNX file.
pub const MAGIC: &str = "7767517";

/// The lines of a `.pnnx.param` file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParamFile {
    /// The operators, each after those whose results it uses.
    pub operators: Vec<Operator>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operator {
    /// `nn.Conv2d`
    pub kind: String,
    /// Its name, which is unique.
    pub name: String,
    /// The names of the values it uses, in order; a name may occur twice.
    pub inputs: Vec<String>,
    /// The names of its results.
    pub outputs: Vec<String>,
    /// Parameters as written, without `=`.
    pub params: Vec<(String, String)>,
    /// Tensors stored in the archive, by name, with their types.
    pub attributes: Vec<(String, ValueType)>,
    /// Names of inputs, with the values they stand for.
    pub input_names: Vec<(String, String)>,
    /// Types of inputs and results.
    pub types: Vec<(String, ValueType)>,
    /// The line in the text.
    pub span: Span,
}

/// Shape and element type of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueType {
    /// The dimensions.
    pub shape: Vec<Extent>,
    /// The element type.
    pub element: ElementType,
}

/// A dimension of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Known(usize),
    /// `?`
    Any,
    /// `%batch`
    Named(String),
}

impl Operator {
    /// The value of a parameter.
    pub fn param(&self, key: &str) -> Option<Value> {
        self.params
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, text)| Value::read(text))
    }

    /// The type that the line gives for a value.
    pub fn type_of(&self, value: &str) -> Option<&ValueType> {
        self.types.iter().find(|(name, _)| name == value).map(|(_, ty)| ty)
    }

    /// The name of each input, if it has one. Two names of the same value stand for two inputs, in order.
    ///
    /// ```
    /// use tautomer_pnnx::ParamFile;
    /// let text = "7767517\n2 2\npnnx.Input x 0 1 5\ntorch.max y 2 1 5 5 6 $input=5 $other=5\n";
    /// let file = ParamFile::read("m", text).unwrap();
    /// assert_eq!(file.operators[1].names_of_inputs(), [Some("input"), Some("other")]);
    /// ```
    pub fn names_of_inputs(&self) -> Vec<Option<&str>> {
        let mut out = vec![None; self.inputs.len()];
        for (name, value) in &self.input_names {
            let free = (0..out.len()).find(|&i| out[i].is_none() && self.inputs[i] == *value);
            if let Some(place) = free.and_then(|i| out.get_mut(i)) {
                *place = Some(name.as_str());
            }
        }
        out
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Known(n) => write!(f, "{n}"),
            Extent::Any => f.write_str("?"),
            Extent::Named(name) => write!(f, "%{name}"),
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.shape.iter().map(Extent::to_string).collect();
        write!(f, "({}){}", extents.join(","), self.element)
    }
}

impl std::str::FromStr for ValueType {
    type Err = ();
    fn from_str(text: &str) -> Result<ValueType, ()> {
        let (extents, element) = text.strip_prefix('(').and_then(|t| t.split_once(')')).ok_or(())?;
        let extents = extents.split(',').filter(|e| !e.is_empty());
        let shape: Result<Vec<Extent>, ()> = extents
            .map(|extent| match extent.strip_prefix('%') {
                _ if extent == "?" || extent == "-1" => Ok(Extent::Any),
                Some(name) => Ok(Extent::Named(name.to_owned())),
                None => extent.parse().map(Extent::Known).map_err(|_| ()),
            })
            .collect();
        Ok(ValueType {
            shape: shape.ok().filter(|s| s.len() <= MAX_RANK).ok_or(())?,
            element: element.parse()?,
        })
    }
}

impl ParamFile {
    /// Parses the text of a file; `name` is its name in messages.
    ///
    /// # Errors
    /// Lines that are not operators, values that no earlier line produces, and two operators with the same name.
    pub fn read(name: &str, text: &str) -> Result<ParamFile, Diagnostics> {
        let source = Arc::new(Source::new(name, text));
        let mut reader = Reader {
            source: &source,
            problems: Diagnostics::new(),
        };
        let file = reader.file();
        let problems = reader.problems.in_source(&source);
        problems.into_result(file)
    }

    /// The text of the file.
    ///
    /// ```
    /// use tautomer_pnnx::ParamFile;
    /// let text = "7767517\n2 1\npnnx.Input x 0 1 0 #0=(2,?)f32\npnnx.Output y 1 0 0 #0=(2,?)f32\n";
    /// let file = ParamFile::read("m", text).unwrap();
    /// assert_eq!(ParamFile::read("n", &file.text()).unwrap().text(), file.text());
    /// ```
    pub fn text(&self) -> String {
        let values: HashSet<&str> = self
            .operators
            .iter()
            .flat_map(|op| op.inputs.iter().chain(&op.outputs))
            .map(String::as_str)
            .collect();
        let mut out = format!("{MAGIC}\n{} {}\n", self.operators.len(), values.len());
        for op in &self.operators {
            let counts = (op.inputs.len(), op.outputs.len());
            // Writing to a string cannot fail.
            let _ = write!(out, "{:<24} {:<24} {} {}", op.kind, op.name, counts.0, counts.1);
            for value in op.inputs.iter().chain(&op.outputs) {
                let _ = write!(out, " {value}");
            }
            for (key, value) in &op.params {
                let _ = write!(out, " {key}={value}");
            }
            for (key, ty) in &op.attributes {
                let _ = write!(out, " @{key}={ty}");
            }
            for (key, value) in &op.input_names {
                let _ = write!(out, " ${key}={value}");
            }
            for (value, ty) in &op.types {
                let _ = write!(out, " #{value}={ty}");
            }
            out.push('\n');
        }
        out
    }
}

struct Reader<'a> {
    source: &'a Source,
    problems: Diagnostics,
}

fn refused(message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::error("T0501", message).label(span, "")
}

impl Reader<'_> {
    fn file(&mut self) -> ParamFile {
        let text = &self.source.text;
        if u32::try_from(text.len()).is_err() {
            self.problems
                .push(Diagnostic::error("T0602", "the file is longer than 4 GiB"));
            return ParamFile::default();
        }
        let mut start = 0;
        let mut lines = text.split_inclusive('\n').filter_map(|line| {
            let span = Span::new(start, start + line.trim_end().len() as u32);
            start += line.len() as u32;
            (!line.trim().is_empty()).then_some(span)
        });
        let Some(magic) = lines.next().filter(|&line| self.source.slice(line).trim() == MAGIC) else {
            let first = Span::new(0, text.lines().next().map_or(0, str::len) as u32);
            let problem = refused(format!("not a .pnnx.param file: the first line is not {MAGIC}"), first);
            self.problems.push(problem);
            return ParamFile::default();
        };
        let counts = lines.next();
        let counted = counts.and_then(|line| self.source.slice(line).split_whitespace().next()?.parse::<usize>().ok());
        let Some(counted) = counted else {
            let problem = refused(
                "the second line must have the numbers of operators and values",
                counts.unwrap_or(magic),
            );
            self.problems.push(problem);
            return ParamFile::default();
        };
        let mut file = ParamFile::default();
        let (mut names, mut values): (HashSet<String>, HashSet<String>) = (HashSet::new(), HashSet::new());
        for line in lines {
            let Some(op) = self.operator(line) else { continue };
            if !names.insert(op.name.clone()) {
                self.problems
                    .push(refused(format!("another operator is named `{}`", op.name), line));
            }
            for value in op.inputs.iter().filter(|v| !values.contains(*v)) {
                self.problems
                    .push(refused(format!("no earlier line produces the value `{value}`"), line));
            }
            for value in &op.outputs {
                if !values.insert(value.clone()) {
                    self.problems
                        .push(refused(format!("another value is named `{value}`"), line));
                }
            }
            file.operators.push(op);
        }
        if counted != file.operators.len() && !self.problems.has_errors() {
            let found = file.operators.len();
            let problem = refused(
                format!("the file declares {counted} operators, but has {found}"),
                counts.unwrap_or(magic),
            );
            self.problems.push(problem);
        }
        file
    }

    /// Parses a line; `None` if there is a problem, which is reported.
    fn operator(&mut self, line: Span) -> Option<Operator> {
        let text = self.source.slice(line);
        let place = |word: &str| {
            let at = line.start + (word.as_ptr() as usize - text.as_ptr() as usize) as u32;
            Span::new(at, at + word.len() as u32)
        };
        let mut words = text.split_whitespace();
        let (kind, name) = (words.next(), words.next());
        let counts = [words.next(), words.next()].map(|w| w.and_then(|w| w.parse::<usize>().ok()));
        let (Some(kind), Some(name), [Some(inputs), Some(outputs)]) = (kind, name, counts) else {
            self.problems
                .push(refused("a line must have a type, a name and two numbers", line));
            return None;
        };
        let mut op = Operator {
            kind: kind.to_owned(),
            name: name.to_owned(),
            span: line,
            ..Operator::default()
        };
        for (count, list) in [(inputs, &mut op.inputs), (outputs, &mut op.outputs)] {
            for _ in 0..count {
                let Some(word) = words.next() else {
                    let problem = format!("`{name}` has {inputs} inputs and {outputs} results, but not all are named");
                    self.problems.push(refused(problem, line));
                    return None;
                };
                list.push(word.to_owned());
            }
        }
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                self.problems.push(refused(format!("`{word}` has no `=`"), place(word)));
                continue;
            };
            let entry = |key: &str| (key.to_owned(), value.to_owned());
            let typed = |key: &str| value.parse::<ValueType>().ok().map(|ty| (key.to_owned(), ty));
            match (key.chars().next(), key.get(1..)) {
                (Some('@'), Some(key)) => op.attributes.extend(self.typed(typed(key), word, place(word))),
                (Some('#'), Some(key)) => op.types.extend(self.typed(typed(key), word, place(word))),
                (Some('$'), Some(key)) => {
                    if !op.inputs.iter().any(|input| input == value) {
                        let problem = format!("`{word}` names the value `{value}`, which is not an input of `{name}`");
                        self.problems.push(refused(problem, place(word)));
                    }
                    op.input_names.push(entry(key));
                }
                _ => op.params.push(entry(key)),
            }
        }
        Some(op)
    }

    fn typed(&mut self, found: Option<(String, ValueType)>, word: &str, span: Span) -> Option<(String, ValueType)> {
        if found.is_none() {
            let problem = refused(format!("`{word}` has no shape and element type"), span);
            self.problems.push(problem.help("they are written `(2,?,%n)f32`"));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_line_is_kept() {
        let text = "7767517\n3 4\n\
            pnnx.Input               x.1                      0 1 input.3 #input.3=(2,?,%n)f32\n\
            pnnx.Attribute           w                        0 1 w.0 @data=(2)c64 #w.0=(2)c64\n\
            a.b                      c                        2 2 input.3 input.3 r s k=a=b list=(1,2) @v=(3)bf16 $u=input.3 $v=input.3 #r=(1)null\n";
        let file = ParamFile::read("m.pnnx.param", text).unwrap();
        assert_eq!(file.text(), text);
        let op = &file.operators[2];
        assert_eq!(op.params[0], ("k".to_owned(), "a=b".to_owned()));
        assert_eq!(op.names_of_inputs(), [Some("u"), Some("v")]);
        assert_eq!(op.param("list"), Some(Value::Ints(vec![1, 2])));
    }

    #[test]
    fn problems_have_their_line() {
        let head = "7767517\n1 1\n";
        for (text, place, message) in [
            ("", "", "the first line is not 7767517"),
            ("7767517\nx\n", "m:2:1", "second line"),
            ("7767517\n2 1\npnnx.Input x 0 1 0\n", "m:2:1", "has 1"),
            ("7767517\n1 1\npnnx.Input x 0\n", "m:3:1", "two numbers"),
            ("7767517\n1 1\npnnx.Input x 0 2 0\n", "m:3:1", "not all are named"),
            (
                "7767517\n2 3\npnnx.Input x 0 2 0 1\nF.relu y 1 1 1 2 $input=0\n",
                "m:4:18",
                "the value `0`, which is not an input of `y`",
            ),
            (
                "7767517\n1 1\npnnx.Output x 1 0 7\n",
                "m:3:1",
                "no earlier line produces the value `7`",
            ),
            (
                "7767517\n1 1\npnnx.Input x 0 1 0 #0=(2)f31\n",
                "m:3:20",
                "no shape and element type",
            ),
            (
                "7767517\n2 1\na x 0 1 0\na y 0 1 0\n",
                "m:4:1",
                "another value is named `0`",
            ),
        ] {
            let shown = ParamFile::read("m", text).unwrap_err().render(false);
            assert!(shown.contains(place) && shown.contains(message), "{text}{shown}");
        }
        let any = |text: &str| ParamFile::read("m", &format!("{head}{text}"));
        assert!(any("nn.ReLU r 0 0 =\n").is_ok());
    }
}
