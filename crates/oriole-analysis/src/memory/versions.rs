//! What is known about memory at each instruction: a version that changes whenever what is read may have changed.
//!
//! Two loads from one address read the same if nothing between them may have written there. Instead of looking between
//! them, every load gets the number of the last event that may have changed what it reads: a store, an atomic, a barrier, a
//! call, or the start of a block where ways with different histories meet. Equal numbers mean that nothing happened.
//!
//! Within a block the address of a store counts too. Between blocks only kinds of memory count:
//!
//! - state spaces,
//! - cells of local variables that only accesses to them reach,
//! - shared and global variables that lie apart from each other.
//!
//! A block keeps the versions of its predecessors if they agree, and at the head of a loop if nothing in the loop writes that kind.
//!
//! Not done: a store to another offset from one base, in another block, changes what is read. To tell these apart, every block would
//! keep the places of all stores before it, and every join would meet them. Of 6,224 loads of the corpus 82 follow such a
//! store or one to another variable. None of these loads is in optimized code. Variables that lie apart cost nothing and add no rewrite
//! to the corpus.

use super::effects::STACK;
use super::{LocalVariables, Place, SeparateVariables, clobbers};
use crate::control_flow::ControlFlow;
use crate::loops::{Loop, Loops};
use oriole_collections::IndexVec;
use oriole_ir::{Access, Block, Environment, Function};
use oriole_isa::SpaceSet;

/// Events a load looks back over before it gives up telling addresses apart.
const MOST_EVENTS: usize = 64;

/// Kinds of memory, as a set: a bit for each state space, then one for each part. A part is a cell of a local variable, or a variable
/// that lies apart. The last bit stands for all parts that have no bit of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u64);

impl Kinds {
    /// The number of bits for this number of parts.
    fn count(parts: usize) -> usize {
        (SpaceSet::EACH.len() + parts).min(u64::BITS as usize)
    }

    fn part(index: usize) -> Kinds {
        Kinds(1 << (Kinds::count(index + 1) - 1))
    }

    fn union(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    fn intersects(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The place of each in a list of all.
    fn indices(self) -> impl Iterator<Item = usize> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let index = bits.trailing_zeros() as usize;
            let is_left = bits != 0;
            bits &= bits.wrapping_sub(1);
            is_left.then_some(index)
        })
    }
}

impl From<SpaceSet> for Kinds {
    fn from(spaces: SpaceSet) -> Kinds {
        let bits = SpaceSet::EACH
            .iter()
            .enumerate()
            .map(|(index, &space)| u64::from(spaces.intersects(space)) << index);
        Kinds(bits.sum())
    }
}

/// The parts of state spaces that have versions of their own.
#[derive(Debug)]
pub struct Parts<'run> {
    cells: &'run LocalVariables,
    variables: SeparateVariables,
    /// The variables in each state space: an address that is not known may be in any.
    inside: [Kinds; SpaceSet::EACH.len()],
}

impl<'run> Parts<'run> {
    /// The parts that a function accesses, given its cells.
    pub fn of(
        function: &Function,
        environment: &Environment,
        cells: &'run LocalVariables,
    ) -> Parts<'run> {
        let variables = SeparateVariables::of(function, environment);
        let mut inside = [Kinds::default(); SpaceSet::EACH.len()];
        for (number, &space) in variables.spaces().iter().enumerate() {
            let part = Kinds::part(cells.cells().len() + number);
            for index in Kinds::from(space).indices() {
                inside[index] = inside[index].union(part);
            }
        }
        Parts {
            cells,
            variables,
            inside,
        }
    }

    fn count(&self) -> usize {
        self.cells.cells().len() + self.variables.spaces().len()
    }

    /// All memory of these spaces that an address may reach.
    fn whole(&self, spaces: SpaceSet) -> Kinds {
        let kinds = Kinds::from(spaces);
        let inside = kinds.indices().map(|index| self.inside[index]);
        inside.fold(kinds, Kinds::union)
    }

    /// The memory that an instruction touches, given its state spaces and what it does if it is an access. An access to a cell
    /// touches the cell and, if it is ordered, what others can reach, but not the rest of the stack.
    fn kinds_of(&self, spaces: SpaceSet, access: Option<&Access>) -> Kinds {
        let Some(access) = access else {
            return self.whole(spaces);
        };
        if let Some(cell) = self.cells.cell_of(access) {
            return self.whole(spaces.without(STACK)).union(Kinds::part(cell));
        }
        match self.variables.number_of(access, spaces) {
            Some(number) => Kinds::part(self.cells.cells().len() + number),
            None => self.whole(spaces),
        }
    }
}

