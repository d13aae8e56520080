//! Holds what is said of memory accesses against what Nsight Compute counted on a GPU.
//!
//! The table is one that `tools/validate-on-gpu measure` writes; it defines the columns.
//!
//! ## Method
//! A row is a line of PTX and a machine instruction: sums over all executions. It is joined to the accesses of the line. Where all warps
//! are said to cost the same, the number of requests is that of lanes that took part over lanes of a request; it is not the number of
//! executions, since an instruction whose guard is false in all lanes is executed and asks for nothing. Where warps differ, each is taken to
//! be executed equally often.

use oriole::{AccessReport, KernelAccesses};
use oriole_analysis::memory_requests::{Assumption, Class, PARAMETER_MULTIPLE, Status};
use oriole_isa::Space;
use std::collections::BTreeMap;

/// The sums of one machine instruction, or of several of one name, that a line of PTX became.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The line of the PTX.
    pub line: u32,
    /// The machine instruction, without operands.
    pub instruction: String,
    /// How often warps executed it.
    pub times: u64,
    /// How many lanes took part.
    pub threads: u64,
    /// Sectors of global memory, and how many would do.
    pub sectors: Option<(u64, u64)>,
    /// Wavefronts of shared memory, and how many would do.
    pub wavefronts: Option<(u64, u64)>,
    /// Sectors of local memory.
    pub local: Option<u64>,
}

/// A launch.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The file, below `tests`.
    pub ptx: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The number of the run in `runs.toml`.
    pub run: Option<usize>,
    /// What the hardware counted in the whole launch, by name.
    pub counted: BTreeMap<String, u64>,
    /// Its instructions.
    pub rows: Vec<Row>,
}

/// The machine that measured, and its launches.
///
/// # Panics
/// If the table is not as it should be.
pub fn read(text: &str) -> (&str, Vec<Launch>) {
    let mut lines = text.lines();
    let machine = lines.next().expect("a machine");
    let mut launches: Vec<Launch> = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["launch", ptx, kernel, grid, block, run] => {
                let shape = |text: &str| {
                    let mut sizes = text.split('x').map(|size| size.parse().expect("a size"));
                    std::array::from_fn(|_| sizes.next().unwrap_or(1))
                };
                launches.push(Launch {
                    ptx: ptx.to_owned(),
                    kernel: kernel.to_owned(),
                    grid: shape(grid),
                    block: shape(block),
                    run: run.parse().ok(),
                    ..Launch::default()
                });
            }
            ["counted", counters] => {
                let launch = launches.last_mut().expect("a launch");
                for counter in counters.split(' ') {
                    let (name, value) = counter.split_once('=').expect("a counter");
                    let value = value.parse().expect("a number");
                    launch.counted.insert(name.to_owned(), value);
                }
            }
            [line, instruction, ref numbers @ ..] => {
                let launch = launches.last_mut().expect("a launch");
                let row = row(line, instruction, numbers);
                // The machine executes some loads that never load anything.
                if row.threads > 0 {
                    launch.rows.push(row);
                }
            }
            _ => panic!("a row: {line}"),
        }
    }
    (machine, launches)
}

fn row(line: &str, instruction: &str, numbers: &[&str]) -> Row {
    let number = |index: usize| match numbers.get(index).copied().unwrap_or("") {
        "" => None,
        text => Some(text.parse::<u64>().expect("a number")),
    };
    let pair = |index: usize| Some((number(index)?, number(index + 1)?));
    Row {
        line: line.parse().expect("a line"),
        instruction: instruction.to_owned(),
        times: number(0).expect("executions"),
        threads: number(1).expect("lanes"),
        sectors: pair(2),
        wavefronts: pair(4),
        local: number(6),
    }
}

