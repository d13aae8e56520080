//! How large launches may be: what a GPU allows, and what the emulator may use itself.

use oriole_isa::Target;

/// Blocks of a grid, by dimension.
pub(crate) const GRID: [u32; 3] = [0x7fff_ffff, 65_535, 65_535];
/// Threads of a block, by dimension.
pub(crate) const BLOCK: [u32; 3] = [1024, 1024, 64];
/// Threads of a block.
pub(crate) const THREADS: u64 = 1024;
/// Blocks of a cluster.
pub(crate) const CLUSTER: u64 = 16;
/// Bytes of a kernel's parameters.
pub(crate) const PARAMETERS: u64 = 32_764;
/// Bytes of the frame between local variables, and around them.
pub(crate) const BESIDE_VARIABLES: u32 = 16;

/// Bytes of shared variables with a size; more has to be asked for by the launch.
pub(crate) const STATIC_SHARED: u64 = 48 << 10;
/// Bytes of local variables of one function, far beyond any stack.
pub(crate) const FRAME: u64 = 1 << 28;
/// Bytes that `printf` may write in a launch.
pub(crate) const OUTPUT: usize = 16 << 20;
/// Asynchronous copies of a warp that have not arrived.
pub(crate) const PENDING_COPIES: usize = 1 << 16;
/// Bytes that the emulator uses if nothing else is asked for.
pub(crate) const MEMORY: u64 = 4 << 30;

/// The target whose limits hold for targets of unknown names.
const LARGEST: Target = Target::new(9, 0);

/// Bytes of shared memory that a block can have on a target, static and dynamic.
pub(crate) fn shared_memory(target: &str) -> u64 {
    let target = Target::from_text(target).unwrap_or(LARGEST);
    target.limits().shared_memory_per_block.into()
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
            ("what", 227),
        ] {
            assert_eq!(shared_memory(target), kilobytes << 10, "{target}");
        }
        assert_eq!(product([u32::MAX; 3], u64::MAX), None);
        assert_eq!(product([4, 4, 4], 64), Some(64));
        assert_eq!(product([4, 4, 4], 63), None);
    }
}
