//! A task that its owner will not go on with: a person is asked, and it waits for the answer.

use super::Moment;
use semel_kernel::{
    decide::Draft,
    id::SessionId,
    input::Input,
    limit,
    review::ReviewCause,
    task::Task,
    time::{Generation, Millis},
};
use semel_ports::{Authority, Due, Turn};

/// The turn that opens a review in the owner's name and gives the task back until it is answered. What an older owner
/// left in flight is unknown from here.
#[must_use]
pub fn to_person(
    task: Task,
    session: SessionId,
    generation: Generation,
    cause: ReviewCause,
    moment: &Moment,
) -> Turn {
    let mut draft = Draft::on(task);
    for input in [Input::Claimed { session, generation }, Input::NeedPerson { cause }] {
        if let Err(reject) = draft.take(input, moment.ctx()) {
            tracing::warn!(task = %draft.task().id, code = reject.code(), "{reject}");
        }
    }
    let due = Due::Park(next_look(draft.task(), moment.now.at));
    Turn::close(draft, moment.turn.clone(), Authority::Owner(generation), moment.now.at, due).0
}

/// A task that is being cancelled answers such a review by itself. Then nobody can be waited for: it is taken up again
/// after a while, so that what it left unknown is settled.
fn next_look(task: &Task, now: Millis) -> Option<Millis> {
    let waits = task.held() || task.end.is_some();
    (!waits).then(|| now.plus(limit::PROGRESS_MS))
}
