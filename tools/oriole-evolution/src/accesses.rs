//! Holds what is said of memory accesses against what the emulator counts.

use oriole::{AccessReport, KernelAccesses};
use oriole_analysis::memory_requests::{
    Assumption, Class, PARAMETER_MULTIPLE, Repetition, Status, Wasteful,
};
use oriole_emulator::{Observer, Request, Step};
use oriole_isa::Space;
use oriole_isa::memory_cost::{self, Operation, WarpCopy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// How much was compared: requests of warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComparedRequests {
    /// Held against a cost that is proved.
    pub proved: u64,
    /// Held against a cost that is proved if assumptions hold.
    pub proved_if: u64,
    /// Held against bounds.
    pub bounded: u64,
    /// Nothing is said of them.
    pub unknown: u64,
    /// Made by other lanes than was assumed, or with parameters that are no multiples.
    pub partial: u64,
    /// Of these, made by the first lanes, and held against what is said of a warp that is cut short.
    pub boundary: u64,
    /// Held against what is said of a parameter.
    pub strides: u64,
    /// Accesses that were said to be certainly wasteful, and were held against the sums of what they cost and of what would do.
    pub wasteful: u64,
    /// Of these, those whose cost is only bounded.
    pub wasteful_bounded: u64,
    /// Of the others, those in which groups of lanes that were assumed to have no sector in common have one.
    pub shared_rows: u64,
}

impl ComparedRequests {
    /// Adds what else was compared.
    pub fn add(&mut self, other: ComparedRequests) {
        self.proved += other.proved;
        self.proved_if += other.proved_if;
        self.bounded += other.bounded;
        self.unknown += other.unknown;
        self.partial += other.partial;
        self.boundary += other.boundary;
        self.strides += other.strides;
        self.wasteful += other.wasteful;
        self.wasteful_bounded += other.wasteful_bounded;
        self.shared_rows += other.shared_rows;
    }
}

#[derive(Debug, Default)]
struct Seen {
    compared: ComparedRequests,
    violations: Vec<String>,
    /// Blocks of the grid, warps and places of instructions at which an assumption did not hold.
    broken: BTreeSet<([u32; 3], u32, u32)>,
    /// What accesses cost in sum, by number.
    sums: BTreeMap<usize, Sum>,
}

/// What all requests of an access cost.
#[derive(Debug, Default)]
struct Sum {
    cost: u64,
    ideal: u64,
    /// Who made them: blocks of the grid, and warps.
    makers: BTreeSet<([u32; 3], u32)>,
    /// Whether something that was assumed did not hold.
    is_disturbed: bool,
}

/// What is watched at an instruction because something was assumed of it.
#[derive(Clone, Debug)]
enum Watched {
    /// Whether lanes leave it the same way.
    Branch,
    /// Whether lanes have one quotient: by its operands, and whether they are signed numbers of so many bits.
    Division([String; 2], bool, u32),
}

/// Watches the requests of a launch.
#[derive(Debug)]
pub struct RequestWatcher {
    kernel: KernelAccesses,
    /// Accesses, those of functions that are called among them, by the place of their mnemonic and by whether they go to shared memory.
    places: BTreeMap<(u32, bool), usize>,
    /// Instructions that something was assumed of.
    watched: BTreeMap<u32, Watched>,
    /// What parameters are, by number, where they are integers.
    arguments: BTreeMap<u32, u64>,
    seen: Mutex<Seen>,
}

/// So many violations are enough.
const ENOUGH: usize = 8;

impl RequestWatcher {
    /// Watches launches of a kernel with these integers as arguments, given the text of its module.
    pub fn new(
        kernel: KernelAccesses,
        arguments: BTreeMap<u32, u64>,
        text: &str,
    ) -> RequestWatcher {
        let mut watched = BTreeMap::new();
        for &(assumption, offset) in kernel.accesses.iter().flat_map(|access| &access.places) {
            let own = match assumption {
                Assumption::Together(_) => Some(Watched::Branch),
                Assumption::SameQuotient(_) => division(&text[offset as usize..]),
                _ => None,
            };
            watched.extend(own.map(|own| (offset, own)));
        }
        let accesses = kernel.accesses.iter().enumerate();
        let places = accesses.map(|(index, access)| ((access.offset, access.is_shared()), index));
        RequestWatcher {
            places: places.collect(),
            kernel,
            watched,
            arguments,
            seen: Mutex::default(),
        }
    }

