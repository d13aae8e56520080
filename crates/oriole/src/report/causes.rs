//! Groups accesses and other findings by cause: what one edit of the source would remove.
//!
//! ## Method
//! Accesses of one kind and certainty have one cause if they share a key. It is the first of these that is known:
//! 1. the source line of a stride that the caller chooses
//! 2. the array and the class of access
//! 3. the loop and the class
//! 4. the source line and the class
//! 5. the PTX line
//!
//! If it is open whether accesses to an unknown array waste something, their class is the key: unrolled code has many of them. The
//! fingerprint of a cause is a hash of its kind and of the array, class or parameter. Causes of a kernel with the same hash are numbered.

use super::access::Certainty;
use super::kernel::is_certain;
use super::{
    Access, BlockOrigin, Demangled, Facts, Finding, Fix, Kernel, Memory, Operation, Place,
    Severity, Status, Unit, rounded, severity, words,
};
use crate::access_analysis::{AccessReport, KernelAccesses};
use crate::findings::{self, FindingKind};
use oriole_analysis::memory_requests::{self, Assumption, Class};
use std::collections::BTreeMap;

/// The key of accesses of one cause.
type Key = (FindingKind, bool, String);

/// The findings of a kernel, worst first.
pub(super) fn of(own: &KernelAccesses, kernel: &Kernel) -> Vec<Finding> {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<Key> = Vec::new();
    for (index, (report, access)) in own.accesses.iter().zip(&kernel.accesses).enumerate() {
        let Some(kind) = kind(report, access) else {
            continue;
        };
        let key = (kind, is_certain(access), common(access));
        let members = groups.entry(key.clone()).or_default();
        if members.is_empty() {
            order.push(key);
        }
        members.push(index);
    }
    let mut findings = Vec::new();
    for key in order {
        let cause = Cause {
            own,
            kernel,
            kind: key.0,
            is_certain: key.1,
            members: &groups[&key],
        };
        findings.push(cause.finding());
    }
    findings.extend(own.found.iter().map(|found| other(found, kernel)));
    findings.extend(low_occupancy(kernel));
    number(&mut findings);
    findings.sort_by(|left, right| {
        let waste = |own: &Finding| match own.severity {
            Severity::High | Severity::Medium => (own.share, own.waste),
            _ => (own.share_at_worst, own.waste_at_worst),
        };
        let (one, two) = (waste(left), waste(right));
        let severity = right.severity.cmp(&left.severity);
        let share = two.0.total_cmp(&one.0).then(two.1.total_cmp(&one.1));
        severity.then(share).then(left.line.cmp(&right.line))
    });
    findings
}

/// The kind of finding that an access is, if it wastes something or may.
fn kind(report: &AccessReport, access: &Access) -> Option<FindingKind> {
    let cost = &report.cost;
    let is_known = access.status != Status::Unknown && cost.class != Class::Inactive;
    let may_waste = access.wasteful != Certainty::No && cost.waste_at(cost.most as f64) > 1e-9;
    // Contended atomics are a finding of their own.
    if !is_known || cost.is_contended() || cost.waste() <= 1e-9 && !may_waste {
        return None;
    }
    Some(match report.memory() {
        Memory::Local => FindingKind::UncoalescedLocal,
        Memory::Shared => FindingKind::BankConflict,
        Memory::Global => FindingKind::UncoalescedAccess,
    })
}

/// The part of an access that others of its cause share.
fn common(access: &Access) -> String {
    let line = access.source.as_ref().map(ToString::to_string);
    let class = class_key(&access.class);
    if access.open_stride {
        let strides = parameters(access)
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>();
        return line.map_or_else(|| strides.join(","), |line| format!("stride {line}"));
    }
    if access.array.is_none() && !is_certain(access) {
        return format!("memory {class}");
    }
    match (&access.array, &access.r#loop, line) {
        (Some(array), _, _) => format!("array {} {class}", array.name),
        (None, Some(around), _) => format!("loop {} {class}", around.line),
        (None, None, Some(line)) => format!("line {line} {class}"),
        (None, None, None) => format!("ptx {} {class}", access.line),
    }
}

