//! The model keeps the rules that it holds others to.

use semel_ports::{
    conformance::{Factory, Fresh},
    mem::MemStore,
};

struct Memory;

impl Factory for Memory {
    type S = MemStore;

    fn fresh(&self) -> Fresh<MemStore> {
        let store = MemStore::new(1_700_000_000_000);
        let clock = store.clone();
        Fresh { store, advance: Box::new(move |ms| clock.advance(ms)) }
    }
}

semel_ports::conformance_tests!(Memory);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_suite_runs_as_one() {
    semel_ports::conformance::run_all(&Memory).await;
}
