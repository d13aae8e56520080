//! The highest pressures of a function whose blocks stand in another order, for those among the [features](super::features).
//!
//! What is alive where blocks begin and end is the same in every order, so it is taken from the order that is written, and each block
//! is walked by itself, from its end, without finding live intervals again.

use super::folding::{Folded, View, hoist_loads, on_demand};
use super::scheduling::Scheduler;
use crate::liveness::{AccessKind, LiveIntervals, Pressure, Program, RegisterFile, Values};
use oriole_ir::Function;

/// In which order a block's instructions stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Loads before everything that does not feed them.
    LoadsFirst,
    /// Each just before what first needs it.
    OnDemand,
    /// So that few values are alive.
    FewAlive,
}

/// Registers of the data file by two counts: of all values, and of those that are not uniform.
pub(super) type Counts = [u32; 2];

/// What is known of the function as it is written.
pub(super) struct Reordering<'a> {
    function: &'a Function,
    values: &'a Values,
    folded: &'a Folded,
    view: &'a View<'a>,
    intervals: &'a LiveIntervals,
    /// Registers that each thing takes.
    units: Vec<Counts>,
    /// Registers that are taken at the end of each block.
    ends: Vec<Counts>,
    /// The place in the view of each instruction of the values' program.
    places: Vec<u32>,
}

/// No place: an instruction that the assembler does not see.
const NOWHERE: u32 = u32::MAX;

impl<'a> Reordering<'a> {
    /// Of a function, given what it is as written, its live intervals, and the units of values that are not uniform.
    pub(super) fn new(
        function: &'a Function,
        values: &'a Values,
        folded: &'a Folded,
        view: &'a View<'a>,
        intervals: &'a LiveIntervals,
        divergent_units: impl Fn(u32) -> u32,
    ) -> Reordering<'a> {
        let entities = 0..view.entity_count() as u32;
        let units = entities.map(|entity| match view.file(entity) {
            RegisterFile::Data => [view.units(entity), divergent_units(entity)],
            RegisterFile::Predicate => [0; 2],
        });
        let mut places = vec![NOWHERE; values.instruction_count()];
        for (place, &number) in view.instructions.iter().enumerate() {
            places[number as usize] = place as u32;
        }
        let mut this = Reordering {
            function,
            values,
            folded,
            view,
            intervals,
            units: units.collect(),
            ends: Vec::new(),
            places,
        };
        this.ends = this.ends();
        this
    }

    /// Registers that are taken at the end of each block: those that come into it, less what it uses last, and what it adds.
    fn ends(&self) -> Vec<Counts> {
        let (view, sets) = (self.view, self.intervals.sets());
        let into = [0, 1].map(|count| {
            let units = |entity: u32| self.units[entity as usize][count];
            Pressure::into_blocks_weighted(view, self.intervals, RegisterFile::Data, units)
        });
        let mut seen = vec![u32::MAX; view.entity_count()];
        let mut ends = Vec::with_capacity(view.block_count());
        for block in 0..view.block_count() as u32 {
            let mut end = [0, 1].map(|count| into[count][block as usize]);
            let mut touch = |entity: u32| {
                if std::mem::replace(&mut seen[entity as usize], block) == block {
                    return;
                }
                let comes = sets.is_live_in(entity, block);
                let stays = self.intervals.is_live_out(entity, block);
                for (end, units) in end.iter_mut().zip(self.units[entity as usize]) {
                    match (comes, stays) {
                        (true, false) => *end = end.wrapping_sub(units),
                        (false, true) => *end = end.wrapping_add(units),
                        _ => {}
                    }
                }
            };
            for number in view.instructions(block) {
                for access in view.accesses(number) {
                    touch(access.entity());
                }
            }
            let defined = view.entry_definitions(block).iter();
            defined
                .chain(view.exit_uses(block))
                .copied()
                .for_each(&mut touch);
            ends.push(end);
        }
        ends
    }

    /// The highest pressures in an order.
    pub(super) fn peaks(&self, order_of: Order) -> Counts {
        let (function, values, view) = (self.function, self.values, self.view);
        let mut walk = Walk {
            reordering: self,
            seen: vec![u32::MAX; view.entity_count()],
            alive: vec![false; view.entity_count()],
            peaks: [0; 2],
        };
        let mut scheduler = match order_of {
            Order::FewAlive => Some(Scheduler::new(
                function,
                values,
                self.folded,
                self.intervals,
            )),
            Order::LoadsFirst | Order::OnDemand => None,
        };
        let mut order: Vec<u32> = Vec::new();
        let mut first: Vec<bool> = Vec::new();
        let (mut wanted, mut definers) = (Vec::new(), Vec::new());
        match order_of {
            Order::LoadsFirst => {
                first = vec![false; values.instruction_count()];
                wanted = vec![false; values.value_count()];
            }
            Order::OnDemand => definers = vec![u32::MAX; values.value_count()],
            Order::FewAlive => {}
        }
        for block in 0..values.block_count() as u32 {
            order.clear();
            order.extend(values.instructions(block));
            match (order_of, &mut scheduler) {
                (Order::LoadsFirst, _) => {
                    hoist_loads(function, values, &mut order, &mut first, &mut wanted);
                }
                (Order::OnDemand, _) => order = on_demand(function, values, &order, &mut definers),
                (Order::FewAlive, Some(scheduler)) => {
                    let is_idle = |number: u32| self.places[number as usize] == NOWHERE;
                    order = scheduler.order(block, &order, is_idle);
                }
                (Order::FewAlive, None) => {}
            }
            if self.intervals.sets().is_reachable(block) {
                walk.block(block, &order);
            }
        }
        walk.peaks
    }
}

