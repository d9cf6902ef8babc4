//! Receipts and permits.
//!
//! Invariant: [`Receipt::attest`] is called by stores alone, after the commit is durable (`xtask tidy` holds them to
//! it); a permit is not `Clone` and is consumed by the send.

use crate::turn::Turn;
use semel_kernel::{
    event::Event,
    hash::Hash,
    id::{OperationId, StepName, TaskId, ToolName, TurnId},
    outcome::Stored,
    task::Task,
    time::{Generation, Millis},
};

/// A turn is durable.
#[derive(Debug)]
pub struct Receipt {
    task: TaskId,
    turn: TurnId,
    version: u64,
    started: Vec<Event>,
}

impl Receipt {
    /// Attests that a turn is durable. For stores only.
    #[must_use]
    pub fn attest(turn: &Turn) -> Self {
        let started =
            turn.events.iter().filter(|e| matches!(e, Event::StepStarted { .. })).cloned().collect();
        Self { task: turn.task.clone(), turn: turn.turn.clone(), version: turn.version(), started }
    }

    /// The task.
    #[must_use]
    pub const fn task(&self) -> &TaskId {
        &self.task
    }

    /// The turn.
    #[must_use]
    pub const fn turn(&self) -> &TurnId {
        &self.turn
    }

    /// The task's version after the turn.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// One permit for each STARTED of the turn. The frozen request is read from the task, so that the bytes of every
    /// attempt are those of the first.
    #[must_use]
    pub fn permits(self, task: &Task) -> Vec<CallPermit> {
        self.started.iter().filter_map(|event| CallPermit::mint(event, task)).collect()
    }
}

/// The right to make one physical request, once.
#[derive(Debug)]
pub struct CallPermit {
    task: TaskId,
    step: StepName,
    op: OperationId,
    tool: ToolName,
    contract: Hash,
    attempt: u32,
    generation: Generation,
    key: String,
    send_by: Millis,
    timeout_ms: i64,
    request: Stored,
}

impl CallPermit {
    fn mint(event: &Event, task: &Task) -> Option<Self> {
        let Event::StepStarted { step, op, attempt, generation, send_by, timeout_ms, key, .. } = event else {
            return None;
        };
        let found = task.operations.get(op)?;
        Some(Self {
            task: task.id.clone(),
            step: step.clone(),
            op: op.clone(),
            tool: found.planned.tool.clone(),
            contract: task.terms(&found.planned)?.contract,
            attempt: *attempt,
            generation: *generation,
            key: key.clone(),
            send_by: *send_by,
            timeout_ms: *timeout_ms,
            request: found.request.clone()?,
        })
    }

    /// The task.
    #[must_use]
    pub const fn task(&self) -> &TaskId {
        &self.task
    }

    /// The step.
    #[must_use]
    pub const fn step(&self) -> &StepName {
        &self.step
    }

    /// The operation.
    #[must_use]
    pub const fn op(&self) -> &OperationId {
        &self.op
    }

    /// The tool.
    #[must_use]
    pub const fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// Hash of the tool's contract.
    #[must_use]
    pub const fn contract(&self) -> Hash {
        self.contract
    }

    /// The attempt.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The fencing token.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The first byte leaves before this moment of store time, or never.
    #[must_use]
    pub const fn send_by(&self) -> Millis {
        self.send_by
    }

    /// Milliseconds after `send_by` at which the attempt is given up.
    #[must_use]
    pub const fn timeout_ms(&self) -> i64 {
        self.timeout_ms
    }

    /// The frozen request.
    #[must_use]
    pub const fn request(&self) -> &Stored {
        &self.request
    }
}