/// A class of accesses: with the stride, without the number of conflicts.
fn class_key(class: &str) -> &str {
    match class.split_once(' ') {
        Some((name, _)) if name != "strided" => name,
        _ => class,
    }
}

/// The parameters whose strides decide the cost of an access.
fn parameters(access: &Access) -> Vec<u32> {
    let mut own: Vec<u32> = access.strides.iter().map(|row| row.arg).collect();
    own.dedup();
    own
}

/// The array of an access as the source names it.
fn array_name(access: &Access) -> Option<String> {
    let name = &access.array.as_ref()?.name;
    if let Some(number) = name.strip_prefix("arg ") {
        return number
            .parse::<u32>()
            .ok()
            .map(|own| format!("parameter {own}"));
    }
    let is_name = name
        .bytes()
        .all(|own| own.is_ascii_alphanumeric() || b"_$.".contains(&own));
    is_name.then(|| Demangled::of(name).plain)
}

/// Bytes between adjacent lanes, if they are the same for the first three.
fn apart(access: &Access) -> Option<u64> {
    let offsets = access.offsets.as_ref()?;
    let lane = |lane: usize| offsets.get(lane).copied().flatten();
    let (first, second) = (lane(1)?.abs_diff(lane(0)?), lane(2)?.abs_diff(lane(1)?));
    (first == second && first > 0).then_some(first)
}

/// The parameters that a text mentions as `arg 3`.
fn mentioned(text: &str, into: &mut Vec<u32>) {
    for part in text.split("arg ").skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        into.extend(digits.parse::<u32>());
    }
}

/// Accesses of one cause.
struct Cause<'a> {
    own: &'a KernelAccesses,
    kernel: &'a Kernel,
    kind: FindingKind,
    is_certain: bool,
    members: &'a [usize],
}

