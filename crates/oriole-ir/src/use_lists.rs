//! Who reads each value: a use list a value, kept up to date by the editor.
//!
//! ## Method
//! Every place that can hold a value, an operand of an instruction or an argument of an edge, is a *slot*; slots that hold the
//! same value are linked both ways, in the order in which they came to hold it. So reading a value's uses takes time in their
//! number, and linking, unlinking and handing a whole list to another value never search.
//!
//! Values that lost a use are noted, for those who look at values with few readers: see [`UseLists::released`].

use crate::entities::{Block, Instruction, Value};
use oriole_collections::IndexVec;

/// Something that reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// An instruction; once per operand.
    Instruction(Instruction),
    /// An argument of an edge out of a block; once per argument.
    Edge(Block),
}

/// A place that can hold a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

/// Set in slots of arguments.
const ARGUMENT: u32 = 1 << 31;
const NONE: u32 = u32::MAX;

impl Slot {
    /// The slot of an operand, by its index among all operands.
    #[inline]
    pub fn operand(index: usize) -> Slot {
        Slot(index as u32)
    }

    /// The slot of an argument, by its index among all arguments.
    #[inline]
    pub fn argument(index: usize) -> Slot {
        Slot(index as u32 | ARGUMENT)
    }

    /// The index among operands, or else among arguments.
    #[inline]
    pub fn index(self) -> Result<usize, usize> {
        if self.0 & ARGUMENT == 0 {
            Ok(self.0 as usize)
        } else {
            Err((self.0 & !ARGUMENT) as usize)
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    next: u32,
    previous: u32,
    /// The instruction or block that the slot belongs to.
    owner: u32,
}

const UNLINKED: Node = Node {
    next: NONE,
    previous: NONE,
    owner: NONE,
};

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    count: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
    count: 0,
};

/// The use lists of all values of a function.
#[derive(Debug, Default)]
pub(crate) struct UseLists {
    lists: IndexVec<Value, List>,
    operands: Vec<Node>,
    arguments: Vec<Node>,
    /// Values that lost a use since an editor was made, in order and perhaps several times.
    pub released: Vec<Value>,
}

impl UseLists {
    /// Forgets everything and makes room.
    pub fn reset(&mut self, values: usize, operands: usize, arguments: usize) {
        self.clear();
        self.lists.reserve(values);
        self.lists
            .ensure(Value::from_index(values.max(1) - 1), EMPTY);
        self.operands.resize(operands, UNLINKED);
        self.arguments.resize(arguments, UNLINKED);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let UseLists {
            lists,
            operands,
            arguments,
            released,
        } = self;
        lists.clear();
        operands.clear();
        arguments.clear();
        released.clear();
    }

    #[inline]
    fn node(&self, slot: u32) -> &Node {
        if slot & ARGUMENT == 0 {
            &self.operands[slot as usize]
        } else {
            &self.arguments[(slot & !ARGUMENT) as usize]
        }
    }

    #[inline]
    fn node_mut(&mut self, slot: u32) -> &mut Node {
        if slot & ARGUMENT == 0 {
            &mut self.operands[slot as usize]
        } else {
            &mut self.arguments[(slot & !ARGUMENT) as usize]
        }
    }

    /// Adds a slot to the end of a value's list.
    #[inline]
    pub fn link(&mut self, value: Value, slot: Slot, owner: u32) {
        self.lists.ensure(value, EMPTY);
        let (nodes, index) = match slot.index() {
            Ok(index) => (&mut self.operands, index),
            Err(index) => (&mut self.arguments, index),
        };
        if index >= nodes.len() {
            nodes.resize(index + 1, UNLINKED);
        }
        self.link_in_room(value, slot, owner);
    }

    /// Likewise, for a value and a slot that there is room for: see [`UseLists::reset`].
    #[inline]
    pub fn link_in_room(&mut self, value: Value, slot: Slot, owner: u32) {
        let list = &mut self.lists[value];
        let previous = std::mem::replace(&mut list.last, slot.0);
        list.count += 1;
        if previous == NONE {
            list.first = slot.0;
        } else {
            self.node_mut(previous).next = slot.0;
        }
        *self.node_mut(slot.0) = Node {
            next: NONE,
            previous,
            owner,
        };
    }

