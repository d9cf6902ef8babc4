//! From arguments to an operation and its request.
//!
//! Invariant: size comes first, before anything is parsed, hashed or sent; a call that passes here once passes always.

use super::{Call, Contract, KeyFormat, ProbeRules, Refusal, Seen};
use crate::{
    fields::{BadIdentity, Digest, MOST_FIELDS},
    http::Marks,
    template::Vars,
};
use semel_kernel::{
    event::PlannedOperation,
    hash::{operation_key, operation_key_uuid},
    id::{Intent, OperationId},
    json::Json,
    limit,
    outcome::Stored,
};
use semel_ports::request::HttpRequest;
use std::collections::BTreeMap;

type Args = BTreeMap<String, Json>;

pub(super) fn identity(contract: &Contract, args: &Json) -> Result<Vec<String>, Refusal> {
    contract.fields.identity_of(checked_size(args)?).map_err(bad_identity)
}

pub(super) fn digest(contract: &Contract, args: &Json) -> Result<Digest, Refusal> {
    let members = checked_size(args)?;
    if let Some(schema) = &contract.input {
        check_schema(schema, args)?;
    }
    contract.fields.digest(members).map_err(bad_identity)
}

pub(super) fn operation(contract: &Contract, call: &Call<'_>) -> Result<PlannedOperation, Refusal> {
    let digest = digest(contract, call.args)?;
    let id = id_of(call, &digest.target)?;
    let make_key = match contract.key_format {
        KeyFormat::Base32 => operation_key,
        KeyFormat::Uuid => operation_key_uuid,
    };
    Ok(PlannedOperation {
        key: make_key(call.tenant.as_str(), id.as_str(), call.key_epoch),
        id,
        tool: contract.terms.tool.clone(),
        target: digest.target,
        version: call.version.to_owned(),
        intent: call.intent,
        key_epoch: call.key_epoch,
        request_hash: digest.request_hash,
        fields: digest.fields,
        arguments: Stored::Inline(call.args.clone()),
    })
}

pub(super) fn request(
    contract: &Contract,
    call: &Call<'_>,
    key: &str,
    tag: Option<&str>,
) -> Result<HttpRequest, Refusal> {
    let target = digest(contract, call.args)?.target;
    let (key_json, task) = (Json::str(key), Json::str(call.task.as_str()));
    let operation = Json::str(id_of(call, &target)?.as_str());
    let vars = [("args", call.args), ("key", &key_json), ("operation", &operation), ("task", &task)];
    let if_match = if contract.if_match().is_some() {
        Some(tag.ok_or_else(|| unfilled("`if_match`: the look before the send told no version"))?)
    } else {
        None
    };
    let marks = Marks { key, place: contract.key_place.as_ref(), fence: contract.fence.as_deref(), if_match };
    contract.http.build(&vars, marks).map_err(|cause| unfilled(&cause))
}

pub(super) fn question(contract: &Contract, seen: &Seen<'_>) -> Result<HttpRequest, Refusal> {
    ask(contract, contract.probe.as_ref(), seen)
}

pub(super) fn confirming_question(contract: &Contract, seen: &Seen<'_>) -> Result<HttpRequest, Refusal> {
    let confirm = contract.probe.as_ref().and_then(|probe| probe.confirm.as_ref());
    ask(contract, confirm.map(|confirm| &*confirm.rules), seen)
}

fn ask(contract: &Contract, probe: Option<&ProbeRules>, seen: &Seen<'_>) -> Result<HttpRequest, Refusal> {
    let Some(probe) = probe else {
        let cause = format!("`{}` has no probe; next: add `probe:` to its contract", contract.terms.tool);
        return Err(Refusal { code: "SM4406", cause, fields: Vec::new() });
    };
    let names = Names::of(seen);
    let marks = Marks { key: seen.key, ..Marks::default() };
    probe.http.build(&names.vars(seen), marks).map_err(|cause| unfilled(&cause))
}

/// The names beside an answer, as values.
pub(crate) struct Names {
    key: Json,
    operation: Json,
    task: Json,
}

impl Names {
    pub(crate) fn of(seen: &Seen<'_>) -> Names {
        Names { key: Json::str(seen.key), operation: Json::str(seen.operation), task: Json::str(seen.task) }
    }

    pub(crate) fn vars<'a>(&'a self, seen: &Seen<'a>) -> [(&'a str, &'a Json); 5] {
        let handle = seen.handle.unwrap_or(&Json::Null);
        [
            ("args", seen.args),
            ("key", &self.key),
            ("operation", &self.operation),
            ("task", &self.task),
            ("handle", handle),
        ]
    }
}

fn checked_size(args: &Json) -> Result<&Args, Refusal> {
    let size = args.size_bytes();
    let Json::Obj(members) = args else {
        let cause = format!("arguments are {}, not a map; next: give `name: value` pairs", args.kind_name());
        return Err(Refusal { code: "SM4402", cause, fields: Vec::new() });
    };
    if size > limit::ARGUMENT_BYTES {
        return Err(too_large(members, size));
    }
    if members.len() > MOST_FIELDS {
        let cause =
            format!("{} arguments, more than {MOST_FIELDS}; next: group them in a map", members.len());
        return Err(Refusal { code: "SM4402", cause, fields: Vec::new() });
    }
    Ok(members)
}

fn too_large(members: &Args, size: usize) -> Refusal {
    let largest = members.iter().map(|(name, value)| (value.size_bytes(), name)).max();
    let (bytes, name) = largest.map_or((0, ""), |(bytes, name)| (bytes, name.as_str()));
    let name: String = name.chars().take(80).collect();
    let most = limit::ARGUMENT_BYTES;
    let cause = format!(
        "the arguments have {size} bytes, the limit is {most}; the largest is `{name}` with {bytes} bytes; next: store it elsewhere and pass a reference"
    );
    Refusal { code: "SM4401", cause, fields: vec![name] }
}

fn check_schema(schema: &crate::schema::Schema, args: &Json) -> Result<(), Refusal> {
    let violations = schema.violations(args);
    if violations.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.message)).collect();
    let mut fields: Vec<String> =
        violations.iter().filter_map(|v| v.path.split('/').nth(1)).map(str::to_owned).collect();
    fields.dedup();
    let cause =
        format!("the arguments break the contract's `input`: {}; next: correct them", told.join("; "));
    Err(Refusal { code: "SM4403", cause, fields })
}

fn bad_identity(bad: BadIdentity) -> Refusal {
    let cause = format!("`{}` names the target, but {}; next: give it a value", bad.field, bad.message);
    Refusal { code: "SM4404", cause, fields: vec![bad.field] }
}

fn id_of(call: &Call<'_>, target: &str) -> Result<OperationId, Refusal> {
    let intent = Intent { target, version: call.version, intent: call.intent };
    OperationId::build(call.task, call.step, &intent).map_err(|bad| Refusal {
        code: "SM4405",
        cause: format!("{bad}; next: choose shorter identity fields, or a hash of them"),
        fields: Vec::new(),
    })
}

fn unfilled(cause: &str) -> Refusal {
    Refusal {
        code: "SM4407",
        cause: format!("the request cannot be made: {cause}; next: correct the arguments or the contract"),
        fields: Vec::new(),
    }
}

/// The variables of an answer's rules: the answer, then the names beside it.
pub(crate) fn answer_vars<'a>(
    answer: [(&'a str, &'a Json); 3],
    beside: &Vars<'a>,
) -> Vec<(&'a str, &'a Json)> {
    answer.into_iter().chain(beside.iter().copied()).collect()
}