    fn is_multiple(&self, number: u32) -> bool {
        let argument = self.arguments.get(&number);
        argument.is_some_and(|argument| argument.is_multiple_of(PARAMETER_MULTIPLE))
    }

    /// What was compared, and what was wrong; sums only of a launch that came to its end.
    pub fn result(&self, is_whole: bool) -> (ComparedRequests, Vec<String>) {
        let seen = self.seen.lock().expect("no thread panicked");
        let (mut compared, mut violations) = (seen.compared, seen.violations.clone());
        let wasteful = |(index, _): &(&usize, &Sum)| {
            self.kernel.accesses[**index].cost.wasteful == Wasteful::Certainly
        };
        for (&index, sum) in seen.sums.iter().filter(wasteful) {
            let access = &self.kernel.accesses[index];
            if !is_whole || sum.is_disturbed || !self.is_repeated(access, sum) {
                continue;
            }
            compared.wasteful += 1;
            compared.wasteful_bounded += u64::from(access.cost.status == Status::Bounded);
            if sum.cost <= sum.ideal {
                violations.push(format!(
                    "line {}: `{}` is not wasteful: {} of {}; said: {access}",
                    access.line, access.mnemonic, sum.cost, sum.ideal
                ));
            }
        }
        (compared, violations)
    }

    /// Whether those made an access that must for it to be wasteful: all warps of two adjacent blocks.
    fn is_repeated(&self, access: &AccessReport, sum: &Sum) -> bool {
        let warps = access.cost.warps.iter().enumerate();
        let warps = warps.filter(|own| own.1.lanes != 0);
        let warps: Vec<u32> = warps.map(|own| own.0 as u32).collect();
        let is_full = |block: [u32; 3]| {
            warps
                .iter()
                .all(|&warp| sum.makers.contains(&(block, warp)))
        };
        let mut blocks = sum.makers.iter().map(|maker| maker.0);
        let axes = access.cost.wasteful_if.iter().filter_map(|own| match *own {
            Repetition::Blocks(axis) => Some(axis as usize),
            Repetition::Warps => None,
        });
        let axes: Vec<usize> = axes.collect();
        access.cost.wasteful_if.is_empty()
            || blocks.any(|block| {
                (0..1usize << axes.len()).all(|corner| {
                    let mut own = block;
                    for (place, &axis) in axes.iter().enumerate() {
                        own[axis] += (corner >> place & 1) as u32;
                    }
                    is_full(own)
                })
            })
    }

    fn warp(&self, threads: &[[u32; 3]]) -> u32 {
        let [x, y, _] = self.kernel.block;
        let thread = threads.first().copied().unwrap_or_default();
        (thread[0] + x * (thread[1] + y * thread[2])) / 32
    }

