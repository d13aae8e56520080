//! The memo tables, who read what to fill them, and how entries are forgotten.
//!
//! ## Method
//! Every answer is an entry of a table. Whoever computes an entry says what it reads: other entries, and *sources*, which are parts of
//! the function. Each source and entry keeps a list of the entries that were computed from it, also of those that found an opaque
//! leaf and looked no further: that the leaf was opaque is something that was read. A change touches sources; what was computed from
//! them, directly or not, is forgotten.

use super::conditions::Condition;
use super::exits::ExitCount;
use super::expression::Expression;
use super::guards::Facts;
use super::trip_counts::{BackedgeTaken, PredicatedCount};
use crate::known_bits::Known;
use oriole_collections::{DenseMap, IndexVec, PackedOption};
use oriole_ir::{Block, Definition, Instruction, Value};
use std::rc::Rc;

/// A source or an entry of a table: its kind above its number among those of the kind. It is compared and looked up very often, so that it is
/// one number and no enumeration with a case for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

/// The kinds of keys, sources first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyKind {
    Definition,
    Incoming,
    Terminator,
    Loop,
    Dominance,
    Value,
    Recurrence,
    Folded,
    Range,
    Count,
    Predicated,
    EdgeFacts,
    Facts,
    Condition,
    Decision,
    // The only kind whose numbers are not dense: it has two.
    Exit,
}

impl Key {
    /// Nobody: the answer is not kept.
    pub const NOBODY: Key = Key(u64::MAX);

    const fn of(kind: KeyKind, number: u32) -> Key {
        Key((kind as u64) << KIND_SHIFT | number as u64)
    }

    /// Source: how a value is defined, and where.
    pub fn definition(value: Value) -> Key {
        Key::of(KeyKind::Definition, value.as_u32())
    }

    /// Source: the edges to a block with their arguments, whether it is a header, and whether it is reached.
    pub fn incoming(block: Block) -> Key {
        Key::of(KeyKind::Incoming, block.as_u32())
    }

    /// Source: how a block ends.
    pub fn terminator(block: Block) -> Key {
        Key::of(KeyKind::Terminator, block.as_u32())
    }

    /// Source: the blocks and edges of the loop with this header.
    pub fn in_loop(header: Block) -> Key {
        Key::of(KeyKind::Loop, header.as_u32())
    }

    /// Source: the dominators of a block and the edges among them.
    pub fn dominance(block: Block) -> Key {
        Key::of(KeyKind::Dominance, block.as_u32())
    }

    /// The expression of a value, with parameters of headers as leaves.
    pub fn value(value: Value) -> Key {
        Key::of(KeyKind::Value, value.as_u32())
    }

    /// What a parameter of a header is.
    pub fn recurrence(parameter: Value) -> Key {
        Key::of(KeyKind::Recurrence, parameter.as_u32())
    }

    /// An expression with recurrences for its leaves.
    pub fn folded(expression: Expression) -> Key {
        Key::of(KeyKind::Folded, expression.as_u32())
    }

    /// The ranges of an expression.
    pub fn range(expression: Expression) -> Key {
        Key::of(KeyKind::Range, expression.as_u32())
    }

    /// The count of an exit: header and exiting block.
    pub fn exit(header: Block, from: Block) -> Key {
        let numbers = [header, from].map(|block| u64::from(block.as_u32()));
        assert!(numbers.iter().all(|&number| number < (1 << EXIT_SHIFT) - 1));
        Key((KeyKind::Exit as u64) << KIND_SHIFT | numbers[0] << EXIT_SHIFT | numbers[1])
    }

    /// The count of the loop with this header.
    pub fn count(header: Block) -> Key {
        Key::of(KeyKind::Count, header.as_u32())
    }

    /// The count of the loop with this header under assumptions.
    pub fn predicated(header: Block) -> Key {
        Key::of(KeyKind::Predicated, header.as_u32())
    }

