//! `semel review decide`: a fact or an order, bound to the page it was read from.
//!
//! Invariant: what recovery does next is said before the command returns.

use crate::cmd::{find, inputs, op, run::duration, task, why::load};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::Decide,
    ui::{self, Ui},
    wire,
};
use semel_engine::{command::Command, view::why_task};
use semel_kernel::{
    id::{ReviewId, TaskId},
    json::Json,
    oblige,
    review::Decision,
    time::Millis,
};

pub(super) async fn run(config: &Config, args: &Decide, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let (task, review) = find::review(store.as_ref(), &args.id).await?;
    let decision = decision(args, store.now().at)?;
    drop(store);
    let command = Command::Decide {
        task: task.clone(),
        review: review.clone(),
        decision,
        actor: config.actor.clone(),
        reason: args.reason.clone().unwrap_or_default(),
        page: Some(args.page),
    };
    match wire::command(config, command).await.and_then(task::done) {
        Ok(()) => afterwards(config, &task, &review, ui).await,
        Err(fail) => Err(explained(config, &task, &review, fail).await),
    }
}

async fn explained(config: &Config, id: &TaskId, review: &ReviewId, fail: Fail) -> Fail {
    let Ok(store) = wire::read(config).await else { return fail };
    let Ok(task) = load(store.as_ref(), id).await else { return fail };
    let step = task.review(review).and_then(|r| r.step.as_ref()).and_then(|s| task.steps.get(s));
    match step.and_then(|s| s.operation.as_ref()) {
        Some(found) => op::dated(config, id, found, fail).await,
        None => fail,
    }
}

fn decision(args: &Decide, now: Millis) -> Result<Decision, Fail> {
    if args.happened {
        let reference = args.reference.clone().unwrap_or_default();
        let result = args.result.as_deref().map(|text| inputs::parse("--result", text));
        let result = result.transpose()?.unwrap_or(Json::Null);
        return Ok(Decision::ItHappened { reference, result });
    }
    if let Some(wait) = &args.wait {
        return Ok(Decision::WaitUntil { at: moment(wait, now)? });
    }
    let orders = [
        (args.did_not, Decision::ItDidNot),
        (args.ask_again, Decision::AskAgain),
        (args.skip, Decision::Skip),
        (args.write_off, Decision::WriteOff),
        (args.abort, Decision::Abort),
        (args.go_on, Decision::GoOn),
    ];
    orders.into_iter().find(|(given, _)| *given).map(|(_, decision)| decision).ok_or_else(|| {
        Fail::new(Exit::Usage, "SM1012", "an answer is missing", "see `semel review decide --help`")
    })
}

/// A moment, or a time from now on.
fn moment(text: &str, now: Millis) -> Result<Millis, Fail> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(Millis(at.as_millisecond()));
    }
    let pause = duration(text)?;
    Ok(now.plus(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)))
}

async fn afterwards(config: &Config, id: &TaskId, review: &ReviewId, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let now = store.now();
    let task = load(store.as_ref(), id).await?;
    let step = task.review(review).and_then(|r| r.step.clone());
    let next = step.as_ref().and_then(|s| task::first_branch(&task, s, now));
    let phase = oblige::phase(&task);
    let json = serde_json::json!({
        "v": 1, "review": review, "task": id, "phase": phase, "step": step, "next": next,
    });
    ui.show(&json, || format!("{review} decided; {id} {}", ui::state(phase.word())));
    if !ui.json {
        match (&step, &next) {
            (Some(step), Some(next)) => ui.say(&format!("  next, recovery of `{step}` {next}")),
            (Some(_) | None, _) => ui.say(&format!("  {}", why_task(&task, now).sentence2)),
        }
        if !phase.is_end() && !wire::has_owner(config).await {
            ui.say(&format!("  nobody works on this store now; next: semel task recover {id}"));
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_moment_or_a_time_from_now() {
        assert_eq!(moment("10m", Millis(5)).ok(), Some(Millis(600_005)));
        assert_eq!(moment("1970-01-01T00:00:07Z", Millis(5)).ok(), Some(Millis(7_000)));
        assert_eq!(moment("soon", Millis(5)).map_err(|f| f.code).err().as_deref(), Some("SM1012"));
    }
}
