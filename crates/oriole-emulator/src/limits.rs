//! How large launches may be: what a GPU allows, and what the emulator may use itself.

use crate::memory::CLUSTER_SHIFT;
use oriole_isa::{LaunchLimits, Limits};

/// Bytes of the frame between local variables, and around them.
pub(crate) const BESIDE_VARIABLES: u32 = 16;

/// Bytes of local variables of one function, far beyond any stack.
pub(crate) const FRAME: u64 = 1 << 28;
/// Bytes that `printf` may write in a launch.
pub(crate) const OUTPUT: usize = 16 << 20;
/// Asynchronous copies of a warp that have not arrived.
pub(crate) const PENDING_COPIES: usize = 1 << 16;
/// Bytes that the emulator uses if nothing else is asked for.
pub(crate) const MEMORY: u64 = 4 << 30;

/// Threads of a block that the emulator tells apart.
const THREADS: u32 = 1 << 16;
/// Blocks of a cluster that have their own part of the shared memory.
const CLUSTER: u32 = (1 << (32 - CLUSTER_SHIFT)) - 1;
/// Bytes of that part.
const SHARED: u32 = 1 << CLUSTER_SHIFT;
/// Bytes of a kernel's parameters that the emulator keeps.
const PARAMETERS: u32 = 1 << 20;

/// The limits of launches: those of the target, if they are known, and of the emulator.
pub(crate) fn launch(limits: Option<&Limits>) -> LaunchLimits {
    let own = limits.map_or(LaunchLimits::UNKNOWN, |limits| limits.launch);
    LaunchLimits {
        threads: own.threads.min(THREADS),
        cluster: own.cluster.min(CLUSTER),
        parameter_bytes: own.parameter_bytes.min(PARAMETERS),
        ..own
    }
}

/// Bytes of shared memory that a block can have, static and dynamic.
pub(crate) fn shared_memory(limits: Option<&Limits>) -> u64 {
    let own = limits.map_or(SHARED, |limits| limits.shared_memory_per_block);
    own.min(SHARED).into()
}

/// Bytes of shared variables with a size; more has to be asked for by the launch.
pub(crate) fn static_shared_memory(limits: Option<&Limits>) -> u64 {
    let own = limits.map_or(SHARED, |limits| limits.shared_memory_per_block_default);
    own.min(SHARED).into()
}

/// How many sizes multiplied come to, unless they are more than `most`.
pub(crate) fn product(sizes: [u32; 3], most: u64) -> Option<u64> {
    sizes
        .iter()
        .try_fold(1u64, |product, &size| product.checked_mul(size.into()))
        .filter(|&product| product <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::Target;

    #[test]
    fn targets_have_their_shared_memory() {
        for (target, kilobytes) in [
            ("sm_61", 48),
            ("sm_75", 64),
            ("sm_80", 163),
            ("sm_86", 99),
            ("sm_87", 163),
            ("sm_88", 163),
            ("sm_90a", 227),
            ("sm_100f", 227),
            ("sm_120", 99),
        ] {
            let limits = Target::from_text(target).and_then(Target::limits);
            assert_eq!(shared_memory(limits.as_ref()), kilobytes << 10, "{target}");
            assert_eq!(static_shared_memory(limits.as_ref()), 48 << 10, "{target}");
        }
        assert_eq!(shared_memory(None), u64::from(SHARED));
        assert_eq!(product([u32::MAX; 3], u64::MAX), None);
        assert_eq!(product([4, 4, 4], 64), Some(64));
        assert_eq!(product([4, 4, 4], 63), None);
    }
}
