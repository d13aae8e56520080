//! What got better and worse between two versions of kernels.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A number of a kernel that is compared.
#[derive(Clone, Copy, Debug)]
struct Measure {
    name: &'static str,
    unit: &'static str,
    /// Whether more of it is better.
    is_more_better: bool,
    of: fn(&Value) -> Option<f64>,
}

const MEASURES: [Measure; 4] = [
    Measure {
        name: "waste",
        unit: "",
        is_more_better: false,
        of: |kernel| Some(waste(kernel)),
    },
    Measure {
        name: "occupancy",
        unit: " %",
        is_more_better: true,
        of: |kernel| kernel["occupancy"]["percent"].as_f64(),
    },
    Measure {
        name: "registers",
        unit: "",
        is_more_better: false,
        of: |kernel| kernel["registers"]["best"].as_f64(),
    },
    Measure {
        name: "instructions",
        unit: "",
        is_more_better: false,
        of: |kernel| kernel["instructions"].as_f64(),
    },
];

/// The weights of all findings.
fn waste(kernel: &Value) -> f64 {
    let findings = kernel["findings"].as_array().into_iter().flatten();
    let weights = findings.filter_map(|own| own["weight"].as_f64());
    let total: f64 = weights.fold(0.0, |total, own| total + own);
    (total * 1000.0).round() / 1000.0
}

/// A number before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is: `waste`, `occupancy`, `registers` or `instructions`.
    pub name: &'static str,
    /// What it was.
    pub before: f64,
    /// What it is.
    pub after: f64,
    /// Whether that is better; else it is worse.
    pub is_better: bool,
    unit: &'static str,
}

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelChange {
    /// Its name.
    pub name: String,
    /// What changed; nothing if it is only on one side.
    pub changes: Vec<Change>,
    /// Findings that are there only before, as JSON.
    pub fixed: Vec<Value>,
    /// Findings that are there only after, as JSON.
    pub new: Vec<Value>,
}

impl KernelChange {
    /// Whether something is worse: there is a new finding, or of the numbers that changed the first is worse.
    pub fn is_worse(&self) -> bool {
        let first = self.changes.first();
        !self.new.is_empty() || first.is_some_and(|change| !change.is_better)
    }
}

/// What became of kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Those that changed, in order of name.
    pub changed: Vec<KernelChange>,
    /// How many are as they were.
    pub same: usize,
    /// Names of those that are there only before.
    pub gone: Vec<String>,
    /// Names of those that are there only after.
    pub added: Vec<String>,
}

/// Kernels by name; where several files have one of a name, by the name of the file too.
fn by_name(kernels: &[Value]) -> BTreeMap<String, &Value> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |kernel: &'_ Value| kernel["name"].as_str().unwrap_or_default().to_owned();
    for kernel in kernels {
        *count
            .entry(kernel["name"].as_str().unwrap_or_default())
            .or_default() += 1;
    }
    let mut found: BTreeMap<String, &Value> = BTreeMap::new();
    for kernel in kernels {
        let own = name(kernel);
        let is_alone = count.get(own.as_str()) == Some(&1);
        let file = kernel["file"].as_str().unwrap_or_default();
        let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
        let key = match is_alone {
            true => own,
            false => format!("{own} ({file})"),
        };
        let mut numbered = key.clone();
        let mut number = 2;
        while found.contains_key(&numbered) {
            numbered = format!("{key} #{number}");
            number += 1;
        }
        found.insert(numbered, kernel);
    }
    found
}

/// Compares the kernels of two documents.
pub fn compare(before: &[Value], after: &[Value]) -> Difference {
    let (before, after) = (by_name(before), by_name(after));
    let mut difference = Difference::default();
    for (name, old) in &before {
        let Some(new) = after.get(name) else {
            difference.gone.push(name.clone());
            continue;
        };
        let change = compare_kernel(name, old, new);
        match change.changes.is_empty() && change.fixed.is_empty() && change.new.is_empty() {
            true => difference.same += 1,
            false => difference.changed.push(change),
        }
    }
    let added = after.keys().filter(|name| !before.contains_key(*name));
    difference.added = added.cloned().collect();
    difference
}

fn compare_kernel(name: &str, old: &Value, new: &Value) -> KernelChange {
    let mut changes = Vec::new();
    for measure in MEASURES {
        if let (Some(before), Some(after)) = ((measure.of)(old), (measure.of)(new))
            && before != after
        {
            changes.push(Change {
                name: measure.name,
                before,
                after,
                is_better: (after > before) == measure.is_more_better,
                unit: measure.unit,
            });
        }
    }
    let only = |here: &Value, there: &Value| -> Vec<Value> {
        let baseline = crate::baseline::Baseline::of(std::slice::from_ref(there));
        let found = baseline.new_findings(std::slice::from_ref(here));
        found
            .into_iter()
            .map(|(_, finding)| finding.clone())
            .collect()
    };
    // Kernels of other names were matched by what they are called here.
    let renamed = |kernel: &Value| {
        let mut kernel = kernel.clone();
        kernel["name"] = json!(name);
        kernel
    };
    let (old, new) = (renamed(old), renamed(new));
    KernelChange {
        name: name.to_owned(),
        changes,
        fixed: only(&old, &new),
        new: only(&new, &old),
    }
}

