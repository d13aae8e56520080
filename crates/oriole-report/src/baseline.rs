//! Findings that are known, so that only new ones fail a build.
//!
//! Lines move and files are renamed when code is edited, so a finding is known by its kernel and its kind. Where there are several,
//! each of the baseline covers one of now: the one on its line, else one that wastes no more than it did.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a finding is known by.
type Key = (String, String);

/// A finding of the baseline.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    /// The source file, for those who read the baseline.
    source: String,
    line: u64,
    weight: f64,
}

/// Weights are sums of rounded numbers: so much more is the same.
const SLACK: f64 = 1.001;

/// The findings that are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    known: BTreeMap<Key, Vec<Known>>,
}

fn key(kernel: &Value, finding: &Value) -> Key {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&kernel["name"]), text(&finding["kind"]))
}

fn place(finding: &Value) -> Known {
    let (file, line) = (
        &finding["source"]["file"],
        finding["source"]["line"].as_u64(),
    );
    // The same file has another path on another machine.
    let name = file.as_str().unwrap_or_default().rsplit(['/', '\\']).next();
    Known {
        source: name.unwrap_or_default().to_owned(),
        line: line.or(finding["line"].as_u64()).unwrap_or(0),
        weight: finding["weight"].as_f64().unwrap_or(0.0),
    }
}

/// Pairs of a kernel and one of its findings.
fn findings(kernels: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    kernels.iter().flat_map(|kernel| {
        let own = kernel["findings"].as_array().into_iter().flatten();
        own.map(move |finding| (kernel, finding))
    })
}

impl Baseline {
    /// Everything that is found in kernels.
    pub fn of(kernels: &[Value]) -> Baseline {
        let mut baseline = Baseline::default();
        for (kernel, finding) in findings(kernels) {
            let own = baseline.known.entry(key(kernel, finding)).or_default();
            own.push(place(finding));
        }
        baseline
    }

    /// Reads what [`Baseline::write`] wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if value["oriole_baseline"] != 1 {
            return Err("it is no baseline of this version".to_owned());
        }
        let mut baseline = Baseline::default();
        let entries = value["findings"].as_array().ok_or("it has no findings")?;
        for entry in entries {
            let text = |name: &str| {
                let value = entry[name].as_str().map(str::to_owned);
                value.ok_or_else(|| format!("a finding has no `{name}`"))
            };
            let key = (text("kernel")?, text("kind")?);
            baseline.known.entry(key).or_default().push(Known {
                source: text("source")?,
                line: entry["line"].as_u64().unwrap_or(0),
                weight: entry["weight"].as_f64().unwrap_or(0.0),
            });
        }
        Ok(baseline)
    }

    /// The baseline as text, a finding a line, so that versions of it can be compared.
    pub fn write(&self) -> String {
        let mut lines = Vec::new();
        for ((kernel, kind), known) in &self.known {
            for own in known {
                let entry = json!({
                    "kernel": kernel, "kind": kind, "source": own.source, "line": own.line, "weight": own.weight,
                });
                lines.push(format!("    {entry}"));
            }
        }
        let findings = match lines.is_empty() {
            true => "[]".to_owned(),
            false => format!("[\n{}\n  ]", lines.join(",\n")),
        };
        format!("{{\n  \"oriole_baseline\": 1,\n  \"findings\": {findings}\n}}\n")
    }

    /// The findings that are not known, each with its kernel.
    pub fn new_findings<'a>(&self, kernels: &'a [Value]) -> Vec<(&'a Value, &'a Value)> {
        let mut left: BTreeMap<&Key, Left> = BTreeMap::new();
        for (key, known) in &self.known {
            let own = left.entry(key).or_default();
            for known in known {
                own.add(known);
            }
        }
        let mut unmatched = Vec::new();
        for (kernel, finding) in findings(kernels) {
            let own = place(finding);
            let known = left.get_mut(&key(kernel, finding));
            if !known.is_some_and(|known| known.take_on_line(&own)) {
                unmatched.push((kernel, finding));
            }
        }
        unmatched.retain(|&(kernel, finding)| {
            let own = place(finding);
            let known = left.get_mut(&key(kernel, finding));
            !known.is_some_and(|known| known.take_covering(&own))
        });
        unmatched
    }
}