    fn check(&self, access: &AccessReport, request: &Request<'_>, seen: &mut Seen) {
        let warp = self.warp(request.threads);
        let Some(claim) = access.cost.warps.get(warp as usize) else {
            return;
        };
        let (least, most) = (claim.least, claim.most);
        let lanes = match claim.masks.contains(&request.lanes) {
            true => request.lanes,
            false => claim.lanes,
        };
        let supposed = access.assumptions.iter().any(|own| own == "full warp");
        let wrong = |what: String| {
            let (line, mnemonic) = (access.line, &access.mnemonic);
            format!("line {line}: `{mnemonic}`, warp {warp}: {what}; said: {access}")
        };
        if access.cost.status == Status::Unknown {
            seen.compared.unknown += 1;
            return;
        }
        let is_broken =
            |&(_, place): &(Assumption, u32)| seen.broken.contains(&(request.block, warp, place));
        if access.places.iter().any(is_broken) {
            seen.compared.partial += 1;
            return;
        }
        if request.lanes != lanes {
            // Of the lanes of one or the other round.
            let is_within = |&mask: &u32| request.lanes & !mask == 0;
            let is_subset = is_within(&lanes) || claim.masks.iter().any(is_within);
            if is_subset && supposed && access.cost.class != Class::Inactive {
                seen.compared.partial += 1;
                // Fewer lanes cost no more.
                let fewer = cost_of(request, access.is_shared(), request.lanes);
                let is_multiple = |own: &Assumption| match *own {
                    Assumption::Multiple(number) => self.is_multiple(number),
                    _ => true,
                };
                let holds = access.cost.assumptions.iter().all(is_multiple);
                if holds && fewer.0 > most && seen.violations.len() < ENOUGH {
                    let what = format!("{} at the boundary, at most {most}", fewer.0);
                    seen.violations.push(wrong(what));
                }
                // The first lanes cost what is said of them.
                let count = request.lanes.count_ones();
                let is_first = lanes & !request.lanes & mask_below(request.lanes) == 0;
                let said = access.cost.boundary.get(count as usize - 1);
                if let Some(&said) = said.filter(|_| is_first && holds) {
                    seen.compared.boundary += 1;
                    if fewer != (said, said) && seen.violations.len() < ENOUGH {
                        let what = format!("{fewer:?} of the first {count} lanes, not {said}");
                        seen.violations.push(wrong(what));
                    }
                }
            } else if seen.violations.len() < ENOUGH {
                let lanes = format!("lanes {:x} and not {lanes:x}", request.lanes);
                seen.violations.push(wrong(lanes));
            }
            return;
        }
        let is_shared = access.is_shared();
        let counted = cost_of(request, is_shared, lanes);
        let mut cost = counted;
        if access.cost.assumptions.contains(&Assumption::Apart) {
            // What groups of lanes have in common does not count: that they have nothing is an assumption.
            // Which round of a loop this is nobody says; lanes are in groups as in one of them.
            let groupings = std::iter::once(&claim.groups).chain(&claim.other_groups);
            let groupings =
                groupings.filter(|own| own.iter().fold(0, |all, own| all | own) == lanes);
            let sums = groupings.map(|own| {
                let costs = own
                    .iter()
                    .map(|&group| cost_of(request, is_shared, group).0);
                costs.sum::<u64>()
            });
            let sums: Vec<u64> = sums.collect();
            let is_apart = sums.iter().all(|&sum| sum == cost.0);
            seen.compared.shared_rows += u64::from(!is_apart);
            let mut claimed = sums.into_iter().filter(|sum| (least..=most).contains(sum));
            if let Some(sum) = claimed.next().filter(|_| cost.0 < least) {
                cost = (sum, sum);
            }
        }
        let does_not_hold = |assumption: &Assumption| match *assumption {
            Assumption::Multiple(number) => !self.is_multiple(number),
            _ => false,
        };
        if access.cost.assumptions.iter().any(does_not_hold) {
            seen.compared.partial += 1;
            return;
        }
        match access.cost.status {
            Status::Proved => seen.compared.proved += 1,
            Status::ProvedIf => seen.compared.proved_if += 1,
            Status::Bounded | Status::Unknown => seen.compared.bounded += 1,
        }
        for row in &access.cost.strides {
            let argument = self.arguments.get(&row.parameter);
            if argument.is_some_and(|&argument| row.case.holds(argument)) {
                seen.compared.strides += 1;
                if counted != (row.cost, row.cost) && seen.violations.len() < ENOUGH {
                    seen.violations
                        .push(wrong(format!("cost {counted:?}, not {row}")));
                }
            }
        }
        let is_claimed = least <= cost.0 && cost.1 <= most;
        if !is_claimed && seen.violations.len() < ENOUGH {
            let what = format!("cost {cost:?}, not {least} to {most}");
            seen.violations.push(wrong(what));
        }
    }
}

/// The lanes up to the last of some.
fn mask_below(lanes: u32) -> u32 {
    u32::MAX >> lanes.leading_zeros()
}