    /// What the edge says that every way to a block takes from its immediate dominator.
    pub fn edge_facts(block: Block) -> Key {
        Key::of(KeyKind::EdgeFacts, block.as_u32())
    }

    /// What holds where a block is executed.
    pub fn facts(block: Block) -> Key {
        Key::of(KeyKind::Facts, block.as_u32())
    }

    /// What a predicate says.
    pub fn condition(predicate: Value) -> Key {
        Key::of(KeyKind::Condition, predicate.as_u32())
    }

    /// What a predicate is wherever it is computed.
    pub fn decision(predicate: Value) -> Key {
        Key::of(KeyKind::Decision, predicate.as_u32())
    }

    fn kind(self) -> KeyKind {
        KeyKind::ALL[(self.0 >> KIND_SHIFT) as usize]
    }

    /// Its number, unless it is the count of an exit.
    fn number(self) -> usize {
        self.0 as u32 as usize
    }

    fn is_source(self) -> bool {
        self.0 >> KIND_SHIFT <= KeyKind::Dominance as u64
    }

    fn as_value(self) -> Value {
        Value::from_index(self.number())
    }

    fn as_block(self) -> Block {
        Block::from_index(self.number())
    }

    fn as_expression(self) -> Expression {
        Expression::from_index(self.number())
    }

    /// The header and the exiting block of the count of an exit.
    fn as_exit(self) -> (Block, Block) {
        let numbers = [self.0 >> EXIT_SHIFT, self.0];
        let [header, from] =
            numbers.map(|it| Block::from_index(it as usize & ((1 << EXIT_SHIFT) - 1)));
        (header, from)
    }
}

/// Where the kind of a key begins.
const KIND_SHIFT: u32 = 60;

/// Where the header begins in the key of the count of an exit. No text holds as many blocks.
const EXIT_SHIFT: u32 = 30;

impl KeyKind {
    const ALL: [KeyKind; 16] = [
        KeyKind::Definition,
        KeyKind::Incoming,
        KeyKind::Terminator,
        KeyKind::Loop,
        KeyKind::Dominance,
        KeyKind::Value,
        KeyKind::Recurrence,
        KeyKind::Folded,
        KeyKind::Range,
        KeyKind::Count,
        KeyKind::Predicated,
        KeyKind::EdgeFacts,
        KeyKind::Facts,
        KeyKind::Condition,
        KeyKind::Decision,
        KeyKind::Exit,
    ];
}

/// How many kinds of sources and entries have dense numbers.
const KINDS: usize = KeyKind::Exit as usize;

/// Lists that room is made for at once.
const FEWEST: usize = 32;

/// Makes room for a number, and for as many more as the memory for it holds.
fn grow(heads: &mut Vec<u32>, number: usize) {
    heads.reserve((number + 1 - heads.len()).max(FEWEST));
    heads.resize(heads.capacity(), END);
}

/// The first of the readers of each source and entry, [`END`] where there are none.
#[derive(Debug, Default)]
struct Readers {
    dense: [Vec<u32>; KINDS],
    exits: DenseMap<u64, u32>,
}

impl Readers {
    /// The first reader, to change it, if there is a place for it.
    #[inline]
    fn known_head(&mut self, key: Key) -> Option<&mut u32> {
        let heads = self.dense.get_mut((key.0 >> KIND_SHIFT) as usize)?;
        heads.get_mut(key.number())
    }

    /// The first reader, to change it.
    #[cold]
    fn new_head(&mut self, key: Key) -> &mut u32 {
        match self.dense.get_mut(key.kind() as usize) {
            Some(heads) => {
                if key.number() >= heads.len() {
                    grow(heads, key.number());
                }
                &mut heads[key.number()]
            }
            None => self.exits.get_or_insert(key.0, END),
        }
    }

