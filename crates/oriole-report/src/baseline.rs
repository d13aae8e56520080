//! Findings that are known, so that only new ones fail a build.
//!
//! A finding is known by its kernel and its fingerprint, which stay when lines move and files are renamed. One that wastes more than it
//! did, as an amount and as a share, is new.

use oriole::report::{Finding, Kernel, Severity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A finding of the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Known {
    kernel: String,
    fingerprint: String,
    kind: String,
    severity: Severity,
    /// What was wrong, for those who read the baseline.
    what: String,
    /// The source file and line, for those who read the baseline.
    source: String,
    line: u32,
    waste: f64,
    share: f64,
    /// The waste of a finding of version 1, which had one for each access.
    #[serde(skip_serializing)]
    weight: f64,
}

#[derive(Deserialize)]
struct Document {
    oriole_baseline: u32,
    findings: Vec<Known>,
}

/// Sums of rounded numbers differ by less.
const SLACK: f64 = 1.001;
/// Shares differ by less if other parts of a kernel change.
const SHARE_SLACK: f64 = 0.005;

/// The findings that are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    known: BTreeMap<(String, String), Known>,
    /// What findings of version 1 waste, by kernel and kind.
    old: BTreeMap<(String, String), f64>,
}

/// What a finding wastes, and the share: at worst if nothing is certain.
fn waste(finding: &Finding) -> (f64, f64) {
    match finding.severity {
        Severity::Undecided => (finding.waste_at_worst, finding.share_at_worst),
        _ => (finding.waste, finding.share),
    }
}

impl Known {
    fn of(kernel: &Kernel, finding: &Finding) -> Known {
        let source = finding.source.as_ref();
        // The same file has another path on another machine.
        let name = source.and_then(|own| own.file.rsplit(['/', '\\']).next());
        let (waste, share) = waste(finding);
        Known {
            kernel: kernel.name.clone(),
            fingerprint: finding.fingerprint.clone(),
            kind: finding.kind.text().to_owned(),
            severity: finding.severity,
            what: finding.what.clone(),
            source: name.unwrap_or_default().to_owned(),
            line: source.map_or(finding.line, |own| own.line),
            waste,
            share,
            weight: 0.0,
        }
    }

    fn covers(&self, finding: &Finding) -> bool {
        let (waste, share) = waste(finding);
        let is_more = waste > self.waste * SLACK && share > self.share + SHARE_SLACK;
        finding.severity <= self.severity && !is_more
    }
}

impl Baseline {
    /// Everything that is found in kernels.
    pub fn of(kernels: &[Kernel]) -> Baseline {
        let mut baseline = Baseline::default();
        for kernel in kernels {
            for finding in &kernel.findings {
                let key = (kernel.name.clone(), finding.fingerprint.clone());
                baseline.known.insert(key, Known::of(kernel, finding));
            }
        }
        baseline
    }

