//! The certificate that the document explains.

use tautomer_check::{Verdict, check};

const PAGE: &str = include_str!("../../../../docs/certificates.md");

/// The certificate among the code blocks of the document.
fn certificate() -> &'static str {
    PAGE.split("```")
        .filter_map(|block| block.strip_prefix("text\n"))
        .find(|block| block.starts_with("tautomer-certificate"))
        .unwrap()
}

#[test]
fn the_documented_certificate_is_accepted() {
    let checked = check(certificate());
    assert_eq!(checked.len(), 1);
    assert!(
        matches!(checked[0].verdict, Verdict::Accepted(_)),
        "{:?}",
        checked[0].verdict
    );
}

#[test]
fn the_documented_certificate_with_another_element_is_rejected() {
    let other = certificate().replace("element x * x", "element x * 2");
    assert_ne!(other, certificate());
    assert!(
        matches!(check(&other)[0].verdict, Verdict::Rejected(_)),
        "{:?}",
        check(&other)[0].verdict
    );
}
