//! Named settings of passes: one table, from which parsing, listing and documentation come.

use std::fmt;

/// The value of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobValue {
    /// On or off.
    Switch(bool),
    /// A number, such as a budget.
    Number(u64),
}

impl fmt::Display for KnobValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValue::Switch(on) => write!(formatter, "{on}"),
            KnobValue::Number(u64::MAX) => write!(formatter, "unlimited"),
            KnobValue::Number(number) => write!(formatter, "{number}"),
        }
    }
}

/// A knob: its name, what it does, and its value if nobody sets it.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The name, as written in `--knob Name=Value`.
    pub name: &'static str,
    /// The pass that reads it.
    pub pass: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The value it has by default.
    pub default: KnobValue,
}

/// All knobs, by name.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "CopyPropAddr",
        pass: "algebraic-simplification",
        summary: "Let addresses add constants: fold sums into `[register+constant]`",
        default: KnobValue::Switch(true),
    },
    Knob {
        name: "DeadCodeBudget",
        pass: "dead-code",
        summary: "Instructions dead-code may remove from one function",
        default: KnobValue::Number(u64::MAX),
    },
    Knob {
        name: "DeadCodeKeepLoads",
        pass: "dead-code",
        summary: "Keep loads whose result nobody reads, as they may touch memory that must be touched",
        default: KnobValue::Switch(false),
    },
    Knob {
        name: "EnableDeadCode",
        pass: "dead-code",
        summary: "Run dead-code at all",
        default: KnobValue::Switch(true),
    },
];

/// Why a setting was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobError {
    /// There is no `=`.
    NoValue(String),
    /// There is no such knob; perhaps another was meant.
    Unknown(String, Option<&'static str>),
    /// The value is not of the knob's kind.
    WrongValue(&'static str, String, &'static str),
}

impl fmt::Display for KnobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobError::NoValue(text) => write!(formatter, "expected Name=Value, found `{text}`"),
            KnobError::Unknown(name, meant) => {
                write!(formatter, "there is no knob `{name}`")?;
                match meant {
                    Some(meant) => write!(formatter, "; did you mean `{meant}`?"),
                    None => write!(formatter, "; `oriole knobs` lists them"),
                }
            }
            KnobError::WrongValue(name, value, expected) => {
                write!(
                    formatter,
                    "the knob `{name}` takes {expected}, not `{value}`"
                )
            }
        }
    }
}

impl std::error::Error for KnobError {}

/// A value for every knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
    values: Vec<KnobValue>,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs {
            values: KNOBS.iter().map(|knob| knob.default).collect(),
        }
    }
}

impl Knobs {
    fn index(name: &str) -> Option<usize> {
        KNOBS.iter().position(|knob| knob.name == name)
    }

    /// Sets a knob from `Name=Value`.
    pub fn set(&mut self, setting: &str) -> Result<(), KnobError> {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| KnobError::NoValue(setting.to_owned()))?;
        let Some(index) = Knobs::index(name) else {
            let meant = KNOBS
                .iter()
                .find(|knob| knob.name.eq_ignore_ascii_case(name))
                .map(|knob| knob.name);
            return Err(KnobError::Unknown(name.to_owned(), meant));
        };
        let knob = &KNOBS[index];
        let wrong = |expected| KnobError::WrongValue(knob.name, value.to_owned(), expected);
        self.values[index] = match knob.default {
            KnobValue::Switch(_) => KnobValue::Switch(match value {
                "true" | "on" | "1" => true,
                "false" | "off" | "0" => false,
                _ => return Err(wrong("true or false")),
            }),
            KnobValue::Number(_) if value == "unlimited" => KnobValue::Number(u64::MAX),
            KnobValue::Number(_) => KnobValue::Number(
                value
                    .parse()
                    .map_err(|_| wrong("a number or `unlimited`"))?,
            ),
        };
        Ok(())
    }

    /// Whether a switch is on.
    ///
    /// # Panics
    /// If there is no such switch: pass authors name knobs of the table.
    pub fn switch(&self, name: &str) -> bool {
        match Knobs::index(name).map(|index| self.values[index]) {
            Some(KnobValue::Switch(on)) => on,
            _ => panic!("there is no switch `{name}`"),
        }
    }

    /// The value of a number.
    ///
    /// # Panics
    /// If there is no such number: pass authors name knobs of the table.
    pub fn number(&self, name: &str) -> u64 {
        match Knobs::index(name).map(|index| self.values[index]) {
            Some(KnobValue::Number(number)) => number,
            _ => panic!("there is no number `{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let mut knobs = Knobs::default();
        assert_eq!(knobs.set("DeadCodeBudget=7"), Ok(()));
        assert_eq!(knobs.number("DeadCodeBudget"), 7);
        assert_eq!(knobs.set("DeadCodeBudget=unlimited"), Ok(()));
        assert_eq!(knobs.number("DeadCodeBudget"), u64::MAX);
        assert_eq!(knobs.set("EnableDeadCode=off"), Ok(()));
        assert!(!knobs.switch("EnableDeadCode"));
        let message = |setting: &str| Knobs::default().set(setting).unwrap_err().to_string();
        assert_eq!(
            message("DeadCodeBudget"),
            "expected Name=Value, found `DeadCodeBudget`"
        );
        assert_eq!(
            message("deadcodebudget=1"),
            "there is no knob `deadcodebudget`; did you mean `DeadCodeBudget`?"
        );
        assert_eq!(
            message("DeadCodeBudget=many"),
            "the knob `DeadCodeBudget` takes a number or `unlimited`, not `many`"
        );
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        assert!(KNOBS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for knob in KNOBS {
            assert!(crate::find_pass(knob.pass).is_some(), "{}", knob.name);
        }
    }
}
