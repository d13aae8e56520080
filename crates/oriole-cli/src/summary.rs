//! Words that reports on occupancy share.

use oriole::pressure::DynamicShared;

/// Says that an occupancy leaves out shared memory whose size is not known.
pub fn without_dynamic(shared: DynamicShared) -> &'static str {
    match shared {
        DynamicShared::Unknown => ", without dynamic shared memory (--shared BYTES)",
        DynamicShared::Given(_) | DynamicShared::Unused => "",
    }
}
