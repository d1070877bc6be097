//! Text inside XML and HTML.

/// The text with `&`, `<`, `>` and `"` escaped, without the characters that XML 1.0 does not allow or discourages.
///
/// ```
/// # use tautomer_files::escaped;
/// assert_eq!(escaped("x < \"y\" & \u{1}z\n"), "x &lt; &quot;y&quot; &amp; z\n");
/// ```
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
