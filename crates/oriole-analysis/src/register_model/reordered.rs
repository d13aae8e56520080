//! The highest pressures of a function whose blocks stand in another order, for those among the [features](super::features).
//!
//! ## Method
//! What is alive where blocks begin and end is the same in every order, so it is taken from the order that is written, and each block
//! is walked by itself, from its end. No order needs more than what comes into a block and all that is defined there: blocks are
//! taken by that, the highest first, and those that cannot raise a peak any more are left out. Mostly these are all but the
//! largest.

use super::facts::{Fact, Facts};
use super::folding::View;
use super::scheduling::Scheduler;
use crate::liveness::{Access, BlockEnds, Counts, Profile, Program, Values, step_back};
use std::ops::Range;

/// In which order a block's instructions stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Loads before everything that does not feed them.
    LoadsFirst,
    /// Each just before what first needs it.
    OnDemand,
    /// So that few values are alive.
    FewAlive,
}

/// The highest pressures in each order, of all values and of those that are not uniform.
#[derive(Default)]
pub(super) struct Reordered {
    pub(super) loads_first: [u32; 2],
    pub(super) on_demand: [u32; 2],
    pub(super) few_alive: [u32; 2],
}

/// No place: an instruction that the assembler does not see. Also no instruction.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What is known of the instructions of a function, by their numbers in the values' program.
pub(super) struct Code<'a> {
    pub(super) values: &'a Values,
    /// The facts of each instruction.
    facts: Vec<Fact>,
    pub(super) view: &'a View<'a>,
    /// The place in the view of each instruction.
    places: Vec<u32>,
    /// The instruction that defines each value, or [`NOWHERE`].
    definers: Vec<u32>,
}

