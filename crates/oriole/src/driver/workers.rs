//! Shares the functions of a module out to workers, if there is work for several.
//!
//! ## Method
//! All threads of a pool start together, when somebody first asks for one of them. So a file that is short for the machine's threads is done by the
//! one that reads it. Workers take batches, the largest functions first.

use super::{Bodies, Outcome, Plan, Worker};
use crate::{Fuel, Module, Observer};
use oriole_syntax::tree::{Body, MovedText};
use rayon::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Statements for which it pays to start another worker.
const STATEMENTS_PER_WORKER: usize = if cfg!(test) { 100 } else { 1_200 };

/// The same without phases.
const STATEMENTS_PER_READER: usize = 5 * STATEMENTS_PER_WORKER;

/// With the second worker all threads of the machine start: so many of them for each worker are worth it.
const THREADS_PER_WORKER: usize = 4;

/// Batches for each worker, so that all workers end at about the same time.
const BATCHES_PER_WORKER: usize = 8;

/// Statements of functions that go through the phases together ([`oriole_opt::run_batch`]). More of them would not fit the cache that
/// holds both the functions and the passes.
const STATEMENTS_PER_BATCH: usize = 2_000;

/// Optimizes functions that do not need each other's results.
pub(super) fn all_of(
    module: &mut Module,
    plan: &Plan<'_>,
    mut bodies: Bodies,
    mut order: Vec<usize>,
    observer: Option<&mut Observer<'_>>,
    fuel: &mut Fuel,
) -> Vec<Outcome> {
    let statements =
        |body: &Option<Box<Body>>| body.as_ref().map_or(0, |body| body.statements.len());
    let all = bodies.iter().map(statements).sum::<usize>();
    let least = match plan.options.phases.is_empty() {
        true => STATEMENTS_PER_READER,
        false => STATEMENTS_PER_WORKER,
    };
    let is_parallel = observer.is_none() && !fuel.is_limited();
    let workers = match is_parallel {
        true => workers(order.len().min(all / least)),
        false => 1,
    };
    if workers > 1 {
        order.sort_by_key(|&index| std::cmp::Reverse(statements(&bodies[index])));
    }
    // Without phases there is no code to have at hand: what was just translated is written back while the cache has it.
    let is_alone = observer.is_some() || fuel.is_limited() || plan.options.phases.is_empty();
    let largest = match is_alone {
        true => 0,
        false if workers > 1 => STATEMENTS_PER_BATCH.min(all / (workers * BATCHES_PER_WORKER)),
        false => STATEMENTS_PER_BATCH,
    };
    let batches = batches(&order, largest, |index| statements(&bodies[index]));
    if workers > 1 {
        return in_parallel(module, plan, bodies, &batches, workers);
    }
    let mut worker = Worker::new(module, plan, observer, fuel.clone());
    let mut outcomes = Vec::with_capacity(order.len());
    for batch in batches {
        let batch = batch.iter().map(|&index| (index, bodies[index].take()));
        outcomes.extend(worker.functions(batch));
    }
    *fuel = worker.fuel;
    outcomes
}

/// How many workers there are for what so many could do.
fn workers(most: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    match most > 1 && most * THREADS_PER_WORKER >= cores() {
        // To ask for the threads of the pool starts them.
        true => rayon::current_num_threads().min(most),
        false => 1,
    }
}

/// Functions in groups that have so many statements together at most, or are one function.
fn batches(order: &[usize], largest: usize, statements: impl Fn(usize) -> usize) -> Vec<&[usize]> {
    let mut batches = Vec::new();
    let mut rest = order;
    while !rest.is_empty() {
        let mut together = 0;
        let fits = |&&index: &&usize| {
            together += statements(index);
            together <= largest
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}

/// Optimizes functions by several workers; the largest come first, so that none is left with one at the end.
fn in_parallel(
    module: &mut Module,
    plan: &Plan<'_>,
    bodies: Bodies,
    batches: &[&[usize]],
    workers: usize,
) -> Vec<Outcome> {
    let bodies: Vec<Mutex<Option<Box<Body>>>> = bodies.into_iter().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let length = module.whole_text().len();
    let skeleton = &*module;
    let work = |_| {
        let mut own = skeleton.clone();
        let mut worker = Worker::new(&mut own, plan, None, plan.options.fuel.clone());
        let mut outcomes = Vec::new();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcomes.extend(worker.functions(batch.iter().map(|&index| {
                let body = bodies[index].lock().ok().and_then(|mut body| body.take());
                (index, body)
            })));
        }
        (own, outcomes)
    };
    let done: Vec<(Module, Vec<Outcome>)> = (0..workers).into_par_iter().map(work).collect();
    let moved: Vec<MovedText> = done
        .iter()
        .map(|(own, _)| module.append_text_of(own, length))
        .collect();
    let place = |((own, mut outcomes), moved): ((Module, Vec<Outcome>), MovedText)| {
        drop(own);
        for body in outcomes
            .iter_mut()
            .filter_map(|outcome| outcome.body.as_mut())
        {
            body.move_text(moved);
        }
        outcomes
    };
    let placed: Vec<Vec<Outcome>> = done.into_par_iter().zip(moved).map(place).collect();
    let mut all: Vec<Outcome> = placed.into_iter().flatten().collect();
    all.sort_by_key(|outcome| outcome.index);
    all
}