/// For each kind of memory, the number of the last event that may have changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    spaces: [u64; SpaceSet::EACH.len()],
    parts: Vec<u64>,
}

impl Default for Versions {
    /// Nothing has happened, and only state spaces are told apart.
    fn default() -> Versions {
        Versions::of_parts(0)
    }
}

impl Versions {
    fn of_parts(parts: usize) -> Versions {
        let spaces = [0; SpaceSet::EACH.len()];
        let parts = vec![0; Kinds::count(parts) - spaces.len()];
        Versions { spaces, parts }
    }

    /// How many kinds are told apart.
    fn count(&self) -> usize {
        self.spaces.len() + self.parts.len()
    }

    fn of_kind(&self, index: usize) -> u64 {
        match self.spaces.get(index) {
            Some(&version) => version,
            None => self.parts[index - self.spaces.len()],
        }
    }

    fn set(&mut self, index: usize, event: u64) {
        match self.spaces.get_mut(index) {
            Some(version) => *version = event,
            None => self.parts[index - self.spaces.len()] = event,
        }
    }

    /// An event changes memory of these kinds. Numbers of events rise along every walk.
    pub fn change(&mut self, kinds: impl Into<Kinds>, event: u64) {
        for index in kinds.into().indices() {
            self.set(index, event);
        }
    }

    /// The last event that touched any of these kinds. Equal numbers mean that nothing happened to any of them in between.
    pub fn newest(&self, kinds: impl Into<Kinds>) -> u64 {
        let versions = kinds.into().indices().map(|index| self.of_kind(index));
        versions.max().unwrap_or(0)
    }
}

struct Event {
    version: u64,
    kinds: Kinds,
    place: Option<Place>,
}

/// Versions of memory along a walk over the blocks in reverse postorder.
pub struct MemoryVersions<'run> {
    flow: &'run ControlFlow,
    loops: &'run Loops,
    parts: &'run Parts<'run>,
    /// What each loop may change.
    changed: IndexVec<Loop, Kinds>,
    /// The versions at the end of blocks that were walked.
    at_end: IndexVec<Block, Option<Versions>>,
    current: Versions,
    /// What happened in this block.
    events: Vec<Event>,
    at_start: Versions,
    next: u64,
    /// Whether anything is carried from block to block.
    across_blocks: bool,
}

