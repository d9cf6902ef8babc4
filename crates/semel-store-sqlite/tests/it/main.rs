//! The embedded store from outside: conformance, crashes, copies, full disks, edits.

mod audit;
mod clock;
mod conformance;
mod copies;
mod full;
mod kill;
mod load;
mod open;
mod support;
