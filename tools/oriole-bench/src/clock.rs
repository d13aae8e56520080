//! Clocks that other processes do not slow down, where there are such: processor time on Linux, else the time that passes.

use std::time::Duration;

/// Processor time of this process, from its start.
#[cfg(target_os = "linux")]
pub fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of all children that ended, in user mode and in the system.
#[cfg(target_os = "linux")]
pub fn of_children() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return Duration::ZERO;
    };
    [usage.user_time(), usage.system_time()]
        .map(|time| Duration::new(time.tv_sec() as u64, 1000 * time.tv_usec() as u32))
        .into_iter()
        .sum()
}

#[cfg(not(target_os = "linux"))]
fn passed() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// The time that passes.
#[cfg(not(target_os = "linux"))]
pub fn now() -> Duration {
    passed()
}

/// The time that passes.
#[cfg(not(target_os = "linux"))]
pub fn of_children() -> Duration {
    passed()
}