    /// Takes a slot out of the list of the value it holds.
    #[inline]
    pub fn unlink(&mut self, value: Value, slot: Slot) {
        let Node { next, previous, .. } = std::mem::replace(self.node_mut(slot.0), UNLINKED);
        if previous == NONE {
            self.lists[value].first = next;
        } else {
            self.node_mut(previous).next = next;
        }
        if next == NONE {
            self.lists[value].last = previous;
        } else {
            self.node_mut(next).previous = previous;
        }
        self.lists[value].count -= 1;
        self.released.push(value);
    }

    /// Says of values that lost a use since `start` that they have one again, once for each time they are given.
    pub fn retain(&mut self, start: usize, values: impl Iterator<Item = Value>) {
        for value in values {
            let lost = self.released[start..].iter();
            if let Some(index) = lost.copied().position(|lost| lost == value) {
                self.released.swap_remove(start + index);
            }
        }
    }

    /// Puts the list of one value behind that of another, and leaves the first empty.
    pub fn splice(&mut self, from: Value, to: Value) {
        let List { first, last, count } = std::mem::replace(self.lists.ensure(from, EMPTY), EMPTY);
        if count == 0 {
            return;
        }
        let list = self.lists.ensure(to, EMPTY);
        let previous = std::mem::replace(&mut list.last, last);
        list.count += count;
        if previous == NONE {
            list.first = first;
        } else {
            self.node_mut(previous).next = first;
            self.node_mut(first).previous = previous;
        }
    }

    /// Gives a linked slot another owner.
    #[inline]
    pub fn set_owner(&mut self, slot: Slot, owner: u32) {
        self.node_mut(slot.0).owner = owner;
    }

    /// How many slots hold a value.
    #[inline]
    pub fn count(&self, value: Value) -> u32 {
        self.lists.get(value).map_or(0, |list| list.count)
    }

    /// The slots that hold a value, in order.
    #[inline]
    pub fn slots(&self, value: Value) -> impl Iterator<Item = Slot> + '_ {
        let first = self.lists.get(value).map_or(NONE, |list| list.first);
        let is_slot = |&slot: &u32| slot != NONE;
        std::iter::successors(Some(first).filter(is_slot), move |&slot| {
            Some(self.node(slot).next).filter(is_slot)
        })
        .map(Slot)
    }

    /// The uses of a value, in order.
    #[inline]
    pub fn uses(&self, value: Value) -> impl Iterator<Item = Use> + '_ {
        self.slots(value).map(|slot| {
            let owner = self.node(slot.0).owner;
            match slot.index() {
                Ok(_) => Use::Instruction(Instruction::from_u32(owner)),
                Err(_) => Use::Edge(Block::from_u32(owner)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(index: usize) -> Value {
        Value::from_index(index)
    }

    fn listed(lists: &UseLists, of: usize) -> Vec<Use> {
        lists.uses(value(of)).collect()
    }

    #[test]
    fn lists_keep_their_order_through_unlinking_and_splicing() {
        let mut lists = UseLists::default();
        let instruction = |index: usize| Use::Instruction(Instruction::from_index(index));
        for index in 0..4 {
            lists.link(value(1), Slot::operand(index), index as u32);
        }
        lists.link(value(2), Slot::argument(0), 9);
        lists.unlink(value(1), Slot::operand(0));
        lists.unlink(value(1), Slot::operand(2));
        assert_eq!(listed(&lists, 1), [instruction(1), instruction(3)]);
        lists.splice(value(1), value(2));
        let edge = Use::Edge(Block::from_index(9));
        assert_eq!(listed(&lists, 2), [edge, instruction(1), instruction(3)]);
        assert_eq!((lists.count(value(1)), lists.count(value(2))), (0, 3));
        lists.unlink(value(2), Slot::operand(3));
        lists.unlink(value(2), Slot::argument(0));
        lists.splice(value(2), value(5));
        assert_eq!(listed(&lists, 5), [instruction(1)]);
        assert_eq!(listed(&lists, 2), []);
        assert_eq!(lists.released, [1, 1, 2, 2].map(value));
        lists.retain(1, [value(2), value(7)].into_iter());
        assert_eq!(lists.released, [1, 1, 2].map(value));
    }
}
