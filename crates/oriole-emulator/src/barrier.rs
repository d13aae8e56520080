//! Barriers of a block and of a cluster.
//!
//! Threads arrive lane by lane, so that fragments of one warp may come separately. Without a count a barrier waits for
//! every thread of the block that has not exited; with one, for that many threads, the missing lanes of a warp counted with
//! its first.

use oriole_isa::{Mnemonic, Opcode, ReductionOperation};

use crate::checks::{BlockClocks, Report};
use crate::execute::{Executor, Next, lanes_of};
use crate::execution::Execution;
use crate::launch::{Block, Group};
use crate::report::FindingKind;
use crate::special::Context;
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::{State, Warp};

impl Executor<'_> {
    pub(crate) fn barrier(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let special = context.special;
        let opcode = special.mnemonic.opcode();
        let reduces = matches!(opcode, Opcode::BarRed | Opcode::BarrierRed);
        let first = usize::from(reduces);
        let number = context.uniform(first)? as usize;
        if number >= 16 {
            return Err(Fault::new(
                TrapKind::OutOfBounds,
                format!("barrier {number}: there are 16"),
            ));
        }
        if context.state.fragment.state == State::Released {
            if reduces {
                let (and, or, population) =
                    context.state.group.blocks[context.state.block].barriers[number].results;
                match special.mnemonic.modifiers().operation {
                    Some(ReductionOperation::And) => {
                        context.set_truth(if and { u32::MAX } else { 0 })
                    }
                    Some(ReductionOperation::Or) => {
                        context.set_truth(if or { u32::MAX } else { 0 })
                    }
                    _ => context.set_destination(&[population.into(); 32]),
                }
            }
            return Ok(Next::Advance);
        }
        let count = match special.operands.len() - first - usize::from(reduces) {
            2 => Some(context.uniform(first + 1)? as u32),
            _ => None,
        };
        let truth = if reduces {
            context.predicate(special.operands.len() - 1)?
        } else {
            0
        };
        context.state.separate_inactive();
        if self.launch.options.check_races {
            self.check_barrier(context, number, count);
        }
        let warp = context.state.warp.index as usize;
        let live = context.state.warp.live;
        let block = &mut context.state.group.blocks[context.state.block];
        block.live[warp] = live;
        let warps = block.live.len();
        let barrier = &mut block.barriers[number];
        if barrier.arrived.is_empty() {
            barrier.arrived = vec![0; warps];
            barrier.waiting = vec![0; warps];
            barrier.places = vec![(0, 0); warps];
            barrier.partial = vec![0; warps];
        }
        if barrier.threads == 0 {
            (barrier.and, barrier.or, barrier.population) = (true, false, 0);
            barrier.expected = count;
            barrier.first = (context.state.fragment.function, context.state.fragment.pc);
        } else if barrier.expected != count {
            return Err(Fault::new(
                TrapKind::DivergentBarrier,
                format!(
                    "barrier {number} is used with {count:?} and {:?} threads at once",
                    barrier.expected
                ),
            ));
        }
        if barrier.arrived[warp] == 0 {
            barrier.places[warp] = (context.state.fragment.function, context.state.fragment.pc);
        }
        let needs_warp = is_aligned(&context.special.mnemonic);
        if needs_warp && context.state.active != live {
            barrier.partial[warp] |= context.state.active;
        }
        if count.is_some() && barrier.arrived[warp] == 0 {
            barrier.threads += 32 - live.count_ones();
        }
        barrier.arrived[warp] |= context.state.active;
        barrier.threads += context.state.active.count_ones();
        barrier.and &= truth & context.state.active == context.state.active;
        barrier.or |= truth & context.state.active != 0;
        barrier.population += (truth & context.state.active).count_ones();
        let waits = !matches!(opcode, Opcode::BarArrive | Opcode::BarrierArrive);
        let generation = barrier.generation;
        if let Some(clocks) = &mut block.checks.clocks {
            for lane in lanes_of(context.state.active) {
                clocks.arrive(number, (warp * 32 + lane) as u16);
            }
        }
        if waits {
            barrier.waiting[warp] |= context.state.active;
            context.state.fragment.state = State::Barrier {
                number: number as u32,
                generation,
            };
        }
        complete(block, number);
        Ok(if waits { Next::Wait } else { Next::Advance })
    }

    /// Reports a barrier that the lanes of a warp, or the threads of the block, do not reach together.
    fn check_barrier(&self, context: &mut Context<'_>, number: usize, count: Option<u32>) {
        let aligned = is_aligned(&context.special.mnemonic);
        let text = context.special.mnemonic.text();
        let block = &context.state.group.blocks[context.state.block];
        let barrier = &block.barriers[number];
        let here = (context.state.fragment.function, context.state.fragment.pc);
        let threads: u32 = self.launch.block.iter().product();
        let live: u32 = block.live.iter().map(|live| live.count_ones()).sum();
        let warp = context.state.warp.index as usize;
        // Lanes of a warp may come one after the other, but not to different instructions.
        let before = barrier.arrived.get(warp).copied().unwrap_or(0);
        let mut is_note = false;
        let message = if aligned && before != 0 && barrier.places[warp] != here {
            format!(
                "lanes {:#x} execute `{text}` without lanes {before:#x} of their warp, which it needs",
                context.state.active
            )
        } else if aligned && count.is_none() && live < threads {
            format!(
                "{} of {threads} threads have exited before barrier {number} of the block",
                threads - live
            )
        } else if aligned && count.is_none() && barrier.threads > 0 && barrier.first != here {
            // Warps may meet so; most programs do not mean it.
            is_note = true;
            let (function, pc) = barrier.first;
            let span = self.launch.program.functions[function as usize].origins[pc as usize].span;
            format!(
                "threads of the block meet at barrier {number} in different places, here and at PTX line {}",
                self.launch.program.line_of(span)
            )
        } else {
            return;
        };
        let lane = context.state.active.trailing_zeros().min(31) as usize;
        let mut report = Report::new(FindingKind::DivergentBarrier, lane, message);
        if is_note {
            report = report.note();
        }
        self.report(&mut context.state, report);
    }

    /// Reports lanes that exit although others of their warp wait for them at an aligned barrier.
    pub(crate) fn check_exit(&self, state: &mut Execution<'_>) {
        let warp = state.warp.index as usize;
        let block = &state.group.blocks[state.block];
        let left = block.barriers.iter().find_map(|barrier| {
            let partial = *barrier.partial.get(warp)?;
            (partial != 0).then(|| (partial, barrier.places[warp]))
        });
        let Some((partial, place)) = left else { return };
        let here = (state.fragment.function, state.fragment.pc);
        (state.fragment.function, state.fragment.pc) = place;
        let text = self
            .special_of(state.fragment)
            .map_or(String::new(), |special| special.mnemonic.text().to_string());
        let message = format!(
            "lanes {partial:#x} execute `{text}` without lanes {:#x} of their warp, which it needs",
            state.active
        );
        let lane = partial.trailing_zeros().min(31) as usize;
        self.report(
            state,
            Report::new(FindingKind::DivergentBarrier, lane, message),
        );
        (state.fragment.function, state.fragment.pc) = here;
    }

    /// Barriers may be complete when threads that have not arrived exit.
    pub(crate) fn lanes_exited(&self, warp: &mut Warp, group: &mut Group, block: usize) {
        let owner = &mut group.blocks[block];
        owner.live[warp.index as usize] = warp.live;
        for number in 0..owner.barriers.len() {
            if owner.barriers[number].threads > 0 {
                complete(owner, number);
            }
        }
        complete_cluster(group);
    }

    pub(crate) fn cluster_barrier(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let warp = context.state.warp.index as usize;
        if context.special.mnemonic.opcode() == Opcode::BarrierClusterArrive {
            context.state.warp.cluster_generation = context.state.group.cluster_generation;
            context.state.group.cluster_arrived[context.state.block][warp] |= context.state.active;
            context.state.group.blocks[context.state.block].live[warp] = context.state.warp.live;
            complete_cluster(context.state.group);
            return Ok(Next::Advance);
        }
        if context.state.fragment.state == State::Released
            || context.state.group.cluster_generation > context.state.warp.cluster_generation
        {
            return Ok(Next::Advance);
        }
        context.state.separate_inactive();
        context.state.fragment.state = State::Cluster {
            generation: context.state.warp.cluster_generation,
        };
        Ok(Next::Wait)
    }
}

