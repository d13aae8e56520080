//! What is live where blocks begin and end.
//!
//! ## Method
//! `live_in(b) = exposed(b) ∪ (live_out(b) − defined(b))` and `live_out(b) = exit_uses(b) ∪ ⋃ live_in(successors)`, least
//! fixed point, over reachable blocks; nothing is live in the others. Most registers never cross a block boundary, so only
//! those some block reads before it writes (*globals*) get a bit. A block's row is two bit vectors side by side, data
//! registers and predicates, each of whole 64-bit words with the tail bits zero; both go through one fixed point with one
//! changed flag. Blocks are taken in postorder from a worklist.
//!
//! Rows are quadratic where thousands of globals live in a few blocks each. There each global is followed back from the
//! blocks that read it instead, which costs what it finds; should that exceed the size of the rows, the rows are cheaper
//! after all and are used. A function of one block has no rows, one of at most [`SMALL`] instructions is iterated without
//! a worklist. All ways give the same sets.

use super::program::{Program, RegisterFile};
use oriole_ir::graph::postorder;

/// Functions of at most this many instructions take the short way.
pub const SMALL: usize = 15;

/// Rows of at most this many words are always dense.
const NARROW: usize = 8;

/// No global.
const NONE: u32 = u32::MAX;

/// How the sets are to be computed; all give the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As the function's size suggests.
    Automatic,
    /// Bit vectors and a worklist.
    Dense,
    /// Each global followed back from its uses.
    Sparse,
}

#[derive(Clone, Debug)]
enum Rows {
    Dense(Vec<u64>),
    /// Starts of the lists, and the sorted lists.
    Sparse(Vec<u32>, Vec<u32>),
}

/// The live-in and live-out sets of all blocks.
#[derive(Clone, Debug)]
pub struct LiveSets {
    /// Bit of each entity, [`NONE`] for those that never cross a block boundary.
    bits: Vec<u32>,
    /// Entity of each bit, [`NONE`] for padding.
    entities: Vec<u32>,
    words: usize,
    rows: Rows,
    reachable: Vec<bool>,
    postorder: Vec<u32>,
    /// Per entity: how many reachable instructions and blocks define it, at most 2.
    definitions: Vec<u8>,
}

struct Scan {
    definitions: Vec<u8>,
    /// Entities read before written, with the block.
    exposed: Vec<(u32, u32)>,
    /// Entities written, with the block; only globals are kept in the end.
    defined: Vec<(u32, u32)>,
}

fn scan(program: &impl Program, reachable: &[bool]) -> Scan {
    let count = program.entity_count();
    let mut exposed_in = vec![0u32; count];
    let mut defined_in = vec![0u32; count];
    let mut definitions = vec![0u8; count];
    let mut exposed = Vec::new();
    let mut defined = Vec::new();
    for block in 0..program.block_count() as u32 {
        if !reachable[block as usize] {
            continue;
        }
        let stamp = block + 1;
        for &entity in program.entry_definitions(block) {
            defined_in[entity as usize] = stamp;
            definitions[entity as usize] = (definitions[entity as usize] + 1).min(2);
            defined.push((entity, block));
        }
        for instruction in program.instructions(block) {
            let accesses = program.accesses(instruction);
            for access in accesses {
                let at = access.entity() as usize;
                if access.uses() && defined_in[at] != stamp && exposed_in[at] != stamp {
                    exposed_in[at] = stamp;
                    exposed.push((access.entity(), block));
                }
            }
            for access in accesses {
                let at = access.entity() as usize;
                if access.defines() {
                    definitions[at] = (definitions[at] + 1).min(2);
                    if defined_in[at] != stamp {
                        defined_in[at] = stamp;
                        defined.push((access.entity(), block));
                    }
                }
            }
        }
        for &entity in program.exit_uses(block) {
            let at = entity as usize;
            if defined_in[at] != stamp && exposed_in[at] != stamp {
                exposed_in[at] = stamp;
                exposed.push((entity, block));
            }
        }
    }
    Scan {
        definitions,
        exposed,
        defined,
    }
}

impl LiveSets {
    /// The sets of a program.
    pub fn of(program: &impl Program) -> LiveSets {
        LiveSets::with(program, Method::Automatic)
    }

