//! `semel init`: a plan and a contract to start from, so that a stranger protects an endpoint of his own in minutes.
//!
//! Invariant: what is written passes the linter without a warning, for every effect class; nothing is overwritten
//! unasked, and nothing is written when one file is in the way.

use super::{db::in_the_way, plan::SCHEMAS};
use crate::{
    fail::{Exit, Fail},
    low,
    ui::Ui,
};
use std::path::{Component, Path, PathBuf};

/// The contract to start from, for what the target offers.
const CONTRACTS: [(&str, &str); 5] = [
    ("keyed", include_str!("init/keyed.yaml")),
    ("queryable", include_str!("init/queryable.yaml")),
    ("natural", include_str!("init/natural.yaml")),
    ("none", include_str!("init/none.yaml")),
    ("blind", include_str!("init/blind.yaml")),
];
const PLAN: &str = include_str!("init/plan.yaml");
/// Nothing is changed by a question, so it has no amount.
const READING: &str = include_str!("init/reading.yaml");
const URL: &str = "http://127.0.0.1:8080/things";

pub(crate) fn run(args: &low::Init, ui: Ui) -> Result<Exit, Fail> {
    let files = files(args)?;
    if let Some((path, _)) = files.iter().find(|(path, text)| differs(path, text)).filter(|_| !args.force) {
        return Err(in_the_way(path, "name another folder, or add --force to write over it"));
    }
    for (path, text) in &files {
        write(path, text)?;
    }
    told(args, &files, ui);
    Ok(Exit::Done)
}

/// There is a file, and it is not the one that would be written.
fn differs(path: &Path, text: &str) -> bool {
    path.exists() && std::fs::read_to_string(path).ok().as_deref() != Some(text)
}

fn files(args: &low::Init) -> Result<Vec<(PathBuf, String)>, Fail> {
    let class = args.effect.as_deref().unwrap_or("blind");
    let contract = CONTRACTS.iter().find(|(name, _)| *name == class);
    let (_, contract) = contract.ok_or_else(|| {
        usage(format!("`{class}` is not an effect class"), "use keyed, queryable, natural, none or blind")
    })?;
    let url = args.url.as_deref().unwrap_or(URL);
    check(url)?;
    let plan = if class == "none" { READING } else { PLAN };
    let mut files = vec![
        (args.dir.join("plan.yaml"), plan.to_owned()),
        (args.dir.join("contracts/tool.yaml"), contract.replace("@URL@", url.trim_end_matches('/'))),
    ];
    let schema = |(kind, text): &(&str, &str)| {
        (args.dir.join(format!(".semel/{kind}.schema.json")), (*text).to_owned())
    };
    files.extend(SCHEMAS.iter().map(schema));
    Ok(files)
}

/// The address is put between quotes into a file that holds expressions.
fn check(url: &str) -> Result<(), Fail> {
    let http = url.starts_with("http://") || url.starts_with("https://");
    let plain = url.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '#' | '{' | '}' | '?'));
    if http && plain {
        return Ok(());
    }
    let next = "begin with http:// or https://, and leave query and braces to the contract";
    Err(usage(format!("`{url}` is not an address that fits here"), next))
}

fn usage(message: String, next: &str) -> Fail {
    Fail::new(Exit::Usage, "SM1012", message, next)
}

fn write(path: &Path, text: &str) -> Result<(), Fail> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, text)).map_err(|e| Fail::io(&path.display().to_string(), &e))
}

fn told(args: &low::Init, files: &[(PathBuf, String)], ui: Ui) {
    let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let next = next(args);
    ui.show(&serde_json::json!({"v": 1, "files": paths, "next": next}), || paths.join("\n"));
    if ui.json {
        return;
    }
    if args.effect.is_none() {
        ui.say("nothing is known of your endpoint, so its contract is blind: after a lost answer a person is asked.");
        ui.say("  --effect keyed, if it honours an Idempotency-Key; --effect queryable, if it can be asked");
    }
    ui.say(&format!("next: {}", next.join("\n      ")));
}