impl<'run> MemoryVersions<'run> {
    /// Versions before the first block. If not `across_blocks`, every block starts with new ones.
    pub fn new(
        function: &Function,
        flow: &'run ControlFlow,
        loops: &'run Loops,
        parts: &'run Parts<'run>,
        across_blocks: bool,
    ) -> MemoryVersions<'run> {
        let mut changed: IndexVec<Loop, Kinds> =
            IndexVec::from_elem(Kinds::default(), loops.iter().count());
        if across_blocks && !changed.is_empty() {
            for &block in flow.reverse_postorder() {
                let mut here = Kinds::default();
                for instruction in function.instructions_of(block) {
                    let spaces = clobbers(function.format(instruction));
                    if !spaces.is_empty() {
                        let access = function.access(instruction);
                        here = here.union(parts.kinds_of(spaces, access.as_ref()));
                    }
                }
                if let Some(this) = loops.innermost(block) {
                    changed[this] = changed[this].union(here);
                }
            }
            // Inner loops come before those around them.
            for this in loops.iter() {
                if let Some(parent) = loops.parent(this) {
                    changed[parent] = changed[parent].union(changed[this]);
                }
            }
        }
        MemoryVersions {
            flow,
            loops,
            changed,
            at_end: IndexVec::from_elem(None, function.blocks().len()),
            current: Versions::of_parts(parts.count()),
            parts,
            events: Vec::new(),
            at_start: Versions::default(),
            next: 1,
            across_blocks,
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Begins a block, all of whose predecessors by forward edges were walked before.
    pub fn enter(&mut self, block: Block) {
        self.events.clear();
        let mut ways_in = self.flow.predecessors(block);
        if self.across_blocks
            && let (Some(only), None) = (ways_in.next(), ways_in.next())
            && let Some(end) = &self.at_end[only]
        {
            self.current.clone_from(end);
            self.at_start.clone_from(end);
            return;
        }
        let header_of = self
            .loops
            .innermost(block)
            .filter(|&this| self.loops.header(this) == block);
        let count = self.current.count();
        // The kinds on whose version all ways in agree, and the versions of one of them.
        let mut agreed = match self.across_blocks {
            true => u64::MAX,
            false => 0,
        };
        let mut known: Option<&Versions> = None;
        for from in self.flow.predecessors(block) {
            if !self.flow.is_reachable(from) {
                continue;
            }
            match (&self.at_end[from], header_of) {
                (Some(end), _) => {
                    let known = *known.get_or_insert(end);
                    for kind in (0..count).filter(|&kind| known.of_kind(kind) != end.of_kind(kind))
                    {
                        agreed &= !(1 << kind);
                    }
                }
                // Back from the loop this block heads.
                (None, Some(this)) if self.loops.contains(this, from) => {
                    agreed &= !self.changed[this].0;
                }
                (None, _) => agreed = 0,
            }
        }
        match known {
            Some(known) => self.current.clone_from(known),
            None => agreed = 0,
        }
        for kind in 0..count {
            if agreed >> kind & 1 == 0 {
                let version = self.fresh();
                self.current.set(kind, version);
            }
        }
        self.at_start.clone_from(&self.current);
    }

    /// Ends a block.
    pub fn leave(&mut self, block: Block) {
        self.at_end[block] = Some(self.current.clone());
    }

    /// An instruction may change memory of these spaces: at a place if that is known, by an access if it is one. Gives the version
    /// it creates there.
    pub fn change(
        &mut self,
        spaces: SpaceSet,
        access: Option<&Access>,
        place: Option<Place>,
    ) -> u64 {
        let version = self.fresh();
        let kinds = self.parts.kinds_of(spaces, access);
        self.current.change(kinds, version);
        self.events.push(Event {
            version,
            kinds,
            place,
        });
        version
    }

    /// The version of what a load of these spaces reads, at a place if that is known.
    pub fn version(&self, spaces: SpaceSet, access: Option<&Access>, place: Option<Place>) -> u64 {
        let kinds = self.parts.kinds_of(spaces, access);
        for event in self.events.iter().rev().take(MOST_EVENTS) {
            let misses =
                matches!((event.place, place), (Some(one), Some(other)) if one.misses(other));
            if event.kinds.intersects(kinds) && !misses {
                return event.version;
            }
        }
        if self.events.len() > MOST_EVENTS {
            self.current.newest(kinds)
        } else {
            self.at_start.newest(kinds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analyses, Dominators};
    use oriole_ir::{Base, Instruction, text};

    /// The versions of what the loads of a function read, in order of the walk, as numbers from 0 in order of their first use.
    fn versions(source: &str, across_blocks: bool) -> Vec<usize> {
        let function = &text::read(source).unwrap_or_else(|errors| panic!("{errors:?}"))[0];
        let mut analyses = Analyses::new();
        let flow = analyses.get::<ControlFlow>(function);
        let loops = analyses.get::<Loops>(function);
        analyses.get::<Dominators>(function);
        let cells = analyses.get::<LocalVariables>(function);
        let parts = Parts::of(function, analyses.environment(), &cells);
        let mut memory = MemoryVersions::new(function, &flow, &loops, &parts, across_blocks);
        let mut found = Vec::new();
        for &block in flow.reverse_postorder() {
            memory.enter(block);
            for instruction in function.instructions_of(block) {
                visit(function, instruction, &mut memory, &mut found);
            }
            memory.leave(block);
        }
        let mut seen: Vec<u64> = Vec::new();
        for &version in &found {
            if !seen.contains(&version) {
                seen.push(version);
            }
        }
        let number = |version| seen.iter().position(|seen| seen == version).unwrap();
        found.iter().map(number).collect()
    }

    fn visit(
        function: &Function,
        instruction: Instruction,
        memory: &mut MemoryVersions<'_>,
        found: &mut Vec<u64>,
    ) {
        let format = function.format(instruction);
        let access = function.access(instruction);
        let place = access.and_then(|access| {
            Place::of(&access, |base| match base {
                Base::Value(value) => u64::from(value.as_u32()),
                Base::Symbol(symbol) => 1 << 32 | u64::from(symbol.as_u32()),
                Base::Absolute => u64::MAX,
            })
        });
        let changed = clobbers(format);
        if !changed.is_empty() {
            memory.change(changed, access.as_ref(), place);
        } else if !format.effects.reads.is_empty() {
            found.push(memory.version(format.effects.reads, access.as_ref(), place));
        }
    }

    #[test]
    fn accesses_are_told_apart_by_space_address_and_variable() {
        let source = "
            func f {
                variable @private: local
                variable @taken: local
                global @helper
            block0():
                v0:b64 = mov.u64 #0, @taken
                v1:b32 = ld.global.u32 #0, [v0]
                st.shared.u32 [v0], v1
                st.global.u32 [v0+4], v1
                v2:b32 = ld.global.u32 #0, [v0]
                st.global.u32 [v0+-1], v1
                v3:b32 = ld.global.u32 #0, [v0]
                v4:b32 = ld.local.u32 #0, [@private]
                v5:b32 = ld.local.u32 #0, [v0]
                st.local.u32 [v0], v1
                v6:b32 = ld.local.u32 #0, [@private]
                call (), @helper, ()
                v7:b32 = ld.local.u32 #0, [@private]
                v8:b32 = ld.local.u32 #0, [v0]
                st.local.u32 [@private+4], v1
                v9:b32 = ld.local.u32 #0, [@private]
                v10:b32 = ld.local.u32 #0, [v0]
                st.local.u8 [@private+3], v1
                v11:b32 = ld.local.u32 #0, [@private]
                ret
            }";
        //                              v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11
        let expected = [0, 0, 1, 2, 3, 2, 2, 4, 2, 4, 5];
        assert_eq!(versions(source, true), expected);
    }

    #[test]
    fn blocks_keep_versions_that_all_ways_in_agree_on() {
        let source = "
            func f {
            block0():
                v0:b64 = mov.u64 #0, 64
                v1:b32 = ld.global.u32 #0, [v0]
                v2:b32 = ld.shared.u32 #0, [v0]
                v3:pred = setp.eq.u32 #0, v1, v2
                bra ->0 if v3
                -> block2(), block1() next
            block1():
                st.shared.u32 [v0], v1
                -> block2() next
            block2():
                v4:b32 = ld.global.u32 #0, [v0]
                v5:b32 = ld.shared.u32 #0, [v0]
                -> block3() next
            block3():
                v6:b32 = ld.global.u32 #0, [v0]
                v7:b32 = ld.shared.u32 #0, [v0]
                st.global.u32 [v0], v6
                bra ->0 if v3
                -> block3(), block4() next
            block4():
                v8:b32 = ld.shared.u32 #0, [v0]
                ret
            }";
        //                         v1 v2 v4 v5 v6 v7 v8
        assert_eq!(versions(source, true), [0, 1, 0, 2, 3, 2, 2]);
        assert_eq!(versions(source, false), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn cells_have_versions_of_their_own_across_blocks() {
        let source = "
            func f {
                variable @cells: local
                global @helper
            block0():
                v0:b64 = mov.u64 #0, 64
                v1:b32 = ld.local.u32 #0, [@cells]
                v2:pred = setp.eq.u32 #0, v1, 0
                -> block1() next
            block1():
                v3:b32 = ld.local.u32 #0, [@cells]
                v4:b32 = ld.local.u32 #0, [@cells+4]
                call (), @helper, ()
                st.local.u32 [v0], v1
                st.local.u32 [@cells+4], v1
                bra ->0 if v2
                -> block1(), block2() next
            block2():
                v5:b32 = ld.local.u32 #0, [@cells]
                v6:b32 = ld.local.u32 #0, [@cells+4]
                v7:b32 = ld.local.u32 #0, [v0]
                ret
            }";
        // What is in the first cell never changes.
        assert_eq!(versions(source, true), [0, 0, 1, 0, 2, 3]);
    }

    #[test]
    fn many_cells_share_a_kind() {
        let mut source = String::from("func f {\n variable @cells: local\nblock0():\n");
        for cell in 0..100 {
            source.push_str(&format!(" st.local.u32 [@cells+{}], 1\n", 4 * cell));
        }
        source.push_str(" -> block1() next\nblock1():\n");
        for cell in 0..100 {
            source.push_str(&format!(
                " v{cell}:b32 = ld.local.u32 #0, [@cells+{}]\n",
                4 * cell
            ));
        }
        source.push_str(" ret\n}");
        let expected: Vec<usize> = (0..100).map(|cell| cell.min(55)).collect();
        assert_eq!(versions(&source, true), expected);
    }
}
