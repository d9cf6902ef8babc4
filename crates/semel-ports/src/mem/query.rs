//! What is read: rows, filtered, ordered and cut into pages.
//!
//! Invariant: an order is total, so that pages neither lose nor repeat a row while nothing is written.

use super::State;
use crate::{
    projection::{OperationRow, ReviewRow, TaskRow},
    store::{OperationFilter, Page, ReviewFilter, TaskFilter},
};
use semel_kernel::operation::Status;
use std::cmp::Reverse;

impl State {
    /// Newest first.
    pub(super) fn task_rows(&self, filter: &TaskFilter, page: Page) -> Vec<TaskRow> {
        let rows = self.tasks.values().map(|kept| &kept.row).filter(|row| shows_task(filter, row));
        let mut rows: Vec<&TaskRow> = rows.collect();
        rows.sort_by_key(|row| Reverse((row.created_at, &row.id)));
        cut(&rows, page)
    }

    /// Last changed first.
    pub(super) fn operation_rows(&self, filter: &OperationFilter, page: Page) -> Vec<OperationRow> {
        let rows = self.tasks.values().flat_map(|kept| kept.operations.values());
        let mut rows: Vec<&OperationRow> = rows.filter(|row| shows_operation(filter, row)).collect();
        rows.sort_by_key(|row| Reverse((row.changed_at, &row.id)));
        cut(&rows, page)
    }

    pub(super) fn count_operations(&self, filter: &OperationFilter, most: u32) -> u32 {
        let rows = self.tasks.values().flat_map(|kept| kept.operations.values());
        let found = rows.filter(|row| shows_operation(filter, row)).take(most as usize).count();
        u32::try_from(found).unwrap_or(most)
    }

    /// Oldest first.
    pub(super) fn review_rows(&self, filter: &ReviewFilter, page: Page) -> Vec<ReviewRow> {
        let rows = self.tasks.values().flat_map(|kept| &kept.reviews);
        let mut rows: Vec<&ReviewRow> = rows.filter(|row| shows_review(filter, row)).collect();
        rows.sort_by_key(|row| (row.opened_at, &row.id));
        cut(&rows, page)
    }
}

fn cut<T: Clone>(rows: &[&T], page: Page) -> Vec<T> {
    rows.iter().skip(page.skip as usize).take(page.limit as usize).map(|row| (*row).clone()).collect()
}

/// `None` lets everything through.
fn allows(wanted: Option<&str>, test: impl Fn(&str) -> bool) -> bool {
    wanted.is_none_or(test)
}

fn shows_task(filter: &TaskFilter, row: &TaskRow) -> bool {
    (filter.phases.is_empty() || filter.phases.contains(&row.phase))
        && allows(filter.prefix.as_deref(), |p| row.id.as_str().starts_with(p))
        && allows(filter.name.as_deref(), |n| row.name == n)
        && filter.tenant.as_ref().is_none_or(|t| row.tenant == *t)
}

fn shows_operation(filter: &OperationFilter, row: &OperationRow) -> bool {
    let unknown = row.status == Status::Unknown && !row.written_off;
    let texts = [row.id.as_str(), &row.target, &row.key];
    (unknown || !filter.unknown)
        && (row.written_off || !filter.written_off)
        && filter.task.as_ref().is_none_or(|t| row.task == *t)
        && allows(filter.find.as_deref(), |f| texts.iter().any(|text| text.starts_with(f)))
}

fn shows_review(filter: &ReviewFilter, row: &ReviewRow) -> bool {
    (filter.decided || row.decided_at.is_none())
        && filter.task.as_ref().is_none_or(|t| row.task == *t)
        && allows(filter.prefix.as_deref(), |p| row.id.as_str().starts_with(p))
}
