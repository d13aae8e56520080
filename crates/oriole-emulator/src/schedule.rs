//! Runs the blocks of a launch: in parallel where their order cannot matter, else in turn.
//!
//! Blocks of a cluster run together. Only some clusters are under way at a time, as many as fit into the memory that the launch
//! may use; what a cluster leaves behind is added to the report, in the order of clusters, and the cluster is forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::barrier::describe_missing;
use crate::checks::{BlockChecks, Findings, GlobalShadow, Place, Undefined};
use crate::counters::{Counters, InstructionCounters};
use crate::execute::{Executor, Stop};
use crate::launch::{Barrier, Block, Group, LaunchContext};
use crate::limits;
use crate::memory::Words;
use crate::program::{Kind, NONE};
use crate::report::{InstructionProfile, Report};
use crate::trap::{Fault, Trap, TrapKind};
use crate::warp::{Fragment, State, Warp};

/// Clusters that run in turn and wait for each other, at most.
const MOST_WAITING: u64 = 256;
/// Clusters that are handed to the threads of the host at a time.
const BATCH: u64 = 256;
/// Rounds in which every warp only looked at synchronisation variables, after which the next cluster gets its turn.
const IDLE_ROUNDS: u32 = 64;
/// Turns of clusters in which nothing was written, after which the launch is taken to wait forever.
const IDLE_TURNS: usize = 400;

/// What a cluster leaves behind.
#[derive(Default)]
struct Remains {
    steps: u64,
    output: Vec<u8>,
    findings: Findings,
}

impl Remains {
    fn add_to(self, report: &mut Report, findings: &mut Findings) -> Result<(), Box<Trap>> {
        report.thread_instructions += self.steps;
        report.output.extend(self.output);
        findings.join(self.findings.list);
        if report.output.len() > limits::OUTPUT {
            return Err(Box::new(Trap::limit(format!(
                "`printf` wrote more than {} bytes",
                limits::OUTPUT
            ))));
        }
        Ok(())
    }
}

