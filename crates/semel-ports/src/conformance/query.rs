//! Queries: rows, filtered, ordered and cut into pages.
//!
//! * Tasks newest first, operations last changed first, reviews oldest first; equal times by id, in the same direction.
//! * Filters combine. Text is compared literally: case counts, and no character is a wildcard.
//! * *Unknown* lists operations that are unknown and not written off, *written off* those that are. Decided reviews are
//!   shown on demand.
//! * A count is that of the list, and stops at what was asked for.
//! * Pages neither lose nor repeat a row.

use super::{
    Factory,
    bench::{ALL, Bench},
    story::{ACME, Fate, Order, Word},
};
use crate::{
    projection::{OperationRow, TaskRow},
    store::{OperationFilter, Page, ReviewFilter, Store, TaskFilter},
    turn::Due,
};
use semel_kernel::{
    id::{TaskId, Tenant},
    task::Phase,
};

async fn task_ids<S: Store>(bench: &Bench<S>, filter: &TaskFilter) -> Vec<TaskId> {
    let rows: Vec<TaskRow> = bench.store.tasks(filter, ALL).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

async fn operation_rows<S: Store>(bench: &Bench<S>, filter: &OperationFilter) -> Vec<OperationRow> {
    bench.store.operations(filter, ALL).await.unwrap()
}

fn ids<const N: usize>(numbers: [u32; N]) -> [TaskId; N] {
    numbers.map(|n| Order::nth(n).task)
}

/// By creation; what was created in the same millisecond by id.
pub async fn tasks_come_newest_first<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for n in [3, 5, 1] {
        bench.task(n).await;
        (bench.advance)(1);
    }
    for n in [2, 4] {
        bench.task(n).await;
    }
    (bench.advance)(1);
    bench.tell(&Order::nth(3).task, Word::Pause).await;
    assert_eq!(task_ids(&bench, &TaskFilter::default()).await, ids([4, 2, 1, 5, 3]));
}

/// One tenant's tasks only, newest first, and together with every other filter.
pub async fn tasks_are_filtered_by_tenant<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let tenant = |name: &str| Tenant::parse(name).unwrap();
    for (n, name) in [(1, "beta"), (2, ACME), (3, "beta"), (14, "beta"), (5, "betamax")] {
        bench.create(&Order { tenant: tenant(name), ..Order::nth(n) }).await;
        (bench.advance)(1);
    }
    bench.finish(&Order::nth(1).task, Fate::Applied).await;
    bench.finish(&Order::nth(2).task, Fate::Applied).await;
    let of = |name: &str| TaskFilter { tenant: Some(tenant(name)), ..TaskFilter::default() };
    assert_eq!(task_ids(&bench, &of("beta")).await, ids([14, 3, 1]));
    assert_eq!(task_ids(&bench, &of("bet")).await, [], "it is no prefix");
    let both = |phases: &[Phase]| TaskFilter { phases: phases.to_vec(), ..of("beta") };
    assert_eq!(task_ids(&bench, &both(&[Phase::Completed])).await, ids([1]));
    assert_eq!(task_ids(&bench, &both(&[Phase::Created, Phase::Completed])).await, ids([14, 3, 1]));
    let prefix = TaskFilter { prefix: Some("tsk_000".to_owned()), ..of("beta") };
    assert_eq!(task_ids(&bench, &prefix).await, ids([3, 1]));
    let named = TaskFilter { name: Some("no-such-plan".to_owned()), ..of("beta") };
    assert_eq!(task_ids(&bench, &named).await, []);
    let page = Page { skip: 1, limit: 1 };
    let rows = bench.store.tasks(&of("beta"), page).await.unwrap();
    assert_eq!(rows.iter().map(|row| &row.id).collect::<Vec<_>>(), [&Order::nth(3).task]);
}

/// By phase, by the beginning of the id, by the plan's name, and by all of them.
pub async fn tasks_are_filtered<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for (n, name) in [(1, "two-mails"), (2, "two_mails"), (13, "two-mails")] {
        bench.create(&Order { name: name.to_owned(), ..Order::nth(n) }).await;
        (bench.advance)(1);
    }
    bench.finish(&Order::nth(1).task, Fate::Applied).await;
    let phases = |phases: &[Phase]| TaskFilter { phases: phases.to_vec(), ..TaskFilter::default() };
    assert_eq!(task_ids(&bench, &phases(&[Phase::Completed])).await, ids([1]));
    assert_eq!(task_ids(&bench, &phases(&[Phase::Created, Phase::Failed])).await, ids([13, 2]));
    let prefix = |p: &str| TaskFilter { prefix: Some(p.to_owned()), ..TaskFilter::default() };
    assert_eq!(task_ids(&bench, &prefix("tsk_00")).await, ids([13, 2, 1]));
    assert_eq!(task_ids(&bench, &prefix("tsk_001")).await, ids([13]));
    for text in ["sk_", "TSK_", "tsk%", "___", "tsk_0001x"] {
        assert_eq!(task_ids(&bench, &prefix(text)).await, [], "`{text}` begins no id");
    }
    let named = TaskFilter { name: Some("two_mails".to_owned()), ..TaskFilter::default() };
    assert_eq!(task_ids(&bench, &named).await, ids([2]));
    let all = TaskFilter { name: Some("two-mails".to_owned()), ..phases(&[Phase::Created]) };
    assert_eq!(task_ids(&bench, &all).await, ids([13]));
}

