//! Which accesses happen before which: vector clocks of threads.
//!
//! Every thread has a clock that advances when it releases something, and knows for other threads up to which clock their
//! accesses happened before its own. A full vector for each thread would be large, so what a thread knows of its block is the
//! block's *floor* (what every thread knows since the last barrier of the whole block) and a sorted list of exceptions, and
//! what it knows of other blocks a *view*: floor and exceptions of each block it has heard of.
//!
//! Order comes from barriers of a block or a cluster, from `bar.warp.sync`, and from release and acquire: a release (or a
//! fence before a relaxed write) leaves the view of its thread at the address that is written, an acquire (or a relaxed read
//! before a fence) takes what was left there, as far as the scopes of both reach. A read-modify-write adds to what was left, a
//! plain write replaces it.
//!
//! ## Budget
//! A view of more than [`MOST_BLOCKS`] blocks becomes one of everything: races may then be missed, none is made up.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_isa::Scope;

/// Blocks that a view tells apart.
const MOST_BLOCKS: usize = 2048;

/// Clocks of some threads, sorted by thread.
type Clocks = Arc<Vec<(u16, u32)>>;

fn clock_in(clocks: &Clocks, thread: u16) -> u32 {
    match clocks.binary_search_by_key(&thread, |entry| entry.0) {
        Ok(index) => clocks[index].1,
        Err(_) => 0,
    }
}

/// The later clock of each thread of two lists.
fn union(a: &Clocks, b: &Clocks) -> Clocks {
    if Arc::ptr_eq(a, b) || b.is_empty() {
        return a.clone();
    }
    if a.is_empty() {
        return b.clone();
    }
    let mut merged: BTreeMap<u16, u32> = a.iter().copied().collect();
    for &(thread, clock) in b.iter() {
        let mine = merged.entry(thread).or_default();
        *mine = (*mine).max(clock);
    }
    Arc::new(merged.into_iter().collect())
}

/// What is known of one block.
#[derive(Clone, Debug)]
struct BlockView {
    /// Counts the barriers of the whole block, so that the later of two floors is known.
    generation: u64,
    floor: Arc<Vec<u32>>,
    exceptions: Clocks,
}

impl BlockView {
    fn knows(&self, thread: u16, clock: u32) -> bool {
        self.floor
            .get(usize::from(thread))
            .is_some_and(|&floor| clock <= floor)
            || clock <= clock_in(&self.exceptions, thread)
    }

    fn join(&mut self, other: &BlockView) {
        if other.generation > self.generation {
            self.generation = other.generation;
            self.floor = other.floor.clone();
        }
        self.exceptions = union(&self.exceptions, &other.exceptions);
    }
}

/// What is known of several blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    blocks: BTreeMap<u64, BlockView>,
    everything: bool,
}

impl View {
    fn join_block(&mut self, number: u64, view: &BlockView) {
        if self.everything {
            return;
        }
        match self.blocks.get_mut(&number) {
            Some(mine) => mine.join(view),
            None => {
                self.blocks.insert(number, view.clone());
            }
        }
        if self.blocks.len() > MOST_BLOCKS {
            self.everything = true;
            self.blocks.clear();
        }
    }

    fn join(&mut self, other: &View) {
        self.everything |= other.everything;
        for (&number, view) in &other.blocks {
            self.join_block(number, view);
        }
    }
}

fn join_views(mine: &mut Arc<View>, other: &Arc<View>) {
    if !Arc::ptr_eq(mine, other) && (other.everything || !other.blocks.is_empty()) {
        Arc::make_mut(mine).join(other);
    }
}

/// Which threads a release reaches, or an acquire hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: u64,
    pub(crate) cluster: u64,
    /// Blocks of a cluster.
    pub(crate) cluster_blocks: u64,
}

impl Place {
    /// Whether an operation of this scope, executed here, reaches a block.
    pub(crate) fn reaches(self, scope: Scope, block: u64) -> bool {
        match scope {
            Scope::Block => block == self.block,
            Scope::Cluster => block / self.cluster_blocks == self.cluster,
            _ => true,
        }
    }
}

/// What releases left at one address, by their scope; those of a narrow one only from one block or cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    wide: Arc<View>,
    cluster: Option<(u64, Arc<View>)>,
    block: Option<(u64, Arc<View>)>,
}

