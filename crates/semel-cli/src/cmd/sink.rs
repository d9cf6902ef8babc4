//! `semel sink`: an outside system that counts its own effects, as a process of its own.

use crate::{
    fail::{Exit, Fail},
    low,
    ui::Ui,
};
use semel_sinks::{SinkError, SinkKind, serve};

/// Serves until killed; says on stdout, in one line, where it listens.
pub(crate) async fn run(args: &low::Sink, ui: Ui) -> Result<Exit, Fail> {
    if let Some(desk) = args.desk.as_deref().filter(|_| args.kind == "usual-agent") {
        return super::demo::usual_agent(&args.db, desk).await;
    }
    let kind: SinkKind = args.kind.parse().map_err(|e| refused(&e))?;
    let ready = |address| {
        ui.data(&serde_json::json!({"kind": kind.name(), "address": address}).to_string());
    };
    serve(kind, &args.db, args.listen, ready).await.map_err(|e| refused(&e))?;
    Ok(Exit::Done)
}

/// The sink's texts carry code and advice in one line; here they have places of their own.
fn refused(error: &SinkError) -> Fail {
    let text = error.to_string();
    let (message, next) = text.split_once("; next: ").unwrap_or((&text, "see `semel sink --help`"));
    let message = message.strip_prefix(error.code()).unwrap_or(message).trim();
    Fail::new(Exit::Usage, error.code(), message, next)
}
