//! Findings of a report: causes, with their waste and their fixes.

use super::{Certainty, Place, Stride, Unit, documented, named};
use crate::findings::FindingKind;

named! {
    /// The importance of a finding.
    pub enum Severity {
        /// Little is wasted, or perhaps nothing.
        Low = "low",
        /// The cost depends on something that is not known, and may be high.
        Undecided = "undecided",
        /// Worth a change, and certain.
        Medium = "medium",
        /// A large share of the kernel's cost, and certain; or wrong.
        High = "high",
    }
}

impl Severity {
    /// All severities, the highest first.
    pub const ALL: [Severity; 4] = [
        Severity::High,
        Severity::Medium,
        Severity::Undecided,
        Severity::Low,
    ];

    /// The severity of a name.
    pub fn from_text(text: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|own| own.text() == text)
    }
}

documented! {
    /// A permutation of the words of an array: bits of an offset are exclusive-ored with higher ones.
    pub struct Swizzle {
        /// The lowest bit that changes.
        pub to: u32,
        /// The lowest bit that it is changed with.
        pub from: u32,
        /// The number of bits.
        pub bits: u32,
    }
}

documented! {
    /// A change that makes accesses cheaper, as the analysis counted it.
    pub struct Fix {
        /// The kind of change: `pad`, `swizzle`, `vector` and so on.
        pub kind: String,
        /// The instruction, in the imperative.
        pub text: String,
        /// The price: bytes, occupancy, conditions.
        pub price: Option<String>,
        /// The cost of a request, on average.
        pub before: f64,
        /// The cost of a request after the change.
        pub after: f64,
        /// Sectors or wavefronts that the change saves in a run of the kernel, over all accesses that it touches.
        pub saved: f64,
        /// The accesses that it touches, as places in the kernel's list.
        pub accesses: Vec<usize>,
        /// The array that changes.
        pub array: Option<String>,
        /// Bytes of a row before and after.
        pub row_bytes: Option<[u64; 2]>,
        /// The permutation.
        pub swizzle: Option<Swizzle>,
        /// More bytes of shared memory of a block.
        pub extra_bytes: Option<u64>,
        /// Blocks that fit a multiprocessor before and after, by shared memory and threads.
        pub blocks: Option<[u32; 2]>,
        /// The shape of blocks to use.
        pub block: Option<[u32; 3]>,
        /// Bytes of the vector, structure or tile.
        pub bytes: Option<u64>,
    }
}

documented! {
    /// Numbers and names of a finding.
    pub struct Facts {
        /// A variable.
        pub name: Option<String>,
        /// Bytes of an array or access.
        pub bytes: Option<u64>,
        /// Loads of the array.
        pub loads: Option<u32>,
        /// Stores to the array.
        pub stores: Option<u32>,
        /// The register that indexes the array.
        pub index: Option<String>,
        /// Why lanes or iterations differ.
        pub reason: Option<String>,
        /// Accesses, lanes, operations or instructions.
        pub count: Option<u32>,
        /// Registers of a thread.
        pub registers: Option<u32>,
        /// Values that are live at the peak.
        pub live: Option<u32>,
    }
}

documented! {
    /// A cause: what one edit of the source would remove.
    pub struct Finding {
        /// A name that stays when lines move and files are renamed; unique among the findings of a kernel.
        pub fingerprint: String,
        /// The kind, such as `bank-conflict`.
        pub kind: FindingKind,
        /// The severity.
        pub severity: Severity,
        /// The problem, in a clause.
        pub what: String,
        /// The reason, in a clause.
        pub why: String,
        /// The problem and the reason, in a sentence.
        pub message: String,
        /// The line of the PTX of the access that wastes most.
        pub line: u32,
        /// Its innermost line of the source.
        pub source: Option<Place>,
        /// The callers, if it was inlined, innermost first.
        pub inlined_at: Vec<Place>,
        /// Other lines of the cause in the same source file.
        pub also: Vec<u32>,
        /// Other lines of the cause in the PTX.
        pub lines: Vec<u32>,
        /// The array, as the source names it.
        pub array: Option<String>,
        /// The accesses of the cause, as places in the kernel's list.
        pub accesses: Vec<usize>,
        /// Instructions that the finding is about.
        pub count: u32,
        /// The unit of costs; null if the finding is not about the cost of accesses.
        pub unit: Option<Unit>,
        /// The cost of all accesses of the cause in a run of the kernel, per warp.
        pub cost: f64,
        /// Their least cost.
        pub needed: f64,
        /// Their certain waste.
        pub waste: f64,
        /// Their waste at worst.
        pub waste_at_worst: f64,
        /// The waste over the kernel's total in the same unit, from 0 to 1.
        pub share: f64,
        /// The waste at worst over the kernel's total at worst.
        pub share_at_worst: f64,
        /// The savings of the first fix, over the kernel's total.
        pub saved: f64,
        /// The certainty that something is wasted.
        pub certainty: Certainty,
        /// Whether the costs are proved, if the conditions hold.
        pub is_proved: bool,
        /// Conditions that could change the verdict.
        pub conditions: Vec<String>,
        /// Executions of the accesses, if a loop count among them is assumed.
        pub assumed_iterations: Option<f64>,
        /// The parameters whose strides set the cost.
        pub stride_parameters: Vec<u32>,
        /// The cost of a request by the stride, of the access that wastes most.
        pub strides: Vec<Stride>,
        /// Changes that remove the cause, the best first.
        pub fixes: Vec<Fix>,
        /// The option that settles an undecided cost.
        pub check: Option<String>,
        /// Numbers and names of the clauses.
        pub facts: Facts,
        /// The mean waste, by which version 1 ranked findings.
        pub weight: f64,
    }
}
