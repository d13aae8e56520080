//! The counting half of [`instrument`](super): what tables do when the feature is on.

use super::{Description, MAGIC};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::panic::Location;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Counts of one table, or of all tables of one type made at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tables.
    pub tables: u64,
    /// Lookups that found their key.
    pub hits: u64,
    /// Buckets they inspected.
    pub hit_probes: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Buckets they inspected.
    pub miss_probes: u64,
    /// Insertions of missing keys.
    pub inserts: u64,
    /// Buckets they inspected.
    pub insert_probes: u64,
    /// Erasures of present keys.
    pub erases: u64,
    /// Changes of the number of buckets by insertions, the first allocation included.
    pub grows: u64,
    /// The most bytes one table had.
    pub peak_bytes: u64,
}

impl Totals {
    fn operations(&self) -> u64 {
        self.hits + self.misses + self.inserts + self.erases
    }

    fn add(&mut self, other: &Totals) {
        self.tables += other.tables;
        self.hits += other.hits;
        self.hit_probes += other.hit_probes;
        self.misses += other.misses;
        self.miss_probes += other.miss_probes;
        self.inserts += other.inserts;
        self.insert_probes += other.insert_probes;
        self.erases += other.erases;
        self.grows += other.grows;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
    }
}

#[derive(Default)]
struct Registry {
    /// By type and place of creation.
    totals: BTreeMap<(String, String), Totals>,
    trace: Option<File>,
    buffer: Vec<u8>,
    report_to: Option<String>,
}

static TRACING: AtomicBool = AtomicBool::new(false);
static NEXT_TABLE: AtomicU32 = AtomicU32::new(1);

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    let registry = REGISTRY.get_or_init(|| {
        let mut registry = Registry {
            report_to: std::env::var("ORIOLE_TABLE_REPORT").ok(),
            ..Registry::default()
        };
        if let Some(path) = std::env::var_os("ORIOLE_TABLE_TRACE")
            && let Ok(file) = File::create(path)
        {
            registry.trace = Some(file);
            registry.buffer.extend(MAGIC);
            TRACING.store(true, Relaxed);
        }
        Mutex::new(registry)
    });
    registry.lock().unwrap_or_else(|poison| poison.into_inner())
}

unsafe extern "C" {
    /// The C library's: registers a function for the end of the process, however it comes about but by a signal.
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Writes what the environment asked for.
extern "C" fn at_exit() {
    let mut registry = registry();
    registry.flush();
    if let Some(path) = registry.report_to.clone() {
        let text = registry.report();
        // Nobody is left to tell about a failure.
        let _ = std::fs::write(path, text);
    }
}

/// Reads the environment and registers the end of the process, once.
fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if !STARTED.swap(true, Relaxed) {
        drop(registry());
        // SAFETY: the function takes no arguments and does not unwind: a panic in it would abort.
        unsafe { atexit(at_exit) };
    }
}

impl Registry {
    fn write(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= 1 << 16 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.trace
            && file.write_all(&self.buffer).is_err()
        {
            self.trace = None;
            TRACING.store(false, Relaxed);
        }
        self.buffer.clear();
    }