/// A change brings an operation to the top.
pub async fn operations_come_last_changed_first<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let session = bench.session("w").await;
    let mut owners = Vec::new();
    for n in [2, 1] {
        let task = bench.task(n).await;
        let owner = bench.own(&session, &task).await;
        bench.step(&task, &owner, Fate::Applied, Due::Held).await;
        owners.push((task, owner));
        (bench.advance)(1);
    }
    let order = |rows: Vec<OperationRow>| rows.into_iter().map(|row| row.task).collect::<Vec<_>>();
    let all = OperationFilter::default();
    assert_eq!(order(operation_rows(&bench, &all).await), ids([1, 2]));
    let (task, owner) = &owners[0];
    bench.step(task, owner, Fate::Applied, Due::Held).await;
    assert_eq!(order(operation_rows(&bench, &all).await), ids([2, 1]));
}

/// By task, and by what id, target or key begins with.
pub async fn operations_are_filtered<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (one, other) = (bench.task(1).await, bench.task(2).await);
    bench.finish(&one, Fate::Applied).await;
    bench.lose(&other).await;
    let of = |task: &TaskId| OperationFilter { task: Some(task.clone()), ..OperationFilter::default() };
    assert_eq!(operation_rows(&bench, &of(&one)).await.len(), 2);
    let [row] = &operation_rows(&bench, &of(&other)).await[..] else { panic!("one operation was made") };
    assert_eq!((&row.task, row.attempts), (&other, 1));
    let find = |text: &str| OperationFilter { find: Some(text.to_owned()), ..OperationFilter::default() };
    for text in [row.id.as_str(), &row.key, &row.key[..12], "tsk_0002/"] {
        assert_eq!(operation_rows(&bench, &find(text)).await, std::slice::from_ref(row), "{text}");
    }
    assert_eq!(operation_rows(&bench, &find("first@")).await.len(), 2, "one target, two tasks");
    let both = OperationFilter { find: Some("second@".to_owned()), ..of(&one) };
    assert_eq!(operation_rows(&bench, &both).await.len(), 1);
    assert_eq!(operation_rows(&bench, &OperationFilter { task: Some(other), ..both }).await, []);
}

/// Targets come from outside: their characters mean nothing.
pub async fn find_takes_text_literally<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    bench.finish(&bench.task(1).await, Fate::Applied).await;
    for (text, found) in [("first@example_com", 1), ("first@example_comx", 0), ("", 2)] {
        let filter = OperationFilter { find: Some(text.to_owned()), ..OperationFilter::default() };
        assert_eq!(operation_rows(&bench, &filter).await.len(), found, "`{text}`");
    }
    for text in ["FIRST@", "first@%", "%", "_irst@", "*", "first@*", "' OR 1=1 --", "example_com"] {
        let filter = OperationFilter { find: Some(text.to_owned()), ..OperationFilter::default() };
        assert_eq!(operation_rows(&bench, &filter).await, [], "`{text}` begins nothing");
    }
}

/// Unknown until a person has settled it or written it off.
pub async fn unknown_ones_are_listed_until_settled<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let filter = OperationFilter { unknown: true, ..OperationFilter::default() };
    bench.finish(&bench.task(1).await, Fate::Refused).await;
    assert_eq!(operation_rows(&bench, &filter).await, [], "a refusal is known");
    for (n, word) in [(2, Word::Settle), (3, Word::WriteOff)] {
        let task = bench.task(n).await;
        bench.lose(&task).await;
        let rows = operation_rows(&bench, &filter).await;
        assert_eq!(rows.iter().map(|row| &row.task).collect::<Vec<_>>(), [&task]);
        bench.tell(&task, word).await;
        assert_eq!(operation_rows(&bench, &filter).await, []);
    }
}

