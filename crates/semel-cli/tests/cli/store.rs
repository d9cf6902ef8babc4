//! The store's own commands, and what is said when there is none.

use crate::{bench::Bench, shown::shown};

const REST: &str = "semel: 1\nname: rest\nsteps:\n  - step: rest\n    sleep: 1ms\n";

#[test]
fn without_a_store_every_reader_says_so_and_how_to_get_one() {
    let bench = Bench::new();
    for args in [
        &["ps"][..],
        &["task", "list"],
        &["op", "list"],
        &["review", "list"],
        &["metrics"],
        &["why", "x"],
        &["db", "verify"],
    ] {
        let ran = bench.expect(7, args);
        assert!(ran.talk.contains("SM2010"), "{args:?}: {}", ran.talk);
    }
    assert!(!bench.path("semel.db").exists());
    let json = bench.expect(7, &["ps", "--json"]).json();
    assert_eq!((json["error"].as_str(), json["exit"].as_i64()), (Some("SM2010"), Some(7)));
}

#[test]
fn what_is_no_store_is_left_alone_and_said_to_be_none() {
    let bench = Bench::new();
    bench.write("notes.txt", "buy milk, bread and butter\n");
    bench.write("plan.yaml", REST);
    for args in [&["ps", "--store"][..], &["run", "plan.yaml", "--store"]] {
        let ran = bench.expect(7, &[args, &["notes.txt"]].concat());
        assert!(ran.talk.contains("not a Semel store"), "{}", ran.talk);
        let ran = bench.expect(7, &[args, &["."]].concat());
        assert!(ran.talk.contains("is a folder"), "{}", ran.talk);
    }
    let left: Vec<_> = std::fs::read_dir(bench.path("")).unwrap().collect();
    assert_eq!(left.len(), 2, "nothing is put beside it: {left:?}");
}

#[test]
fn what_cannot_be_printed_spoils_the_exit() {
    let bench = Bench::new();
    bench.expect(0, &["db", "create"]);
    let mut full = bench.command(&["config", "show"]);
    full.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let ended = full.output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8(ended.stderr).unwrap().contains("SM1011"));
}

#[test]
fn where_nobody_works_every_page_says_so() {
    let bench = Bench::new();
    bench.write("plan.yaml", &REST.replace("1ms", "1h"));
    bench.expect(0, &["run", "plan.yaml", "--detach"]);
    for args in [&["ps"][..], &["why", "tsk"], &["task", "show", "tsk"]] {
        let ran = bench.expect(0, args);
        assert!(ran.talk.contains("nobody works on this store now; next: semel worker"), "{args:?}: {ran:?}");
    }
    assert!(bench.expect(0, &["doctor"]).out.contains("nobody works on 1 open task"));
    assert_eq!(bench.expect(0, &["ps", "--json"]).json()["worked_on"], false);
}

#[test]
fn an_orderly_end_leaves_no_wal_behind() {
    let bench = Bench::new();
    bench.write("plan.yaml", REST);
    for args in
        [&["run", "plan.yaml"][..], &["worker", "--until-idle", "0s"], &["run", "plan.yaml", "--new-intent"]]
    {
        bench.expect(0, args);
        let left = std::fs::metadata(bench.path("semel.db-wal")).map_or(0, |wal| wal.len());
        assert_eq!(left, 0, "{args:?}");
    }
}