impl Published {
    /// A write: what was left before is gone, unless the write also reads.
    pub(crate) fn write(&mut self, reads: bool, released: Option<(Scope, Arc<View>)>, at: Place) {
        if !reads {
            *self = Published::default();
        }
        let Some((scope, view)) = released else {
            return;
        };
        let narrow = |slot: &mut Option<(u64, Arc<View>)>, owner: u64| match slot {
            Some((other, left)) if *other == owner => join_views(left, &view),
            _ => *slot = Some((owner, view.clone())),
        };
        match scope {
            Scope::Block => narrow(&mut self.block, at.block),
            Scope::Cluster => narrow(&mut self.cluster, at.cluster),
            _ => join_views(&mut self.wide, &view),
        }
    }

    /// What a read of this scope hears.
    fn heard(&self, scope: Scope, at: Place) -> Vec<(Scope, Arc<View>)> {
        let mut heard = Vec::new();
        if !self.wide.blocks.is_empty() || self.wide.everything {
            heard.push((scope, self.wide.clone()));
        }
        if let Some((cluster, view)) = &self.cluster
            && *cluster == at.cluster
        {
            heard.push((scope, view.clone()));
        }
        if let Some((block, view)) = &self.block
            && *block == at.block
        {
            heard.push((scope.max(Scope::Device), view.clone()));
        }
        heard
    }
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// What it knows of its block beyond the floor.
    known: Clocks,
    /// What it knows of other blocks.
    foreign: Arc<View>,
    /// The view at its last fence.
    fence: Option<(Scope, Arc<View>)>,
    /// What relaxed reads heard, for the next fence.
    pending: Vec<(Scope, Arc<View>)>,
}

/// One arrival at a barrier.
#[derive(Clone, Debug)]
struct Arrival {
    thread: u16,
    clock: u32,
    known: Clocks,
    foreign: Arc<View>,
}

/// The clocks of a block.
#[derive(Debug)]
pub(crate) struct BlockClocks {
    place: Place,
    clocks: Vec<u32>,
    generation: u64,
    floor: Arc<Vec<u32>>,
    threads: Vec<Thread>,
    /// By number of the barrier.
    arrivals: Vec<Vec<Arrival>>,
}

