//! Whatever a plan file holds, reading it ends with a plan or with problems; a plan that is read back from its own
//! document is the same plan.

use semel_kernel::{
    hash::Hash,
    json::{Json, Limits},
};
use semel_plan::{plan::PlanDoc, problem::Severity};
use std::path::Path;

/// True when the input got as far as the property itself.
pub(crate) fn check(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    match PlanDoc::read_text("plan.yaml", text, Path::new("there/is/no/such/folder")) {
        Ok(plan) => {
            stays_itself(&plan);
            true
        }
        Err(problems) => {
            assert!(problems.iter().any(|p| p.severity == Severity::Error), "refused without an error");
            // What is told is told to a person: it must be possible to write it.
            assert!(problems.iter().all(|p| !p.to_string().is_empty() && p.code.starts_with("SM")));
            false
        }
    }
}

fn stays_itself(plan: &PlanDoc) {
    let canonical = plan.document.canonical();
    let read = Json::parse_with(&canonical, Limits::default()).expect("a document is JSON");
    assert_eq!(read, plan.document, "the document survives its own text");
    let again = PlanDoc::from_document(&read).unwrap_or_else(|problems| panic!("{problems:?}\n{canonical}"));
    assert_eq!(again.kernel.hash, plan.kernel.hash, "the hash is the plan's");
    assert!(again == *plan, "the kernel's plan is the same\n{canonical}");
    assert_eq!(plan.kernel.hash, Hash::of(canonical.as_bytes()), "the hash is the document's");
    // Whatever is given, it fits or it is refused; neither is a panic.
    drop(plan.inputs(&Json::Obj(std::collections::BTreeMap::new())));
    drop(plan.inputs(&Json::Null));
}
