//! Which crate may depend on which of ours, and why not on others. Read from the manifests.

use std::path::Path;

/// Crate, crates of ours that it may name, and the reason for what is missing.
const ALLOWED: [(&str, &[&str], &str); 11] = [
    ("semel-kernel", &[], "the kernel decides; it depends on nothing of ours and on nothing that can do IO"),
    ("semel-ports", &["semel-kernel", "semel-ports"], "ports are what the shell is written against"),
    (
        "semel-plan",
        &["semel-kernel", "semel-ports"],
        "plans are functions of text; they know no store and no network",
    ),
    (
        "semel-store-sqlite",
        &["semel-kernel", "semel-ports"],
        "a store is dumb; it knows neither plans nor the engine",
    ),
    (
        "semel-connectors",
        &["semel-kernel", "semel-ports"],
        "a connector sends bytes; what they mean is the contract's",
    ),
    (
        "semel-engine",
        &["semel-kernel", "semel-plan", "semel-ports"],
        "the engine knows stores and connectors by their ports only",
    ),
    (
        "semel-sim",
        &["semel-engine", "semel-kernel", "semel-plan", "semel-ports"],
        "the simulator has no sockets, no files and no store of its own",
    ),
    ("semel-sinks", &[], "sinks stand for other people's systems; they know nothing of ours"),
    (
        "semel-cli",
        &[
            "semel-connectors",
            "semel-engine",
            "semel-kernel",
            "semel-plan",
            "semel-ports",
            "semel-sinks",
            "semel-store-sqlite",
        ],
        "the composition root",
    ),
    ("semel-model", &["semel-kernel"], "the model is the kernel and a world of its own around it"),
    ("xtask", &[], "tidy reads text; it links nothing of ours"),
];

/// Outside crates that only some may name.
const FENCED: [(&str, &[&str]); 6] = [
    ("rusqlite", &["semel-store-sqlite", "semel-sinks"]),
    ("hyper", &["semel-connectors", "semel-sinks"]),
    ("cel", &["semel-plan"]),
    ("jsonschema", &["semel-plan"]),
    ("saphyr-parser", &["semel-plan"]),
    ("clap", &["semel-cli", "semel-sim"]),
];

/// Checks the `[dependencies]` of every manifest; tests may reach further.
pub(crate) fn check(root: &Path, faults: &mut Vec<String>) {
    for (name, allowed, reason) in ALLOWED {
        let dir = match name {
            "xtask" => root.join(name),
            "semel-model" => root.join("model"),
            _ => root.join("crates").join(name),
        };
        let Ok(text) = std::fs::read_to_string(dir.join("Cargo.toml")) else { continue };
        for dependency in dependencies(&text) {
            if dependency.starts_with("semel") && !allowed.contains(&dependency.as_str()) {
                faults.push(format!("{name} depends on {dependency}: {reason}"));
            }
            let fence = FENCED.iter().find(|(fenced, _)| *fenced == dependency);
            if let Some((fenced, only)) = fence.filter(|(_, only)| !only.contains(&name)) {
                faults.push(format!("{name} depends on {fenced}, which only {} may", only.join(" and ")));
            }
        }
    }
}

fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && let Some((name, _)) = line.split_once(['=', '.', ' ']) {
            names.push(name.trim().to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_the_dependencies_of_production() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = \"1\"\n";
        assert_eq!(dependencies(text), ["a", "b"]);
    }
}