/// All that follows is said inside the folder, where the store will lie too.
fn next(args: &low::Init) -> Vec<String> {
    let here = args.dir.components().all(|part| matches!(part, Component::CurDir));
    let enter = (!here).then(|| format!("cd {}", quoted(&args.dir.display().to_string())));
    let amount = if args.effect.as_deref() == Some("none") { "" } else { " -i amount=100" };
    let run = format!("semel run plan.yaml -i reference=o-1{amount}");
    enter.into_iter().chain(["semel plan lint plan.yaml".to_owned(), run]).collect()
}

/// A folder as a shell takes it.
fn quoted(text: &str) -> String {
    let text = if text.starts_with('-') { format!("./{text}") } else { text.to_owned() };
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_kernel::json::Json;
    use semel_plan::{plan::PlanDoc, problem::Problems, schema::Schema, yaml};

    fn args(dir: &Path, effect: &str) -> low::Init {
        low::Init { dir: dir.to_owned(), url: None, effect: Some(effect.to_owned()), force: false }
    }

    #[test]
    fn what_is_written_lints_clean_for_every_class_and_fits_the_schemas() {
        for (class, _) in CONTRACTS {
            let dir = tempfile::tempdir().expect("a folder");
            let ui = Ui { json: false, quiet: true };
            run(&args(dir.path(), class), ui).expect("written");
            let plan =
                PlanDoc::read(&dir.path().join("plan.yaml")).unwrap_or_else(|p| panic!("{class}: {p:#?}"));
            assert_eq!(plan.warnings, [], "{class}");
            for (kind, file) in [("plan", "plan.yaml"), ("contract", "contracts/tool.yaml")] {
                assert_eq!(violations(kind, &dir.path().join(file)), Vec::<String>::new(), "{class} {file}");
            }
        }
    }

    /// An editor finds the contract's schema beside the plan's; here it is carried inside.
    fn bundled(kind: &str) -> Json {
        let read = |kind: &str| {
            let (_, text) = SCHEMAS.iter().find(|(k, _)| *k == kind).expect("a schema");
            Json::parse(text).expect("JSON")
        };
        let mut schema = read(kind);
        if let Json::Obj(map) = &mut schema
            && kind == "plan"
            && let Some(Json::Obj(defs)) = map.get_mut("$defs")
        {
            defs.insert("contract-file".to_owned(), read("contract"));
        }
        schema
    }

    fn violations(kind: &str, file: &Path) -> Vec<String> {
        let schema = Schema::compile(&bundled(kind)).expect("a schema");
        let text = std::fs::read_to_string(file).expect("a file");
        let mut problems = Problems::new();
        let root = yaml::parse("f", &text, &mut problems).expect("YAML");
        let json = root.to_json("", &mut problems).expect("JSON");
        schema.violations(&json).into_iter().map(|v| format!("{}: {}", v.path, v.message)).collect()
    }

    #[test]
    fn the_schemas_refuse_unknown_keys() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("x.yaml");
        std::fs::write(&file, "tool: t\nhttp: { method: GET, url: \"http://x\" }\nefect: none\n")
            .expect("written");
        assert_eq!(violations("contract", &file).len(), 1);
    }

    #[test]
    fn a_file_in_the_way_stops_before_anything_is_written() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("contracts")).expect("a folder");
        std::fs::write(dir.path().join("contracts/tool.yaml"), "mine").expect("written");
        let fail = run(&args(dir.path(), "keyed"), Ui { json: false, quiet: true }).expect_err("in the way");
        assert_eq!(fail.code, "SM1018");
        assert!(!dir.path().join("plan.yaml").exists());
    }

    #[test]
    fn an_address_that_breaks_out_of_its_quotes_is_refused() {
        for bad in ["ftp://x", "http://x/\" evil", "http://x/${{ 1 }}", "https://x/#a"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check("https://api.example.com/v1/orders").is_ok());
    }
}
