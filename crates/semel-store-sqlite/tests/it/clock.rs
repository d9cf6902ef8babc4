//! Store time over restarts of the process and of the machine.

use crate::support::{self, Home};
use semel_kernel::time::Millis;
use semel_ports::Store;

#[tokio::test]
async fn a_restart_of_the_process_keeps_the_clock_steady() {
    let home = Home::new();
    let before = home.open().now();
    home.time.advance(500);
    home.time.set_wall(9_000_000);
    let now = home.open().now();
    assert_eq!(now.at, before.at.plus(500), "the wall clock is not looked at");
    assert_eq!(now.steady_since, before.steady_since);
}

#[tokio::test]
async fn a_reboot_restarts_waits_and_keeps_windows() {
    let home = Home::new();
    let before = home.open().now();
    home.time.reboot(60_000);
    let now = home.open().now();
    assert_eq!((now.at, now.steady_since), (before.at.plus(60_000), before.at.plus(60_000)));
    assert_eq!(now.windows_void_before, Millis::MIN);
}

#[tokio::test]
async fn a_clock_that_went_back_over_a_reboot_voids_windows() {
    let home = Home::new();
    let store = home.open();
    home.time.advance(100_000);
    support::create(&store, 1).await.unwrap();
    let last = store.now().at;
    drop(store);
    home.time.reboot(-50_000);
    let now = home.open().now();
    assert_eq!((now.at, now.steady_since, now.windows_void_before), (last, last, last));
    home.time.advance(10);
    assert_eq!(home.open().now().windows_void_before, last, "and stays so under this boot");
}
