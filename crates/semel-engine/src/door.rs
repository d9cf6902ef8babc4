//! The door: a Unix socket beside the store through which a second shell reaches the owner. JSON lines, the same
//! verbs and codes as everywhere.
//!
//! Invariant: the socket has mode 0600 in a folder of the user's; a line is at most 2 MiB; a client that says nothing
//! cannot hold the owner up.

use crate::{
    command::{Command, Refused, Reply},
    engine::Engine,
};
use std::{
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
};

/// Bytes of one command.
const LINE_BYTES: u64 = 2 << 20;

/// Where the door of a store is.
#[must_use]
pub fn path_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".sock");
    PathBuf::from(name)
}

/// Listens until dropped. The caller owns the store, so an old socket is nobody's and is removed.
///
/// # Errors
/// The socket cannot be made.
pub async fn serve(engine: Engine, path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    loop {
        let (stream, _) = listener.accept().await?;
        let engine = engine.clone();
        tokio::spawn(async move {
            if let Err(e) = answer(&engine, stream).await {
                tracing::debug!("a client at the door left: {e}");
            }
        });
    }
}

async fn answer(engine: &Engine, stream: UnixStream) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read.take(LINE_BYTES));
    let mut line = String::new();
    while lines.read_line(&mut line).await? > 0 {
        let reply = match serde_json::from_str::<Command>(&line) {
            Ok(command) => engine.execute(command).await,
            Err(e) => Reply::Refused(Refused::new(
                "SM1008",
                format!("not a command: {e}"),
                "use the same version of semel",
            )),
        };
        let mut text = serde_json::to_string(&reply)?;
        text.push('\n');
        write.write_all(text.as_bytes()).await?;
        line.clear();
        lines.get_mut().set_limit(LINE_BYTES);
    }
    Ok(())
}

/// A command could not be brought to the owner.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Nobody listens.
    #[error("nobody listens at {0}")]
    Closed(String),
    /// The line broke; whether the command was carried out is not known, and repeating it is safe.
    #[error("the owner went away before it answered: {0}")]
    Lost(String),
}

/// Sends one command to the owner of a store.
///
/// # Errors
/// [`DoorError`] when there is no owner, or it went away.
pub async fn call(path: &Path, command: &Command) -> Result<Reply, DoorError> {
    let lost = |e: String| DoorError::Lost(e);
    let connect = UnixStream::connect(path).await;
    let mut stream = connect.map_err(|e| DoorError::Closed(format!("{} ({e})", path.display())))?;
    let mut text = serde_json::to_string(command).map_err(|e| lost(e.to_string()))?;
    text.push('\n');
    stream.write_all(text.as_bytes()).await.map_err(|e| lost(e.to_string()))?;
    let mut line = String::new();
    let mut lines = BufReader::new(stream);
    let read = tokio::time::timeout(Duration::from_secs(120), lines.read_line(&mut line)).await;
    match read {
        Ok(Ok(n)) if n > 0 => serde_json::from_str(&line).map_err(|e| lost(e.to_string())),
        Ok(Ok(_)) => Err(lost("no answer".into())),
        Ok(Err(e)) => Err(lost(e.to_string())),
        Err(_) => Err(lost("no answer within two minutes".into())),
    }
}
