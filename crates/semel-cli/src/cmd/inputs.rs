//! Inputs as they are given: in a file, as options, or a line for each run; and where a fault in them was written.
//!
//! Invariant: a fault names the file with line and column where a file holds it, and the option where one was typed.

use crate::{
    fail::{Exit, Fail},
    low,
};
use semel_kernel::json::{Json, JsonError};
use semel_plan::{
    plan::PlanDoc,
    problem::{Problem, Problems, Span},
    yaml::{self, Node},
};
use std::{collections::BTreeMap, io::Read as _, path::Path};

/// The checked inputs of `--inputs` and `--input`, the latter winning.
pub(crate) fn checked(args: &low::Run, plan: &PlanDoc) -> Result<Json, Fail> {
    let file = args.inputs.as_deref().map(File::read).transpose()?;
    let mut all = file.as_ref().map(|f| f.values.clone()).unwrap_or_default();
    let mut typed = BTreeMap::new();
    for pair in &args.input {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| usage(format!("`{pair}` is not NAME=VALUE")))?;
        all.insert(name.to_owned(), value_of(plan, name, value));
        typed.insert(name.to_owned(), format!("--input {name}"));
    }
    plan.inputs(&Json::Obj(all)).map_err(|problems| {
        let place = |p: Problem| match (typed.get(&p.path), &file) {
            (Some(option), _) => Problem { file: option.clone(), ..p },
            (None, Some(file)) => file.place(p),
            (None, None) => Problem { hint: format!("{}: --input {}=VALUE", p.hint, p.path), ..p },
        };
        let mut placed: Vec<Problem> = problems.into_iter().map(place).collect();
        placed.sort_by(|a, b| (&a.file, a.span).cmp(&(&b.file, b.span)));
        Fail::problems(placed)
    })
}

/// The checked inputs of one line of a file, or its faults, each with the column at which it stands.
pub(crate) fn of_line(plan: &PlanDoc, text: &str, json: &Json) -> Result<Json, Vec<(Option<u32>, String)>> {
    plan.inputs(json).map_err(|problems| {
        let root = places(text);
        let column = |p: &Problem| Some(span_of(root.as_ref()?, p)).filter(|s| *s != Span::NONE);
        let told = problems.iter().map(|p| (column(p).map(|s| s.column), p.message.clone()));
        let mut told: Vec<(Option<u32>, String)> = told.collect();
        told.sort();
        told
    })
}

/// The name under which a file is told.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// A file of inputs.
struct File {
    name: String,
    values: BTreeMap<String, Json>,
    /// The same with places; none where they could not be found.
    root: Option<Node>,
}

impl File {
    /// YAML by the end of its name, JSON otherwise.
    fn read(path: &Path) -> Result<Self, Fail> {
        let name = name_of(path);
        let text = read(path)?;
        let is_yaml = path.extension().is_some_and(|x| x == "yaml" || x == "yml");
        let (json, root) = if is_yaml {
            let (json, root) = of_yaml(&name, &text)?;
            (json, Some(root))
        } else {
            (parse(&name, &text)?, places(&text))
        };
        match json {
            Json::Obj(values) => Ok(Self { name, values, root }),
            other => Err(usage(format!("{name} holds {}, not an object of inputs", other.kind_name()))),
        }
    }

    fn place(&self, problem: Problem) -> Problem {
        let span = self.root.as_ref().map_or(Span::NONE, |root| span_of(root, &problem));
        Problem { file: self.name.clone(), span, ..problem }
    }
}

fn of_yaml(name: &str, text: &str) -> Result<(Json, Node), Fail> {
    let mut problems = Problems::new();
    let root = yaml::parse(name, text, &mut problems);
    let json = root.as_ref().and_then(|root| root.to_json("", &mut problems));
    match (json, root) {
        (Some(json), Some(root)) if !problems.has_errors() => Ok((json, root)),
        _ => Err(Fail::problems(problems.into_vec())),
    }
}

/// JSON is read as YAML for the sake of the places only; where YAML reads it otherwise, there are none.
fn places(text: &str) -> Option<Node> {
    let mut problems = Problems::new();
    yaml::parse("", text, &mut problems).filter(|_| !problems.has_errors())
}

/// Where an input stands: a name that is not declared at its name, a value at the value, a missing one at the whole.
fn span_of(root: &Node, problem: &Problem) -> Span {
    let members = root.as_map().unwrap_or_default();
    match members.iter().find(|(key, _)| key.text == problem.path) {
        Some((key, _)) if problem.code == "SM4120" => key.span,
        Some((_, node)) => node.span,
        None => root.span,
    }
}

/// What is typed for a text is a text, even if it looks like a number; anything else is JSON where it reads as JSON.
fn value_of(plan: &PlanDoc, name: &str, value: &str) -> Json {
    let declared = plan.document.at(&["inputs", name, "type"]).and_then(Json::as_str);
    let read = Json::parse(value).ok();
    let fits = declared != Some("string") || read.as_ref().is_some_and(|json| json.as_str().is_some());
    read.filter(|_| fits).unwrap_or_else(|| Json::str(value))
}

/// One JSON value out of `name`, a file or an option.
pub(crate) fn parse(name: &str, text: &str) -> Result<Json, Fail> {
    Json::parse(text).map_err(|e: JsonError| {
        let message = format!("{name}:{}:{}: {}, at {}", e.line, e.column, e.kind, e.path);
        Fail::new(Exit::Usage, e.code(), message, e.next())
    })
}

fn read(path: &Path) -> Result<String, Fail> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut f| f.read_to_string(&mut text))
    };
    read.map_err(|e| Fail::io(&name_of(path), &e))?;
    Ok(text)
}

fn usage(message: String) -> Fail {
    Fail::new(Exit::Usage, "SM1012", message, "see `semel run --help`")
}