    /// The sets of a program, computed in a given way.
    pub fn with(program: &impl Program, method: Method) -> LiveSets {
        let blocks = program.block_count();
        let postorder = if blocks == 0 {
            Vec::new()
        } else {
            postorder(program.successors(), 0)
        };
        let mut reachable = vec![false; blocks];
        for &block in &postorder {
            reachable[block as usize] = true;
        }
        let Scan {
            definitions,
            exposed,
            mut defined,
        } = scan(program, &reachable);
        let mut sets = LiveSets {
            bits: vec![NONE; program.entity_count()],
            entities: Vec::new(),
            words: 0,
            rows: Rows::Dense(Vec::new()),
            reachable,
            postorder,
            definitions,
        };
        sets.number_globals(program, &exposed);
        defined.retain(|&(entity, _)| sets.bits[entity as usize] != NONE);
        let dense_size = blocks * sets.words;
        let small = method == Method::Automatic && program.instruction_count() <= SMALL;
        let sparse = match method {
            Method::Dense => None,
            Method::Sparse => Some(usize::MAX),
            Method::Automatic => (sets.words > NARROW).then_some(dense_size),
        };
        let rows = sparse.and_then(|budget| sets.follow(program, &exposed, &mut defined, budget));
        sets.rows = match rows {
            Some(rows) => rows,
            None => sets.iterate(program, &exposed, &defined, small),
        };
        sets
    }

    /// Gives every exposed entity, and every one read at a block's end, a bit: data registers first.
    fn number_globals(&mut self, program: &impl Program, exposed: &[(u32, u32)]) {
        for file in [RegisterFile::Data, RegisterFile::Predicate] {
            let exits = (0..program.block_count() as u32)
                .filter(|&block| self.reachable[block as usize])
                .flat_map(|block| program.exit_uses(block).iter().copied());
            for entity in exposed.iter().map(|pair| pair.0).chain(exits) {
                if self.bits[entity as usize] == NONE && program.file(entity) == file {
                    self.bits[entity as usize] = self.entities.len() as u32;
                    self.entities.push(entity);
                }
            }
            let whole = self.entities.len().next_multiple_of(64);
            self.entities.resize(whole, NONE);
        }
        self.words = self.entities.len() / 64;
    }

    fn iterate(
        &self,
        program: &impl Program,
        exposed: &[(u32, u32)],
        defined: &[(u32, u32)],
        small: bool,
    ) -> Rows {
        let words = self.words;
        let blocks = program.block_count();
        let mut live_in = vec![0u64; blocks * words];
        let mut kept = vec![!0u64; blocks * words];
        for &(entity, block) in exposed {
            let bit = self.bits[entity as usize] as usize;
            live_in[block as usize * words + bit / 64] |= 1 << (bit % 64);
        }
        for &(entity, block) in defined {
            let bit = self.bits[entity as usize] as usize;
            kept[block as usize * words + bit / 64] &= !(1 << (bit % 64));
        }
        if words == 0 {
            return Rows::Dense(live_in);
        }
        // One block after the other: what its successors need and it does not define is added to its row.
        let mut step = |block: u32| {
            let row = block as usize * words;
            let mut changed = false;
            for &successor in program.successors().of(block) {
                let other = successor as usize * words;
                for word in 0..words {
                    let new = live_in[other + word] & kept[row + word] & !live_in[row + word];
                    live_in[row + word] |= new;
                    changed |= new != 0;
                }
            }
            changed
        };
        if small {
            while self
                .postorder
                .iter()
                .fold(false, |changed, &block| step(block) | changed)
            {}
            return Rows::Dense(live_in);
        }
        let mut position = vec![0u32; blocks];
        for (index, &block) in self.postorder.iter().enumerate() {
            position[block as usize] = index as u32;
        }
        // The worklist is a bit per block in postorder; taking the lowest again and again sweeps it in that order.
        let mut pending = vec![true; self.postorder.len()];
        let mut again = true;
        while again {
            again = false;
            for at in 0..self.postorder.len() {
                if !std::mem::replace(&mut pending[at], false) {
                    continue;
                }
                let block = self.postorder[at];
                if step(block) {
                    for &from in program.predecessors().of(block) {
                        if self.reachable[from as usize] {
                            let place = position[from as usize] as usize;
                            pending[place] = true;
                            again |= place <= at;
                        }
                    }
                }
            }
        }
        Rows::Dense(live_in)
    }