/// The weight as a number that is ordered alike; weights are not negative.
fn ordered(weight: f64) -> u64 {
    weight.max(0.0).to_bits()
}

/// Findings of one kernel and kind that cover none yet: how many there are of a weight, on each line and in all.
#[derive(Default)]
struct Left {
    on_line: BTreeMap<(u64, u64), usize>,
    of_weight: BTreeMap<u64, usize>,
}

impl Left {
    fn add(&mut self, known: &Known) {
        let weight = ordered(known.weight);
        *self.on_line.entry((known.line, weight)).or_default() += 1;
        *self.of_weight.entry(weight).or_default() += 1;
    }

    /// Takes the one on the line of a finding that wastes as much or more, and the least of those.
    fn take_on_line(&mut self, own: &Known) -> bool {
        let least = ordered(own.weight / SLACK);
        let found = self
            .on_line
            .range((own.line, least)..=(own.line, u64::MAX))
            .next()
            .map(|(&place, _)| place);
        let Some(place) = found else {
            return false;
        };
        take(&mut self.on_line, &place);
        take(&mut self.of_weight, &place.1);
        true
    }

    /// Takes the least that wastes as much or more, so that what was worse stays for what is.
    fn take_covering(&mut self, own: &Known) -> bool {
        let least = ordered(own.weight / SLACK);
        let found = self
            .of_weight
            .range(least..)
            .next()
            .map(|(&weight, _)| weight);
        let Some(weight) = found else {
            return false;
        };
        take(&mut self.of_weight, &weight);
        true
    }
}

/// One less; what is none is removed.
fn take<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(findings: &[(&str, u64, f64)]) -> Vec<Value> {
        let findings: Vec<Value> = findings
            .iter()
            .map(|&(kind, line, weight)| {
                json!({"kind": kind, "line": line + 100, "weight": weight, "source": {"file": "/a/k.cu", "line": line}})
            })
            .collect();
        vec![json!({"name": "k", "file": "k.ptx", "findings": findings})]
    }

    fn new_lines(baseline: &Baseline, now: &[Value]) -> Vec<u64> {
        let found = baseline.new_findings(now).into_iter();
        found
            .map(|(_, finding)| finding["source"]["line"].as_u64().unwrap())
            .collect()
    }

    #[test]
    fn what_is_known_is_not_new_wherever_it_moved() {
        let before = kernel(&[("bank-conflict", 10, 7.0), ("bank-conflict", 20, 3.0)]);
        let baseline = Baseline::read(&Baseline::of(&before).write()).unwrap();
        assert_eq!(baseline, Baseline::of(&before));
        assert_eq!(new_lines(&baseline, &before), [0; 0]);
        let moved = kernel(&[("bank-conflict", 15, 7.0), ("bank-conflict", 25, 3.0)]);
        assert_eq!(new_lines(&baseline, &moved), [0; 0]);
        let better = kernel(&[("bank-conflict", 15, 2.0)]);
        assert_eq!(new_lines(&baseline, &better), [0; 0]);
    }

    #[test]
    fn what_is_more_or_worse_or_another_kind_is_new() {
        let baseline = Baseline::of(&kernel(&[("bank-conflict", 10, 7.0)]));
        let more = kernel(&[("bank-conflict", 10, 7.0), ("bank-conflict", 11, 1.0)]);
        assert_eq!(new_lines(&baseline, &more), [11]);
        assert_eq!(
            new_lines(&baseline, &kernel(&[("bank-conflict", 10, 8.0)])),
            [10]
        );
        assert_eq!(
            new_lines(&baseline, &kernel(&[("uncoalesced-access", 10, 1.0)])),
            [10]
        );
        assert_eq!(new_lines(&Baseline::default(), &more), [10, 11]);
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        for text in [
            "",
            "{}",
            "{\"oriole_baseline\": 1}",
            "{\"oriole_baseline\": 1, \"findings\": [{}]}",
        ] {
            assert!(Baseline::read(text).is_err(), "{text}");
        }
        assert_eq!(
            Baseline::read(&Baseline::default().write()),
            Ok(Baseline::default())
        );
    }
}
