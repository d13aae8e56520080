//! The register counts at which a multiprocessor holds another block: `ptxas` allocates up to them, and rarely a little beyond.
//!
//! `ptxas` first decides how many registers a kernel needs. That gives the step, and the scheduler then fills what is left of it
//! with loads. Where the size of a block is not known, it takes blocks of four warps.

use crate::launch::occupancy::{Demand, Occupancy};
use oriole_isa::{LaunchLimits, Target};

/// Threads of a block where no directive gives them.
const THREADS: u32 = 128;
/// Registers are allocated in these units.
const UNIT: usize = 8;

/// The steps of a target and a block size up to a limit, which is the last of them. An unknown target has no others.
pub(super) fn steps(target: Target, threads: Option<u32>, limit: u32) -> Vec<u32> {
    let most = LaunchLimits::of(Some(target)).threads;
    let blocks = |registers| {
        let demand = Demand {
            registers,
            threads: threads.unwrap_or(THREADS).clamp(1, most),
            shared: 0,
            barriers: 0,
            tensor_columns: 0,
            opt_in: true,
        };
        Occupancy::of(target, demand).map(|occupancy| occupancy.blocks)
    };
    let mut steps = Vec::new();
    let mut before = blocks(UNIT as u32);
    for registers in (UNIT as u32..limit).step_by(UNIT) {
        // One register more takes as much as a whole unit.
        let next = blocks(registers + 1);
        if before > next {
            steps.push(registers);
        }
        before = next;
    }
    steps.push(limit);
    steps
}

/// The step that holds so many registers; the last if none does.
pub(super) fn step(steps: &[u32], registers: f32) -> u32 {
    let at = steps.partition_point(|&step| (step as f32) < registers);
    steps[at.min(steps.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_where_another_block_fits() {
        let target = Target::from_text("sm_90").unwrap();
        assert_eq!(
            steps(target, None, 255),
            [32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255]
        );
        assert_eq!(
            steps(target, Some(256), 255),
            [32, 40, 48, 64, 80, 128, 255]
        );
        assert_eq!(steps(target, Some(1024), 64), [32, 64]);
        assert_eq!(steps(target, Some(256), 24), [24]);
        let unlisted = Target::from_text("sm_999").unwrap();
        assert_eq!(steps(unlisted, Some(256), 255), [255]);
        let own = steps(target, None, 255);
        assert_eq!(step(&own, 3.0), 32);
        assert_eq!(step(&own, 32.0), 32);
        assert_eq!(step(&own, 32.5), 40);
        assert_eq!(step(&own, 999.0), 255);
    }
}