impl Cause<'_> {
    fn access(&self, member: usize) -> &Access {
        &self.kernel.accesses[member]
    }

    fn cost(&self, member: usize) -> &memory_requests::RequestCost {
        &self.own.accesses[member].cost
    }

    /// The sum over all accesses, each as often as it is executed.
    fn sum(&self, of: impl Fn(&memory_requests::RequestCost) -> f64) -> f64 {
        let costs = self.members.iter().map(|&member| self.cost(member));
        rounded(costs.map(|cost| of(cost) * cost.trips).sum())
    }

    /// The access that costs most.
    fn worst(&self) -> usize {
        let rank = |member: usize| {
            let cost = self.cost(member);
            (cost.waste_at(cost.most as f64), cost.trips)
        };
        let mut worst = self.members[0];
        for &member in self.members {
            let (own, most) = (rank(member), rank(worst));
            if own.0 > most.0 || own.0 == most.0 && own.1 > most.1 {
                worst = member;
            }
        }
        worst
    }

    fn finding(&self) -> Finding {
        let worst = self.worst();
        let access = self.access(worst);
        let unit = access.unit;
        let (total, total_at_worst) = self.kernel.total(unit);
        let waste_at_worst = self.sum(|cost| cost.waste_at(cost.most as f64));
        let waste = match self.is_certain {
            true => self.sum(memory_requests::RequestCost::waste),
            false => 0.0,
        };
        let stride_parameters = self.stride_parameters();
        let (what, why) = (self.what(worst, &stride_parameters), self.why(worst));
        let is_same = |member: usize| {
            let (one, other) = (&self.access(member).source, &access.source);
            one.as_ref().map(|own| &own.file) == other.as_ref().map(|own| &own.file)
        };
        let sources = self.members.iter().filter(|&&member| is_same(member));
        let mut also: Vec<u32> = sources
            .filter_map(|&member| self.access(member).source.as_ref())
            .map(|own| own.line)
            .filter(|&line| access.source.as_ref().is_some_and(|own| own.line != line))
            .collect();
        also.sort_unstable();
        also.dedup();
        let lines = self.members.iter().filter(|&&own| own != worst);
        let assumed = self
            .members
            .iter()
            .filter_map(|&own| self.access(own).r#loop.as_ref());
        let assumed = assumed.filter(|own| own.assumed).map(|own| own.iterations);
        let fixes = self.fixes(worst);
        let saved = fixes.first().map_or(0.0, |own| own.saved);
        let statuses = self.members.iter().map(|&own| self.access(own).status);
        let mut finding = Finding {
            fingerprint: self.key(&stride_parameters),
            kind: self.kind,
            message: sentence(&what, &why),
            what,
            why,
            line: access.line,
            source: access.source.clone(),
            inlined_at: access.inlined_at.clone(),
            also,
            lines: lines.map(|&own| self.access(own).line).collect(),
            array: array_name(access),
            accesses: self.members.to_vec(),
            count: self.members.len() as u32,
            unit: Some(unit),
            cost: self.sum(|cost| cost.mean),
            needed: self.sum(|cost| cost.ideal.min(cost.mean)),
            waste,
            waste_at_worst,
            share: rounded(waste / total.max(1e-9)),
            share_at_worst: rounded(waste_at_worst / total_at_worst.max(1e-9)),
            saved: rounded(saved / total.max(1e-9)).min(1.0),
            certainty: access.wasteful,
            is_proved: statuses.clone().all(|own| own >= Status::ProvedIf),
            conditions: self.conditions(),
            assumed_iterations: assumed.fold(None, |most, own| Some(own.max(most.unwrap_or(0.0)))),
            check: (!self.is_certain)
                .then(|| self.check(&stride_parameters))
                .flatten(),
            strides: match stride_parameters.is_empty() {
                true => Vec::new(),
                false => access.strides.clone(),
            },
            stride_parameters,
            fixes,
            weight: self.sum(memory_requests::RequestCost::waste),
            ..Finding::default()
        };
        finding.severity = severity::of_cost(&finding, self.is_certain);
        finding
    }

    fn stride_parameters(&self) -> Vec<u32> {
        let open = self.members.iter().map(|&own| self.access(own));
        let open = open.filter(|own| own.open_stride);
        let mut found: Vec<u32> = open.flat_map(parameters).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The text that the fingerprint hashes.
    fn key(&self, stride_parameters: &[u32]) -> String {
        let first = self.members[0];
        let access = self.access(first);
        let kind = self.kind.text();
        if !stride_parameters.is_empty() {
            return format!("{kind} stride {stride_parameters:?}");
        }
        let array = array_name(access).unwrap_or_else(|| access.space.clone());
        let class = class_key(&access.class);
        format!("{kind} {array} {class} {}", self.is_certain)
    }

    /// The operation and the array: "load from tile", "loads and stores of parameter 3".
    fn object(&self, worst: usize) -> String {
        let access = self.access(worst);
        let memory = match self.own.accesses[worst].memory() {
            Memory::Global => "global memory",
            Memory::Local => "local memory",
            Memory::Shared => "shared memory",
        };
        let array = array_name(access).unwrap_or_else(|| memory.to_owned());
        let has = |op: Operation| self.members.iter().any(|&own| self.access(own).op == op);
        match Operation::ALL.map(has) {
            [true, false, false] => format!("load from {array} takes"),
            [false, true, false] => format!("store to {array} takes"),
            [false, false, true] => format!("atomic on {array} takes"),
            [true, true, false] => format!("loads and stores of {array} take"),
            _ => format!("accesses to {array} take"),
        }
    }

    /// The least and the largest cost of a request.
    fn bounds(&self) -> (u64, u64) {
        let costs = || self.members.iter().map(|&own| &self.access(own).cost);
        let least = costs().map(|own| own.min).min().unwrap_or(0);
        (least, costs().map(|own| own.max).max().unwrap_or(0))
    }

    fn what(&self, worst: usize, stride_parameters: &[u32]) -> String {
        let access = self.access(worst);
        let unit = access.unit;
        if !stride_parameters.is_empty() {
            let names: Vec<String> = stride_parameters.iter().map(u32::to_string).collect();
            let rows = self
                .members
                .iter()
                .flat_map(|&own| &self.access(own).strides);
            let costs = rows.filter(|row| row.is != Some(0)).map(|row| row.cost);
            let (least, most) = (costs.clone().min(), costs.max());
            let subject = match names.len() {
                1 => format!("stride in parameter {} sets", names[0]),
                _ => format!("strides in parameters {} set", words::list(&names)),
            };
            let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
            return format!(
                "{subject} the cost: {least} to {} per request",
                unit.count(most as f64)
            );
        }
        let (least, most) = self.bounds();
        let cost = match least == most {
            true => unit.count(most as f64),
            false => format!("{least} to {}", unit.count(most as f64)),
        };
        let needed = words::number(access.ideal);
        format!("{} {cost} instead of {needed}", self.object(worst))
    }

    fn why(&self, worst: usize) -> String {
        let access = self.access(worst);
        if access.open_stride {
            return String::new();
        }
        let cost = self.cost(worst);
        let bytes = u64::from(access.bytes.max(1));
        let lanes = |lanes: u64| words::count(lanes, "lane");
        let array = array_name(access);
        let by_rows = match (&access.array, &array) {
            (Some(own), Some(name))
                if own.thread_x.len() == 1 && self.kind == FindingKind::BankConflict =>
            {
                let is_row = own.thread_x[0] + 1 < own.subscripts.len();
                is_row.then(|| match apart(access) {
                    Some(bytes) => {
                        format!(
                            "threadIdx.x indexes the rows of {name}, {} apart",
                            words::bytes(bytes)
                        )
                    }
                    None => format!("threadIdx.x indexes the rows of {name}"),
                })
            }
            _ => None,
        };
        match (cost.class, by_rows) {
            (Class::Conflict(ways), Some(rows)) => {
                format!("{rows}: {} meet in one bank", lanes(ways))
            }
            (Class::Conflict(ways), None) if self.is_certain => {
                format!("{} meet in one bank", lanes(ways))
            }
            (Class::Conflict(ways), None) => format!("up to {} meet in one bank", lanes(ways)),
            (_, Some(rows)) => rows,
            (Class::Strided(stride), None) => {
                let apart = match stride.is_multiple_of(bytes) {
                    true => format!(
                        "{} apart ({})",
                        words::count(stride / bytes, "element"),
                        words::bytes(stride)
                    ),
                    false => format!("{} apart", words::bytes(stride)),
                };
                let each = match stride >= 32 {
                    true => ": each touches a sector of its own",
                    false => "",
                };
                format!("lanes are {apart}{each}")
            }
            (Class::Transposed, None) => "lanes are one row apart".to_owned(),
            (Class::Misaligned, None) => "the first lane starts inside a sector".to_owned(),
            (Class::Broadcast, None) => "all lanes access one address".to_owned(),
            (Class::Scattered, None) if self.kind == FindingKind::UncoalescedLocal => {
                "lanes are at different offsets of local memory".to_owned()
            }
            (_, None) => format!(
                "lanes are scattered over {}",
                access.unit.count(access.cost.max as f64)
            ),
        }
    }

    /// Conditions that could change the verdict.
    fn conditions(&self) -> Vec<String> {
        let launch = &self.kernel.launch;
        let mut found = Vec::new();
        let is_assumed = matches!(
            launch.block_origin,
            BlockOrigin::Assumed | BlockOrigin::Bounded
        );
        if is_assumed && (launch.reads_y || launch.reads_z) {
            found.push(format!("the block is {}", words::shape(self.kernel.block)));
        }
        let costs = self.members.iter().map(|&own| self.cost(own));
        for assumption in costs.flat_map(|cost| &cost.assumptions) {
            let text = match *assumption {
                Assumption::Apart => "rows are at least 32 bytes apart".to_owned(),
                Assumption::Multiple(number) => format!(
                    "parameter {number} is a multiple of {}",
                    memory_requests::PARAMETER_MULTIPLE
                ),
                _ => continue,
            };
            if !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }

    /// The option that settles the cost.
    fn check(&self, stride_parameters: &[u32]) -> Option<String> {
        if !stride_parameters.is_empty() {
            let element = |&parameter: &u32| {
                let accesses = self.members.iter().map(|&own| self.access(own));
                let mut rows = accesses.flat_map(|own| {
                    let needed = own.ideal.round() as u64;
                    own.strides.iter().map(move |row| (row, needed))
                });
                let found = rows.find(|(row, needed)| {
                    row.arg == parameter && row.is.is_some_and(|own| own > 0) && row.cost == *needed
                });
                found.and_then(|(row, _)| row.is)
            };
            let own: Option<Vec<u32>> = stride_parameters.iter().map(element).collect();
            return Some(match own {
                Some(own) => {
                    let pairs = stride_parameters.iter().zip(own);
                    let options = pairs.map(|(parameter, own)| format!(" --arg {parameter}={own}"));
                    format!(
                        "if the data is contiguous: oriole analyze{}",
                        options.collect::<String>()
                    )
                }
                None => {
                    let options = stride_parameters
                        .iter()
                        .map(|own| format!(" --arg {own}=VALUE"));
                    format!(
                        "with the real strides: oriole analyze{}",
                        options.collect::<String>()
                    )
                }
            });
        }
        let mut named = Vec::new();
        for &member in self.members {
            let access = self.access(member);
            if let Some(array) = &access.array {
                let sizes = array.sizes.iter().flatten();
                sizes
                    .chain(&array.subscripts)
                    .for_each(|own| mentioned(own, &mut named));
            }
        }
        named.sort_unstable();
        named.dedup();
        named.truncate(MAX_NAMED);
        match named.is_empty() {
            true => None,
            false => {
                let options = named.iter().map(|own| format!(" --arg {own}=VALUE"));
                Some(format!(
                    "with the real values: oriole analyze{}",
                    options.collect::<String>()
                ))
            }
        }
    }

    /// The fixes of all accesses, each change once, the cheapest result first.
    fn fixes(&self, worst: usize) -> Vec<Fix> {
        let mut found: Vec<Fix> = Vec::new();
        let members = self.members.iter().filter(|&&own| own != worst);
        for &member in std::iter::once(&worst).chain(members) {
            for fix in &self.own.accesses[member].fixes {
                let mut own = fix.report();
                own.accesses = vec![member];
                let of_array = matches!(own.kind.as_str(), "pad" | "swizzle");
                let same = found
                    .iter_mut()
                    .find(|other| other.kind == own.kind && (of_array || other.text == own.text));
                match same {
                    Some(other) => {
                        other.accesses.push(member);
                        if !of_array {
                            other.saved = rounded(other.saved + own.saved);
                        }
                    }
                    None => found.push(own),
                }
            }
        }
        for fix in found
            .iter_mut()
            .filter(|own| matches!(own.kind.as_str(), "pad" | "swizzle"))
        {
            let array = self.access(worst).array.as_ref().map(|own| &own.name);
            let all = self.kernel.accesses.iter().enumerate();
            let touched = all.filter(|(_, own)| {
                own.array.as_ref().map(|own| &own.name) == array && own.unit == Unit::Wavefronts
            });
            if array.is_some() {
                fix.accesses = touched.map(|own| own.0).collect();
            }
        }
        found.sort_by(|left, right| {
            let edits = edits(&left.kind).cmp(&edits(&right.kind));
            left.after.total_cmp(&right.after).then(edits)
        });
        found
    }
}

/// A rank of fixes by how much of the source they change.
fn edits(kind: &str) -> usize {
    let order = [
        "pad",
        "swizzle",
        "vector",
        "exchange-loops",
        "structure-of-arrays",
    ];
    order
        .iter()
        .position(|&own| own == kind)
        .unwrap_or(order.len())
}

/// Parameters that an option to check names at most.
const MAX_NAMED: usize = 4;

impl Operation {
    const ALL: [Operation; 3] = [Operation::Load, Operation::Store, Operation::Atomic];
}

fn sentence(what: &str, why: &str) -> String {
    match why {
        "" => what.to_owned(),
        why => format!("{what}: {why}"),
    }
}

/// A finding about something else than the cost of accesses.
fn other(found: &findings::Finding, kernel: &Kernel) -> Finding {
    let key = match &found.facts {
        Facts {
            bytes: Some(bytes), ..
        } => format!("{} {bytes}", found.kind.text()),
        _ => found.kind.text().to_owned(),
    };
    let what = match found.count {
        0 | 1 => found.what.clone(),
        count => format!("{}, {count} times at this line", found.what),
    };
    let mut finding = Finding {
        fingerprint: key,
        kind: found.kind,
        severity: severity::of_kind(found.kind, found.impact),
        message: sentence(&what, &found.why),
        what,
        why: found.why.clone(),
        line: found.line,
        source: found
            .source
            .as_ref()
            .map(|own| Place::of(own, found.column)),
        inlined_at: found
            .inlined_at
            .iter()
            .map(|own| Place::of(own, None))
            .collect(),
        count: found.count,
        certainty: Certainty::Certainly,
        is_proved: true,
        facts: found.facts.clone(),
        fixes: advice(found.kind),
        weight: rounded(found.weight),
        ..Finding::default()
    };
    if matches!(
        found.kind,
        FindingKind::ScatteredAccess | FindingKind::DivergentLocalIndex
    ) {
        let access = kernel
            .accesses
            .iter()
            .position(|own| own.line == found.line);
        let unit = access.map_or(Unit::Sectors, |own| kernel.accesses[own].unit);
        let (_, total) = kernel.total(unit);
        finding.accesses = access.into_iter().collect();
        finding.unit = Some(unit);
        finding.certainty = Certainty::Likely;
        finding.is_proved = false;
        finding.waste_at_worst = finding.weight;
        // Accesses of which nothing is known are not in the total.
        finding.share_at_worst = rounded(finding.weight / (total + finding.weight).max(1e-9));
        finding.severity = severity::of_cost(&finding, false);
    }
    finding
}

/// The finding that few warps fit.
fn low_occupancy(kernel: &Kernel) -> Option<Finding> {
    let occupancy = kernel.occupancy.as_ref().filter(|own| own.percent < 50.0)?;
    let pressure = kernel.pressure.as_ref()?;
    let registers = kernel.registers.as_ref()?.best;
    let left = format!(
        "leave {} of {} warps",
        occupancy.warps, occupancy.warp_limit
    );
    let is_by_registers = occupancy.limiter == "registers";
    let what = match is_by_registers {
        true => format!("{registers} registers (predicted) {left}"),
        false => format!("blocks of {} {left}", words::shape(occupancy.block)),
    };
    let peak = pressure.peak.as_ref().filter(|_| is_by_registers);
    let blocks = words::count(occupancy.blocks.into(), "block");
    let why = match peak {
        Some(peak) => {
            let values = words::count(peak.live.into(), "value");
            format!("{values} are live here, the peak of the kernel")
        }
        None => format!("at most {blocks} fit, limited by {}", occupancy.limiter),
    };
    let text = match &pressure.fewer {
        Some(step) if is_by_registers => format!(
            "{} registers or fewer give {} warps; which values to shorten: oriole pressure",
            step.registers, step.warps
        ),
        _ => "see oriole pressure for the next step of occupancy".to_owned(),
    };
    let fix = Fix {
        kind: "occupancy".to_owned(),
        text,
        before: occupancy.warps.into(),
        after: pressure.fewer.as_ref().map_or(0.0, |own| own.warps.into()),
        ..Fix::default()
    };
    Some(Finding {
        fingerprint: FindingKind::LowOccupancy.text().to_owned(),
        kind: FindingKind::LowOccupancy,
        severity: severity::of_kind(FindingKind::LowOccupancy, findings::Impact::Usual),
        message: sentence(&what, &why),
        what,
        why,
        line: peak.map_or(kernel.line, |own| own.line),
        source: peak.and_then(|own| own.source.clone()),
        count: 1,
        certainty: Certainty::Certainly,
        fixes: vec![fix],
        facts: Facts {
            registers: Some(registers),
            live: peak.map(|own| own.live),
            ..Facts::default()
        },
        ..Finding::default()
    })
}

/// Advice for findings whose fixes are not counted.
fn advice(kind: FindingKind) -> Vec<Fix> {
    let text = match kind {
        FindingKind::LocalArray => "unroll the loops that index it, or move it to shared memory",
        FindingKind::LaneDependentLoop => "give lanes of a warp the same number of iterations",
        FindingKind::DivergentBranch => {
            "branch on threadIdx.x / 32, so that each warp takes one side"
        }
        FindingKind::DivergentBarrier => {
            "move the barrier out of the branch and guard only the work"
        }
        FindingKind::PredictedSpill => "recompute the named values, or split the kernel",
        FindingKind::ContendedAtomic => {
            "reduce within the warp first, so that one lane issues the atomic"
        }
        FindingKind::OverwideAccess => "align the address, or use a narrower access",
        FindingKind::RepeatedLoad => {
            "declare the pointers __restrict__, or load into a variable once"
        }
        FindingKind::LoopInvariantLoad => "load it before the loop",
        FindingKind::UniformLoad => {
            "use one vector load, or a load by each lane into shared memory"
        }
        FindingKind::DoublePrecision => "write constants as 1.0f and call the float functions",
        FindingKind::GenericAccess => "convert the pointer to its state space with cvta once",
        FindingKind::DivergentLocalIndex => {
            "give lanes the same index, or move the array to shared memory"
        }
        FindingKind::ScatteredAccess => "sort the data, or copy small tables to shared memory",
        _ => return Vec::new(),
    };
    vec![Fix {
        kind: "advice".to_owned(),
        text: text.to_owned(),
        ..Fix::default()
    }]
}

/// Makes fingerprints of keys: those of equal keys are numbered in the order of the kernel.
fn number(findings: &mut [Finding]) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&index| findings[index].line);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for index in order {
        let key = findings[index].fingerprint.clone();
        let count = counts.entry(key.clone()).or_default();
        findings[index].fingerprint = fingerprint(&key, *count);
        *count += 1;
    }
}

