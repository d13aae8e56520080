//! A warp: registers of 32 lanes, and the fragments its lanes have come apart into.
//!
//! A **fragment** is a set of lanes at one place of the program. A branch that divides a fragment makes two, and a **join**
//! at the immediate post-dominator of the branch, where the first to arrive waits for the other. Calls make a join, too,
//! at which the lanes wait for each other to return. Every fragment that does not wait can run, so lanes that spin on what
//! other lanes of their warp will do are no deadlock; see [`Warp::release_oldest_join`].

use std::collections::VecDeque;

use crate::access::Spot;
use crate::checks::UndefinedRegisters;
use crate::memory::LocalMemory;
use crate::program::{Lanes, NONE};

/// The frame of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) call: u32,
    pub(crate) return_to: u32,
    pub(crate) base: u32,
    pub(crate) predicate_base: u32,
    pub(crate) local_base: u32,
    pub(crate) local_top: u32,
}

/// Whether a fragment can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can.
    Running,
    /// It waits for other lanes of its warp to reach an instruction with a member mask.
    Meeting(Rendezvous),
    /// It waits at a barrier of the block.
    Barrier { number: u32, generation: u64 },
    /// The barrier is complete; the instruction has still to be finished.
    Released,
    /// It waits for the cluster.
    Cluster { generation: u64 },
}

/// What lanes of a warp that wait for each other have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rendezvous {
    /// The instruction with its qualifiers, see [`crate::program::Special::kind`].
    pub(crate) kind: u32,
    /// The lanes that meet.
    pub(crate) members: u32,
}

/// Lanes at one place.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) function: u32,
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) base: u32,
    pub(crate) predicate_base: u32,
    pub(crate) local_base: u32,
    pub(crate) local_top: u32,
    /// The join it is on the way to.
    pub(crate) join: u32,
    /// Where that join is, [`NONE`] for none and for returns.
    pub(crate) join_pc: u32,
    pub(crate) frames: Vec<Frame>,
    pub(crate) state: State,
}

impl Fragment {
    /// Whether the lanes of another fragment are at the same place, in the same calls, on the way to the same join.
    pub(crate) fn is_beside(&self, other: &Fragment) -> bool {
        self.function == other.function
            && self.pc == other.pc
            && self.base == other.base
            && self.predicate_base == other.predicate_base
            && self.local_base == other.local_base
            && self.local_top == other.local_top
            && self.join == other.join
            && self.join_pc == other.join_pc
            && self.frames == other.frames
    }
}

/// A meeting point of lanes.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    /// The operation, or [`NONE`] for the return of a call.
    pub(crate) pc: u32,
    /// Lanes still on their way or waiting.
    pub(crate) expected: u32,
    /// The lanes that wait.
    pub(crate) waiting: Option<Fragment>,
    pub(crate) parent: u32,
}

/// A copy from global to shared memory that has been issued.
#[derive(Clone, Debug)]
pub(crate) struct PendingCopy {
    pub(crate) lane: u32,
    pub(crate) destination: Spot,
    pub(crate) source: Option<Spot>,
    pub(crate) data: Vec<u8>,
}

/// A warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    pub(crate) registers: Vec<Lanes>,
    pub(crate) predicates: Vec<u32>,
    pub(crate) undefined: UndefinedRegisters,
    pub(crate) carry: u32,
    pub(crate) local: LocalMemory,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) threads: Vec<[u32; 3]>,
    pub(crate) fragments: VecDeque<Fragment>,
    pub(crate) joins: Vec<Join>,
    pub(crate) free_joins: Vec<u32>,
    /// Asynchronous copies not yet in a group, and the groups, oldest first.
    pub(crate) open_copies: Vec<PendingCopy>,
    pub(crate) copy_groups: Vec<VecDeque<Vec<PendingCopy>>>,
    /// Reads of synchronisation variables since the warp last gave way.
    pub(crate) polls: u32,
    /// Times it gave way since lanes last met.
    pub(crate) stalls: u32,
    /// The generation of the cluster barrier at which it arrived.
    pub(crate) cluster_generation: u64,
}

