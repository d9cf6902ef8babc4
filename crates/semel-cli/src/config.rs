//! Settings: defaults, then `semel.toml` beside the work, then the environment, then options. Each knows its origin.

use crate::{
    fail::{Exit, Fail},
    low::{Global, MOST_AT_ONCE},
    system::variable,
};
use semel_engine::engine::Options;
use semel_kernel::limit;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A setting as `semel config show` prints it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its value.
    pub(crate) value: String,
    /// Where it comes from.
    pub(crate) origin: &'static str,
    /// What it is.
    pub(crate) meaning: &'static str,
}

/// What `semel.toml` may say. Unknown names are errors.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<PathBuf>,
    tenant: Option<String>,
    actor: Option<String>,
    slots: Option<u32>,
}

/// All settings.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The store.
    pub(crate) store: PathBuf,
    /// Whose tasks.
    pub(crate) tenant: String,
    /// Who acts: the operating system's user.
    pub(crate) actor: String,
    /// How the engine works.
    pub(crate) options: Options,
    /// All of them, with their origins.
    pub(crate) settings: Vec<Setting>,
}

const FILE: &str = "semel.toml";

impl Config {
    /// Reads all layers.
    pub(crate) fn load(global: &Global) -> Result<Self, Fail> {
        let file = read(Path::new(FILE))?;
        let typed = global.store.as_ref().map(|p| p.display().to_string());
        let from_env = typed.is_some() && variable("SEMEL_STORE") == typed;
        let store = layer(
            typed.map(|t| (t, if from_env { "SEMEL_STORE" } else { "--store" })),
            file.store.map(|p| p.display().to_string()),
            "./semel.db",
        );
        let tenant = layer(variable("SEMEL_TENANT").map(|t| (t, "SEMEL_TENANT")), file.tenant, "default");
        let user = variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "root".to_owned());
        let actor = layer(variable("SEMEL_ACTOR").map(|t| (t, "SEMEL_ACTOR")), file.actor, &user);
        let slots = layer(None, file.slots.map(|n| n.to_string()), "256");
        let options = Options { slots: number(&slots)?, ..Options::default() };
        let settings = settings(&store, &tenant, &actor, &slots, &options);
        Ok(Self { store: PathBuf::from(store.0), tenant: tenant.0, actor: actor.0, options, settings })
    }
}

type Layered = (String, &'static str);

fn layer(typed: Option<Layered>, file: Option<String>, default: &str) -> Layered {
    typed.or_else(|| file.map(|v| (v, FILE))).unwrap_or_else(|| (default.to_owned(), "default"))
}

/// A number of things to do at once, within the bounds of the options.
fn number((text, origin): &Layered) -> Result<u32, Fail> {
    let fits = |n: &u32| (1..=MOST_AT_ONCE).contains(&i64::from(*n));
    text.parse().ok().filter(fits).ok_or_else(|| {
        let message = format!("{origin}: `slots` is {text}, not a number from 1 to {MOST_AT_ONCE}");
        Fail::new(Exit::Usage, "SM1012", message, "mend the file")
    })
}

fn read(path: &Path) -> Result<File, Fail> {
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map_err(|e| {
            Fail::new(Exit::Usage, "SM1012", format!("{FILE}: {}", e.to_string().trim()), "mend the file")
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(File::default()),
        Err(e) => Err(Fail::io(FILE, &e)),
    }
}

fn settings(
    store: &Layered,
    tenant: &Layered,
    actor: &Layered,
    slots: &Layered,
    options: &Options,
) -> Vec<Setting> {
    let set =
        |name, (value, origin): &Layered, meaning| Setting { name, value: value.clone(), origin, meaning };
    let fixed = |name, value: String, meaning| Setting { name, value, origin: "default", meaning };
    let ms = |n: i64| format!("{n} ms");
    vec![
        set("store", store, "the file that holds everything"),
        set("tenant", tenant, "whose tasks; keys of two tenants never meet"),
        set("actor", actor, "who answers reviews"),
        set("slots", slots, "tasks worked on at once"),
        fixed("lease", ms(options.lease_ms), "how long a silent session owns its tasks"),
        fixed("renew", ms(options.renew_ms), "pause between two renewals of the lease"),
        fixed("margin", ms(options.margin_ms), "by which the lease is taken to end earlier"),
        fixed(
            "send_by",
            ms(limit::SEND_WITHIN_MS),
            "after STARTED, the first byte leaves within this time or never",
        ),
        fixed("timeout", ms(limit::TIMEOUT_MS), "of one attempt; a contract may say otherwise"),
        fixed(
            "settle",
            ms(limit::DEFAULT_SETTLE_MS),
            "before `it did not` is believed, where a contract says nothing",
        ),
        fixed("clock_error", ms(limit::CLOCK_ERROR_MS), "by which two clocks may differ"),
        fixed(
            "claims",
            limit::CLAIMS_WITHOUT_PROGRESS.to_string(),
            "take-ups without progress; at the next one a person is asked",
        ),
        fixed("checkpoint", limit::CHECKPOINT_TURNS.to_string(), "turns between two checkpoints"),
        fixed("plan steps", limit::PLAN_STEPS.to_string(), "at most, in one plan"),
        fixed("plan bytes", limit::PLAN_BYTES.to_string(), "at most, of one plan file"),
        fixed("arguments", limit::ARGUMENT_BYTES.to_string(), "bytes at most, of one step"),
        fixed(
            "inline",
            limit::INLINE_BYTES.to_string(),
            "bytes of a result kept in the event; larger ones become artifacts",
        ),
        fixed("response", limit::RESPONSE_BYTES.to_string(), "bytes read of one answer"),
        fixed("each", limit::EACH_ITEMS.to_string(), "items at most"),
    ]
}