    /// Reads what [`Baseline::write`] wrote, in this version or version 1.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !matches!(document.oriole_baseline, 1 | 2) {
            return Err(format!("its version is {}", document.oriole_baseline));
        }
        let mut baseline = Baseline::default();
        for own in document.findings {
            let lacks = |text: &str, name: &str| match text {
                "" => Err(format!("a finding has no {name}")),
                _ => Ok(()),
            };
            lacks(&own.kernel, "kernel")?;
            lacks(&own.kind, "kind")?;
            match document.oriole_baseline {
                1 => {
                    let key = (own.kernel.clone(), own.kind.clone());
                    *baseline.old.entry(key).or_default() += own.weight;
                }
                _ => {
                    lacks(&own.fingerprint, "fingerprint")?;
                    let key = (own.kernel.clone(), own.fingerprint.clone());
                    baseline.known.insert(key, own);
                }
            }
        }
        Ok(baseline)
    }

    /// The baseline as text, a finding a line, so that versions of it can be compared.
    pub fn write(&self) -> String {
        let entry = |own: &Known| format!("    {}", serde_json::to_string(own).unwrap_or_default());
        let lines: Vec<String> = self.known.values().map(entry).collect();
        let findings = match lines.is_empty() {
            true => "[]".to_owned(),
            false => format!("[\n{}\n  ]", lines.join(",\n")),
        };
        format!("{{\n  \"oriole_baseline\": 2,\n  \"findings\": {findings}\n}}\n")
    }

    /// The findings that are not known, each with its kernel.
    pub fn new_findings<'a>(&self, kernels: &'a [Kernel]) -> Vec<(&'a Kernel, &'a Finding)> {
        let mut left = self.old.clone();
        let mut found = Vec::new();
        for kernel in kernels {
            for finding in &kernel.findings {
                let key = (kernel.name.clone(), finding.fingerprint.clone());
                let is_known = self.known.get(&key).is_some_and(|own| own.covers(finding));
                let old = left.get_mut(&(key.0, finding.kind.text().to_owned()));
                let is_old = old.is_some_and(|old| {
                    let is_covered = finding.weight <= *old * SLACK;
                    if is_covered {
                        *old -= finding.weight.min(*old);
                    }
                    is_covered
                });
                if !is_known && !is_old {
                    found.push((kernel, finding));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{conflict, kernel};

    fn new_names(baseline: &Baseline, now: &Kernel) -> Vec<String> {
        let found = baseline.new_findings(std::slice::from_ref(now)).into_iter();
        found.map(|(_, own)| own.fingerprint.clone()).collect()
    }

    #[test]
    fn what_is_known_is_not_new_wherever_it_moved() {
        let before = kernel("k", vec![conflict("a", 10, 70.0), conflict("b", 20, 30.0)]);
        let own = Baseline::of(std::slice::from_ref(&before));
        let baseline = Baseline::read(&own.write()).unwrap();
        assert_eq!(baseline, own);
        assert_eq!(new_names(&baseline, &before), [""; 0]);
        let moved = kernel("k", vec![conflict("a", 15, 70.0), conflict("b", 25, 30.0)]);
        assert_eq!(new_names(&baseline, &moved), [""; 0]);
        // Twice as much of a loop that was unrolled twice is the same share.
        let mut unrolled = conflict("a", 15, 140.0);
        unrolled.share = before.findings[0].share;
        assert_eq!(new_names(&baseline, &kernel("k", vec![unrolled])), [""; 0]);
    }

    #[test]
    fn a_new_conflict_is_new_although_another_was_fixed() {
        let before = kernel("k", vec![conflict("a", 10, 70.0), conflict("b", 20, 30.0)]);
        let baseline = Baseline::of(std::slice::from_ref(&before));
        let other = kernel("k", vec![conflict("a", 10, 70.0), conflict("c", 20, 1.0)]);
        assert_eq!(new_names(&baseline, &other), ["c"]);
        let worse = kernel("k", vec![conflict("b", 20, 60.0)]);
        assert_eq!(new_names(&baseline, &worse), ["b"]);
        assert_eq!(new_names(&Baseline::default(), &before), ["a", "b"]);
    }

    #[test]
    fn baselines_of_version_1_are_read() {
        let text = "{\"oriole_baseline\": 1, \"findings\": [\n\
            {\"kernel\": \"k\", \"kind\": \"bank-conflict\", \"source\": \"k.cu\", \"line\": 7, \"weight\": 40.0},\n\
            {\"kernel\": \"k\", \"kind\": \"bank-conflict\", \"source\": \"k.cu\", \"line\": 8, \"weight\": 30.0}]}";
        let baseline = Baseline::read(text).unwrap();
        assert_eq!(
            new_names(&baseline, &kernel("k", vec![conflict("a", 10, 70.0)])),
            [""; 0]
        );
        assert_eq!(
            new_names(&baseline, &kernel("k", vec![conflict("a", 10, 71.0)])),
            ["a"]
        );
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        for text in [
            "",
            "{}",
            "{\"oriole_baseline\": 2}",
            "{\"oriole_baseline\": 3, \"findings\": []}",
            "{\"oriole_baseline\": 1, \"findings\": [{}]}",
            "{\"oriole_baseline\": 2, \"findings\": [{\"kernel\": \"k\", \"kind\": \"bank-conflict\"}]}",
        ] {
            assert!(Baseline::read(text).is_err(), "{text}");
        }
        assert_eq!(
            Baseline::read(&Baseline::default().write()),
            Ok(Baseline::default())
        );
    }
}