/// What comes of holding an access against a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// What was counted is what was said.
    Equal,
    /// It is between the bounds that were said.
    Within,
    /// Nothing was said.
    Unsaid,
    /// Warps were said to cost different numbers, and were not executed equally often; the sum is possible.
    Uneven,
    /// Other lanes took part than was assumed.
    OtherLanes,
    /// Another assumption does not hold.
    Unmet,
    /// `ptxas` made something else of it: another width, another kind of access, or a loop.
    Changed,
    /// It is wrong.
    Different,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 8] = [
        Verdict::Equal,
        Verdict::Within,
        Verdict::Unsaid,
        Verdict::Uneven,
        Verdict::OtherLanes,
        Verdict::Unmet,
        Verdict::Changed,
        Verdict::Different,
    ];
}

/// What was counted for an access: its cost, and what would do if that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Sectors or wavefronts.
    pub cost: u64,
    /// How many would do.
    pub ideal: Option<u64>,
}

/// What a row has for an access.
pub fn counted(access: &AccessReport, row: &Row) -> Option<Counted> {
    let of = |(cost, ideal)| Counted {
        cost,
        ideal: Some(ideal),
    };
    match access.space {
        Space::Local => row.local.map(|cost| Counted { cost, ideal: None }),
        _ if access.is_shared() => row.wavefronts.map(of),
        _ => row.sectors.map(of),
    }
}

/// Holds an access against a row of a launch with these integers as arguments.
pub fn judge(access: &AccessReport, row: &Row, arguments: &BTreeMap<u32, u64>) -> Verdict {
    let cost = &access.cost;
    if is_changed(access, row) {
        return Verdict::Changed;
    }
    let Some(counted) = counted(access, row) else {
        return Verdict::Changed;
    };
    if cost.status == Status::Unknown {
        return Verdict::Unsaid;
    }
    let holds = |assumption: &Assumption| match *assumption {
        Assumption::Multiple(number) => arguments
            .get(&number)
            .is_some_and(|argument| argument.is_multiple_of(PARAMETER_MULTIPLE)),
        Assumption::Global => counted.cost > 0,
        _ => true,
    };
    if !cost.assumptions.iter().all(holds) {
        return Verdict::Unmet;
    }
    let executing: Vec<_> = cost.warps.iter().filter(|warp| warp.lanes != 0).collect();
    let lanes = executing
        .iter()
        .map(|warp| u64::from(warp.lanes.count_ones()));
    let lanes: u64 = lanes.sum();
    let is_supposed = cost.assumptions.contains(&Assumption::FullWarp);
    let warps = executing.len() as u64;
    if cost.class == Class::Inactive || lanes == 0 {
        return match row.threads {
            0 => Verdict::Equal,
            _ => Verdict::Different,
        };
    }
    let (rounds, per) = rounds(access, row);
    let total = |each: &dyn Fn(usize) -> u64| (0..executing.len()).map(each).sum::<u64>() * rounds;
    let least = total(&|warp| executing[warp].least);
    let most = total(&|warp| executing[warp].most);
    if is_supposed && row.times * per != rounds * warps {
        return Verdict::OtherLanes;
    }
    if access.operation == "atomic" && lanes > warps && row.threads <= row.times {
        // One lane does it for all.
        return Verdict::Changed;
    }
    let counted = counted.cost * per;
    let first = executing[0];
    let is_alike = executing.iter().all(|warp| {
        let same = (warp.least, warp.most) == (first.least, first.most);
        same && warp.lanes.count_ones() == first.lanes.count_ones()
    });
    if (least..=most).contains(&counted) {
        return match cost.status {
            Status::Bounded => Verdict::Within,
            _ => Verdict::Equal,
        };
    }
    if is_supposed && access.mnemonic.starts_with("cp.async") && counted < least {
        // Zeros were written instead of what some lanes would have read.
        return Verdict::Unmet;
    }
    // Lanes that come in parts and cost as much.
    let is_same = first.least == first.most && is_alike;
    if is_same && counted == first.least * row.times * per {
        return Verdict::Equal;
    }
    if cost.assumptions.contains(&Assumption::Apart) && counted < least {
        return Verdict::Unmet;
    }
    // Counters do not tell whether these held; the emulator does, and `accesses` holds such claims against it.
    let is_untold =
        |own: &Assumption| matches!(own, Assumption::Together(_) | Assumption::SameQuotient(_));
    if cost.assumptions.iter().any(is_untold) {
        return Verdict::Unmet;
    }
    let dearest = executing.iter().map(|warp| warp.most).max().unwrap_or(0);
    if !is_alike && counted <= dearest * row.times * per {
        return Verdict::Uneven;
    }
    // Other lanes in each round of a loop, and none of some warps: nobody says how often which.
    let masks = executing.iter().flat_map(|warp| &warp.masks);
    let most_lanes = masks.map(|mask| u64::from(mask.count_ones())).max();
    let cheapest = executing.iter().map(|warp| warp.least).min().unwrap_or(0);
    if let Some(most_lanes) = most_lanes
        && executing.iter().any(|warp| warp.masks.len() > 1)
        && (cheapest * row.threads.div_ceil(most_lanes) * per..=dearest * row.times * per)
            .contains(&counted)
    {
        return Verdict::Uneven;
    }
    Verdict::Different
}

