//! What is known of every launch of a kernel: the shape of blocks and of the grid.

use oriole_ir::{Environment, FunctionKind};
use oriole_isa::{Component, LaunchLimits, SpecialRegister, SpecialRegisterKind};

/// The shape of a launch, as far as it is known. By default nothing is, not even what the GPU allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// The shape of a block, if it is fixed (`.reqntid`).
    pub block: Option<[u32; 3]>,
    /// The most threads of a block (`.maxntid`).
    pub maximum_threads: Option<u32>,
    /// The shape of the grid, if it is fixed.
    pub grid: Option<[u32; 3]>,
    /// The limits of the target.
    pub limits: LaunchLimits,
}

impl LaunchShape {
    /// A launch within the limits of a target.
    pub fn within(limits: LaunchLimits) -> LaunchShape {
        LaunchShape {
            limits,
            ..LaunchShape::default()
        }
    }

    /// The limits of the target and the directives of a kernel. A function has only the former: any kernel may call it.
    pub fn of(environment: &Environment, kind: FunctionKind) -> LaunchShape {
        let any = LaunchShape::within(environment.launch_limits());
        if kind != FunctionKind::Entry {
            return any;
        }
        let bounds = environment.bounds();
        LaunchShape {
            block: bounds.required_block,
            maximum_threads: bounds.maximum_threads,
            ..any
        }
    }

    /// The smallest and the largest number a special register may hold, if there is more to say than its type does.
    pub fn range(&self, special: SpecialRegister) -> Option<(u64, u64)> {
        use SpecialRegisterKind::*;
        let index = match special.component() {
            None => {
                return (special.kind() == Laneid).then_some((0, 31));
            }
            Some(Component::X) => 0,
            Some(Component::Y) => 1,
            Some(Component::Z) => 2,
            Some(Component::W) => {
                let is_index = matches!(special.kind(), Tid | Ntid | Ctaid | Nctaid);
                return is_index.then_some((0, 0));
            }
        };
        let of = |exact: Option<[u32; 3]>, most: u64| match exact {
            Some(shape) => (
                u64::from(shape[index].max(1)),
                u64::from(shape[index].max(1)),
            ),
            None => (1, most),
        };
        let limits = &self.limits;
        let threads = self
            .maximum_threads
            .map_or(limits.threads, |most| most.clamp(1, limits.threads));
        let block = of(self.block, threads.min(limits.block[index]).into());
        let grid = of(self.grid, limits.grid[index].into());
        match special.kind() {
            Tid => Some((0, block.1 - 1)),
            Ntid => Some(block),
            Ctaid => Some((0, grid.1 - 1)),
            Nctaid => Some(grid),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::Target;

    fn range(bounds: LaunchShape, name: &str) -> Option<(u64, u64)> {
        bounds.range(SpecialRegister::from_text(name).unwrap())
    }

    #[test]
    fn special_registers_keep_to_the_launch() {
        let any = LaunchShape::within(LaunchLimits::of(Target::from_text("sm_90")));
        assert_eq!(range(any, "%tid.x"), Some((0, 1023)));
        assert_eq!(range(any, "%ntid.z"), Some((1, 64)));
        assert_eq!(range(any, "%nctaid.y"), Some((1, 65535)));
        assert_eq!(range(any, "%laneid"), Some((0, 31)));
        assert_eq!(range(any, "%tid.w"), Some((0, 0)));
        assert_eq!(range(any, "%clock"), None);
        let small = LaunchShape {
            maximum_threads: Some(128),
            grid: Some([7, 1, 1]),
            ..any
        };
        assert_eq!(range(small, "%tid.x"), Some((0, 127)));
        assert_eq!(range(small, "%tid.z"), Some((0, 63)));
        assert_eq!(range(small, "%nctaid.x"), Some((7, 7)));
        assert_eq!(range(small, "%ctaid.x"), Some((0, 6)));
        let fixed = LaunchShape {
            block: Some([32, 8, 1]),
            ..any
        };
        assert_eq!(range(fixed, "%ntid.y"), Some((8, 8)));
        assert_eq!(range(fixed, "%tid.z"), Some((0, 0)));
    }

    #[test]
    fn limits_come_from_the_target() {
        let large = LaunchShape::within(LaunchLimits {
            threads: 2560,
            block: [2560, 2560, 64],
            ..LaunchLimits::UNKNOWN
        });
        assert_eq!(range(large, "%tid.x"), Some((0, 2559)));
        assert_eq!(range(large, "%ntid.y"), Some((1, 2560)));
        assert_eq!(range(large, "%tid.z"), Some((0, 63)));
        // Elsewhere only types and directives tell something.
        let unlisted = LaunchShape::within(LaunchLimits::of(Target::from_text("sm_999")));
        assert_eq!(unlisted, LaunchShape::default());
        let most = u64::from(u32::MAX);
        assert_eq!(range(unlisted, "%tid.z"), Some((0, most - 1)));
        assert_eq!(range(unlisted, "%ntid.x"), Some((1, most)));
        assert_eq!(range(unlisted, "%ctaid.y"), Some((0, most - 1)));
        assert_eq!(range(unlisted, "%nctaid.z"), Some((1, most)));
        let bounded = LaunchShape {
            maximum_threads: Some(256),
            ..unlisted
        };
        assert_eq!(range(bounded, "%tid.z"), Some((0, 255)));
        assert_eq!(range(bounded, "%ctaid.z"), Some((0, most - 1)));
    }
}