    /// Takes the readers away; the first of them.
    fn take(&mut self, key: Key) -> u32 {
        match self.dense.get_mut(key.kind() as usize) {
            Some(heads) => heads
                .get_mut(key.number())
                .map_or(END, |head| std::mem::replace(head, END)),
            None => self.exits.remove(&key.0).unwrap_or(END),
        }
    }

    fn clear(&mut self) {
        let Readers { dense, exits } = self;
        dense.iter_mut().for_each(Vec::clear);
        exits.clear();
    }
}

/// What is known of a value by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueEntry {
    /// Its expression, with parameters of headers as leaves.
    pub expression: Expression,
    /// The bits that are the same in every execution.
    pub known: Known,
    /// How it was defined: an instruction may be given another result.
    pub definition: Definition,
    /// Whether control could reach its definition.
    pub is_reached: bool,
}

/// A range of unsigned numbers, and the bits that are the same in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsignedRange {
    /// The smallest.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// Bits that are known.
    pub known: Known,
}

/// A range of signed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedRange {
    /// The smallest.
    pub low: i64,
    /// The largest.
    pub high: i64,
}

/// How many levels of what was computed from a loop are forgotten with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What is kept of the loop itself.
    Shallow,
    /// Everything that was computed from it.
    All,
    /// So many levels.
    Bounded(u32),
}

impl Depth {
    fn levels(self) -> u32 {
        match self {
            Depth::Shallow => 0,
            Depth::All => u32::MAX,
            Depth::Bounded(levels) => levels,
        }
    }
}

/// How much was computed and forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Entries computed.
    pub computed: u64,
    /// Entries forgotten because something they were computed from changed.
    pub forgotten: u64,
    /// Entries there are.
    pub kept: u64,
    /// Sums and products that were too large to simplify.
    pub too_large: u32,
}

/// The end of a list of readers.
const END: u32 = u32::MAX;

/// The tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// 1: value → expression.
    pub value_expressions: IndexVec<Value, Option<ValueEntry>>,
    /// 2 and 3: expression → unsigned and signed range.
    pub ranges: IndexVec<Expression, Option<(UnsignedRange, SignedRange)>>,
    /// 4: header → backedge-taken counts.
    pub backedge_taken: DenseMap<Block, BackedgeTaken>,
    /// How many of the first blocks in reverse postorder head no loop whose count is not known.
    pub counted: usize,
    /// 5: header and exiting block → count of the exit.
    pub exit_counts: DenseMap<(Block, Block), ExitCount>,
    /// 6: recurrences of parameters, and expressions folded with them.
    pub recurrences: DenseMap<Value, Expression>,
    pub folded: IndexVec<Expression, PackedOption<Expression>>,
    /// 7: header → backedge-taken count under assumptions.
    pub predicated: DenseMap<Block, PredicatedCount>,
    /// 8: what holds behind the edge from its immediate dominator to a block, and where a block is executed with how many blocks that was
    /// looked for in.
    pub edge_facts: IndexVec<Block, Option<Rc<Facts>>>,
    pub facts: IndexVec<Block, Option<(Rc<Facts>, usize)>>,
    /// What most blocks are told.
    pub no_facts: Rc<Facts>,
    /// 9: predicate → what it says.
    pub conditions: DenseMap<Value, Condition>,
    /// 10: predicate → what it is wherever it is computed in a block, if that is known.
    pub decisions: DenseMap<Value, (Block, Option<bool>)>,
    /// The only result of each instruction whose result has an entry: it may be given another one.
    pub results: IndexVec<Instruction, PackedOption<Value>>,
    readers: Readers,
    /// Readers, each with the next.
    links: Vec<(Key, u32)>,
    entries: u64,
    computed: u64,
    forgotten: u64,
}

impl Tables {
    /// Tables of a function with so many values: room is made for what is asked of most of them.
    pub fn of(values: usize) -> Tables {
        let mut tables = Tables::default();
        tables.value_expressions.reserve(values);
        for kind in [KeyKind::Definition, KeyKind::Value] {
            tables.readers.dense[kind as usize].reserve(values);
        }
        tables.links.reserve(values);
        tables
    }