    fn report(&self) -> String {
        let mut by_type: BTreeMap<&str, Totals> = BTreeMap::new();
        let mut sum = Totals::default();
        for ((name, _), totals) in &self.totals {
            by_type.entry(name).or_default().add(totals);
            sum.add(totals);
        }
        let mut text = String::new();
        let mean = |probes: u64, count: u64| match count {
            0 => String::from("—"),
            _ => format!("{:.2}", probes as f64 / count as f64),
        };
        let _ = writeln!(
            text,
            "{} table types, {} tables, {} operations\n",
            by_type.len(),
            sum.tables,
            sum.operations()
        );
        let _ = writeln!(text, "| op | count | probes mean |\n|---|---|---|");
        for (operation, count, probes) in [
            ("find-hit", sum.hits, mean(sum.hit_probes, sum.hits)),
            ("find-miss", sum.misses, mean(sum.miss_probes, sum.misses)),
            ("insert", sum.inserts, mean(sum.insert_probes, sum.inserts)),
            ("erase", sum.erases, "—".into()),
            ("grow", sum.grows, "—".into()),
        ] {
            let _ = writeln!(text, "| {operation} | {count} | {probes} |");
        }
        let rows = |text: &mut String, head: &str, rows: Vec<(String, Totals)>| {
            let _ = writeln!(
                text,
                "\n| {head} | tables | find-hit (mean) | find-miss (mean) | insert | erase | grow | peak |\n|---|---|---|---|---|---|---|---|"
            );
            let mut rows = rows;
            rows.sort_by(|a, b| {
                let by_operations = b.1.operations().cmp(&a.1.operations());
                by_operations.then_with(|| a.0.cmp(&b.0))
            });
            for (name, t) in rows {
                let _ = writeln!(
                    text,
                    "| {name} | {} | {} ({}) | {} ({}) | {} | {} | {} | {} B |",
                    t.tables,
                    t.hits,
                    mean(t.hit_probes, t.hits),
                    t.misses,
                    mean(t.miss_probes, t.misses),
                    t.inserts,
                    t.erases,
                    t.grows,
                    t.peak_bytes
                );
            }
        };
        let types = by_type
            .into_iter()
            .map(|(name, totals)| (format!("`{name}`"), totals))
            .collect();
        rows(&mut text, "type", types);
        let sites = self
            .totals
            .iter()
            .map(|((name, site), totals)| (format!("`{name}` at {site}"), *totals))
            .collect();
        rows(&mut text, "type and place", sites);
        text
    }
}

/// The counts of all tables dropped so far, as Markdown tables: operations, then per type, then per type and place of
/// creation, the busiest first.
pub fn report() -> String {
    registry().report()
}

/// The counts of all tables dropped so far, by type and place of creation.
pub fn totals() -> Vec<(String, String, Totals)> {
    let registry = registry();
    let entries = registry.totals.iter();
    entries
        .map(|((name, site), totals)| (name.clone(), site.clone(), *totals))
        .collect()
}

/// Forgets all counts.
pub fn reset() {
    registry().totals.clear();
}

/// Records every operation from now on into a file.
pub fn trace_to(path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    let mut registry = registry();
    registry.flush();
    registry.trace = Some(file);
    registry.write(MAGIC);
    TRACING.store(true, Relaxed);
    Ok(())
}

/// The last part of each path in a type's name: `alloc::vec::Vec<core::ids::Value>` becomes `Vec<Value>`.
fn shorten(name: &str) -> String {
    let mut short = String::new();
    for piece in name.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let end = piece
            .trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .len();
        let (path, delimiter) = piece.split_at(end);
        short.push_str(path.rsplit("::").next().unwrap_or(path));
        short.push_str(delimiter);
    }
    short
}

impl Description {
    fn name(&self) -> String {
        let name = match (self.kind, self.value) {
            ("DenseMap", "()") => format!("DenseSet<{}>", shorten(self.key)),
            ("StringMap", value) => format!("StringMap<{}>", shorten(value)),
            (kind, value) => format!("{kind}<{}, {}>", shorten(self.key), shorten(value)),
        };
        format!("{name} {}", self.design)
    }
}

/// What one table has done so far.
pub(crate) struct Tally {
    describe: fn() -> Description,
    site: &'static Location<'static>,
    /// The number in the trace, zero before the first traced operation.
    table: AtomicU32,
    hits: AtomicU64,
    hit_probes: AtomicU64,
    misses: AtomicU64,
    miss_probes: AtomicU64,
    inserts: u64,
    insert_probes: u64,
    erases: u64,
    grows: u64,
    peak_bytes: u64,
}