/// How often each warp that is said to make a request made it, as a fraction.
fn rounds(access: &AccessReport, row: &Row) -> (u64, u64) {
    let warps = access.cost.warps.iter().filter(|warp| warp.lanes != 0);
    // All lanes execute what moves matrices; some of them have addresses.
    if access.mnemonic.contains("matrix") {
        return (row.times, warps.count() as u64);
    }
    let lanes = warps.map(|warp| u64::from(warp.lanes.count_ones()));
    (row.threads, lanes.sum())
}

/// Whether as much would do as was said, where that was counted. Meant for accesses that cost what was said. Of an access that other lanes make
/// in each round of a loop, nobody says how often which do.
pub fn is_ideal_equal(access: &AccessReport, row: &Row) -> Option<bool> {
    let ideal = counted(access, row)?.ideal?;
    if access.cost.warps.iter().any(|warp| warp.masks.len() > 1) {
        return None;
    }
    let warps = access.cost.warps.iter().filter(|warp| warp.lanes != 0);
    let (rounds, per) = rounds(access, row);
    let said = access.cost.ideal * warps.count() as f64 * rounds as f64;
    Some((said - (ideal * per) as f64).abs() < 1e-6 * said.max(1.0))
}

/// Whether a machine instruction does something else than the access: another width, or another kind of access.
fn is_changed(access: &AccessReport, row: &Row) -> bool {
    let name = row.instruction.as_str();
    let opcode = name.split('.').next().unwrap_or("");
    let is_copy = access.mnemonic.starts_with("cp.async");
    let fits = match access.operation {
        _ if is_copy => opcode == "LDGSTS",
        "atomic" => opcode.starts_with("ATOM") || opcode.starts_with("RED"),
        "load" => opcode.starts_with("LD") && opcode != "LDGSTS",
        _ => opcode.starts_with("ST"),
    };
    let has = |part: &str| name.split('.').any(|own| own == part);
    let is_matrix = matches!(opcode, "LDSM" | "STSM");
    let bytes = match () {
        () if is_matrix => 16,
        () if has("128") => 16,
        () if has("64") => 8,
        () if has("U16") || has("S16") || has("16") => 2,
        () if has("U8") || has("S8") || has("8") => 1,
        () => 4,
    };
    // A loop of comparing and swapping is another instruction for each round.
    let is_loop = has("CAST") || has("SPIN");
    !fits || bytes != access.cost.request.bytes || is_loop
}

/// The access of a kernel that a row is of, by line; an instruction that copies has two.
pub fn joined<'kernel>(
    kernel: &'kernel KernelAccesses,
    row: &Row,
) -> impl Iterator<Item = &'kernel AccessReport> {
    let line = row.line;
    kernel
        .accesses
        .iter()
        .filter(move |access| access.line == line)
}
