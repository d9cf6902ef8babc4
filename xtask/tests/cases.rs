//! The page of scenarios says what the tests say.

#[test]
fn the_committed_page_is_what_the_tests_hold() {
    let root = xtask::root();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        xtask::cases::write(&root).expect("the page can be written");
    }
    let report = xtask::cases::check(&root);
    assert!(report.faults.is_empty(), "{}\n{}", report.summary, report.faults.join("\n"));
}
