//! Targets (`sm_90a`) and the limits of each compute capability.
//!
//! Limits come from the CUDA programming guide and `cuda_occupancy.h`. The register file, the register granularity and
//! the registers per thread are the same from sm_50 on; sm_20 to sm_37 are parsed, and have the limits of sm_50, because
//! old PTX names them but no supported assembler targets them.
//!
//! [`Target::limits`] lists every capability that has limits. Nothing is known of the others, not even by their neighbours:
//! what depends on limits assumes [`LaunchLimits::UNKNOWN`]. No other file has a limit of a launch as a number; the test
//! `launch_limits` sees to that. A new capability is a new row and nothing else.

/// Suffix of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// `sm_90`: runs on later architectures.
    Portable,
    /// `sm_100f`: runs on the family.
    Family,
    /// `sm_90a`: runs on this architecture only.
    Architecture,
}

/// A `.target` architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Compute capability times ten: 90 for sm_90, 121 for sm_121.
    number: u16,
    feature: Feature,
}

/// The limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchLimits {
    /// Threads of a block.
    pub threads: u32,
    /// Threads of a block along each dimension.
    pub block: [u32; 3],
    /// Blocks of a grid along each dimension.
    pub grid: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Bytes of a kernel's parameters.
    pub parameter_bytes: u32,
}

/// The limits of a multiprocessor and of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Limits of a launch.
    pub launch: LaunchLimits,
    /// 32-bit registers per multiprocessor.
    pub registers: u32,
    /// 32-bit registers of a block, at most.
    pub registers_per_block: u32,
    /// Registers are handed to a warp in multiples of this many.
    pub register_granularity: u32,
    /// Most registers of a thread.
    pub registers_per_thread: u32,
    /// Sub-partitions, each with its share of registers and warps.
    pub partitions: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident blocks.
    pub blocks: u32,
    /// Bytes of shared memory per multiprocessor.
    pub shared_memory: u32,
    /// Most bytes of shared memory of a block, with opt-in.
    pub shared_memory_per_block: u32,
    /// Most bytes of shared memory of a block, without opt-in.
    pub shared_memory_per_block_default: u32,
    /// Bytes of shared memory the system takes from every block.
    pub shared_memory_reserved: u32,
    /// Shared memory is handed out in multiples of this many bytes.
    pub shared_memory_granularity: u32,
    /// Named barriers per multiprocessor.
    pub barriers: u32,
    /// Named barriers of a block.
    pub barriers_per_block: u32,
}

const KILOBYTE: u32 = 1024;

/// Threads of a warp.
pub const WARP: u32 = 32;

impl LaunchLimits {
    /// The limits of an unknown target: registers such as `%ntid.x` hold 32-bit numbers.
    pub const UNKNOWN: LaunchLimits = LaunchLimits {
        threads: u32::MAX,
        block: [u32::MAX; 3],
        grid: [u32::MAX; 3],
        cluster: u32::MAX,
        parameter_bytes: u32::MAX,
    };

    /// The limits of a target, if it is known and listed.
    pub const fn of(target: Option<Target>) -> LaunchLimits {
        let Some(target) = target else {
            return LaunchLimits::UNKNOWN;
        };
        match target.limits() {
            Some(limits) => limits.launch,
            None => LaunchLimits::UNKNOWN,
        }
    }

    /// Warps of a block.
    pub const fn warps(&self) -> u32 {
        self.threads.div_ceil(WARP)
    }

    /// The larger limits of two targets.
    #[must_use]
    pub fn or_more(self, other: LaunchLimits) -> LaunchLimits {
        LaunchLimits {
            threads: self.threads.max(other.threads),
            block: std::array::from_fn(|axis| self.block[axis].max(other.block[axis])),
            grid: std::array::from_fn(|axis| self.grid[axis].max(other.grid[axis])),
            cluster: self.cluster.max(other.cluster),
            parameter_bytes: self.parameter_bytes.max(other.parameter_bytes),
        }
    }

