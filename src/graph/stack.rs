//! Runs work that recurses deeply on a thread with a large stack.
//!
//! A stack overflow is no panic: it ends the process, and nothing can catch it. The CEL parser needs about 2 KiB of
//! stack for every link of a chain like `a.b.c` or `1 + 1 + …`, the YAML parser several KiB for every level of nesting;
//! threads of the async runtime and of tests have 2 MiB. So both parsers run on a thread of 64 MiB, and both refuse
//! input (by its length and by its depth) long before that is used up. What they hand back is shallow enough to be
//! evaluated, copied and dropped on any thread.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::thread;

const STACK_SIZE: usize = 64 << 20;

thread_local! {
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs the work on a thread with a large stack and waits for it. Work that is already on such a thread runs where it
/// is, so that callers with many small pieces of work can wrap the whole. `None` if the system gives no thread.
pub(crate) fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    if IS_LARGE.get() {
        return Some(work());
    }
    thread::scope(|scope| {
        let handle = thread::Builder::new().name("parser".into()).stack_size(STACK_SIZE).spawn_scoped(scope, || {
            IS_LARGE.set(true);
            work()
        });
        // A panic of the work is the caller's panic, as it would be without the thread.
        handle.ok().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(remaining: usize) -> usize {
        let frame = [remaining; 64];
        if remaining == 0 { 0 } else { 1 + depth(std::hint::black_box(frame)[0] - 1) }
    }

    #[test]
    fn deep_recursion_fits() {
        assert_eq!(with_large_stack(|| depth(20_000)), Some(20_000));
    }

    #[test]
    fn work_on_a_large_stack_stays_on_its_thread() {
        let same = with_large_stack(|| {
            let outer = thread::current().id();
            with_large_stack(|| thread::current().id()) == Some(outer)
        });
        assert_eq!(same, Some(true));
    }
}
