//! What is known of every launch of a kernel: the shape of blocks and of the grid.

use oriole_ir::LaunchBounds;
use oriole_isa::{Component, SpecialRegister, SpecialRegisterKind};

/// The shape of a launch, as far as it is known. Without any, what every GPU keeps to: at most 1,024 threads a block, of which 64 along z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// The shape of a block, if it is fixed (`.reqntid`).
    pub block: Option<[u32; 3]>,
    /// The most threads of a block (`.maxntid`).
    pub maximum_threads: Option<u32>,
    /// The shape of the grid, if it is fixed.
    pub grid: Option<[u32; 3]>,
}

impl LaunchShape {
    /// What the directives of a kernel say.
    pub fn of(bounds: &LaunchBounds) -> LaunchShape {
        LaunchShape {
            block: bounds.required_block,
            maximum_threads: bounds.maximum_threads,
            grid: None,
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
        let threads = self
            .maximum_threads
            .map_or(1024, |most| most.clamp(1, 1024));
        let block = of(self.block, u64::from(threads).min([1024, 1024, 64][index]));
        let grid = of(self.grid, [0x7FFF_FFFF, 0xFFFF, 0xFFFF][index]);
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

    fn range(bounds: LaunchShape, name: &str) -> Option<(u64, u64)> {
        bounds.range(SpecialRegister::from_text(name).unwrap())
    }

    #[test]
    fn special_registers_keep_to_the_launch() {
        let any = LaunchShape::default();
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
}
