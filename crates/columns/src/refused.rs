//! Functions of Gandiva's registry that are not provided, with the reason.

/// Names in lower case, and why.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["castdecimal", "decimal", "castdecimalnullonoverflow"],
        "decimals are not supported; use `f64` or `i64`",
    ),
    (
        &[
            "castintervalday",
            "castintervalyear",
            "castnullableintervalday",
            "castnullableintervalyear",
            "castnullableint",
            "castnullablebigint",
        ],
        "intervals are not supported; use `i32` or `i64` and `timestampaddDay` or `timestampaddMonth`",
    ),
    (
        &["aes_encrypt", "aes_decrypt"],
        "there it returns bytes that are not text as `utf8`; encrypt outside of expressions",
    ),
    (
        &["is true", "is false", "is not true", "is not false"],
        "names with blanks cannot be written; use `istrue`, `isfalse`, `isnottrue`, `isnotfalse`",
    ),
];

/// Why a function is not provided, for functions that are refused on purpose.
///
/// ```
/// assert!(tautomer_columns::refused("castDECIMAL").unwrap().contains("f64"));
/// assert_eq!(tautomer_columns::refused("add"), None);
/// ```
pub fn refused(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let found = REFUSED.iter().find(|(names, _)| names.contains(&name.as_str()));
    found.map(|(_, reason)| *reason)
}