impl LaunchContext<'_> {
    fn groups(&self) -> u64 {
        (0..3)
            .map(|axis| u64::from(self.grid[axis] / self.cluster[axis]))
            .product()
    }

    /// Bytes that a cluster takes before its first call.
    fn group_bytes(&self) -> u64 {
        let kernel = &self.program.functions[self.kernel as usize];
        let blocks = self
            .cluster
            .iter()
            .map(|&size| u64::from(size))
            .product::<u64>();
        let warps = u64::from(self.block.iter().product::<u32>().div_ceil(32));
        let shared =
            self.shared_bytes * (1 + BlockChecks::bytes_for_each(self.options.check_races));
        blocks * (warps * self.frame_bytes(kernel.registers, kernel.frame_bytes) + shared)
    }

    /// Bytes that registers and local memory of a warp take.
    pub(crate) fn frame_bytes(&self, registers: u32, local: u32) -> u64 {
        let watched = u64::from(self.options.check_uninitialized);
        let register = 256 + size_of::<Undefined>() as u64 * watched;
        u64::from(registers) * register + u64::from(local) * (32 + 36 * watched)
    }

    /// Decides how many clusters may be under way, and how much each of their warps may take.
    pub(crate) fn share_memory(&mut self, bytes: u64) -> Result<(), Box<Trap>> {
        // A part is left for what is remembered of global memory.
        let bytes = if self.options.check_races {
            bytes / 2
        } else {
            bytes
        };
        let group = self.group_bytes().max(1);
        if group > bytes {
            return Err(Box::new(Trap::limit(format!(
                "one cluster of `{}` takes {group} bytes of the emulator's memory; {bytes} are left",
                self.program.functions[self.kernel as usize].name
            ))));
        }
        // Calls may take more than the kernel's own frame.
        let fitting = (bytes / group.saturating_mul(4)).max(1);
        self.groups_in_flight = fitting.min(MOST_WAITING).min(self.groups()) as usize;
        let warps = u64::from(self.block.iter().product::<u32>().div_ceil(32));
        let blocks = self
            .cluster
            .iter()
            .map(|&size| u64::from(size))
            .product::<u64>();
        self.warp_bytes = bytes / (self.groups_in_flight as u64 * warps * blocks);
        Ok(())
    }

    /// Runs all blocks.
    pub(crate) fn run(&self, commute: bool) -> Result<Report, Box<Trap>> {
        let groups = self.groups();
        let parallel = commute && groups > 1 && self.groups_in_flight > 1;
        let mut report = Report {
            parallel,
            ..Report::default()
        };
        let mut findings = Findings::default();
        let result = match parallel {
            true => self.run_in_parallel(groups, &mut report, &mut findings),
            false => self.run_in_order(groups, &mut report, &mut findings),
        };
        if let Err(mut trap) = result {
            findings.join(trap.findings);
            trap.findings = findings.list;
            return Err(trap);
        }
        report.findings = findings.list;
        let mut counters = Counters::default();
        if let Ok(mut left) = self.counters.lock() {
            for other in left.drain(..) {
                counters.add(&other);
            }
        }
        report.profile = self.profile(&counters);
        if self.cluster != [1; 3] {
            report.notes.push(
                "the blocks of a cluster ran together; clusters ran on one machine in turn"
                    .to_string(),
            );
        }
        Ok(report)
    }

    fn run_in_parallel(
        &self,
        groups: u64,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<(), Box<Trap>> {
        let batch = BATCH.min(self.groups_in_flight as u64);
        let mut first = 0;
        while first < groups {
            let end = (first + batch).min(groups);
            let results: Vec<_> = (first..end)
                .into_par_iter()
                .map(|number| {
                    if self.stop.load(Relaxed) {
                        return Ok(Remains::default());
                    }
                    let result = self.run_one(number);
                    if result.is_err() {
                        self.stop.store(true, Relaxed);
                    }
                    result
                })
                .collect();
            // The first trap, in the order of blocks, that is not the echo of another.
            let (ended, traps): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
            let mut traps: Vec<_> = traps.into_iter().filter_map(Result::err).collect();
            if !traps.is_empty() {
                // The findings of the others depend on their ends, which depend on timing.
                let at = traps
                    .iter()
                    .position(|trap| trap.message != "another block has trapped")
                    .unwrap_or(0);
                return Err(traps.swap_remove(at));
            }
            for remains in ended.into_iter().flatten() {
                remains.add_to(report, findings)?;
            }
            first = end;
        }
        Ok(())
    }

    /// The thread of a number within its block, as `%tid`.
    pub(crate) fn thread(&self, number: u16) -> [u32; 3] {
        let number = u32::from(number);
        [
            number % self.block[0],
            number / self.block[0] % self.block[1],
            number / (self.block[0] * self.block[1]),
        ]
    }

    /// The block of a number within the grid, as `%ctaid`.
    pub(crate) fn block_index(&self, number: u64) -> [u32; 3] {
        let clusters: [u64; 3] =
            std::array::from_fn(|axis| u64::from(self.grid[axis] / self.cluster[axis]));
        let size = self
            .cluster
            .iter()
            .map(|&size| u64::from(size))
            .product::<u64>();
        let (cluster, rank) = (number / size, (number % size) as u32);
        let outer = [
            cluster % clusters[0],
            cluster / clusters[0] % clusters[1],
            cluster / (clusters[0] * clusters[1]),
        ];
        let inner = [
            rank % self.cluster[0],
            rank / self.cluster[0] % self.cluster[1],
            rank / (self.cluster[0] * self.cluster[1]),
        ];
        std::array::from_fn(|axis| outer[axis] as u32 * self.cluster[axis] + inner[axis])
    }

    /// The blocks of a cluster, before their first instruction.
    fn group(&self, number: u64) -> Result<Group, Box<Trap>> {
        let size: u32 = self.cluster.iter().product();
        let threads: u32 = self.block.iter().product();
        let warps = threads.div_ceil(32);
        let executor = Executor { launch: self };
        let mut group = Group {
            number,
            next_check: executor.next_check(0, self.steps.load(Relaxed)),
            ..Group::default()
        };
        if self.options.profile {
            let left = self.counters.lock().ok().and_then(|mut left| left.pop());
            group.counters = left.unwrap_or_else(|| self.new_counters());
        }
        let kernel = &self.program.functions[self.kernel as usize];
        for rank in 0..size {
            let block_number = number * u64::from(size) + u64::from(rank);
            let mut block = Block {
                index: self.block_index(block_number),
                shared: Words::new(self.shared_bytes),
                shared_bytes: self.shared_bytes,
                barriers: vec![Barrier::default(); 16],
                checks: BlockChecks::new(
                    Place {
                        block: block_number,
                        cluster: number,
                        cluster_blocks: size.into(),
                    },
                    warps as usize * 32,
                    self.shared_bytes,
                    self.options.check_races,
                    self.options.check_uninitialized,
                ),
                ..Block::default()
            };
            for index in 0..warps {
                let count = (threads - index * 32).min(32);
                let all = u32::MAX >> (32 - count);
                let live = match self.options.alone {
                    None => all,
                    Some((only, thread)) if only == block_number && thread / 32 == index => {
                        all & (1 << (thread % 32))
                    }
                    Some(_) => 0,
                };
                let threads = (0..count)
                    .map(|lane| self.thread((index * 32 + lane) as u16))
                    .collect();
                let mut warp = Warp {
                    index,
                    live,
                    threads,
                    ..Warp::default()
                };
                let fragment = Fragment {
                    function: self.kernel,
                    pc: 0,
                    mask: live,
                    base: 0,
                    predicate_base: 0,
                    local_base: 0,
                    local_top: kernel.frame_bytes,
                    join: NONE,
                    join_pc: NONE,
                    frames: Vec::new(),
                    state: State::Running,
                };
                if let Err(fault) = executor.enter(&mut warp, &fragment) {
                    return Err(Box::new(Trap::launch(fault.message)));
                }
                if live != 0 {
                    warp.fragments.push_back(fragment);
                }
                block.live.push(live);
                block.warps.push(warp);
            }
            group.cluster_arrived.push(vec![0; warps as usize]);
            group.blocks.push(block);
        }
        Ok(group)
    }

    fn new_counters(&self) -> Counters {
        let mut counters = vec![Vec::new(); self.program.functions.len()];
        for &index in &self.reachable {
            let length = self.program.functions[index as usize].code.len();
            counters[index as usize] = vec![InstructionCounters::default(); length];
        }
        Counters(counters)
    }

    /// Runs one cluster to its end.
    fn run_one(&self, number: u64) -> Result<Remains, Box<Trap>> {
        let mut group = self.group(number)?;
        let mut idle = Idle::default();
        loop {
            let before = group.writes;
            if self.run_some(&mut group)? {
                break;
            }
            // Nothing outside the cluster can change what it waits for.
            if idle.is_forever(group.writes != before, 1) {
                return Err(self.waits_forever(&group));
            }
        }
        self.finish(group)
    }

    /// Counts a cluster that has ended.
    fn finish(&self, mut group: Group) -> Result<Remains, Box<Trap>> {
        let executor = Executor { launch: self };
        if let Err(fault) = executor.check_limits(&mut group) {
            let mut trap = Trap::launch(fault.message);
            trap.kind = fault.kind;
            return Err(Box::new(trap));
        }
        if self.options.profile
            && let Ok(mut left) = self.counters.lock()
        {
            left.push(std::mem::take(&mut group.counters));
        }
        if let Some(progress) = &self.options.progress {
            progress.end(group.blocks.len() as u64);
        }
        Ok(Remains {
            steps: group.steps,
            output: group.output,
            findings: group.findings,
        })
    }

    /// Runs clusters one after the other. One that only looks at synchronisation variables gives way to the next.
    fn run_in_order(
        &self,
        groups: u64,
        report: &mut Report,
        findings: &mut Findings,
    ) -> Result<(), Box<Trap>> {
        let mut waiting: VecDeque<Group> = VecDeque::new();
        // Clusters that ended before others with smaller numbers.
        let mut early: BTreeMap<u64, Remains> = BTreeMap::new();
        let mut global = self.options.check_races.then(|| {
            let bytes = self.options.memory_limit / 2;
            Box::new(GlobalShadow::new(bytes))
        });
        let (mut next, mut reported) = (0, 0);
        let mut idle = Idle::default();
        while next < groups || !waiting.is_empty() {
            let fresh = next < groups && waiting.len() < self.groups_in_flight;
            let mut group = if fresh {
                next += 1;
                self.group(next - 1)?
            } else {
                match waiting.pop_front() {
                    Some(group) => group,
                    None => break,
                }
            };
            group.global = global.take();
            let before = group.writes;
            let done = self.run_some(&mut group)?;
            global = group.global.take();
            if !done {
                let wrote = group.writes != before;
                if !fresh && idle.is_forever(wrote, waiting.len() + 1) {
                    return Err(self.waits_forever(&group));
                }
                waiting.push_back(group);
                continue;
            }
            idle = Idle::default();
            if let Some(global) = &mut global {
                let blocks = group.blocks.len() as u64;
                global.forget_copies(group.number * blocks..(group.number + 1) * blocks);
            }
            early.insert(group.number, self.finish(group)?);
            while let Some(remains) = early.remove(&reported) {
                remains.add_to(report, findings)?;
                reported += 1;
            }
        }
        if global.is_some_and(|global| global.full) {
            report.notes.push(
                "more of global memory was accessed than could be remembered; races there may have been missed"
                    .to_string(),
            );
        }
        Ok(())
    }

    /// The trap of a launch in which every thread that has not exited looks at memory that nobody changes any more.
    fn waits_forever(&self, group: &Group) -> Box<Trap> {
        let executor = Executor { launch: self };
        for (block, owner) in group.blocks.iter().enumerate() {
            for warp in &owner.warps {
                if let Some(fragment) = warp.fragments.front() {
                    let fault = Fault::new(
                        TrapKind::Deadlock,
                        "threads wait for memory to change, and no thread is left that changes it",
                    );
                    return executor.place(*fault, warp, fragment, group, block);
                }
            }
        }
        Box::new(Trap::launch("no thread can run"))
    }

    /// Runs a cluster until it is done, which is true, or until all its warps do nothing but poll.
    fn run_some(&self, group: &mut Group) -> Result<bool, Box<Trap>> {
        let executor = Executor { launch: self };
        let mut idle_rounds = 0;
        loop {
            let mut all_done = true;
            let mut progress = false;
            let mut polled = false;
            for block in 0..group.blocks.len() {
                for index in 0..group.blocks[block].warps.len() {
                    if group.blocks[block].warps[index].live == 0 {
                        continue;
                    }
                    let before = group.steps;
                    let mut warp = std::mem::take(&mut group.blocks[block].warps[index]);
                    let result = executor.run_warp(&mut warp, group, block);
                    group.blocks[block].warps[index] = warp;
                    match result? {
                        Stop::Done => progress = true,
                        Stop::Yielded { polling: true } => {
                            polled = true;
                            all_done = false;
                        }
                        Stop::Yielded { polling: false } => {
                            progress = true;
                            all_done = false;
                        }
                        Stop::Blocked => {
                            progress |= group.steps != before;
                            all_done = false;
                        }
                    }
                }
            }
            if all_done {
                return Ok(true);
            }
            if progress {
                idle_rounds = 0;
                continue;
            }
            if polled {
                idle_rounds += 1;
                if idle_rounds > IDLE_ROUNDS {
                    return Ok(false);
                }
                continue;
            }
            self.unblock(group, &executor)?;
        }
    }

    /// Every warp waits. Lanes that wait for their warp may have to run on first; else the launch hangs, and says where.
    fn unblock(&self, group: &mut Group, executor: &Executor<'_>) -> Result<(), Box<Trap>> {
        let mut released = false;
        for block in &mut group.blocks {
            for warp in &mut block.warps {
                if warp.live != 0 {
                    released |= warp.release_oldest_join();
                }
            }
        }
        if released {
            return Ok(());
        }
        for block in 0..group.blocks.len() {
            for warp in &group.blocks[block].warps {
                if let Some(fragment) = warp.fragments.front() {
                    let message = match fragment.state {
                        State::Barrier { number, .. } => {
                            describe_missing(&group.blocks[block], number as usize)
                        }
                        State::Meeting(here) => {
                            executor.describe_waiting(fragment, here, warp, group, block)
                        }
                        State::Cluster { .. } => {
                            "the cluster barrier waits for threads that never arrive".to_string()
                        }
                        State::Running | State::Released => continue,
                    };
                    let fault = Fault::new(TrapKind::DivergentBarrier, message);
                    return Err(executor.place(*fault, warp, fragment, group, block));
                }
            }
        }
        Err(Box::new(Trap::launch("no thread can run")))
    }

    /// Counts by instruction, in the order of the module.
    fn profile(&self, counters: &Counters) -> Vec<InstructionProfile> {
        let executor = Executor { launch: self };
        let mut profile = Vec::new();
        if counters.0.is_empty() {
            return profile;
        }
        for &index in &self.reachable {
            let function = &self.program.functions[index as usize];
            let counts = &counters.0[index as usize];
            for ((origin, operation), &counters) in
                function.origins.iter().zip(&function.code).zip(counts)
            {
                // Operations that only materialise an address belong to the next instruction.
                let is_helper = matches!(operation.kind, Kind::FrameAddress { .. });
                if counters.executions == 0 || is_helper {
                    continue;
                }
                profile.push(InstructionProfile {
                    function: function.name.clone(),
                    span: origin.span,
                    ptx_line: self.program.line_of(origin.span),
                    source: executor.source_line(origin.file, origin.line, origin.column),
                    counters,
                });
            }
        }
        profile
    }
}

/// How long nothing has been written.
#[derive(Default)]
struct Idle {
    turns: usize,
}

impl Idle {
    /// Notes that a cluster gave way, and says whether none of them has written anything for so long that none will.
    fn is_forever(&mut self, wrote: bool, clusters: usize) -> bool {
        self.turns = if wrote { 0 } else { self.turns + 1 };
        self.turns > IDLE_TURNS.max(IDLE_TURNS / 8 * clusters)
    }
}