    /// Says that `reader` is computed from `read`.
    #[inline]
    pub fn read(&mut self, reader: Key, read: Key) {
        if reader == Key::NOBODY {
            return;
        }
        let head = match self.readers.known_head(read) {
            Some(head) => head,
            None => return self.read_first(reader, read),
        };
        if *head != END && self.links[*head as usize].0 == reader {
            return;
        }
        let next = std::mem::replace(head, self.links.len() as u32);
        self.links.push((reader, next));
    }

    /// The same for what there is no place yet to keep the readers of, and for exits.
    #[cold]
    fn read_first(&mut self, reader: Key, read: Key) {
        let head = self.readers.new_head(read);
        if *head != END && self.links[*head as usize].0 == reader {
            return;
        }
        let next = std::mem::replace(head, self.links.len() as u32);
        self.links.push((reader, next));
    }

    /// Says that an entry was filled.
    #[inline]
    pub fn filled(&mut self) {
        self.entries += 1;
        self.computed += 1;
    }

    /// How much was computed and forgotten.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            computed: self.computed,
            forgotten: self.forgotten,
            kept: self.entries,
            too_large: 0,
        }
    }

    /// The entry of a value.
    #[inline]
    pub fn value(&self, value: Value) -> Option<ValueEntry> {
        *self.value_expressions.get(value)?
    }

    /// The ranges of an expression.
    #[inline]
    pub fn range_of(&self, expression: Expression) -> Option<(UnsignedRange, SignedRange)> {
        *self.ranges.get(expression)?
    }

    /// What an expression folds to.
    #[inline]
    pub fn fold_of(&self, expression: Expression) -> Option<Expression> {
        self.folded.get(expression)?.expand()
    }

    fn has(&self, key: Key) -> bool {
        match key.kind() {
            KeyKind::Value => self.value(key.as_value()).is_some(),
            KeyKind::Recurrence => self.recurrences.contains_key(&key.as_value()),
            KeyKind::Folded => self.fold_of(key.as_expression()).is_some(),
            KeyKind::Range => self.range_of(key.as_expression()).is_some(),
            KeyKind::Exit => self.exit_counts.contains_key(&key.as_exit()),
            KeyKind::Count => self.backedge_taken.contains_key(&key.as_block()),
            KeyKind::Predicated => self.predicated.contains_key(&key.as_block()),
            KeyKind::EdgeFacts => {
                let facts = self.edge_facts.get(key.as_block());
                facts.is_some_and(Option::is_some)
            }
            KeyKind::Facts => {
                let facts = self.facts.get(key.as_block());
                facts.is_some_and(Option::is_some)
            }
            KeyKind::Condition => self.conditions.contains_key(&key.as_value()),
            KeyKind::Decision => self.decisions.contains_key(&key.as_value()),
            _ => false,
        }
    }

    /// Takes an entry out; whether it was there.
    fn erase(&mut self, key: Key) -> bool {
        match key.kind() {
            KeyKind::Value => self
                .value_expressions
                .get_mut(key.as_value())
                .is_some_and(|entry| entry.take().is_some()),
            KeyKind::Recurrence => self.recurrences.erase(&key.as_value()),
            KeyKind::Folded => self
                .folded
                .get_mut(key.as_expression())
                .is_some_and(|folded| std::mem::take(folded).is_some()),
            KeyKind::Range => self
                .ranges
                .get_mut(key.as_expression())
                .is_some_and(|ranges| ranges.take().is_some()),
            KeyKind::Exit => self.exit_counts.erase(&key.as_exit()),
            KeyKind::Count => {
                self.counted = 0;
                self.backedge_taken.erase(&key.as_block())
            }
            KeyKind::Predicated => self.predicated.erase(&key.as_block()),
            KeyKind::EdgeFacts => self
                .edge_facts
                .get_mut(key.as_block())
                .is_some_and(|facts| facts.take().is_some()),
            KeyKind::Facts => self
                .facts
                .get_mut(key.as_block())
                .is_some_and(|facts| facts.take().is_some()),
            KeyKind::Condition => self.conditions.erase(&key.as_value()),
            KeyKind::Decision => self.decisions.erase(&key.as_value()),
            _ => false,
        }
    }

    /// Forgets entries, and what was computed from these and from sources, to a depth.
    pub fn forget(&mut self, keys: impl IntoIterator<Item = Key>, depth: Depth) {
        let mut stack: Vec<(Key, u32)> = keys
            .into_iter()
            .map(|key| {
                (
                    key,
                    depth.levels().saturating_add(u32::from(key.is_source())),
                )
            })
            .collect();
        while let Some((key, levels)) = stack.pop() {
            if !key.is_source() {
                if !self.erase(key) {
                    continue;
                }
                self.entries -= 1;
                self.forgotten += 1;
            }
            if levels == 0 {
                continue;
            }
            let mut next = self.readers.take(key);
            while next != END {
                let (reader, after) = self.links[next as usize];
                stack.push((reader, levels - 1));
                next = after;
            }
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        let Tables {
            value_expressions,
            ranges,
            backedge_taken,
            counted,
            exit_counts,
            recurrences,
            folded,
            predicated,
            edge_facts,
            facts,
            no_facts: _,
            conditions,
            decisions,
            results,
            readers,
            links,
            entries,
            computed: _,
            forgotten,
        } = self;
        value_expressions.clear();
        ranges.clear();
        backedge_taken.clear();
        *counted = 0;
        exit_counts.clear();
        recurrences.clear();
        folded.clear();
        predicated.clear();
        edge_facts.clear();
        facts.clear();
        conditions.clear();
        decisions.clear();
        results.clear();
        readers.clear();
        links.clear();
        *forgotten += std::mem::take(entries);
    }

    /// Drops links to entries that are gone, if there are many.
    pub fn prune(&mut self) {
        if (self.links.len() as u64) < 1024 + 16 * self.entries {
            return;
        }
        let Readers { mut dense, exits } = std::mem::take(&mut self.readers);
        let links = std::mem::take(&mut self.links);
        for head in dense.iter_mut().flatten() {
            *head = self.link_again(*head, &links);
        }
        let exits = exits.into_sorted_vec().into_iter();
        let exits = exits.map(|(number, head)| (number, self.link_again(head, &links)));
        let exits = exits.filter(|&(_, head)| head != END).collect();
        self.readers = Readers { dense, exits };
    }

    /// Links the readers of a list again that are still there; the first of them.
    fn link_again(&mut self, first: u32, links: &[(Key, u32)]) -> u32 {
        let mut kept: Vec<Key> = Vec::new();
        let mut next = first;
        while next != END {
            let (reader, after) = links[next as usize];
            if self.has(reader) {
                kept.push(reader);
            }
            next = after;
        }
        kept.sort_unstable();
        kept.dedup();
        let mut head = END;
        for reader in kept {
            self.links.push((reader, head));
            head = self.links.len() as u32 - 1;
        }
        head
    }

    /// What is wrong with the tables: a count of entries that is not theirs.
    pub fn inconsistencies(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let values = self.value_expressions.values().flatten().count();
        let count = values
            + self.ranges.values().flatten().count()
            + self.backedge_taken.len()
            + self.exit_counts.len()
            + self.recurrences.len()
            + self.folded.values().filter(|it| it.is_some()).count()
            + self.predicated.len()
            + self.edge_facts.values().flatten().count()
            + self.facts.values().flatten().count()
            + self.conditions.len()
            + self.decisions.len();
        if count as u64 != self.entries {
            wrong.push(format!("{count} entries, counted as {}", self.entries));
        }
        wrong
    }
}