/// Tenants share a store, and each can be looked at alone, by people and by programs.
#[test]
fn lists_show_one_tenant_where_one_is_named() {
    let bench = Bench::new();
    bench.write("plan.yaml", &REST.replace("1ms", "1h"));
    for tenant in ["acme", "beta"] {
        let run = ["run", "plan.yaml", "--detach", "--id", "night-shift"];
        assert_eq!(bench.semel_with(&[("SEMEL_TENANT", tenant)], &run).exit, 0);
    }
    for (name, args) in [("tenant_ps", &["ps"][..]), ("tenant_task_list", &["task", "list"])] {
        let of = |tenant| [args, &["--tenant", tenant]].concat();
        let ran = bench.expect(0, &of("acme"));
        insta::assert_snapshot!(name, format!("{}\n---\n{}", shown(&ran.out), shown(&ran.talk)));
        let json = bench.expect(0, &[&of("beta")[..], &["--json"]].concat()).json();
        let tenants: Vec<_> = json["tasks"].as_array().unwrap().iter().map(|t| &t["tenant"]).collect();
        assert_eq!(tenants, ["beta"]);
        let none = bench.expect(0, &[&of("nobody")[..], &["--json"]].concat()).json();
        assert_eq!(none["tasks"].as_array().map(Vec::len), Some(0));
        assert!(bench.expect(2, &of("No One")).talk.contains("SM1012"));
        let both = bench.expect(0, &[args, &["--json"]].concat()).json();
        assert_eq!(both["tasks"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(bench.expect(0, &["ps", "--tenant", "beta", "--json"]).json()["counts"]["open"], 1);
}

#[test]
fn a_store_is_made_once() {
    let bench = Bench::new();
    bench.expect(0, &["db", "create"]);
    assert!(bench.expect(2, &["db", "create"]).talk.contains("SM1018"));
}

#[test]
fn crash_points_need_a_sandbox() {
    let bench = Bench::new();
    bench.write("plan.yaml", REST);
    bench.expect(0, &["db", "create"]);
    let env = [("SEMEL_CHAOS", "turn.after_commit")];
    let ran = bench.semel_with(&env, &["run", "plan.yaml"]);
    assert_eq!(ran.exit, 4);
    assert!(ran.talk.contains("SM1013"), "{}", ran.talk);
}

#[test]
fn a_clean_store_verifies_and_a_changed_one_does_not() {
    let bench = Bench::new();
    bench.write("plan.yaml", REST);
    bench.expect(0, &["run", "plan.yaml"]);
    assert!(bench.expect(0, &["db", "verify"]).out.contains("0 problems"));
    assert!(bench.expect(0, &["audit", "verify"]).out.contains("0 problems"));
    // A backup is one file without a WAL, so every byte of the history stands in it.
    bench.expect(0, &["db", "backup", "copy.db"]);
    bench.expect(0, &["audit", "verify", "--store", "copy.db"]);
    forge(&bench.path("copy.db"));
    let ran = bench.expect(9, &["audit", "verify", "--store", "copy.db"]);
    assert!(!ran.out.contains(": 0 problems"), "{}", ran.out);
}

/// Changes one letter of the plan's name inside the history, as a forger would.
fn forge(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let needle = b"\"name\":\"rest\"";
    let places: Vec<usize> =
        (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
    assert!(!places.is_empty(), "the history holds the plan's name");
    for at in places {
        bytes[at + 8] = b'b';
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_restored_backup_is_held_until_it_is_adopted() {
    let bench = Bench::new();
    bench.write("plan.yaml", REST);
    bench.expect(0, &["run", "plan.yaml"]);
    bench.expect(0, &["db", "backup", "copy.db"]);
    assert!(bench.expect(2, &["db", "backup", "copy.db"]).talk.contains("SM1018"));
    assert!(bench.expect(2, &["db", "restore", "copy.db"]).talk.contains("SM1018"));
    bench.expect(7, &["db", "restore", "nowhere.db"]);
    bench.expect(0, &["db", "restore", "copy.db", "--force"]);
    bench.write("other.yaml", &REST.replace("name: rest", "name: other"));
    assert_eq!(bench.semel(&["run", "other.yaml"]).exit, 7);
    assert_eq!(bench.semel(&["doctor"]).exit, 9);
    let asked = bench.expect(4, &["db", "adopt"]);
    insta::assert_snapshot!("adopt_asks", shown(&asked.talk));
    assert!(bench.expect(0, &["db", "adopt", "--yes"]).out.contains("epoch 2"));
    bench.expect(0, &["run", "other.yaml"]);
}

#[test]
fn the_doctor_looks_at_everything_and_changes_nothing() {
    let bench = Bench::new();
    bench.write("plan.yaml", REST);
    bench.expect(0, &["run", "plan.yaml"]);
    let json = bench.expect(0, &["doctor", "--json"]).json();
    let names: Vec<&str> =
        json["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    let wanted = [
        "program",
        "store",
        "owner",
        "durability",
        "mode",
        "clock",
        "unknown",
        "reviews",
        "disk",
        "core files",
    ];
    assert_eq!(names, wanted);
    std::fs::set_permissions(bench.path("semel.db"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    assert!(bench.expect(0, &["doctor"]).out.contains("chmod 600"));
}

#[test]
fn a_missing_backup_makes_no_store() {
    let bench = Bench::new();
    bench.expect(7, &["db", "restore", "nowhere.db"]);
    assert!(!bench.path("semel.db").exists());
}

#[test]
fn a_wait_that_is_given_up_leaves_the_task_running_until_it_is_cancelled() {
    let bench = Bench::new();
    bench.write("plan.yaml", &REST.replace("1ms", "1h"));
    bench.expect(8, &["run", "plan.yaml", "--timeout", "1ms"]);
    let wait = bench.expect(8, &["task", "wait", "tsk", "--timeout", "1ms"]);
    assert!(wait.talk.contains("semel worker"), "{}", wait.talk);
    let still = bench.expect(8, &["task", "recover", "tsk"]);
    assert!(still.talk.contains("it waits for"), "{}", still.talk);
    assert!(bench.expect(0, &["ps"]).out.contains("WAITING"));
    bench.expect(0, &["task", "cancel", "tsk", "--reason", "enough"]);
    bench.expect(1, &["task", "recover", "tsk"]);
    assert!(bench.expect(0, &["task", "show", "tsk"]).out.contains("CANCELLED"));
}
