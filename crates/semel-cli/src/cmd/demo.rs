//! `semel demo`: three acts, everything local. The sinks are processes of their own with databases of their own, and
//! count for themselves; the kills are SIGKILL, after the effect and before its record.

mod desk;
mod stage;
mod usual;

use crate::{
    fail::{Exit, Fail},
    low,
    ui::Ui,
};
use desk::Sink;
use stage::Stage;
use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

pub(crate) use usual::run as usual_agent;

pub(crate) async fn run(args: &low::Demo, ui: Ui) -> Result<Exit, Fail> {
    let begun = Instant::now();
    let stage = Stage::set(args.keep)?;
    let tickets = Sink::start(&stage, "tickets").await?;
    let sms = Sink::start(&stage, "sms").await?;
    ui.data("Semel demo. Everything below is local and is deleted at the end.");
    ui.data(&format!("  world    ticket desk  pid {}   SMS gateway  pid {}", tickets.pid(), sms.pid()));
    ui.data("           each its own process with its own database; they count for themselves");
    ui.data("  failure  SIGKILL after the desk has committed, before anybody has recorded it\n");
    let wanted = |n: u8| args.act.is_none_or(|act| act == n);
    let mut score = Score::default();
    if wanted(1) {
        score.usual = Some(act_one(&stage, &tickets, ui).await?);
    }
    if wanted(2) {
        score.key = Some(act_two(&stage, &tickets, "by-key", ui).await?);
        score.probe = Some(act_two(&stage, &tickets, "by-probe", ui).await?);
    }
    if wanted(3) {
        score.sms = Some(act_three(&stage, &sms, ui).await?);
    }
    score.print(ui);
    ui.say(&format!("  {:.1} s", begun.elapsed().as_secs_f64()));
    if !args.batch && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        kill_at_will(&stage, &tickets, ui).await?;
    }
    ui.data("Next: `semel init` writes a plan and a contract for your own endpoint.");
    Ok(if score.holds() { Exit::Done } else { Exit::Verification })
}

/// What the sinks counted.
#[derive(Default)]
struct Score {
    usual: Option<u64>,
    key: Option<u64>,
    probe: Option<u64>,
    sms: Option<(u64, bool)>,
}

impl Score {
    fn print(&self, ui: Ui) {
        let n = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
        ui.data("Counted at the sinks, not by us:");
        ui.data(&format!(
            "  usual agent {}   Semel by key {}   Semel by probe {}",
            n(self.usual),
            n(self.key),
            n(self.probe)
        ));
        if let Some((sent, asked)) = self.sms {
            let asked = if asked { "a person was asked" } else { "NOBODY WAS ASKED" };
            ui.data(&format!("  unknowable: {sent} message sent, none sent again, {asked}"));
        }
    }

    /// Semel's side of the claim; the usual agent's count is what it is.
    fn holds(&self) -> bool {
        let once = |count: Option<u64>| count.is_none_or(|n| n == 1);
        once(self.key) && once(self.probe) && self.sms.is_none_or(|(n, asked)| n == 1 && asked)
    }
}

/// The usual agent: a checkpoint after each step, retry on resume.
async fn act_one(stage: &Stage, desk: &Sink, ui: Ui) -> Result<u64, Fail> {
    ui.data("ACT 1  the usual agent: checkpoint after each step, retry on resume");
    desk.answer_late().await?;
    let mut agent = stage.usual_agent(desk)?;
    desk.until_effects(1).await?;
    agent.kill().await?;
    ui.data("  1 analyse ok   2 create_ticket … the desk has committed … ✗ killed (SIGKILL)");
    ui.data("  restart: resume from the checkpoint, which says `analyse`");
    stage.usual_agent(desk)?.wait().await?;
    ui.data("  1 skipped      2 create_ticket ok   3 notify ok");
    let count = desk.effects_for("gw-usual").await?;
    let mark = if count > 1 { "✗ DUPLICATE" } else { "(the kill came too early)" };
    ui.data(&format!("  desk says: {count} tickets   {mark}\n"));
    Ok(count)
}

async fn act_two(stage: &Stage, desk: &Sink, how: &str, ui: Ui) -> Result<u64, Fail> {
    ui.data(&format!("ACT 2  the same work, the same kill, with Semel: {how}"));
    let before = desk.effects().await?;
    desk.answer_late().await?;
    let mut run = stage.semel_run(how, desk)?;
    desk.until_effects(before + 1).await?;
    run.kill().await?;
    ui.data("  create_ticket … the desk has committed … ✗ killed (SIGKILL)");
    for line in stage.why(how).await? {
        ui.data(&format!("     {line}"));
    }
    ui.data("  restart: the same command again");
    let ended = stage.semel_run(how, desk)?.finish().await?;
    for line in ended.telling() {
        ui.data(&format!("     {line}"));
    }
    let count = desk.effects().await?.saturating_sub(before);
    let mark = if count == 1 { "✓ ONCE" } else { "✗" };
    ui.data(&format!("  desk says: {count} ticket   {mark}\n"));
    Ok(count)
}

async fn act_three(stage: &Stage, gateway: &Sink, ui: Ui) -> Result<(u64, bool), Fail> {
    ui.data("ACT 3  the same kill against an SMS gateway with no key and no look-up");
    gateway.answer_late().await?;
    let mut run = stage.semel_run("sms", gateway)?;
    gateway.until_effects(1).await?;
    run.kill().await?;
    ui.data("  warn … the gateway has sent it … ✗ killed (SIGKILL)");
    ui.data("  restart: the same command again");
    let ended = stage.semel_run("sms", gateway)?.finish().await?;
    for line in ended.telling() {
        ui.data(&format!("     {line}"));
    }
    let asked = ended.code == Some(5);
    ui.data("  nothing can tell us whether it was sent. We do not guess.");
    if let Some(file) = stage.recovery_file().await? {
        ui.data("  the recovery file, as the person on call gets it:");
        for line in file.lines().filter(|l| !l.trim().is_empty()).take(14) {
            ui.data(&format!("     │ {line}"));
        }
    }
    let count = gateway.effects().await?;
    ui.data(&format!("  gateway says: {count} message, {} request   ● HONEST\n", gateway.requests().await?));
    Ok((count, asked))
}

/// The viewer pulls the plug, as often and whenever he likes.
async fn kill_at_will(stage: &Stage, desk: &Sink, ui: Ui) -> Result<(), Fail> {
    let mut keys = stage::keys();
    let mut round = 0;
    loop {
        ui.say("  k  start a run and kill it yourself     any other key  leave");
        if keys.recv().await != Some('k') {
            return Ok(());
        }
        round += 1;
        let name = format!("gw-yours-{round}");
        let (mut kills, mut code) = (0, None);
        while code != Some(0) {
            desk.answer_after(Duration::from_secs(3)).await?;
            let mut run = stage.semel_run_for("by-key", desk, &name)?;
            ui.say("  running … press k to kill it");
            tokio::select! {
                ended = run.wait() => code = ended?,
                Some('k') = keys.recv() => {
                    run.kill().await?;
                    kills += 1;
                    ui.say(&format!("  ✗ killed (SIGKILL), {kills} so far; starting it again"));
                }
            }
        }
        let count = desk.effects_for(&name).await?;
        ui.say(&format!("  done after {kills} kills. desk says: {count} ticket"));
    }
}