/// A hash of a key and a number (FNV-1a), as twelve digits.
fn fingerprint(key: &str, number: u32) -> String {
    let bytes = key.bytes().chain(number.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:012x}", hash >> 16)
}

/// Makes the findings of a document of version 1, one for each access, findings of causes.
pub(super) fn merge_old(kernel: &mut Kernel) {
    let demangled = Demangled::of(&kernel.name);
    kernel.names.plain = demangled.plain;
    kernel.names.demangled = demangled.full;
    kernel.names.qualified = demangled.qualified;
    kernel.names.mangled.clone_from(&kernel.name);
    let old = std::mem::take(&mut kernel.findings);
    let mut merged: Vec<Finding> = Vec::new();
    for mut finding in old {
        let place = kernel
            .accesses
            .iter()
            .position(|own| own.line == finding.line);
        let access = place.map(|own| &kernel.accesses[own]);
        let is_cost = matches!(
            finding.kind,
            FindingKind::BankConflict
                | FindingKind::UncoalescedAccess
                | FindingKind::UncoalescedLocal
        );
        finding.fingerprint = match access.filter(|_| is_cost) {
            Some(access) => {
                finding.unit = Some(access.unit);
                finding.array = array_name(access);
                let array = array_name(access).unwrap_or_else(|| access.space.clone());
                let class = class_key(&access.class);
                let is_certain = access.wasteful == Certainty::Certainly;
                format!("{} {array} {class} {is_certain}", finding.kind.text())
            }
            None => finding.kind.text().to_owned(),
        };
        finding.what.clone_from(&finding.message);
        finding.count = 1;
        finding.waste = finding.weight;
        finding.accesses = place.into_iter().collect();
        let same = merged
            .iter_mut()
            .find(|own| is_cost && own.fingerprint == finding.fingerprint);
        match same {
            Some(other) => {
                other.waste += finding.waste;
                other.weight += finding.weight;
                other.count += 1;
                other.lines.push(finding.line);
                other.accesses.extend(finding.accesses);
            }
            None => merged.push(finding),
        }
    }
    number(&mut merged);
    kernel.findings = merged;
}
