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
    let stage = Stage::set(args.keep)?;
    let done = tokio::select! {
        done = play(args, &stage, ui) => done,
        () = crate::system::interrupted() => Ok(Exit::Interrupted),
    };
    if args.keep {
        ui.say(&format!("kept: {}", stage.path("").display()));
    }
    done
}

async fn play(args: &low::Demo, stage: &Stage, ui: Ui) -> Result<Exit, Fail> {
    let begun = Instant::now();
    let tickets = Sink::start(stage, "tickets").await?;
    let sms = Sink::start(stage, "sms").await?;
    ui.data("Semel demo. Everything is local; the folder is deleted at the end.");
    ui.data(&format!("  world    ticket desk pid {}, SMS gateway pid {}", tickets.pid(), sms.pid()));
    ui.data("           own processes, own databases; they count their effects themselves");
    ui.data("  failure  SIGKILL of the client, after the desk has committed the ticket and");
    ui.data("           before anybody has recorded it: the answer is still on its way");
    ui.data("  legend   L0 we meant it … ④ it is committed there … L8 we recorded it");
    ui.data("           ● proven   ✕ proven not   ▨ open\n");
    let wanted = |n: u8| args.act.is_none_or(|act| act == n);
    let mut score = Score::default();
    if wanted(1) {
        score.usual = Some(act_one(stage, &tickets, ui).await?);
    }
    if wanted(2) {
        score.key = Some(act_two(stage, &tickets, "by-key", ui).await?);
        score.probe = Some(act_two(stage, &tickets, "by-probe", ui).await?);
    }
    if wanted(3) {
        score.sms = Some(act_three(stage, &sms, ui).await?);
    }
    score.print(ui);
    ui.say(&format!("  {:.1} s", begun.elapsed().as_secs_f64()));
    if !args.batch && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        kill_at_will(stage, &tickets, ui).await?;
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
        let (usual, key, probe) = (n(self.usual), n(self.key), n(self.probe));
        ui.data(&format!("  usual agent {usual}   Semel by key {key}   Semel by probe {probe}"));
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

/// The usual agent: a checkpoint after each step, written and synced, and retry on resume.
async fn act_one(stage: &Stage, desk: &Sink, ui: Ui) -> Result<u64, Fail> {
    ui.data("ACT 1  the usual agent: a synced checkpoint after each step, retry on resume");
    desk.answer_late().await?;
    let mut agent = stage.usual_agent(desk)?;
    desk.until_effects(1).await?;
    agent.kill().await?;
    ui.data("  1 analyse ok   2 create_ticket … committed at the desk … ✗ SIGKILL");
    ui.data("  restart: its checkpoint says `analyse`, so it creates the ticket again");
    stage.usual_agent(desk)?.wait().await?;
    let count = desk.effects_for("gw-usual").await?;
    let mark = if count > 1 { "✗ DUPLICATE" } else { "(the kill came too early)" };
    ui.data(&format!("  desk counts: {count} tickets   {mark}\n"));
    Ok(count)
}

async fn act_two(stage: &Stage, desk: &Sink, how: &str, ui: Ui) -> Result<u64, Fail> {
    ui.data(&format!("ACT 2  the same work and the same kill with Semel, {how}"));
    let (before, asked) = (desk.effects().await?, desk.posts().await?);
    desk.answer_late().await?;
    let mut run = stage.semel_run(how, desk)?;
    desk.until_effects(before + 1).await?;
    run.kill().await?;
    ui.data("  create_ticket … committed at the desk … ✗ SIGKILL");
    if let Some(rail) = stage.why(how).await?.into_iter().find(|l| l.starts_with("L0")) {
        ui.data(&format!("  all that is proven: {rail}"));
    }
    ui.data("  restart, the same command again:");
    for line in stage.semel_run(how, desk)?.finish().await?.telling() {
        ui.data(&format!("     {line}"));
    }
    let count = desk.effects().await?.saturating_sub(before);
    let posts = desk.posts().await?.saturating_sub(asked);
    let mark = if count == 1 { "✓ ONCE" } else { "✗" };
    ui.data(&format!("  desk counts: {count} ticket, {} to create it   {mark}\n", requests(posts)));
    Ok(count)
}

fn requests(n: u64) -> String {
    if n == 1 { "1 request".to_owned() } else { format!("{n} requests") }
}

async fn act_three(stage: &Stage, gateway: &Sink, ui: Ui) -> Result<(u64, bool), Fail> {
    ui.data("ACT 3  the same kill against an SMS gateway with neither key nor look-up");
    gateway.answer_late().await?;
    let mut run = stage.semel_run("sms", gateway)?;
    gateway.until_effects(1).await?;
    run.kill().await?;
    ui.data("  warn … sent by the gateway … ✗ SIGKILL");
    ui.data("  restart, the same command again:");
    let ended = stage.semel_run("sms", gateway)?.finish().await?;
    for line in ended.telling() {
        ui.data(&format!("     {line}"));
    }
    let asked = ended.code == Some(5);
    ui.data("  Nothing can tell whether it was sent. Semel does not guess, exits with 5");
    ui.data("  (outcome unknown) and hands over a recovery file, which recommends:");
    for line in stage.recommendation().await? {
        ui.data(&format!("     │ {line}"));
    }
    let (count, posts) = (gateway.effects().await?, gateway.posts().await?);
    ui.data(&format!("  gateway counts: {count} message, {}   ● HONEST\n", requests(posts)));
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
        let (kills, code) = one_round(stage, desk, &name, &mut keys, ui).await?;
        let count = desk.effects_for(&name).await?;
        ui.say(&format!("  {}; you killed it {kills} times. desk counts: {count} ticket", ended(code)));
    }
}

/// Runs until it stands still, killed as often as the viewer likes.
async fn one_round(
    stage: &Stage,
    desk: &Sink,
    name: &str,
    keys: &mut tokio::sync::mpsc::UnboundedReceiver<char>,
    ui: Ui,
) -> Result<(u32, Option<i32>), Fail> {
    let mut kills = 0;
    loop {
        desk.answer_after(Duration::from_secs(3)).await?;
        let mut run = stage.semel_run_for("by-key", desk, name)?;
        ui.say("  running … press k to kill it");
        tokio::select! {
            code = run.wait() => return Ok((kills, code?)),
            Some('k') = keys.recv() => {
                run.kill().await?;
                kills += 1;
                ui.say("  ✗ SIGKILL; starting it again");
            }
        }
    }
}

/// How a run of the viewer's ended, by its exit code.
fn ended(code: Option<i32>) -> &'static str {
    match code {
        Some(0) => "done",
        Some(5) => "after that many lost attempts Semel asks a person",
        Some(3) => "after that many take-ups without progress Semel asks a person",
        _ => "it stopped",
    }
}