/// What some lanes of a request cost, at least and at most.
fn cost_of(request: &Request<'_>, is_shared: bool, lanes: u32) -> (u64, u64) {
    let (operation, width) = (request.operation, request.width);
    if operation.is_copy() {
        let (from, to) = match is_shared {
            true => (request.other, request.addresses),
            false => (request.addresses, request.other),
        };
        let copy = WarpCopy {
            from,
            to,
            active: lanes,
            width,
            bypasses: operation == Operation::BypassingCopy,
        };
        return match is_shared {
            true => copy.wavefronts(),
            false => copy.sectors(),
        };
    }
    let (cost, _) = match is_shared {
        true => memory_cost::wavefronts(operation, request.addresses, lanes, width),
        false => memory_cost::sectors(request.addresses, lanes, width),
    };
    (cost, cost)
}

/// What would do for a request.
fn ideal_of(request: &Request<'_>, is_shared: bool) -> u64 {
    match is_shared {
        true => memory_cost::ideal_wavefronts(request.operation, request.lanes, request.width),
        false => memory_cost::ideal_sectors(request.lanes, request.width),
    }
}

impl Observer for RequestWatcher {
    fn step(&self, step: &Step<'_>) {
        let Some(watched) = self.watched.get(&step.span.start) else {
            return;
        };
        let holds = match watched {
            Watched::Branch => step.active == 0 || step.active == step.lanes,
            Watched::Division(operands, signed, bits) => {
                let mut quotients = (0..32)
                    .filter(|lane| step.active >> lane & 1 != 0)
                    .map(|lane| quotient(step, operands, *signed, *bits, lane));
                let first = quotients.next();
                quotients.all(|own| Some(own) == first)
            }
        };
        if let (false, Ok(mut seen)) = (holds, self.seen.lock()) {
            let warp = self.warp(step.threads);
            seen.broken.insert((step.block, warp, step.span.start));
        }
    }

    fn request(&self, request: &Request<'_>) {
        let first = request.addresses[request.lanes.trailing_zeros().min(31) as usize];
        let is_shared = match request.space {
            Space::Shared | Space::SharedCluster => true,
            Space::Generic => first >> 32 == 1,
            _ => false,
        };
        let is_counted = match request.space {
            Space::Global => true,
            Space::Generic => is_shared || first >> 36 != 0,
            _ => is_shared,
        };
        let place = self.places.get(&(request.span.start, is_shared));
        if let (true, Some(&index)) = (is_counted, place)
            && let Ok(mut seen) = self.seen.lock()
        {
            let partial = |seen: &Seen| (seen.compared.partial, seen.compared.shared_rows);
            let before = partial(&seen);
            let access = &self.kernel.accesses[index];
            self.check(access, request, &mut seen);
            let is_disturbed = partial(&seen) != before;
            let maker = (request.block, self.warp(request.threads));
            let (cost, ideal) = (
                cost_of(request, is_shared, request.lanes).1,
                ideal_of(request, is_shared),
            );
            let sum = seen.sums.entry(index).or_default();
            sum.cost += cost;
            sum.ideal += ideal.min(cost);
            sum.makers.insert(maker);
            sum.is_disturbed |= is_disturbed;
        }
    }
}

/// What a division divides, of the text from its mnemonic on.
fn division(text: &str) -> Option<Watched> {
    let text = text.split(';').next()?;
    let (mnemonic, operands) = text.split_once(char::is_whitespace)?;
    let mut operands = operands.split(',').map(|it| it.trim().to_owned());
    let (_, first, second) = (operands.next()?, operands.next()?, operands.next()?);
    let kind = mnemonic.rsplit('.').next()?;
    let bits = kind.get(1..)?.parse().ok()?;
    Some(Watched::Division(
        [first, second],
        kind.starts_with('s'),
        bits,
    ))
}

/// The quotient of a lane; nothing if an operand is not known.
fn quotient(
    step: &Step<'_>,
    operands: &[String; 2],
    signed: bool,
    bits: u32,
    lane: usize,
) -> Option<i128> {
    let number = |operand: &String| {
        let names = step.register_names();
        let number = match names.iter().position(|name| name == operand) {
            Some(index) => step.register(index, lane)?,
            None => operand.parse::<i64>().ok()? as u64,
        };
        let shift = 64 - bits;
        Some(match signed {
            true => i128::from((number << shift) as i64 >> shift),
            false => i128::from(number << shift >> shift),
        })
    };
    let [first, second] = operands;
    number(first)?.checked_div(number(second)?)
}
