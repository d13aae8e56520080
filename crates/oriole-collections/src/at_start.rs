//! The standard output as it was when the program started.
//!
//! Before `main`, the standard library opens `/dev/null` in place of a closed standard stream. Output is then lost without an error.
//! The loader calls the function here first, which records whether the stream was closed. Elsewhere the stream counts as open.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true if the standard output was closed when the program started.
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}

#[cfg(all(target_os = "linux", not(miri)))]
mod hook {
    use super::{IS_OUTPUT_CLOSED, Ordering};
    use std::path::Path;

    extern "C" fn look() {
        let is_there = |path: &str| Path::new(path).symlink_metadata().is_ok();
        // Without /proc the state is unknown.
        let is_closed = !is_there("/proc/self/fd/1") && is_there("/proc/self/fd");
        IS_OUTPUT_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    // SAFETY: the section holds pointers to functions of the C interface, which the loader calls before `main`; this one is such a
    // function, takes none of their arguments, and needs nothing that the standard library sets up.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}