impl Difference {
    /// Whether a kernel is worse.
    pub fn is_worse(&self) -> bool {
        self.changed.iter().any(KernelChange::is_worse)
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let kernels: Vec<Value> = self
            .changed
            .iter()
            .map(|own| {
                let changes: Vec<Value> = own
                    .changes
                    .iter()
                    .map(|change| {
                        json!({
                            "name": change.name,
                            "before": change.before,
                            "after": change.after,
                            "better": change.is_better,
                        })
                    })
                    .collect();
                json!({
                    "name": own.name, "worse": own.is_worse(), "changes": changes, "fixed": own.fixed, "new": own.new,
                })
            })
            .collect();
        json!({
            "version": 1, "worse": self.is_worse(), "kernels": kernels, "same": self.same, "gone": self.gone,
            "added": self.added,
        })
    }

    /// For people; those that are worse first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut order: Vec<&KernelChange> = self.changed.iter().collect();
        order.sort_by_key(|own| !own.is_worse());
        for own in order {
            let word = match own.is_worse() {
                true => "worse",
                false => "better",
            };
            let _ = writeln!(text, "{} {word}", own.name);
            for Change {
                name,
                before,
                after,
                is_better,
                unit,
            } in &own.changes
            {
                let word = match is_better {
                    true => "better",
                    false => "worse",
                };
                let _ = writeln!(text, "  {name:<13} {before}{unit} → {after}{unit}, {word}");
            }
            for (word, findings) in [("new", &own.new), ("fixed", &own.fixed)] {
                let words: Vec<String> = findings.iter().map(in_words).collect();
                for same in words.chunk_by(|one, other| one == other) {
                    let times = match same.len() {
                        1 => String::new(),
                        count => format!(" ({count} times)"),
                    };
                    let _ = writeln!(text, "  {word:<13} {}{times}", same[0]);
                }
            }
        }
        for (word, names) in [("only before", &self.gone), ("only after", &self.added)] {
            if !names.is_empty() {
                let _ = writeln!(text, "{word}: {}", names.join(", "));
            }
        }
        let worse = self.changed.iter().filter(|own| own.is_worse()).count();
        let better = self.changed.len() - worse;
        let _ = writeln!(
            text,
            "{worse} worse, {better} better, {} the same, {} only before, {} only after",
            self.same,
            self.gone.len(),
            self.added.len()
        );
        text
    }
}

/// A finding in a line.
pub fn in_words(finding: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let source = &finding["source"];
    let place = match source["file"].as_str() {
        Some(file) => format!("{file}:{}", source["line"]),
        None => format!("PTX line {}", finding["line"]),
    };
    let (severity, kind) = (text(&finding["severity"]), text(&finding["kind"]));
    format!(
        "{severity} {kind} at {place}: {}",
        text(&finding["message"])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, registers: u32, weights: &[f64]) -> Value {
        let findings: Vec<Value> = weights
            .iter()
            .map(|weight| {
                json!({"kind": "bank-conflict", "severity": "high", "line": 9, "message": "m", "source": null, "weight": weight})
            })
            .collect();
        json!({
            "name": name, "file": "a/k.ptx", "findings": findings, "instructions": 10,
            "registers": {"best": registers}, "occupancy": {"percent": 50.0},
        })
    }

    #[test]
    fn kernels_are_compared_by_name() {
        let before = [
            kernel("a", 32, &[4.0]),
            kernel("b", 32, &[]),
            kernel("c", 40, &[]),
            kernel("d", 8, &[]),
        ];
        let after = [
            kernel("a", 34, &[]),
            kernel("b", 32, &[]),
            kernel("c", 40, &[2.0]),
            kernel("e", 8, &[]),
        ];
        let difference = compare(&before, &after);
        assert_eq!((difference.same, difference.changed.len()), (1, 2));
        assert_eq!(
            (&difference.gone[..], &difference.added[..]),
            (&["d".to_owned()][..], &["e".to_owned()][..])
        );
        let [a, c] = &difference.changed[..] else {
            panic!("two changed");
        };
        // Waste counts before registers.
        assert!(!a.is_worse() && a.fixed.len() == 1 && a.new.is_empty());
        assert!(c.is_worse() && c.new.len() == 1);
        assert!(difference.is_worse());
        let text = difference.text();
        assert!(text.starts_with("c worse\n  waste         0 → 2, worse\n  new           high bank-conflict at PTX line 9: m\n"), "{text}");
        assert!(
            text.contains(
                "a better\n  waste         4 → 0, better\n  registers     32 → 34, worse\n"
            ),
            "{text}"
        );
        assert!(text.ends_with("only before: d\nonly after: e\n1 worse, 1 better, 1 the same, 1 only before, 1 only after\n"), "{text}");
        assert_eq!(
            difference.json()["kernels"][1]["new"][0]["kind"],
            "bank-conflict"
        );
    }

    #[test]
    fn kernels_of_one_name_are_told_apart_by_their_files() {
        let mut other = kernel("a", 64, &[]);
        other["file"] = json!("b/other.ptx");
        let before = [kernel("a", 32, &[]), other.clone()];
        let after = [other, kernel("a", 32, &[])];
        let difference = compare(&before, &after);
        assert_eq!((difference.same, difference.changed.len()), (2, 0));
        assert!(!difference.is_worse());
    }
}
