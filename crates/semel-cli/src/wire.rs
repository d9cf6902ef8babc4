//! The composition root: store, connectors and engine are put together here and nowhere else.

use crate::{
    chaos,
    config::Config,
    fail::{Exit, Fail},
    system::{BootTime, OsEntropy, variable},
};
use semel_connectors::{EnvFileSecrets, HttpConnector, HttpOptions};
use semel_engine::{
    command::{Command, Reply},
    door::{self, DoorError},
    engine::Engine,
};
use semel_ports::{Store, StoreError};
use semel_store_sqlite::{Options as StoreOptions, SqliteStore};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};

/// This process owns the store and works on it.
pub(crate) struct Owner {
    /// The store.
    pub(crate) store: Arc<SqliteStore>,
    /// The engine on it.
    pub(crate) engine: Engine,
    door: Option<JoinHandle<()>>,
    door_path: PathBuf,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(door) = &self.door {
            door.abort();
            drop(std::fs::remove_file(&self.door_path));
        }
    }
}

/// Opens the store as its owner, or says who is.
pub(crate) async fn own(config: &Config) -> Result<Owner, Fail> {
    own_as(config, |store| store).await
}

/// The same, with an engine that sees the store as `narrow` shows it.
pub(crate) async fn own_as(
    config: &Config,
    narrow: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
) -> Result<Owner, Fail> {
    let store = Arc::new(armed(&config.store, open(&config.store)?)?);
    let secrets = Arc::new(EnvFileSecrets::new(Box::new(variable)));
    let http = HttpConnector::new(
        secrets,
        HttpOptions { crash: chaos::point, clock: Arc::new(BootTime), ..HttpOptions::default() },
    );
    let engine =
        Engine::start(narrow(store.clone()), Arc::new(http), Arc::new(OsEntropy), config.options.clone())
            .await?;
    let door_path = door_of(config);
    Ok(Owner { store, engine, door: None, door_path })
}

/// Opens the file as its owner.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    tokio::task::block_in_place(|| SqliteStore::open(path, StoreOptions::default()))
}

/// `X.sandbox` beside `X` holds the store's own name, so that a mark that is left behind marks no other store.
fn sandbox_mark(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sandbox");
    PathBuf::from(name)
}

/// Crash points may be armed on this store.
pub(crate) fn is_sandbox(path: &Path, store: &SqliteStore) -> bool {
    std::fs::read_to_string(sandbox_mark(path)).is_ok_and(|text| text.trim() == store.info().instance)
}

/// Marks a store as one where crash points may be armed.
pub(crate) fn mark_sandbox(path: &Path, store: &SqliteStore) -> std::io::Result<()> {
    std::fs::write(sandbox_mark(path), store.info().instance)
}

/// Does what `SEMEL_CHAOS` says, on a sandbox only.
fn armed(path: &Path, store: SqliteStore) -> Result<SqliteStore, Fail> {
    semel_store_sqlite::set_crash_hook(chaos::point);
    let Some(text) = variable("SEMEL_CHAOS") else { return Ok(store) };
    if !is_sandbox(path, &store) {
        let next = "make a sandbox: `semel db create --sandbox --store FILE`";
        return Err(Fail::new(
            Exit::NotAllowed,
            "SM1013",
            "SEMEL_CHAOS is set, but this store is not a sandbox",
            next,
        ));
    }
    if text == chaos::SYNC_NORMAL {
        tracing::warn!("{text}: synchronous=NORMAL; a power cut takes back what this sandbox acknowledges");
        drop(store);
        let options = StoreOptions { sync_normal: true, ..StoreOptions::default() };
        return Ok(tokio::task::block_in_place(|| SqliteStore::open(path, options))?);
    }
    chaos::arm(&text).map_err(|e| Fail::new(Exit::Usage, "SM1013", e, "name one of the crash points"))?;
    Ok(store)
}

impl Owner {
    /// Works on the store while `what` goes on, then drains. A lost store ends it at once, and so does a Ctrl-C while
    /// it drains; what was in flight is then unknown until the next start.
    pub(crate) async fn beside<T>(&self, what: impl Future<Output = Result<T, Fail>>) -> Result<T, Fail> {
        let lost =
            |e: String| Fail::new(Exit::Store, "SM2004", e, "start again; nothing acknowledged is lost");
        let engine = self.engine.clone();
        let mut working = tokio::spawn(async move { engine.run().await });
        let outcome = tokio::select! {
            outcome = what => outcome,
            ended = &mut working => {
                ended.map_err(|e| lost(e.to_string()))??;
                return Err(lost("the engine ended by itself".to_owned()));
            }
        };
        self.engine.drain();
        tokio::select! {
            ended = working => ended.map_err(|e| lost(e.to_string()))??,
            () = crate::system::interrupted() => {}
        }
        outcome
    }

    /// Opens the door for other shells.
    pub(crate) fn open_door(&mut self) {
        let (engine, path) = (self.engine.clone(), self.door_path.clone());
        self.door = Some(tokio::spawn(async move {
            if let Err(e) = door::serve(engine, &path).await {
                tracing::warn!("other shells cannot reach this process: {e}");
            }
        }));
    }
}

/// There is a store to look at.
pub(crate) fn must_exist(config: &Config) -> Result<(), Fail> {
    if config.store.exists() {
        return Ok(());
    }
    let message = format!("there is no store at {}", config.store.display());
    let next = "name one with --store, or make one by running a plan";
    Err(Fail::new(Exit::Store, "SM2010", message, next))
}