struct Walk<'a> {
    reordering: &'a Reordering<'a>,
    /// The block in which it was last asked whether something is alive.
    seen: Vec<u32>,
    alive: Vec<bool>,
    peaks: Counts,
}

impl Walk<'_> {
    /// Whether something is alive behind the instruction that is looked at.
    fn is_alive(&mut self, block: u32, entity: u32) -> bool {
        let index = entity as usize;
        if std::mem::replace(&mut self.seen[index], block) != block {
            self.alive[index] = self.reordering.intervals.is_live_out(entity, block);
        }
        self.alive[index]
    }

    fn reach(&mut self, now: Counts, more: Counts) {
        for ((peak, now), more) in self.peaks.iter_mut().zip(now).zip(more) {
            *peak = (*peak).max(now + more);
        }
    }

    /// Walks a block from its end.
    fn block(&mut self, block: u32, order: &[u32]) {
        let Reordering {
            view,
            units,
            places,
            ends,
            ..
        } = self.reordering;
        let mut now = ends[block as usize];
        for &number in order.iter().rev() {
            let place = places[number as usize];
            if place == NOWHERE {
                continue;
            }
            let accesses = view.accesses(place);
            // Behind it results are there, those that nobody reads, too.
            let (mut unread, mut read) = ([0; 2], [0; 2]);
            let mut is_early = false;
            for access in accesses.iter().filter(|access| access.defines()) {
                let index = access.entity() as usize;
                let is_alive = self.is_alive(block, access.entity());
                self.alive[index] = false;
                add(if is_alive { &mut read } else { &mut unread }, units[index]);
                is_early |= access.kind() == AccessKind::EarlyClobber;
            }
            self.reach(now, unread);
            for (now, read) in now.iter_mut().zip(read) {
                *now -= read;
            }
            for access in accesses.iter().filter(|access| access.uses()) {
                let index = access.entity() as usize;
                if !self.is_alive(block, access.entity()) {
                    add(&mut now, units[index]);
                    self.alive[index] = true;
                }
            }
            // Before it operands are, and results that come before these are read.
            let mut early = [0; 2];
            if is_early {
                for access in accesses {
                    let index = access.entity() as usize;
                    if access.kind() == AccessKind::EarlyClobber && !self.alive[index] {
                        add(&mut early, units[index]);
                    }
                }
            }
            self.reach(now, early);
        }
    }
}

fn add(sum: &mut Counts, more: Counts) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}
