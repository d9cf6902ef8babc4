//! Tests of the engine, in one binary.

mod view_dry_run;
mod view_package;
mod view_rail;
mod view_timeline;
mod view_why;
mod view_world;
