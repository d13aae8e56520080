//! Clocks that other processes do not slow down, where there are such: processor time on Linux, else the time that passes.

use std::time::Duration;

/// Processor time of this process, from its start.
#[cfg(target_os = "linux")]
pub fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time of all children that ended, to a hundredth of a second.
#[cfg(target_os = "linux")]
pub fn of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses; user and system time of children are fields 16 and 17.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
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
