//! What is known about memory at each instruction: a version that changes whenever what is read may have changed.
//!
//! Two loads from one address read the same if nothing between them may have written there. Instead of looking between
//! them, every load gets the number of the last event that may have changed what it reads: a store, an atomic, a barrier, a
//! call, or the start of a block where ways with different histories meet. Equal numbers mean that nothing happened.
//!
//! Within a block stores are told apart by address and variable. Between blocks only state spaces are told apart. A block keeps
//! the versions of the block before it if all ways in agree, and at the head of a loop if nothing in the loop writes the space.

use super::{LocalVariables, Place, clobbers};
use crate::control_flow::ControlFlow;
use crate::loops::{Loop, Loops};
use oriole_collections::IndexVec;
use oriole_ir::{Block, Function, Symbol};
use oriole_isa::SpaceSet;

/// Events a load looks back over before it gives up telling addresses apart.
const MOST_EVENTS: usize = 64;

/// For each kind of memory, the number of the last event that may have changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceVersions([u64; SpaceSet::EACH.len()]);

impl SpaceVersions {
    /// An event changes memory of these kinds. Numbers of events rise along every walk.
    pub fn change(&mut self, spaces: SpaceSet, event: u64) {
        for (version, &space) in self.0.iter_mut().zip(&SpaceSet::EACH) {
            if spaces.intersects(space) {
                *version = event;
            }
        }
    }

    /// The last event that touched any of these kinds. Equal numbers mean that nothing happened to any of them in between.
    pub fn newest(&self, spaces: SpaceSet) -> u64 {
        SpaceSet::EACH
            .iter()
            .zip(&self.0)
            .filter(|(space, _)| spaces.intersects(**space))
            .map(|(_, &version)| version)
            .max()
            .unwrap_or(0)
    }
}

struct Event {
    version: u64,
    spaces: SpaceSet,
    place: Option<Place>,
    /// The variable it names, whatever else it is.
    variable: Option<Symbol>,
}

/// Versions of memory along a walk over the blocks in reverse postorder.
pub struct MemoryVersions<'run> {
    flow: &'run ControlFlow,
    loops: &'run Loops,
    variables: &'run LocalVariables,
    /// What each loop may change.
    changed: IndexVec<Loop, SpaceSet>,
    /// The versions at the end of blocks that were walked.
    at_end: IndexVec<Block, Option<SpaceVersions>>,
    current: SpaceVersions,
    /// What happened in this block.
    events: Vec<Event>,
    at_start: SpaceVersions,
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
        variables: &'run LocalVariables,
        across_blocks: bool,
    ) -> MemoryVersions<'run> {
        let mut changed: IndexVec<Loop, SpaceSet> =
            IndexVec::from_elem(SpaceSet::NONE, loops.iter().count());
        if across_blocks && !changed.is_empty() {
            for &block in flow.reverse_postorder() {
                let mut here = SpaceSet::NONE;
                for instruction in function.instructions_of(block) {
                    here = here.union(clobbers(function.format(instruction)));
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
            variables,
            changed,
            at_end: IndexVec::from_elem(None, function.blocks().len()),
            current: SpaceVersions::default(),
            events: Vec::new(),
            at_start: SpaceVersions::default(),
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
            && let Some(end) = self.at_end[only]
        {
            self.current = end;
            self.at_start = end;
            return;
        }
        let header_of = self
            .loops
            .innermost(block)
            .filter(|&this| self.loops.header(this) == block);
        for (kind, &spaces) in SpaceSet::EACH.iter().enumerate() {
            let mut version = None;
            let mut agree = self.across_blocks;
            for from in self.flow.predecessors(block) {
                if !self.flow.is_reachable(from) {
                    continue;
                }
                match (&self.at_end[from], header_of) {
                    (Some(end), _) => {
                        agree &= version.is_none_or(|version| version == end.0[kind]);
                        version = Some(end.0[kind]);
                    }
                    // Back from the loop this block heads.
                    (None, Some(this)) if self.loops.contains(this, from) => {
                        agree &= !self.changed[this].intersects(spaces);
                    }
                    (None, _) => agree = false,
                }
            }
            self.current.0[kind] = match version.filter(|_| agree) {
                Some(version) => version,
                None => self.fresh(),
            };
        }
        self.at_start = self.current;
    }

    /// Ends a block.
    pub fn leave(&mut self, block: Block) {
        self.at_end[block] = Some(self.current);
    }

    /// Something happens that may change memory of these kinds: at a place if that is known, and to a variable that it names.
    /// Gives the version it creates there.
    pub fn change(
        &mut self,
        spaces: SpaceSet,
        place: Option<Place>,
        variable: Option<Symbol>,
    ) -> u64 {
        let version = self.fresh();
        self.current.change(spaces, version);
        self.events.push(Event {
            version,
            spaces,
            place,
            variable,
        });
        version
    }

    /// The version of what a load reads, at a place if that is known, of a variable that it names.
    pub fn version(&self, spaces: SpaceSet, place: Option<Place>, variable: Option<Symbol>) -> u64 {
        let private =
            |variable: Option<Symbol>| variable.filter(|&symbol| self.variables.is_private(symbol));
        let variable = private(variable);
        for event in self.events.iter().rev().take(MOST_EVENTS) {
            if !event.spaces.intersects(spaces) || private(event.variable) != variable {
                continue;
            }
            match (event.place, place) {
                (Some(one), Some(other)) if one.misses(other) => {}
                _ => return event.version,
            }
        }
        if self.events.len() > MOST_EVENTS {
            self.current.newest(spaces)
        } else {
            self.at_start.newest(spaces)
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
        let variables = analyses.get::<LocalVariables>(function);
        let mut memory = MemoryVersions::new(function, &flow, &loops, &variables, across_blocks);
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
        let variable = access.and_then(|access| access.variable());
        let place = access.and_then(|access| {
            Place::of(&access, |base| match base {
                Base::Value(value) => u64::from(value.as_u32()),
                Base::Symbol(symbol) => 1 << 32 | u64::from(symbol.as_u32()),
                Base::Absolute => u64::MAX,
            })
        });
        let changed = clobbers(format);
        if !changed.is_empty() {
            memory.change(changed, place, variable);
        } else if !format.effects.reads.is_empty() {
            found.push(memory.version(format.effects.reads, place, variable));
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
        let expected = [0, 0, 1, 2, 2, 2, 2, 3, 2, 3, 4];
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
}
