//! Targets (`sm_90a`) and the limits of each compute capability.
//!
//! Limits come from the CUDA programming guide and `cuda_occupancy.h`. The register file, the register granularity and
//! the registers per thread are the same from sm_50 on; sm_20 to sm_37 are parsed, and have the limits of sm_50, because
//! old PTX names them but no supported assembler targets them.

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

/// What one multiprocessor offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
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
    /// Most threads of a block.
    pub threads_per_block: u32,
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

    /// The limits of one multiprocessor. Capabilities not listed take those of the nearest lower one.
    pub const fn limits(self) -> Limits {
        // warps, blocks, shared memory per multiprocessor and per block in KB, granularity, barriers per block slot.
        let (warps, blocks, shared, per_block, granularity, barriers) = match self.number {
            0..=51 => (64, 32, 64, 48, 256, 2),
            52 => (64, 32, 96, 48, 256, 2),
            53..=60 => (64, 32, 64, 48, 256, 2),
            61 => (64, 32, 96, 48, 256, 2),
            62..=69 => (64, 32, 64, 48, 256, 2),
            70..=74 => (64, 32, 96, 96, 256, 2),
            75..=79 => (32, 16, 64, 64, 256, 2),
            80..=85 => (64, 32, 164, 163, 128, 2),
            86 => (48, 16, 100, 99, 128, 1),
            87 => (48, 16, 164, 163, 128, 1),
            88 => (48, 16, 164, 163, 128, 1),
            89 => (48, 24, 100, 99, 128, 1),
            90..=100 => (64, 32, 228, 227, 128, 2),
            101 => (48, 24, 228, 227, 128, 1),
            102..=109 => (64, 32, 228, 227, 128, 2),
            110..=119 => (48, 24, 228, 227, 128, 1),
            _ => (48, 24, 100, 99, 128, 1),
        };
        Limits {
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
            threads_per_block: 1024,
            shared_memory: shared * KILOBYTE,
            shared_memory_per_block: per_block * KILOBYTE,
            shared_memory_per_block_default: 48 * KILOBYTE,
            shared_memory_reserved: if self.number >= 80 { KILOBYTE } else { 0 },
            shared_memory_granularity: granularity,
            barriers: blocks * barriers,
            barriers_per_block: 16,
        }
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
        let hopper = Target::new(9, 0).limits();
        assert_eq!((hopper.warps, hopper.blocks, hopper.barriers), (64, 32, 64));
        assert_eq!(hopper.shared_memory_per_block, 227 * 1024);
        let ada = Target::new(8, 9).limits();
        assert_eq!((ada.warps, ada.blocks, ada.barriers), (48, 24, 24));
        assert_eq!(ada.shared_memory, 100 * 1024);
        assert_eq!(Target::new(6, 0).limits().partitions, 2);
        assert_eq!(Target::new(7, 5).limits().shared_memory_reserved, 0);
        assert_eq!(Target::new(12, 0).limits().warps, 48);
    }
}