impl<'a> Code<'a> {
    pub(super) fn new(values: &'a Values, facts: &'a Facts, view: &'a View<'a>) -> Code<'a> {
        let mut places = vec![NOWHERE; values.instruction_count()];
        for (place, &number) in view.instructions.iter().enumerate() {
            places[number as usize] = place as u32;
        }
        let mut definers = vec![NOWHERE; values.entity_count()];
        let count = values.value_count() as u32;
        for number in 0..values.instruction_count() as u32 {
            for access in values.accesses(number).iter().rev() {
                // Results stand behind everything else.
                if !access.defines() || access.entity() >= count {
                    break;
                }
                definers[access.entity() as usize] = number;
            }
        }
        let numbers = 0..values.instruction_count() as u32;
        Code {
            values,
            facts: numbers
                .map(|number| facts.of_instruction(values.instruction(number)))
                .collect(),
            view,
            places,
            definers,
        }
    }

    #[inline]
    pub(super) fn is(&self, number: u32, fact: Fact) -> bool {
        self.facts[number as usize].has(fact)
    }

    /// The place of an instruction among those that the assembler sees.
    #[inline]
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        let place = self.places[number as usize];
        (place != NOWHERE).then_some(place)
    }

    /// The instructions that define what an instruction reads, of those from `first` on, in order of its operands.
    #[inline]
    pub(super) fn inputs(&self, first: u32, number: u32) -> impl Iterator<Item = u32> + '_ {
        let reads = self.values.accesses(number).iter();
        reads
            .filter(|access| access.uses())
            .map(|access| self.definers[access.entity() as usize])
            .filter(move |&definer| definer >= first && definer < number)
    }

    /// The highest pressures in all orders, given those in the order that is written. Of three counts the first two are taken.
    pub(super) fn reordered(
        &self,
        ends: &mut BlockEnds<'_, View<'_>>,
        profile: &Profile<3>,
        units: &[Counts<3>],
    ) -> Reordered {
        let view = self.view;
        let mut blocks: Vec<u32> = (0..view.block_count() as u32)
            .filter(|&block| ends.sets().is_reachable(block))
            .collect();
        blocks.sort_unstable_by_key(|&block| std::cmp::Reverse(profile.most[block as usize][0]));
        let is_first = self.feeding_loads();
        let mut reordered = Reordered::default();
        let mut walk = Walk {
            code: self,
            units,
            seen: vec![0; view.entity_count()],
            stamp: 0,
        };
        let mut scheduler = Scheduler::new(self);
        let mut demand = OnDemand::default();
        let mut order: Vec<u32> = Vec::new();
        for block in blocks {
            let most = &profile.most[block as usize];
            let as_written = &profile.blocks[block as usize];
            let range = self.values.instructions(block);
            let mut is_entered = false;
            for own in [Order::LoadsFirst, Order::OnDemand, Order::FewAlive] {
                let peaks = match own {
                    Order::LoadsFirst => &mut reordered.loads_first,
                    Order::OnDemand => &mut reordered.on_demand,
                    Order::FewAlive => &mut reordered.few_alive,
                };
                if most.iter().zip(&*peaks).all(|(most, peak)| most <= peak) {
                    continue;
                }
                order.clear();
                match own {
                    Order::LoadsFirst => match &is_first {
                        Some(is_first) => self.loads_first(range.clone(), is_first, &mut order),
                        None => order.extend(range.clone()),
                    },
                    Order::OnDemand => demand.order(self, range.clone(), &mut order),
                    Order::FewAlive => {
                        if !std::mem::replace(&mut is_entered, true) {
                            ends.enter(block);
                        }
                        scheduler.order(range.clone(), ends, &mut order);
                    }
                }
                let found = if order.iter().copied().eq(range.clone()) {
                    [as_written[0], as_written[1]]
                } else {
                    if !std::mem::replace(&mut is_entered, true) {
                        ends.enter(block);
                    }
                    walk.block(&profile.ends[block as usize], &order, ends)
                };
                for (peak, found) in peaks.iter_mut().zip(found) {
                    *peak = (*peak).max(found);
                }
            }
        }
        reordered
    }

    /// Which instructions are loads, or feed loads, up to the next one that orders memory; nothing if none is.
    fn feeding_loads(&self) -> Option<Vec<bool>> {
        let values = self.values;
        let count = values.instruction_count();
        let mut is_first: Vec<bool> = Vec::new();
        let mut is_wanted: Vec<bool> = Vec::new();
        for block in 0..values.block_count() as u32 {
            let range = values.instructions(block);
            let mut at = range.start;
            while at < range.end {
                let fence = (at..range.end).find(|&number| self.is(number, Fact::FENCE));
                let end = fence.unwrap_or(range.end);
                for number in (at..end).rev() {
                    let accesses = values.accesses(number);
                    let is_load = self.is(number, Fact::LOAD);
                    if !is_load && is_first.is_empty() {
                        continue;
                    }
                    if is_first.is_empty() {
                        is_first = vec![false; count];
                        is_wanted = vec![false; values.entity_count()];
                    }
                    let feeds =
                        |access: &Access| access.defines() && is_wanted[access.entity() as usize];
                    if is_load || accesses.iter().any(feeds) {
                        is_first[number as usize] = true;
                        // A value wanted by an earlier stretch is defined before it: marks need not be taken back.
                        for access in accesses.iter().filter(|access| access.uses()) {
                            is_wanted[access.entity() as usize] = true;
                        }
                    }
                }
                at = end + 1;
            }
        }
        (!is_first.is_empty()).then_some(is_first)
    }

    /// Puts loads and what they need before the rest, between one instruction that orders memory and the next.
    fn loads_first(&self, range: Range<u32>, is_first: &[bool], order: &mut Vec<u32>) {
        let mut at = range.start;
        while at < range.end {
            let fence = (at..range.end).find(|&number| self.is(number, Fact::FENCE));
            let end = fence.unwrap_or(range.end);
            order.extend((at..end).filter(|&number| is_first[number as usize]));
            order.extend((at..end).filter(|&number| !is_first[number as usize]));
            order.extend(fence);
            at = end + 1;
        }
    }
}