/// Whether a barrier needs all lanes of a warp at one instruction.
fn is_aligned(mnemonic: &Mnemonic) -> bool {
    let opcode = mnemonic.opcode();
    matches!(opcode, Opcode::BarSync | Opcode::BarRed | Opcode::BarArrive)
        || mnemonic.has_modifier("aligned")
}

/// Lets a barrier's threads go when all have arrived.
fn complete(block: &mut Block, number: usize) {
    let live = &block.live;
    let barrier = &mut block.barriers[number];
    let all = match barrier.expected {
        Some(count) => barrier.threads >= count,
        None => barrier
            .arrived
            .iter()
            .zip(live)
            .all(|(arrived, live)| live & !arrived == 0),
    };
    if !all {
        return;
    }
    barrier.generation += 1;
    barrier.results = (barrier.and, barrier.or, barrier.population);
    barrier.threads = 0;
    barrier.arrived.clear();
    barrier.partial.clear();
    let waiting = std::mem::take(&mut barrier.waiting);
    let whole = waiting
        .iter()
        .zip(live)
        .all(|(waiting, live)| live & !waiting == 0);
    if let Some(clocks) = &mut block.checks.clocks {
        clocks.complete(number, &waiting, whole);
    }
}

fn complete_cluster(group: &mut Group) {
    let any = group
        .cluster_arrived
        .iter()
        .flatten()
        .any(|&arrived| arrived != 0);
    let all = group
        .cluster_arrived
        .iter()
        .zip(&group.blocks)
        .all(|(arrived, block)| {
            arrived
                .iter()
                .zip(&block.live)
                .all(|(arrived, live)| live & !arrived == 0)
        });
    if any && all {
        group.cluster_generation += 1;
        let mut clocks: Vec<&mut BlockClocks> = group
            .blocks
            .iter_mut()
            .filter_map(|block| block.checks.clocks.as_deref_mut())
            .collect();
        BlockClocks::synchronize_cluster(&mut clocks);
        for arrived in group.cluster_arrived.iter_mut().flatten() {
            *arrived = 0;
        }
    }
}

/// Which threads a stuck barrier still waits for, in words.
pub(crate) fn describe_missing(block: &Block, number: usize) -> String {
    let barrier = &block.barriers[number];
    let missing: Vec<String> = block
        .live
        .iter()
        .enumerate()
        .filter_map(|(warp, live)| {
            let missing = live & !barrier.arrived.get(warp).copied().unwrap_or(0);
            (missing != 0).then(|| format!("lanes {missing:#x} of warp {warp}"))
        })
        .take(4)
        .collect();
    match barrier.expected {
        Some(count) => format!(
            "barrier {number} waits for {count} threads and {} have come",
            barrier.threads
        ),
        None => format!("barrier {number} waits for {}", missing.join(", ")),
    }
}