    /// Checks the shape of a block.
    ///
    /// # Errors
    /// A sentence without a full stop.
    pub fn check_block(&self, block: [u32; 3]) -> Result<(), String> {
        let threads: u128 = block.into_iter().map(u128::from).product();
        if !(1..=u128::from(self.threads)).contains(&threads) {
            let most = grouped(self.threads);
            return Err(format!("a block has 1 to {most} threads, not {threads}"));
        }
        for (axis, (size, most)) in ["x", "y", "z"]
            .iter()
            .zip(block.into_iter().zip(self.block))
        {
            if size > most {
                let most = grouped(most);
                return Err(format!(
                    "a block has 1 to {most} threads along {axis}, not {size}"
                ));
            }
        }
        Ok(())
    }
}

impl Default for LaunchLimits {
    fn default() -> LaunchLimits {
        LaunchLimits::UNKNOWN
    }
}

/// A number with a comma every three digits.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Target {
    /// The target of a compute capability, `Target::new(9, 0)` for sm_90.
    pub const fn new(major: u16, minor: u16) -> Target {
        Target {
            number: major * 10 + minor,
            feature: Feature::Portable,
        }
    }

    /// Decodes `sm_90`, `sm_90a` or `sm_100f`; `compute_90` too.
    pub fn from_text(text: &str) -> Option<Target> {
        let rest = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"))?;
        let (digits, feature) = match rest.as_bytes().last()? {
            b'a' => (&rest[..rest.len() - 1], Feature::Architecture),
            b'f' => (&rest[..rest.len() - 1], Feature::Family),
            _ => (rest, Feature::Portable),
        };
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: u16 = digits.parse().ok()?;
        (20..=999)
            .contains(&number)
            .then_some(Target { number, feature })
    }

    /// The suffix.
    pub const fn feature(self) -> Feature {
        self.feature
    }

    /// Major and minor compute capability.
    pub const fn compute_capability(self) -> (u16, u16) {
        (self.number / 10, self.number % 10)
    }

    /// Compute capability times ten, the number in the name.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// Whether the target is at least the compute capability.
    pub const fn is_at_least(self, major: u16, minor: u16) -> bool {
        self.number >= major * 10 + minor
    }

    /// The limits of a capability that is listed here. The suffix does not matter.
    pub const fn limits(self) -> Option<Limits> {
        // Threads of a block; warps, blocks, shared memory per multiprocessor and per block in KB, granularity, barriers per
        // block slot.
        let (threads, warps, blocks, shared, per_block, granularity, barriers) = match self.number {
            20 | 21 | 30 | 32 | 35 | 37 | 50 => (1024, 64, 32, 64, 48, 256, 2),
            52 => (1024, 64, 32, 96, 48, 256, 2),
            53 | 60 => (1024, 64, 32, 64, 48, 256, 2),
            61 => (1024, 64, 32, 96, 48, 256, 2),
            62 => (1024, 64, 32, 64, 48, 256, 2),
            70 | 72 => (1024, 64, 32, 96, 96, 256, 2),
            75 => (1024, 32, 16, 64, 64, 256, 2),
            80 | 82 => (1024, 64, 32, 164, 163, 128, 2),
            86 => (1024, 48, 16, 100, 99, 128, 1),
            87 | 88 => (1024, 48, 16, 164, 163, 128, 1),
            89 => (1024, 48, 24, 100, 99, 128, 1),
            90 | 100 | 103 => (1024, 64, 32, 228, 227, 128, 2),
            101 | 110 => (1024, 48, 24, 228, 227, 128, 1),
            120 | 121 => (1024, 48, 24, 100, 99, 128, 1),
            _ => return None,
        };
        Some(Limits {
            launch: LaunchLimits {
                threads,
                block: [threads, threads, 64],
                grid: [0x7FFF_FFFF, 65_535, 65_535],
                cluster: if self.number >= 90 { 16 } else { 1 },
                parameter_bytes: if self.number >= 70 { 32_764 } else { 4352 },
            },
            registers: 64 * KILOBYTE,
            // The two parts made for small systems.
            registers_per_block: if self.number == 53 || self.number == 62 {
                32 * KILOBYTE
            } else {
                64 * KILOBYTE
            },
            register_granularity: 256,
            registers_per_thread: 255,
            partitions: if self.number == 60 { 2 } else { 4 },
            warps,
            blocks,
            shared_memory: shared * KILOBYTE,
            shared_memory_per_block: per_block * KILOBYTE,
            shared_memory_per_block_default: 48 * KILOBYTE,
            shared_memory_reserved: if self.number >= 80 { KILOBYTE } else { 0 },
            shared_memory_granularity: granularity,
            barriers: blocks * barriers,
            barriers_per_block: 16,
        })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = match self.feature {
            Feature::Portable => "",
            Feature::Family => "f",
            Feature::Architecture => "a",
        };
        write!(formatter, "sm_{}{suffix}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for text in [
            "sm_20", "sm_50", "sm_75", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_121",
        ] {
            assert_eq!(Target::from_text(text).expect(text).to_string(), text);
        }
        for text in [
            "sm_", "sm_9", "sm_a", "90", "sm_90b", "sm_1000", "sm_-1", "sm_+9",
        ] {
            assert_eq!(Target::from_text(text), None, "{text}");
        }
        let target = Target::from_text("sm_103a").expect("valid");
        assert_eq!(target.compute_capability(), (10, 3));
        assert!(target.is_at_least(9, 0) && !target.is_at_least(12, 0));
    }

    #[test]
    fn limits_of_known_parts() {
        let limits = |major, minor| Target::new(major, minor).limits().expect("listed");
        let hopper = limits(9, 0);
        assert_eq!((hopper.warps, hopper.blocks, hopper.barriers), (64, 32, 64));
        assert_eq!(hopper.shared_memory_per_block, 227 * 1024);
        let ada = limits(8, 9);
        assert_eq!((ada.warps, ada.blocks, ada.barriers), (48, 24, 24));
        assert_eq!(ada.shared_memory, 100 * 1024);
        assert_eq!(limits(6, 0).partitions, 2);
        assert_eq!(limits(7, 5).shared_memory_reserved, 0);
        assert_eq!(limits(12, 0).warps, 48);
    }

    #[test]
    fn launches_of_known_parts() {
        let hopper = LaunchLimits::of(Target::from_text("sm_90a"));
        assert_eq!(
            (hopper.threads, hopper.warps(), hopper.cluster),
            (1024, 32, 16)
        );
        assert_eq!(hopper.block, [1024, 1024, 64]);
        assert_eq!(hopper.grid, [0x7FFF_FFFF, 65_535, 65_535]);
        assert_eq!(LaunchLimits::of(Target::from_text("sm_80")).cluster, 1);
        for block in [[1024, 1, 1], [1, 1024, 1], [16, 1, 64]] {
            assert_eq!(hopper.check_block(block), Ok(()), "{block:?}");
        }
        for (block, why) in [
            ([1025, 1, 1], "a block has 1 to 1,024 threads, not 1025"),
            ([1, 1, 65], "a block has 1 to 64 threads along z, not 65"),
            ([0, 1, 1], "a block has 1 to 1,024 threads, not 0"),
        ] {
            assert_eq!(hopper.check_block(block), Err(why.to_owned()), "{block:?}");
        }
    }

    #[test]
    fn capabilities_between_those_listed_have_no_limits() {
        for text in [
            "sm_22", "sm_51", "sm_85", "sm_99", "sm_102", "sm_122", "sm_999a",
        ] {
            let target = Target::from_text(text).expect(text);
            assert_eq!(target.limits(), None, "{text}");
            assert_eq!(
                LaunchLimits::of(Some(target)),
                LaunchLimits::UNKNOWN,
                "{text}"
            );
        }
        assert_eq!(LaunchLimits::of(None), LaunchLimits::UNKNOWN);
        assert_eq!(LaunchLimits::UNKNOWN.check_block([u32::MAX, 1, 1]), Ok(()));
        assert!(LaunchLimits::UNKNOWN.check_block([u32::MAX; 3]).is_err());
    }
}