/// Tables that every block uses again, for orders in which everything stands just before what needs it.
#[derive(Default)]
struct OnDemand {
    /// The longest chain of instructions of the block that ends in each.
    heights: Vec<u32>,
    is_done: Vec<bool>,
    /// What is to be put, and whether what it needs was put already.
    stack: Vec<(u32, bool)>,
    loads: Vec<u32>,
}

impl OnDemand {
    /// Puts every instruction just before the first that needs it; loads before the next instruction that orders memory, the
    /// rest at the latest before the end of the block.
    fn order(&mut self, code: &Code<'_>, range: Range<u32>, order: &mut Vec<u32>) {
        let Range { start: first, end } = range;
        let (heights, is_done, stack) = (&mut self.heights, &mut self.is_done, &mut self.stack);
        heights.clear();
        for number in range.clone() {
            let inputs = code.inputs(first, number);
            let height = inputs.map(|own| heights[(own - first) as usize] + 1).max();
            heights.push(height.unwrap_or(0));
        }
        is_done.clear();
        is_done.resize(heights.len(), false);
        for number in range {
            let is_last = number + 1 == end;
            if !is_last && !code.is(number, Fact::FENCE) {
                if !code.is(number, Fact::PURE) {
                    self.loads.push(number);
                }
                continue;
            }
            // The stack is taken from its end: first what the fence needs, then loads that are left, then the fence.
            stack.push((number, true));
            if is_last {
                self.loads.clear();
                stack.extend((first..number).rev().map(|number| (number, false)));
            } else {
                let pending = self.loads.drain(..).rev();
                stack.extend(pending.map(|number| (number, false)));
            }
            stack.extend(code.inputs(first, number).map(|own| (own, false)));
            while let Some((number, is_ready)) = stack.pop() {
                let done = &mut is_done[(number - first) as usize];
                if *done {
                    continue;
                }
                if is_ready {
                    *done = true;
                    order.push(number);
                    continue;
                }
                stack.push((number, true));
                // What takes the longest comes first: of a sum of products the sum so far, then the next product.
                let inputs = stack.len();
                let open = code.inputs(first, number);
                stack.extend(
                    open.filter(|own| !is_done[(own - first) as usize])
                        .map(|own| (own, false)),
                );
                if stack.len() == inputs {
                    // It needs nothing more.
                    stack.pop();
                    is_done[(number - first) as usize] = true;
                    order.push(number);
                } else if stack.len() > inputs + 1 {
                    stack[inputs..].sort_by_key(|input| heights[(input.0 - first) as usize]);
                }
            }
        }
    }
}

/// Walks blocks in other orders than the one that is written.
struct Walk<'a> {
    code: &'a Code<'a>,
    units: &'a [Counts<3>],
    /// The walk in which something was last asked about, twice, and one more if it is alive.
    seen: Vec<u32>,
    stamp: u32,
}

impl Walk<'_> {
    /// The highest pressures in the block that was entered, which is walked from its end.
    fn block(
        &mut self,
        end: &Counts<3>,
        order: &[u32],
        ends: &BlockEnds<'_, View<'_>>,
    ) -> [u32; 2] {
        self.stamp += 2;
        let (stamp, seen, view) = (self.stamp, &mut self.seen, self.code.view);
        let mut now = *end;
        let mut peaks = [0; 2];
        for &number in order.iter().rev() {
            let Some(place) = self.code.place(number) else {
                continue;
            };
            let accesses = view.accesses(place);
            let taken = step_back(accesses, self.units, &mut now, |entity, is_alive| {
                let seen = &mut seen[entity as usize];
                let was = match *seen & !1 == stamp {
                    true => *seen & 1 != 0,
                    false => ends.is_live(entity),
                };
                *seen = stamp | u32::from(is_alive);
                was
            });
            for (at, peak) in peaks.iter_mut().enumerate() {
                *peak = (*peak).max(taken.before[at]).max(taken.behind[at]);
            }
        }
        peaks
    }
}
