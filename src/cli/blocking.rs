//! Work that may block: reading files, standard input and answers.

use std::panic::resume_unwind;

/// Does the work on a thread of its own, so that Ctrl-C is heard meanwhile. A panic of the work is the caller's panic.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Only a runtime that is going down leaves work undone, and then nobody waits for it any more.
            Err(_) => std::future::pending().await,
        },
    }
}