impl Tally {
    #[track_caller]
    pub(crate) const fn new(describe: fn() -> Description) -> Self {
        Self {
            describe,
            site: Location::caller(),
            table: AtomicU32::new(0),
            hits: AtomicU64::new(0),
            hit_probes: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            miss_probes: AtomicU64::new(0),
            inserts: 0,
            insert_probes: 0,
            erases: 0,
            grows: 0,
            peak_bytes: 0,
        }
    }

    /// Computes something only a counting build needs.
    pub(crate) fn measure<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }

    fn record(&self, kind: u8, hash: Option<u64>) {
        start();
        if !TRACING.load(Relaxed) {
            return;
        }
        let mut registry = registry();
        let mut table = self.table.load(Relaxed);
        if table == 0 {
            table = NEXT_TABLE.fetch_add(1, Relaxed);
            self.table.store(table, Relaxed);
            let description = (self.describe)();
            let name = format!("{} at {}", description.name(), self.site);
            let name = &name.as_bytes()[..name.len().min(u16::MAX as usize)];
            let mut bytes = vec![0];
            bytes.extend(table.to_le_bytes());
            bytes.extend((description.key_bytes as u16).to_le_bytes());
            bytes.extend((description.value_bytes as u16).to_le_bytes());
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name);
            registry.write(&bytes);
        }
        registry.write(&[kind]);
        registry.write(&table.to_le_bytes());
        if let Some(hash) = hash {
            registry.write(&hash.to_le_bytes());
        }
    }

    pub(crate) fn find(
        &self,
        found: bool,
        probes: impl FnOnce() -> usize,
        hash: impl FnOnce() -> u64,
    ) {
        let (count, inspected) = if found {
            (&self.hits, &self.hit_probes)
        } else {
            (&self.misses, &self.miss_probes)
        };
        count.fetch_add(1, Relaxed);
        inspected.fetch_add(probes() as u64, Relaxed);
        self.record(if found { 1 } else { 2 }, Some(hash()));
    }

    pub(crate) fn insert(
        &mut self,
        probes: usize,
        hash: impl FnOnce() -> u64,
        grew: bool,
        bytes: impl FnOnce() -> usize,
    ) {
        self.inserts += 1;
        self.insert_probes += probes as u64;
        if grew {
            self.grows += 1;
            self.resized(bytes);
        }
        self.record(3, Some(hash()));
    }

    pub(crate) fn erase(&mut self, found: bool, probes: usize, hash: impl FnOnce() -> u64) {
        if found {
            self.erases += 1;
            self.record(4, Some(hash()));
        } else {
            self.find(false, || probes, hash);
        }
    }

    pub(crate) fn reserve(&mut self, additional: usize, bytes: impl FnOnce() -> usize) {
        self.resized(bytes);
        if additional != 0 {
            self.record(7, Some(additional as u64));
        }
    }

    fn resized(&mut self, bytes: impl FnOnce() -> usize) {
        self.peak_bytes = self.peak_bytes.max(bytes() as u64);
    }

    pub(crate) fn clear(&mut self) {
        if self.table.load(Relaxed) != 0 {
            self.record(5, None);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let totals = Totals {
            tables: 1,
            hits: self.hits.load(Relaxed),
            hit_probes: self.hit_probes.load(Relaxed),
            misses: self.misses.load(Relaxed),
            miss_probes: self.miss_probes.load(Relaxed),
            inserts: self.inserts,
            insert_probes: self.insert_probes,
            erases: self.erases,
            grows: self.grows,
            peak_bytes: self.peak_bytes,
        };
        if totals.operations() == 0 && totals.peak_bytes == 0 {
            return;
        }
        if self.table.load(Relaxed) != 0 {
            self.record(6, None);
        }
        start();
        let key = ((self.describe)().name(), self.site.to_string());
        registry().totals.entry(key).or_default().add(&totals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_paths() {
        assert_eq!(shorten("alloc::vec::Vec<(u32, a::b::C)>"), "Vec<(u32, C)>");
        assert_eq!(shorten("*const x::Y"), "*const Y");
        assert_eq!(shorten("&str"), "&str");
    }
}
