//! What memory an instruction may change, for those that reuse what was loaded before it.

use oriole_ir::FormatData;
use oriole_isa::SpaceSet;

/// Memory other threads can reach: what barriers and fences are about.
const COMMON: SpaceSet = SpaceSet::GLOBAL
    .union(SpaceSet::SHARED)
    .union(SpaceSet::REMOTE_SHARED)
    .union(SpaceSet::TENSOR_MEMORY)
    .union(SpaceSet::TEXTURE);

/// The stack. A function whose parameters have their address taken keeps them in local memory (the manual's section on
/// `mov` and `.param`), so a store to one may be a store to the other. Parameters of entries never change: loads of them are
/// not asked about.
pub(super) const STACK: SpaceSet = SpaceSet::LOCAL.union(SpaceSet::PARAM);

/// Memory that may be different after an instruction. A relaxed or volatile access orders nothing by the manual, but programs
/// wait for each other with volatile loads and then read what the other wrote; `ptxas` loads again behind one, and so do we.
pub fn clobbers(format: &FormatData) -> SpaceSet {
    if format.is_pure() {
        return SpaceSet::NONE;
    }
    let effects = &format.effects;
    if format.opaque || effects.is_call {
        return SpaceSet::ALL;
    }
    let writes = if effects.writes.intersects(STACK) {
        effects.writes.union(STACK)
    } else {
        effects.writes
    };
    if !effects.ordering.is_none() || effects.volatile || effects.asynchronous {
        writes.union(COMMON)
    } else {
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::{Formats, ShapeNode};
    use oriole_syntax::tree::Guard;

    fn clobbered(mnemonic: &str, operands: usize) -> SpaceSet {
        let mut formats = Formats::new();
        let shape = std::iter::repeat_n(ShapeNode::LEAF, operands);
        let format = formats.intern(mnemonic, Guard::None, shape);
        clobbers(&formats[format])
    }

    #[test]
    fn parameters_of_functions_may_lie_in_local_memory() {
        assert!(clobbered("st.local.u32", 2).intersects(SpaceSet::PARAM));
        assert!(clobbered("st.param.b32", 2).intersects(SpaceSet::LOCAL));
        assert!(clobbered("st.u32", 2).intersects(SpaceSet::PARAM));
        assert!(!clobbered("st.global.u32", 2).intersects(STACK));
        assert!(clobbered("bar.sync", 1).intersects(SpaceSet::SHARED));
        assert!(!clobbered("bar.sync", 1).intersects(STACK));
        assert!(clobbered("atom.acquire.gpu.shared.add.u32", 3).intersects(SpaceSet::GLOBAL));
        assert!(clobbered("ld.volatile.global.u32", 2).intersects(SpaceSet::GLOBAL));
        assert!(clobbered("red.global.add.u32", 2).intersects(SpaceSet::SHARED));
        assert!(clobbered("ld.global.u32", 2).is_empty());
        assert!(clobbered("add.s32", 3).is_empty());
    }
}
