//! Syntax trees as bytes: files that are parsed when the tool is built need not be parsed each time it starts.
//!
//! Only the build that wrote the bytes reads them; they are not a file format.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserializer, Serialize};
use tautomer_diag::Source;

use super::{Item, RuleFile, TargetFile};

impl RuleFile {
    /// The tree without the text it was parsed from, in a compact form that [`RuleFile::from_bytes`] reads.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tautomer_diag::Source;
    /// use tautomer_lang::{ast::RuleFile, format_rules, parse_rules};
    ///
    /// let source = Arc::new(Source::new("a.rules", "rule double-neg(x) { -(-x) => x }"));
    /// let file = parse_rules(source.clone()).unwrap();
    /// let read = RuleFile::from_bytes(&file.to_bytes().unwrap(), source).unwrap();
    /// assert_eq!(format_rules(&read), format_rules(&file));
    /// ```
    ///
    /// # Errors
    /// If the serializer fails; it has no reason to refuse a tree.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        to_bytes(self)
    }

    /// The tree that [`RuleFile::to_bytes`] of the same build wrote for the text in `source`.
    ///
    /// # Errors
    /// The bytes are not those of a tree.
    pub fn from_bytes(bytes: &[u8], source: Arc<Source>) -> Result<RuleFile, postcard::Error> {
        let mut file: RuleFile = from_bytes(bytes)?;
        for item in &mut file.items {
            if let Item::Operator(operator) = item {
                Arc::make_mut(&mut operator.ast).source = source.clone();
            }
        }
        file.ast.source = source;
        Ok(file)
    }
}

impl TargetFile {
    /// The tree without the text it was parsed from, in a compact form that [`TargetFile::from_bytes`] reads.
    ///
    /// # Errors
    /// If the serializer fails; it has no reason to refuse a tree.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        to_bytes(self)
    }

    /// The tree that [`TargetFile::to_bytes`] of the same build wrote for the text in `source`.
    ///
    /// # Errors
    /// The bytes are not those of a tree.
    pub fn from_bytes(bytes: &[u8], source: Arc<Source>) -> Result<TargetFile, postcard::Error> {
        let mut file: TargetFile = from_bytes(bytes)?;
        Arc::make_mut(&mut file.ast).source = source;
        Ok(file)
    }
}

fn to_bytes(tree: &impl Serialize) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(tree)
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, postcard::Error> {
    postcard::from_bytes(bytes)
}

thread_local! {
    /// The names that were read on this thread.
    static NAMES: RefCell<FxHashSet<Arc<str>>> = RefCell::default();
}

/// Reads a name; equal names share their text, since the trees of one file mention the same few again and again.
pub(super) fn shared<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
    struct Name;
    impl Visitor<'_> for Name {
        type Value = Arc<str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
            NAMES.with_borrow_mut(|names| {
                if let Some(known) = names.get(text) {
                    return Ok(known.clone());
                }
                let name: Arc<str> = text.into();
                names.insert(name.clone());
                Ok(name)
            })
        }
    }
    from.deserialize_str(Name)
}
