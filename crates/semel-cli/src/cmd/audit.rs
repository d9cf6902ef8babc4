//! `semel audit`: the hash chain of every task, checked offline.

use super::db;
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::Ui,
};
use semel_store_sqlite::verify;

pub(crate) fn verify(config: &Config, ui: Ui) -> Result<Exit, Fail> {
    tokio::task::block_in_place(|| db::check(config, ui, verify::audit))
}
