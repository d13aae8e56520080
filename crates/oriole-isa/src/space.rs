//! State spaces, and sets of them for effects.
//!
//! A `Space` is what an instruction names; a `SpaceSet` is the memory it can reach. The two differ: a generic address
//! reaches several kinds of memory, and a `.shared::cluster` address reaches the block's own shared memory too.

use crate::opcode::Opcode;
use crate::text_enum::text_enum;

text_enum! {
    /// A state space an address is written in. `.shared` and `.shared::cta` mean the same and decode to `Shared`.
    Space {
        Generic = "",
        Global = "global",
        Shared = "shared",
        SharedCluster = "shared::cluster",
        Local = "local",
        Const = "const",
        Param = "param",
        ParamEntry = "param::entry",
        ParamFunc = "param::func",
        TensorMemory = "tmem",
        Texture = "tex",
    }
}

impl Space {
    /// Decodes the qualifier of an instruction, written without its dot.
    pub fn from_qualifier(text: &str) -> Option<Space> {
        match text {
            "shared::cta" => Some(Space::Shared),
            "" | "tmem" | "tex" => None,
            _ => Space::from_text(text),
        }
    }

    /// The qualifier with which an instruction names the space, without its dot; nothing if none does.
    pub(crate) fn qualifier(self, opcode: Opcode) -> Option<&'static str> {
        match (self, opcode) {
            // ptxas takes the long form only.
            (Space::Shared, Opcode::StBulk) => Some("shared::cta"),
            _ => Space::from_qualifier(self.text()).map(|_| self.text()),
        }
    }

    /// The memory an address in this space can reach.
    pub const fn reach(self) -> SpaceSet {
        match self {
            Space::Generic => SpaceSet::GENERIC,
            Space::Global => SpaceSet::GLOBAL,
            Space::Shared => SpaceSet::SHARED,
            Space::SharedCluster => SpaceSet::SHARED.union(SpaceSet::REMOTE_SHARED),
            Space::Local => SpaceSet::LOCAL,
            Space::Const => SpaceSet::CONST,
            Space::Param | Space::ParamEntry | Space::ParamFunc => SpaceSet::PARAM,
            Space::TensorMemory => SpaceSet::TENSOR_MEMORY,
            Space::Texture => SpaceSet::TEXTURE,
        }
    }
}

/// A set of kinds of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SpaceSet(u16);

impl SpaceSet {
    /// No memory.
    pub const NONE: SpaceSet = SpaceSet(0);
    /// Global memory.
    pub const GLOBAL: SpaceSet = SpaceSet(1);
    /// The block's own shared memory.
    pub const SHARED: SpaceSet = SpaceSet(2);
    /// Shared memory of the other blocks of the cluster.
    pub const REMOTE_SHARED: SpaceSet = SpaceSet(4);
    /// The thread's local memory (the stack included).
    pub const LOCAL: SpaceSet = SpaceSet(8);
    /// Constant banks.
    pub const CONST: SpaceSet = SpaceSet(16);
    /// Kernel and function parameters.
    pub const PARAM: SpaceSet = SpaceSet(32);
    /// Tensor memory of sm_100 and later.
    pub const TENSOR_MEMORY: SpaceSet = SpaceSet(64);
    /// Memory behind texture, sampler and surface handles.
    pub const TEXTURE: SpaceSet = SpaceSet(128);
    /// All that a generic address can reach.
    pub const GENERIC: SpaceSet = SpaceSet(1 | 2 | 4 | 8 | 16 | 32);
    /// Every kind of memory.
    pub const ALL: SpaceSet = SpaceSet(255);

    /// Each kind of memory by itself.
    pub const EACH: [SpaceSet; 8] = [
        SpaceSet::GLOBAL,
        SpaceSet::SHARED,
        SpaceSet::REMOTE_SHARED,
        SpaceSet::LOCAL,
        SpaceSet::CONST,
        SpaceSet::PARAM,
        SpaceSet::TENSOR_MEMORY,
        SpaceSet::TEXTURE,
    ];

    /// Both sets.
    pub const fn union(self, other: SpaceSet) -> SpaceSet {
        SpaceSet(self.0 | other.0)
    }

    /// What the sets share.
    pub const fn intersection(self, other: SpaceSet) -> SpaceSet {
        SpaceSet(self.0 & other.0)
    }

    /// This set without the other.
    pub const fn without(self, other: SpaceSet) -> SpaceSet {
        SpaceSet(self.0 & !other.0)
    }

    /// Whether the sets share a kind of memory.
    pub const fn intersects(self, other: SpaceSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: SpaceSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOr for SpaceSet {
    type Output = SpaceSet;

    fn bitor(self, other: SpaceSet) -> SpaceSet {
        self.union(other)
    }
}

impl std::ops::BitOrAssign for SpaceSet {
    fn bitor_assign(&mut self, other: SpaceSet) {
        *self = self.union(other);
    }
}

impl std::fmt::Debug for SpaceSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 8] = [
            "global",
            "shared",
            "remote-shared",
            "local",
            "const",
            "param",
            "tensor-memory",
            "texture",
        ];
        let mut set = formatter.debug_set();
        for (index, name) in NAMES.iter().enumerate() {
            if self.0 & (1 << index) != 0 {
                set.entry(&format_args!("{name}"));
            }
        }
        set.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_spellings_agree() {
        assert_eq!(Space::from_qualifier("shared"), Some(Space::Shared));
        assert_eq!(Space::from_qualifier("shared::cta"), Some(Space::Shared));
        assert_eq!(
            Space::from_qualifier("shared::cluster"),
            Some(Space::SharedCluster)
        );
        assert_eq!(Space::from_qualifier(""), None);
        assert_eq!(Space::from_qualifier("tmem"), None);
        for &space in Space::ALL {
            for opcode in [Opcode::Ld, Opcode::StBulk] {
                if let Some(word) = space.qualifier(opcode) {
                    assert_eq!(Space::from_qualifier(word), Some(space));
                }
            }
        }
    }

    #[test]
    fn cluster_addresses_reach_own_shared_memory() {
        assert!(Space::SharedCluster.reach().contains(SpaceSet::SHARED));
        assert!(!Space::Generic.reach().intersects(SpaceSet::TENSOR_MEMORY));
        assert_eq!(
            format!("{:?}", Space::SharedCluster.reach()),
            "{shared, remote-shared}"
        );
    }
}