/// A reader of the store, beside whoever owns it.
pub(crate) async fn read(config: &Config) -> Result<Arc<dyn Store>, Fail> {
    must_exist(config)?;
    let path = config.store.clone();
    Ok(Arc::new(tokio::task::block_in_place(|| SqliteStore::open_read_only(&path))?))
}

/// How long an owner may be silent before it counts as one that does not answer.
const SILENCE: Duration = Duration::from_secs(5);
/// How long somebody is waited for who has the store and does not answer at its door: one that has just begun, or that
/// is there for one command only.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the store is tried again.
const AGAIN: Duration = Duration::from_millis(50);
/// How often a submission is repeated whose answer was lost with the owner.
const SUBMITS_AGAIN: u32 = 3;
/// How often those who read along look whether the owner is still there.
const WATCH: Duration = Duration::from_secs(1);

/// The door beside the file itself, whatever name it was called by.
fn door_of(config: &Config) -> PathBuf {
    door::path_of(&std::fs::canonicalize(&config.store).unwrap_or_else(|_| config.store.clone()))
}

/// Whether another process owns the store and answers at its door. One that was stopped is silent.
pub(crate) async fn has_owner(config: &Config) -> bool {
    owner_says(config).await.is_some()
}

/// What the owner of the store says of itself, if there is one.
pub(crate) async fn owner_says(config: &Config) -> Option<Reply> {
    let door = door_of(config);
    tokio::time::timeout(SILENCE, door::call(&door, &Command::Ping)).await.ok()?.ok()
}

/// Opens the store as its owner; `None` when another process has it and answers at its door.
pub(crate) async fn own_unless_owned(config: &Config) -> Result<Option<Owner>, Fail> {
    let until = Instant::now() + PATIENCE;
    loop {
        if has_owner(config).await {
            return Ok(None);
        }
        match own(config).await {
            Err(fail) if is_owned(&fail) && Instant::now() < until => tokio::time::sleep(AGAIN).await,
            owned => return owned.map(Some),
        }
    }
}

fn is_owned(fail: &Fail) -> bool {
    fail.code == "SM2007"
}

/// Does `what`, which reads along while another process works; when that process goes away before it is done, this
/// one takes the store and works in its place.
pub(crate) async fn in_its_place<T>(
    config: &Config,
    what: impl Future<Output = Result<T, Fail>>,
) -> Result<T, Fail> {
    let mut what = std::pin::pin!(what);
    loop {
        tokio::select! {
            done = &mut what => return done,
            () = owner_gone(config) => {}
        }
        match own_unless_owned(config).await {
            Ok(Some(mut owner)) => {
                owner.open_door();
                return owner.beside(what).await;
            }
            Ok(None) => {}
            Err(fail) if is_owned(&fail) => tracing::warn!("{}, and it does not answer", fail.message),
            Err(fail) => return Err(fail),
        }
    }
}

async fn owner_gone(config: &Config) {
    loop {
        tokio::time::sleep(WATCH).await;
        if !has_owner(config).await {
            return;
        }
    }
}

/// Carries out a command: by the owner if there is one, else by taking the store for a moment.
pub(crate) async fn command(config: &Config, command: Command) -> Result<Reply, Fail> {
    must_exist(config)?;
    loop {
        match own_unless_owned(config).await? {
            Some(owner) => return settled(briefly(&owner, command).await?),
            None => {
                if let Some(reply) = at_the_door(config, &command).await? {
                    return settled(reply);
                }
            }
        }
    }
}

/// The owner's answer; `None` when it closed its door before the command was brought to it.
async fn at_the_door(config: &Config, command: &Command) -> Result<Option<Reply>, Fail> {
    match door::call(&door_of(config), command).await {
        Ok(reply) => Ok(Some(reply)),
        Err(DoorError::Closed(_)) => Ok(None),
        Err(e @ DoorError::Lost(_)) => {
            let next = "run the same command again; repeating it is safe";
            Err(Fail::new(Exit::Store, "SM2011", e.to_string(), next))
        }
    }
}

async fn briefly(owner: &Owner, command: Command) -> Result<Reply, Fail> {
    let reply = owner.engine.execute(command).await;
    end(owner).await?;
    Ok(reply)
}

fn settled(reply: Reply) -> Result<Reply, Fail> {
    match reply {
        Reply::Refused(refused) => Err(refused.into()),
        reply => Ok(reply),
    }
}

/// Ends this life's session, so that its tasks are claimable at once.
pub(crate) async fn end(owner: &Owner) -> Result<(), StoreError> {
    owner.store.end_session(&owner.engine.session()).await
}

/// Submits by the owner; without one the store is taken for a moment and may be made.
pub(crate) async fn submit(config: &Config, command: Command) -> Result<Reply, Fail> {
    // Told twice, it is one task all the same, unless it is meant twice.
    let mut again =
        if matches!(command, Command::Submit { new_intent: false, .. }) { SUBMITS_AGAIN } else { 0 };
    loop {
        if let Some(owner) = own_unless_owned(config).await? {
            // A draining engine creates tasks for others and begins none itself, so nothing is cut off when we leave.
            owner.engine.drain();
            return settled(briefly(&owner, command).await?);
        }
        match at_the_door(config, &command).await {
            Ok(Some(reply)) => return settled(reply),
            Ok(None) => {}
            Err(_) if again > 0 => again = again.saturating_sub(1),
            Err(lost) => return Err(lost),
        }
    }
}
