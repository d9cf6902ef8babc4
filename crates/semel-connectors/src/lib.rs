//! Thin transports: they send bytes, and say what was seen. What it means is the contract's business.
//!
//! Invariant: *not sent* means that not one byte of the request was handed to a connection. Nothing here repeats a
//! request, follows a redirect, or reads the environment, and no secret outlives the call it was resolved for.

mod clock;
mod connector;
mod obstacle;
mod options;
pub mod redact;
mod secrets;
mod window;
mod wire;

pub use clock::{BootClock, ProcessClock};
pub use connector::HttpConnector;
pub use obstacle::Obstacle;
pub use options::HttpOptions;
pub use secrets::{EnvFileSecrets, Lookup};
