//! The certificate that the document explains.

use tautomer_check::{Verdict, check};

const PAGE: &str = include_str!("../../../../docs/certificates.md");

/// The certificates among the code blocks of the document.
fn certificates() -> Vec<&'static str> {
    let blocks = PAGE.split("```").filter_map(|block| block.strip_prefix("text\n"));
    blocks.filter(|block| block.starts_with("tautomer-certificate")).collect()
}

fn verdict(text: &str) -> Verdict {
    let mut checked = check(text);
    assert_eq!(checked.len(), 1);
    checked.remove(0).verdict
}

#[test]
fn the_documented_certificates_are_accepted() {
    assert_eq!(certificates().len(), 2);
    for text in certificates() {
        assert!(matches!(verdict(text), Verdict::Accepted(_)), "{:?}", verdict(text));
    }
}

/// The document quotes what the checker says about the second.
#[test]
fn the_documented_verdict_is_that_of_the_checker() {
    let said = check(certificates()[1])[0].to_string();
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("`{said}`")), "{said}");
}

#[test]
fn the_documented_certificate_with_another_element_is_rejected() {
    let other = certificates()[0].replace("element x * x", "element x * 2");
    assert_ne!(other, certificates()[0]);
    assert!(matches!(verdict(&other), Verdict::Rejected(_)), "{:?}", verdict(&other));
}