/// What is written off is listed apart, counted up to what was asked for, and marked on its task.
pub async fn written_off_ones_are_listed_and_counted<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let filter = OperationFilter { written_off: true, ..OperationFilter::default() };
    for n in 1..=4 {
        let task = bench.task(n).await;
        bench.lose(&task).await;
        if n < 4 {
            bench.tell(&task, Word::WriteOff).await;
        }
        bench.verify(&task).await;
        (bench.advance)(1);
    }
    let rows = operation_rows(&bench, &filter).await;
    assert_eq!(rows.iter().map(|row| row.task.clone()).collect::<Vec<_>>(), ids([3, 2, 1]));
    let tasks = bench.store.tasks(&TaskFilter::default(), ALL).await.unwrap();
    assert_eq!(tasks.iter().map(|row| row.written_off).collect::<Vec<_>>(), [0, 1, 1, 1]);
    let one = OperationFilter { task: Some(Order::nth(2).task), ..filter.clone() };
    let sought = OperationFilter { find: Some("tsk_0003/".to_owned()), ..filter.clone() };
    let neither = OperationFilter { unknown: true, ..filter.clone() };
    for (filter, most, count) in [
        (&filter, 9, 3),
        (&filter, 3, 3),
        (&filter, 2, 2),
        (&filter, 0, 0),
        (&one, 9, 1),
        (&sought, 9, 1),
        (&neither, 9, 0),
    ] {
        assert_eq!(bench.store.count_operations(filter, most).await, Ok(count), "{filter:?} up to {most}");
    }
    assert_eq!(bench.store.count_operations(&OperationFilter::default(), 9).await, Ok(4));
}

/// Whoever has waited longest comes first.
pub async fn reviews_come_oldest_first<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for n in [3, 1, 2] {
        bench.lose(&bench.task(n).await).await;
        (bench.advance)(1);
    }
    let rows = bench.store.reviews(&ReviewFilter::default(), ALL).await.unwrap();
    let tasks: Vec<TaskId> = rows.iter().map(|row| row.task.clone()).collect();
    assert_eq!(tasks, ids([3, 1, 2]));
    let of = ReviewFilter { task: Some(Order::nth(1).task), ..ReviewFilter::default() };
    assert_eq!(bench.store.reviews(&of, ALL).await.unwrap(), &rows[1..2]);
    let prefix = ReviewFilter { prefix: Some(rows[2].id.to_string()), ..ReviewFilter::default() };
    assert_eq!(bench.store.reviews(&prefix, ALL).await.unwrap(), &rows[2..]);
    let none = ReviewFilter { prefix: Some("rev%".to_owned()), ..ReviewFilter::default() };
    assert_eq!(bench.store.reviews(&none, ALL).await.unwrap(), []);
}

/// A decided review leaves the list, and comes back when decided ones are asked for.
pub async fn decided_reviews_are_shown_on_demand<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    bench.lose(&task).await;
    (bench.advance)(5);
    bench.tell(&task, Word::Settle).await;
    assert_eq!(bench.store.reviews(&ReviewFilter::default(), ALL).await.unwrap(), []);
    let all = ReviewFilter { decided: true, ..ReviewFilter::default() };
    let rows = bench.store.reviews(&all, ALL).await.unwrap();
    let decided: Vec<_> = rows.iter().map(|r| (r.decided_at, r.decided_by.as_deref())).collect();
    assert_eq!(decided, [(Some(bench.at()), Some("ann"))]);
}

/// Page by page gives what one page gives, whatever the size and although times are equal.
pub async fn pages_neither_lose_nor_repeat<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for n in 1..=7 {
        bench.lose(&bench.task(n).await).await;
    }
    let whole = bench.store.tasks(&TaskFilter::default(), ALL).await.unwrap();
    let operations = bench.store.operations(&OperationFilter::default(), ALL).await.unwrap();
    let reviews = bench.store.reviews(&ReviewFilter::default(), ALL).await.unwrap();
    assert_eq!((whole.len(), operations.len(), reviews.len()), (7, 7, 7));
    for limit in [1, 2, 3, 7] {
        let (mut t, mut o, mut r) = (Vec::new(), Vec::new(), Vec::new());
        for skip in (0..8).step_by(limit as usize) {
            let page = Page { skip, limit };
            t.extend(bench.store.tasks(&TaskFilter::default(), page).await.unwrap());
            o.extend(bench.store.operations(&OperationFilter::default(), page).await.unwrap());
            r.extend(bench.store.reviews(&ReviewFilter::default(), page).await.unwrap());
        }
        assert_eq!((&t, &o, &r), (&whole, &operations, &reviews), "pages of {limit}");
    }
    let none = Page { skip: 0, limit: 0 };
    assert_eq!(bench.store.tasks(&TaskFilter::default(), none).await.unwrap(), []);
}
