//! Holds what is said of memory accesses against what the emulator counts.

use oriole::{AccessReport, KernelAccesses};
use oriole_analysis::memory_requests::{Assumption, Class, PARAMETER_MULTIPLE, Status};
use oriole_emulator::{Observer, Request, Step};
use oriole_isa::Space;
use oriole_isa::memory_cost::{self, Operation, WarpCopy};
use std::collections::BTreeMap;
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
        self.shared_rows += other.shared_rows;
    }
}

#[derive(Debug, Default)]
struct Seen {
    compared: ComparedRequests,
    violations: Vec<String>,
}

/// Watches the requests of a launch.
#[derive(Debug)]
pub struct RequestWatcher {
    kernel: KernelAccesses,
    /// Accesses by the place of their mnemonic and by whether they go to shared memory.
    places: BTreeMap<(u32, bool), usize>,
    /// What parameters are, by number, where they are integers.
    arguments: BTreeMap<u32, u64>,
    seen: Mutex<Seen>,
}

/// So many violations are enough.
const ENOUGH: usize = 8;

impl RequestWatcher {
    /// Watches launches of a kernel with these integers as arguments.
    pub fn new(kernel: KernelAccesses, arguments: BTreeMap<u32, u64>) -> RequestWatcher {
        let accesses = kernel.accesses.iter().enumerate();
        let places = accesses.map(|(index, access)| ((access.offset, access.is_shared()), index));
        RequestWatcher {
            places: places.collect(),
            kernel,
            arguments,
            seen: Mutex::default(),
        }
    }

    fn is_multiple(&self, number: u32) -> bool {
        let argument = self.arguments.get(&number);
        argument.is_some_and(|argument| argument.is_multiple_of(PARAMETER_MULTIPLE))
    }

    /// What was compared, and what was wrong.
    pub fn result(&self) -> (ComparedRequests, Vec<String>) {
        let seen = self.seen.lock().expect("no thread panicked");
        (seen.compared, seen.violations.clone())
    }

    fn check(&self, access: &AccessReport, request: &Request<'_>, seen: &mut Seen) {
        let [x, y, _] = self.kernel.block;
        let thread = request.threads.first().copied().unwrap_or_default();
        let warp = (thread[0] + x * (thread[1] + y * thread[2])) / 32;
        let Some(claim) = access.cost.warps.get(warp as usize) else {
            return;
        };
        let (least, most, lanes) = (claim.least, claim.most, claim.lanes);
        let supposed = access.assumptions.iter().any(|own| own == "full warp");
        let wrong = |what: String| {
            let (line, mnemonic) = (access.line, &access.mnemonic);
            format!("line {line}: `{mnemonic}`, warp {warp}: {what}; said: {access}")
        };
        if access.cost.status == Status::Unknown {
            seen.compared.unknown += 1;
            return;
        }
        if request.lanes != lanes {
            let is_subset = request.lanes & !lanes == 0;
            if is_subset && supposed && access.cost.class != Class::Inactive {
                seen.compared.partial += 1;
            } else if seen.violations.len() < ENOUGH {
                let lanes = format!("lanes {:x} and not {lanes:x}", request.lanes);
                seen.violations.push(wrong(lanes));
            }
            return;
        }
        let is_shared = access.is_shared();
        let mut cost = cost_of(request, is_shared, lanes);
        if access.cost.assumptions.contains(&Assumption::Apart) && cost.0 < least {
            // What groups of lanes have in common does not count: that they have nothing is an assumption.
            seen.compared.shared_rows += 1;
            let groups = claim.groups.iter();
            let sum = groups.map(|&group| cost_of(request, is_shared, group).0);
            let sum = sum.sum();
            cost = (sum, sum);
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
        let is_claimed = least <= cost.0 && cost.1 <= most;
        if !is_claimed && seen.violations.len() < ENOUGH {
            let what = format!("cost {cost:?}, not {least} to {most}");
            seen.violations.push(wrong(what));
        }
    }
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

impl Observer for RequestWatcher {
    fn step(&self, _: &Step<'_>) {}

    fn request(&self, request: &Request<'_>) {
        if request.function != self.kernel.name {
            return;
        }
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
            self.check(&self.kernel.accesses[index], request, &mut seen);
        }
    }
}
