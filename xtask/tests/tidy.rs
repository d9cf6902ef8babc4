//! The rules of the house hold.

#[test]
fn tidy() {
    let report = xtask::tidy(&xtask::root());
    assert!(report.faults.is_empty(), "{}\n{}", report.summary, report.faults.join("\n"));
}