impl BlockClocks {
    pub(crate) fn new(place: Place, threads: usize, barriers: usize) -> BlockClocks {
        BlockClocks {
            place,
            clocks: vec![1; threads],
            generation: 0,
            floor: Arc::new(vec![0; threads]),
            threads: vec![Thread::default(); threads],
            arrivals: vec![Vec::new(); barriers],
        }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The present clock of a thread.
    pub(crate) fn now(&self, thread: u16) -> u32 {
        self.clocks[usize::from(thread)]
    }

    /// Whether an access happened before what a thread does now.
    pub(crate) fn knows(&self, thread: u16, block: u64, other: u16, clock: u32) -> bool {
        let mine = &self.threads[usize::from(thread)];
        if block == self.place.block {
            return other == thread
                || clock <= self.floor[usize::from(other)]
                || clock <= clock_in(&mine.known, other);
        }
        mine.foreign.everything
            || mine
                .foreign
                .blocks
                .get(&block)
                .is_some_and(|view| view.knows(other, clock))
    }

    /// What a thread knows, itself included; its clock advances.
    pub(crate) fn release(&mut self, thread: u16) -> Arc<View> {
        let index = usize::from(thread);
        let own = Arc::new(vec![(thread, self.clocks[index])]);
        let mine = BlockView {
            generation: self.generation,
            floor: self.floor.clone(),
            exceptions: union(&self.threads[index].known, &own),
        };
        self.clocks[index] += 1;
        let mut view = (*self.threads[index].foreign).clone();
        view.join_block(self.place.block, &mine);
        Arc::new(view)
    }

    /// What a write by a thread publishes: its view if it releases, that of its last fence if it is only strong.
    pub(crate) fn published_by(
        &mut self,
        thread: u16,
        scope: Scope,
        releases: bool,
    ) -> Option<(Scope, Arc<View>)> {
        if releases {
            return Some((scope, self.release(thread)));
        }
        let (fence, view) = self.threads[usize::from(thread)].fence.clone()?;
        Some((fence.min(scope), view))
    }

    /// A strong read by a thread: it hears at once if it acquires, else at its next fence.
    pub(crate) fn read(&mut self, thread: u16, scope: Scope, acquires: bool, left: &Published) {
        for (scope, view) in left.heard(scope, self.place) {
            if acquires {
                self.learn(thread, scope, &view);
                continue;
            }
            let pending = &mut self.threads[usize::from(thread)].pending;
            if !pending
                .iter()
                .any(|(other, seen)| *other == scope && Arc::ptr_eq(seen, &view))
            {
                pending.push((scope, view));
                // A thread that spins hears the latest; what it heard long ago is part of it, as a rule.
                if pending.len() > 8 {
                    pending.remove(0);
                }
            }
        }
    }

    /// A fence of a thread.
    pub(crate) fn fence(&mut self, thread: u16, scope: Scope) {
        for (heard, view) in std::mem::take(&mut self.threads[usize::from(thread)].pending) {
            self.learn(thread, heard.min(scope), &view);
        }
        let view = self.release(thread);
        self.threads[usize::from(thread)].fence = Some((scope, view));
    }

    /// Adds what a view says about blocks in reach to what a thread knows.
    fn learn(&mut self, thread: u16, scope: Scope, view: &Arc<View>) {
        let place = self.place;
        let mine = &mut self.threads[usize::from(thread)];
        if view.everything && scope >= Scope::Device {
            Arc::make_mut(&mut mine.foreign).everything = true;
        }
        if scope == Scope::Block {
            if let Some(own) = view.blocks.get(&place.block) {
                mine.known = union(&mine.known, &own.exceptions);
            }
            return;
        }
        for (&number, other) in &view.blocks {
            if number == place.block {
                mine.known = union(&mine.known, &other.exceptions);
            } else if place.reaches(scope, number) {
                Arc::make_mut(&mut mine.foreign).join_block(number, other);
            }
        }
    }

    /// Threads of a warp that execute `bar.warp.sync` together know of each other.
    pub(crate) fn synchronize(&mut self, threads: impl Iterator<Item = u16> + Clone) {
        let arrivals = threads.clone().map(|thread| self.arrival(thread)).collect();
        self.share(arrivals, threads);
    }

    fn arrival(&mut self, thread: u16) -> Arrival {
        let index = usize::from(thread);
        let clock = self.clocks[index];
        self.clocks[index] += 1;
        Arrival {
            thread,
            clock,
            known: self.threads[index].known.clone(),
            foreign: self.threads[index].foreign.clone(),
        }
    }

    /// Lets threads know what those that arrived knew.
    fn share(&mut self, arrivals: Vec<Arrival>, threads: impl Iterator<Item = u16>) {
        let mut merged: BTreeMap<u16, u32> = BTreeMap::new();
        let mut foreign: Arc<View> = Arc::default();
        let mut last: Option<Clocks> = None;
        for arrival in &arrivals {
            merged.insert(arrival.thread, arrival.clock);
        }
        for arrival in &arrivals {
            join_views(&mut foreign, &arrival.foreign);
            if last
                .as_ref()
                .is_none_or(|last| !Arc::ptr_eq(last, &arrival.known))
            {
                for &(thread, clock) in arrival.known.iter() {
                    let entry = merged.entry(thread).or_default();
                    *entry = (*entry).max(clock);
                }
                last = Some(arrival.known.clone());
            }
        }
        let merged: Clocks = Arc::new(merged.into_iter().collect());
        for thread in threads {
            let mine = &mut self.threads[usize::from(thread)];
            mine.known = union(&merged, &mine.known);
            join_views(&mut mine.foreign, &foreign);
        }
    }

    /// A thread arrives at a barrier.
    pub(crate) fn arrive(&mut self, barrier: usize, thread: u16) {
        let arrival = self.arrival(thread);
        self.arrivals[barrier].push(arrival);
    }

    /// A barrier is complete. `waiting` has, for each warp, the lanes that waited; `whole` says that all threads that have
    /// not exited did.
    pub(crate) fn complete(&mut self, barrier: usize, waiting: &[u32], whole: bool) {
        let arrivals = std::mem::take(&mut self.arrivals[barrier]);
        if !whole {
            let threads = waiting.iter().enumerate().flat_map(|(warp, &lanes)| {
                crate::execute::lanes_of(lanes).map(move |lane| (warp * 32 + lane) as u16)
            });
            self.share(arrivals, threads);
            return;
        }
        let mut foreign: Arc<View> = Arc::default();
        let mut floor = self.clocks.clone();
        for arrival in &arrivals {
            floor[usize::from(arrival.thread)] = arrival.clock;
            join_views(&mut foreign, &arrival.foreign);
        }
        self.raise(floor, foreign);
    }

    fn raise(&mut self, floor: Vec<u32>, foreign: Arc<View>) {
        self.floor = Arc::new(floor);
        self.generation += 1;
        for thread in &mut self.threads {
            thread.known = Clocks::default();
            thread.foreign = foreign.clone();
        }
    }

    /// All threads of the blocks of a cluster know of each other.
    pub(crate) fn synchronize_cluster(blocks: &mut [&mut BlockClocks]) {
        let mut all: Arc<View> = Arc::default();
        for block in &mut *blocks {
            let floor = block.clocks.clone();
            let mut foreign: Arc<View> = Arc::default();
            for thread in &block.threads {
                join_views(&mut foreign, &thread.foreign);
            }
            for clock in &mut block.clocks {
                *clock += 1;
            }
            block.raise(floor, foreign.clone());
            let view = BlockView {
                generation: block.generation,
                floor: block.floor.clone(),
                exceptions: Clocks::default(),
            };
            join_views(&mut all, &foreign);
            Arc::make_mut(&mut all).join_block(block.place.block, &view);
        }
        for block in blocks {
            for thread in &mut block.threads {
                thread.foreign = all.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u64) -> BlockClocks {
        let place = Place {
            block: number,
            cluster: number,
            cluster_blocks: 1,
        };
        BlockClocks::new(place, 64, 16)
    }

    #[test]
    fn barriers_order_those_that_arrive_before_those_that_wait() {
        let mut clocks = block(0);
        let before = clocks.now(1);
        assert!(!clocks.knows(0, 0, 1, before));
        for thread in 0..64 {
            clocks.arrive(0, thread);
        }
        clocks.complete(0, &[u32::MAX; 2], true);
        assert!(clocks.knows(0, 0, 1, before));
        assert!(!clocks.knows(0, 0, 1, clocks.now(1)));
        // Thread 2 arrives without waiting at a barrier of three.
        let (first, third) = (clocks.now(1), clocks.now(2));
        for thread in [1, 2, 33] {
            clocks.arrive(1, thread);
        }
        clocks.complete(1, &[1 << 1, 1 << 1], false);
        assert!(clocks.knows(33, 0, 1, first) && clocks.knows(33, 0, 2, third));
        assert!(!clocks.knows(2, 0, 1, first) && !clocks.knows(5, 0, 1, first));
    }

    #[test]
    fn scopes_bound_what_is_heard() {
        for (released, acquired, hears) in [
            (Scope::Device, Scope::Device, true),
            (Scope::Block, Scope::Device, false),
            (Scope::Device, Scope::Block, false),
            (Scope::System, Scope::Device, true),
        ] {
            let (mut one, mut two) = (block(0), block(1));
            let clock = one.now(5);
            let mut left = Published::default();
            let view = one.published_by(5, released, true);
            left.write(false, view, one.place());
            two.read(7, acquired, true, &left);
            assert_eq!(
                two.knows(7, 0, 5, clock),
                hears,
                "{released:?} {acquired:?}"
            );
            assert!(!two.knows(8, 0, 5, clock));
        }
    }

    #[test]
    fn relaxed_accesses_need_fences() {
        let (mut one, mut two) = (block(0), block(1));
        let clock = one.now(0);
        let mut left = Published::default();
        let nothing = one.published_by(0, Scope::Device, false);
        assert!(nothing.is_none());
        one.fence(0, Scope::Device);
        let view = one.published_by(0, Scope::Device, false);
        left.write(true, view, one.place());
        two.read(0, Scope::Device, false, &left);
        assert!(!two.knows(0, 0, 0, clock));
        two.fence(0, Scope::Device);
        assert!(two.knows(0, 0, 0, clock));
        // A plain write of someone else breaks the chain.
        left.write(false, None, two.place());
        let mut three = block(2);
        three.read(0, Scope::Device, true, &left);
        assert!(!three.knows(0, 0, 0, clock));
    }
}
