//! What can stand in the way before the first byte. Each of these is *not sent*, and none carries a secret.

use semel_ports::outside::NoSecret;

/// Why nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The request cannot be made from what was frozen.
    #[error("the request cannot be made: {0}")]
    Request(String),
    /// A part of the request is too large.
    #[error("the request is too large: its {part} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Which part.
        part: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A secret cannot be read.
    #[error("{0}")]
    Secret(NoSecret),
    /// No connection came about, or it broke before the first byte.
    #[error("{place} cannot be reached: {cause}")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What was seen.
        cause: String,
    },
    /// The TLS handshake failed, or there is nothing to check the target against.
    #[error("TLS with {place} failed: {cause}")]
    Tls {
        /// Host and port.
        place: String,
        /// What was seen.
        cause: String,
    },
    /// `send_by` is over.
    #[error("late: `send_by` was over before {before}")]
    Late {
        /// What had not happened yet.
        before: &'static str,
    },
    /// The process drains, and nothing had left.
    #[error("recalled: this worker was stopped before {before}")]
    Recalled {
        /// What had not happened yet.
        before: &'static str,
    },
}

impl Obstacle {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Request(_) => "SM3101",
            Self::TooLarge { .. } => "SM3102",
            Self::Secret(_) => "SM3103",
            Self::Unreachable { .. } => "SM3104",
            Self::Tls { .. } => "SM3105",
            Self::Late { .. } => "SM3106",
            Self::Recalled { .. } => "SM3107",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn next(&self) -> &'static str {
        match self {
            Self::Request(_) => "correct the request in the contract, or the arguments that went into it",
            Self::TooLarge { .. } => "send less, or raise the limit",
            Self::Secret(_) => "make the secret readable for this worker",
            Self::Unreachable { .. } => "check the address, the network and the target",
            Self::Tls { .. } => "check the target's certificate, and `ca_file` for a private authority",
            Self::Late { .. } => {
                "nothing: it is tried again; if it keeps coming, look at the load of this worker"
            }
            Self::Recalled { .. } => "nothing: the next worker sends it",
        }
    }

    /// The whole message: what happened, the code, and what to do.
    #[must_use]
    pub fn cause(&self) -> String {
        format!("{self} ({}; next: {})", self.code(), self.next())
    }
}

/// An error and all that it was caused by, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}
