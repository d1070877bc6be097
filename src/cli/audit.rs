//! `tautomer optimize --audit`: checks everything that a run made.

use serde_json::{Value, json};

use tautomer::verify::Audit;

/// The result in a few lines.
pub(super) fn text(audit: &Audit) -> String {
    let mut out = format!("audit: {audit}");
    let shapes: Vec<&str> = audit
        .shapes
        .iter()
        .map(String::as_str)
        .filter(|s| !s.is_empty())
        .collect();
    if !shapes.is_empty() {
        out.push_str(&format!("\n  with {}", shapes.join("; with ")));
    }
    if let Some(reason) = &audit.reason {
        out.push_str(&format!("\n  the first that could not be computed is {reason}"));
    }
    let Some(fault) = &audit.fault else { return out };
    let blamed = match &fault.step {
        Some(step) if step.place.is_empty() => format!("`{}` made two values equal", step.rule),
        Some(step) => format!("`{}` at {} made two values equal", step.rule, step.place.join(", ")),
        None => "no rule made these two values equal; constant folding or the engine did".to_owned(),
    };
    out.push_str(&format!("\n{blamed}\n"));
    for (title, program) in [("what it matched", &fault.left), ("what it made", &fault.right)] {
        out.push_str(&format!("  {title}:\n"));
        out.extend(program.lines().map(|line| format!("    {line}\n")));
    }
    let at = fault
        .element
        .as_ref()
        .map_or_else(String::new, |e| format!("at {e:?} "));
    let with = match fault.shapes.as_str() {
        "" => String::new(),
        shapes => format!(", with {shapes}"),
    };
    out.push_str(&format!(
        "  {at}the first is {}, the second {}{with}",
        fault.expected, fault.found
    ));
    out
}

/// The result as JSON.
pub(super) fn data(audit: &Audit) -> Value {
    json!({
        "ok": audit.is_right(),
        "enodes": audit.enodes,
        "classes": audit.classes,
        "field": audit.field,
        "f64": audit.real,
        "f32": audit.single,
        "without_definition": audit.free,
        "unchecked": audit.unchecked,
        "over_budget": audit.over_budget,
        "reason": audit.reason,
        "shapes": audit.shapes,
        "broken_classes": audit.broken,
        "fault": audit.fault.as_ref().map(|fault| json!({
            "rule": fault.step.as_ref().map(|step| step.rule.to_string()),
            "place": fault.step.as_ref().map(|step| step.place.clone()),
            "matched": fault.left,
            "made": fault.right,
            "shapes": fault.shapes,
            "element": fault.element,
            "expected": fault.expected,
            "found": fault.found,
        })),
    })
}