    /// Follows each global back from its uses; nothing if that takes more than `budget` steps.
    fn follow(
        &self,
        program: &impl Program,
        exposed: &[(u32, u32)],
        defined: &mut [(u32, u32)],
        budget: usize,
    ) -> Option<Rows> {
        let blocks = program.block_count();
        let mut uses: Vec<(u32, u32)> = exposed
            .iter()
            .map(|&(entity, block)| (self.bits[entity as usize], block))
            .collect();
        uses.sort_unstable();
        defined.sort_unstable_by_key(|&(entity, block)| (self.bits[entity as usize], block));
        let mut live_in = vec![NONE; blocks];
        let mut defines = vec![NONE; blocks];
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut stack: Vec<u32> = Vec::new();
        let (mut at, mut at_definition) = (0, 0);
        while at < uses.len() {
            let bit = uses[at].0;
            while at_definition < defined.len()
                && self.bits[defined[at_definition].0 as usize] <= bit
            {
                let (entity, block) = defined[at_definition];
                if self.bits[entity as usize] == bit {
                    defines[block as usize] = bit;
                }
                at_definition += 1;
            }
            while at < uses.len() && uses[at].0 == bit {
                stack.push(uses[at].1);
                at += 1;
            }
            while let Some(block) = stack.pop() {
                if std::mem::replace(&mut live_in[block as usize], bit) == bit {
                    continue;
                }
                found.push((bit, block));
                for &from in program.predecessors().of(block) {
                    if self.reachable[from as usize]
                        && defines[from as usize] != bit
                        && live_in[from as usize] != bit
                    {
                        stack.push(from);
                    }
                }
            }
            if found.len() > budget {
                return None;
            }
        }
        let mut starts = vec![0u32; blocks + 1];
        for &(_, block) in &found {
            starts[block as usize + 1] += 1;
        }
        for block in 0..blocks {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut lists = vec![0; found.len()];
        // Bits come in rising order, so the lists are sorted.
        for &(bit, block) in &found {
            let place = &mut next[block as usize];
            lists[*place as usize] = bit;
            *place += 1;
        }
        Some(Rows::Sparse(starts, lists))
    }

    /// Whether execution can get to a block.
    pub fn is_reachable(&self, block: u32) -> bool {
        self.reachable[block as usize]
    }

    /// Whether something is live at the start of a block.
    pub fn is_live_in(&self, entity: u32, block: u32) -> bool {
        let bit = self.bits[entity as usize];
        if bit == NONE {
            return false;
        }
        match &self.rows {
            Rows::Dense(words) => {
                words[block as usize * self.words + bit as usize / 64] >> (bit % 64) & 1 != 0
            }
            Rows::Sparse(starts, lists) => {
                let range = starts[block as usize] as usize..starts[block as usize + 1] as usize;
                lists[range].binary_search(&bit).is_ok()
            }
        }
    }

    /// What is live at the start of a block, in no particular order.
    pub fn live_in(&self, block: u32) -> Vec<u32> {
        let mut found = Vec::new();
        self.for_each_live_in(block, |bit| found.push(self.entities[bit as usize]));
        found
    }

    /// What is live at the end of a block, each once, in no particular order.
    pub fn live_out(&self, program: &impl Program, block: u32) -> Vec<u32> {
        if !self.reachable[block as usize] {
            return Vec::new();
        }
        let mut found: Vec<u32> = program.exit_uses(block).to_vec();
        for &successor in program.successors().of(block) {
            found.extend(self.live_in(successor));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Things that are live across some block boundary.
    pub fn globals(&self) -> impl Iterator<Item = u32> + '_ {
        self.entities
            .iter()
            .copied()
            .filter(|&entity| entity != NONE)
    }

    /// Whether the sets are lists rather than bit vectors.
    pub fn is_sparse(&self) -> bool {
        matches!(self.rows, Rows::Sparse(..))
    }

    /// Bytes the sets take.
    pub fn bytes(&self) -> usize {
        self.bits.len() * 4
            + self.definitions.len()
            + self.entities.len() * 4
            + match &self.rows {
                Rows::Dense(words) => words.len() * 8,
                Rows::Sparse(starts, lists) => (starts.len() + lists.len()) * 4,
            }
    }

    pub(crate) fn bit(&self, entity: u32) -> Option<u32> {
        Some(self.bits[entity as usize]).filter(|&bit| bit != NONE)
    }

    pub(crate) fn entity(&self, bit: u32) -> u32 {
        self.entities[bit as usize]
    }

    pub(crate) fn bit_count(&self) -> usize {
        self.entities.len()
    }

    pub(crate) fn word_count(&self) -> usize {
        self.words
    }

    /// The words of a block's row, if rows are dense.
    pub(crate) fn row(&self, block: u32) -> Option<&[u64]> {
        match &self.rows {
            Rows::Dense(words) => {
                Some(&words[block as usize * self.words..(block as usize + 1) * self.words])
            }
            Rows::Sparse(..) => None,
        }
    }

    pub(crate) fn for_each_live_in(&self, block: u32, mut visit: impl FnMut(u32)) {
        match &self.rows {
            Rows::Dense(_) => {
                let row = self.row(block).expect("dense");
                for (index, &word) in row.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        visit(index as u32 * 64 + rest.trailing_zeros());
                        rest &= rest - 1;
                    }
                }
            }
            Rows::Sparse(starts, lists) => {
                let range = starts[block as usize] as usize..starts[block as usize + 1] as usize;
                lists[range].iter().for_each(|&bit| visit(bit));
            }
        }
    }

    /// How often something is defined, at most 2.
    pub(crate) fn definition_count(&self, entity: u32) -> u8 {
        self.definitions[entity as usize]
    }
}