impl Warp {
    pub(crate) fn add_join(&mut self, join: Join) -> u32 {
        match self.free_joins.pop() {
            Some(index) => {
                self.joins[index as usize] = join;
                index
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    pub(crate) fn join_pc(&self, join: u32) -> u32 {
        if join == NONE {
            NONE
        } else {
            self.joins[join as usize].pc
        }
    }

    /// Lets a fragment wait at its join. When it is the last, gives all lanes as one fragment behind the join.
    pub(crate) fn arrive(&mut self, fragment: Fragment) -> Option<Fragment> {
        let index = fragment.join;
        let join = &mut self.joins[index as usize];
        match &mut join.waiting {
            Some(waiting) => waiting.mask |= fragment.mask,
            None => join.waiting = Some(fragment),
        }
        self.complete(index)
    }

    /// Gives the lanes of a join that all have arrived at.
    pub(crate) fn complete(&mut self, index: u32) -> Option<Fragment> {
        let join = &mut self.joins[index as usize];
        if join
            .waiting
            .as_ref()
            .is_none_or(|waiting| waiting.mask != join.expected)
        {
            return None;
        }
        let mut fragment = join.waiting.take()?;
        fragment.join = join.parent;
        self.free_joins.push(index);
        fragment.join_pc = self.join_pc(fragment.join);
        self.stalls = 0;
        Some(fragment)
    }

    /// Takes lanes out of the joins from `join` up to, and without, `until`. Joins that thereby become complete run on.
    pub(crate) fn withdraw(&mut self, lanes: u32, mut join: u32, until: u32) {
        while join != NONE && join != until {
            let entry = &mut self.joins[join as usize];
            entry.expected &= !lanes;
            let parent = entry.parent;
            let is_empty = entry.expected == 0;
            if is_empty {
                self.free_joins.push(join);
            } else if let Some(fragment) = self.complete(join) {
                self.fragments.push_back(fragment);
            }
            join = parent;
        }
    }

    /// Lets the lanes that wait longest at a join run on without the others. They meet the others at a later join.
    /// On the machine, too, threads of one warp make progress independently of each other.
    pub(crate) fn release_oldest_join(&mut self) -> bool {
        for index in 0..self.joins.len() {
            // Nobody waits at a join that is free.
            if self.joins[index].pc == NONE {
                continue;
            }
            if let Some(mut fragment) = self.joins[index].waiting.take() {
                let join = &mut self.joins[index];
                join.expected &= !fragment.mask;
                fragment.join = join.parent;
                fragment.join_pc = self.join_pc(fragment.join);
                self.fragments.push_back(fragment);
                self.stalls = 0;
                return true;
            }
        }
        false
    }

    /// The next fragment that can run. Fragments that wait for each other's lanes can when all have come.
    pub(crate) fn next_runnable(&mut self) -> Option<Fragment> {
        let index = (0..self.fragments.len()).find(|&index| match self.fragments[index].state {
            State::Running | State::Released => true,
            State::Meeting(here) => here.members & self.live & !self.waiting_at(here) == 0,
            State::Barrier { .. } | State::Cluster { .. } => false,
        })?;
        self.fragments.remove(index)
    }

    /// The lanes that wait for each other.
    pub(crate) fn waiting_at(&self, here: Rendezvous) -> u32 {
        self.fragments
            .iter()
            .filter(|fragment| fragment.state == State::Meeting(here))
            .fold(0, |mask, fragment| mask | fragment.mask)
    }

    /// Whether nothing but lanes of this warp can let it go on.
    pub(crate) fn waits_for_itself(&self) -> bool {
        self.fragments
            .iter()
            .all(|fragment| matches!(fragment.state, State::Meeting(_)))
    }
}
