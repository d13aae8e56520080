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

/// The origin of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `ptxas` 13.0 has one of this name.
    Named,
    /// `ptxas` 13.0 has one of this number.
    Numbered(u16),
    /// Oriole's own.
    Own,
}

/// Knobs of `ptxas` that are known by number, and what they are here.
const NUMBERED: &[(u16, &str)] = &[
    (210, "GvnCseExtendedBlocks"),
    (257, "EnableGvnCsePerInstr"),
    (402, "EnableGvnCseMode"),
    (464, "GeneralOptimizeRounds"),
    (474, "GeneralOptimizeThreshold"),
    (844, "LateCommoningPerInstr"),
];

/// Knobs that `ptxas` does not have.
const OWN: &[&str] = &[
    "DeadCodeBudget",
    "DeadCodeKeepLoads",
    "EnableDeadCode",
    "ExpandConstantDivision",
    "MergeTails",
    "PredicationArm",
    "SplitCriticalEdges",
    "SwizzleSharedAlways",
    "SwizzleSharedDynamic",
];

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Named => write!(formatter, "of ptxas"),
            Origin::Numbered(number) => write!(formatter, "of ptxas, knob {number}"),
            Origin::Own => write!(formatter, "of Oriole"),
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
    /// The largest value of a number.
    pub most: u64,
}

impl Knob {
    /// Something to turn on or off.
    const fn switch(
        name: &'static str,
        pass: &'static str,
        default: bool,
        summary: &'static str,
    ) -> Knob {
        Knob {
            name,
            pass,
            summary,
            default: KnobValue::Switch(default),
            most: 1,
        }
    }

    /// A number of any size.
    const fn number(
        name: &'static str,
        pass: &'static str,
        default: u64,
        summary: &'static str,
    ) -> Knob {
        Knob {
            name,
            pass,
            summary,
            default: KnobValue::Number(default),
            most: u64::MAX,
        }
    }

    /// The same knob with a largest value.
    const fn at_most(mut self, most: u64) -> Knob {
        self.most = most;
        self
    }

    /// Its origin. LLVM has none of these knobs.
    pub fn origin(&self) -> Origin {
        if let Some((number, _)) = NUMBERED.iter().find(|(_, name)| *name == self.name) {
            return Origin::Numbered(*number);
        }
        match OWN.contains(&self.name) {
            true => Origin::Own,
            false => Origin::Named,
        }
    }

    /// What values the knob takes, in words.
    pub fn takes(&self) -> String {
        match self.default {
            KnobValue::Switch(_) => "true or false".to_owned(),
            KnobValue::Number(_) if self.most == u64::MAX => "a number or `unlimited`".to_owned(),
            KnobValue::Number(_) => format!("a number from 0 to {}", self.most),
        }
    }
}

const UNLIMITED: u64 = u64::MAX;

/// All knobs, sorted by name.
pub const KNOBS: &[Knob] = &[
    Knob::switch("AllowReassociateCSE", "reassociate-and-common", true, "Run reassociate-and-common at all"),
    Knob::number("BackCopyPropBudget", "back-copy-propagation", UNLIMITED, "Copies back-copy-propagation may remove from one function"),
    Knob::switch("CopyPropAddr", "copy-propagation", true, "Propagate copies and sums with constants into addresses"),
    Knob::number("CopyPropBudget", "copy-propagation", UNLIMITED, "Instructions copy-propagation may look at each time it runs"),
    Knob::switch("CopyPropConstantBank", "copy-propagation", true, "Propagate copies of what lies in constant memory: addresses of `.const` variables and of parameters"),
    Knob::switch("CopyPropForceGlobal", "copy-propagation", false, "Propagate across blocks even when CopyPropGlobalBudget is spent"),
    Knob::number("CopyPropGlobalBudget", "copy-propagation", UNLIMITED, "Copies copy-propagation may propagate into other blocks of one function"),
    Knob::switch("CopyPropNoMmaCb", "copy-propagation", false, "Leave operands of matrix instructions alone"),
    Knob::switch("CopyPropNoWriteNonRR", "copy-propagation", false, "Propagate only registers, into operands that are plain registers"),
    Knob::switch("CopyPropNonRegMultiDef", "copy-propagation", true, "Propagate through copies with several results, such as a vector taken apart"),
    Knob::switch("CopyPropPreAllocReg", "copy-propagation", true, "Propagate copies of special registers such as `%tid.x` within a block"),
    Knob::switch("CopyPropUseReachingDefs", "copy-propagation", true, "Propagate where several definitions that reach a use are all the same value"),
    Knob::number("DeadCodeBudget", "dead-code", UNLIMITED, "Instructions dead-code may remove from one function"),
    Knob::switch("DeadCodeKeepLoads", "dead-code", false, "Keep loads whose result nobody reads, as they may touch memory that must be touched"),
    Knob::switch("DisableMoveCommoning", "late-commoning", false, "Do not look through copies for equal operands"),
    Knob::number("DistributeAndReassociateMulBudget", "reassociate-and-common", UNLIMITED, "Times `a*b + a*c` may become `a*(b+c)` in one function"),
    Knob::switch("EnableDeadCode", "dead-code", true, "Run dead-code at all"),
    Knob::switch("EnableGvnCse", "gvn-cse", true, "Run gvn-cse at all"),
    Knob::number("EnableGvnCseMode", "gvn-cse", 6, "How far gvn-cse looks: 0 nowhere, 1 in a block, 2 along the dominator tree, 3 to 6 over the whole function, each further").at_most(6),
    Knob::number("EnableGvnCsePerInstr", "gvn-cse", UNLIMITED, "Instructions of one function, from its start, that take part in gvn-cse"),
    Knob::switch("ExpandConstantDivision", "division-by-constants", true, "Divide by constants with products and shifts"),
    Knob::switch("ForceLateCommoning", "late-commoning", false, "Run late-commoning even where the profile leaves it out and where longer live ranges may cost occupancy"),
    Knob::number("GeneralOptimizeRounds", "general-optimize", 10, "Rounds general-optimize may run, each of them until nothing changes"),
    Knob::number("GeneralOptimizeThreshold", "general-optimize", 25, "Percent of the instructions that a round of a late general-optimize must touch for another round to follow").at_most(100),
    Knob::switch("GvnCseExtendedBlocks", "gvn-cse", false, "In mode 2, stay within extended basic blocks and look up only what may have an equal there"),
    Knob::number("LateCommoningPerInstr", "late-commoning", UNLIMITED, "Instructions of one function, in the order of the walk, that take part in late-commoning"),
    Knob::switch("LateCopyPropComplPred", "copy-propagation", true, "Propagate copies of one value under a predicate and under its complement, after predication"),
    Knob::switch("MergeTails", "tail-merging", true, "Write once what both arms of a branch end with"),
    Knob::number("PredicationArm", "predication", 4, "Instructions an arm of a branch may have to be made straight code; 0 turns predication off"),
    Knob::number("ReassociateCSEBudget", "reassociate-and-common", UNLIMITED, "Instructions reassociate-and-common may look at in one function"),
    Knob::number("ReassociateCSESkip", "reassociate-and-common", 0, "Instructions at the start of a function that reassociate-and-common leaves alone"),
    Knob::number("ReassociateCSEWindow", "reassociate-and-common", 256, "Instructions back that reassociate-and-common looks for an equal one"),
    Knob::switch("ReassociateLargeImmInUIADD64", "reassociate-and-common", false, "Gather constants of 64-bit additions even when the sum does not fit into 32 bits"),
    Knob::switch("SpeculativeHoistCommonInsts", "speculative-hoist", true, "Move instructions that both arms of a branch begin with to before the branch"),
    Knob::switch("SplitCriticalEdges", "gvn-cse", false, "Put blocks on edges to compute what is known on the other way to a block"),
    Knob::number("SwizzleSharedAlways", "swizzle-shared", 0, "Permute shared memory even if nothing is gained, to test that nobody can tell: 1 by addresses, 2 by offsets, 3 and 4 pad rows of 128 and 144 bytes").at_most(4),
    Knob::switch("SwizzleSharedDynamic", "swizzle-shared", false, "Permute memory that is given at launch too: every launch gives whole lines of 128 bytes"),
];

/// A knob that is on or off, found when the pass that asks for it is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Switch(usize);

impl Switch {
    /// The switch of this name.
    ///
    /// # Panics
    /// If there is none: in a constant, the compiler says so.
    pub const fn named(name: &str) -> Switch {
        let index = position(name);
        assert!(
            matches!(KNOBS[index].default, KnobValue::Switch(_)),
            "the knob is a number"
        );
        Switch(index)
    }
}

/// A knob with a number, found when the pass that asks for it is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Number(usize);

impl Number {
    /// The number of this name.
    ///
    /// # Panics
    /// If there is none: in a constant, the compiler says so.
    pub const fn named(name: &str) -> Number {
        let index = position(name);
        assert!(
            matches!(KNOBS[index].default, KnobValue::Number(_)),
            "the knob is a switch"
        );
        Number(index)
    }
}

/// Where a knob is in the table.
const fn position(name: &str) -> usize {
    let mut index = 0;
    while index < KNOBS.len() {
        if is_same(KNOBS[index].name.as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("there is no knob of this name")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Why a setting was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobError {
    /// There is no `=`.
    NoValue(String),
    /// There is no such knob; perhaps another was meant.
    Unknown(String, Option<&'static str>),
    /// The knob, the value it does not take, and what it takes.
    WrongValue(&'static str, String, String),
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
        KNOBS.binary_search_by(|knob| knob.name.cmp(name)).ok()
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
        let wrong = || KnobError::WrongValue(knob.name, value.to_owned(), knob.takes());
        self.values[index] = match knob.default {
            KnobValue::Switch(_) => KnobValue::Switch(match value {
                "true" | "on" | "1" => true,
                "false" | "off" | "0" => false,
                _ => return Err(wrong()),
            }),
            KnobValue::Number(_) => {
                let number = match value {
                    "unlimited" => u64::MAX,
                    _ => value.parse().map_err(|_| wrong())?,
                };
                if number > knob.most {
                    return Err(wrong());
                }
                KnobValue::Number(number)
            }
        };
        Ok(())
    }

    /// Whether a switch is on.
    pub fn switch(&self, knob: Switch) -> bool {
        self.values[knob.0] == KnobValue::Switch(true)
    }

    /// The value of a number.
    pub fn number(&self, knob: Number) -> u64 {
        match self.values[knob.0] {
            KnobValue::Number(number) => number,
            KnobValue::Switch(_) => unreachable!("the name was looked up among the numbers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_say_where_they_come_from() {
        let count = |wanted: fn(Origin) -> bool| {
            let knobs = KNOBS.iter().filter(|knob| wanted(knob.origin()));
            knobs.count()
        };
        assert_eq!(count(|origin| origin == Origin::Own), OWN.len());
        assert_eq!(
            count(|origin| matches!(origin, Origin::Numbered(_))),
            NUMBERED.len()
        );
        // Of the 24 documented names two are not in the program, only their numbers.
        assert_eq!(count(|origin| origin == Origin::Named) + 2, 24);
    }

    #[test]
    fn settings_are_checked() {
        let mut knobs = Knobs::default();
        assert_eq!(knobs.set("DeadCodeBudget=7"), Ok(()));
        assert_eq!(knobs.number(Number::named("DeadCodeBudget")), 7);
        assert_eq!(knobs.set("DeadCodeBudget=unlimited"), Ok(()));
        assert_eq!(knobs.number(Number::named("DeadCodeBudget")), u64::MAX);
        assert_eq!(knobs.set("EnableDeadCode=off"), Ok(()));
        assert!(!knobs.switch(Switch::named("EnableDeadCode")));
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
    fn numbers_have_a_largest_value() {
        let mut knobs = Knobs::default();
        assert_eq!(knobs.set("EnableGvnCseMode=0"), Ok(()));
        assert_eq!(knobs.number(Number::named("EnableGvnCseMode")), 0);
        for value in ["7", "9", "unlimited", "-1"] {
            assert_eq!(
                knobs
                    .set(&format!("EnableGvnCseMode={value}"))
                    .unwrap_err()
                    .to_string(),
                format!("the knob `EnableGvnCseMode` takes a number from 0 to 6, not `{value}`")
            );
        }
        assert_eq!(knobs.number(Number::named("EnableGvnCseMode")), 0);
    }

    #[test]
    fn the_table_is_sorted_and_its_values_in_range() {
        assert!(KNOBS.windows(2).all(|pair| pair[0].name < pair[1].name));
        let mut knobs = Knobs::default();
        for knob in KNOBS {
            assert!(!knob.summary.is_empty() && !knob.summary.ends_with('.'));
            assert_eq!(
                knobs.set(&format!("{}={}", knob.name, knob.default)),
                Ok(())
            );
        }
        assert_eq!(knobs, Knobs::default());
    }

    #[test]
    fn the_documented_knobs_are_there() {
        let documented = "AllowReassociateCSE BackCopyPropBudget CopyPropAddr CopyPropBudget CopyPropConstantBank \
             CopyPropForceGlobal CopyPropGlobalBudget CopyPropNoMmaCb CopyPropNoWriteNonRR CopyPropNonRegMultiDef \
             CopyPropPreAllocReg CopyPropUseReachingDefs DisableMoveCommoning DistributeAndReassociateMulBudget \
             EnableGvnCse EnableGvnCseMode EnableGvnCsePerInstr ForceLateCommoning LateCopyPropComplPred \
             ReassociateCSEBudget ReassociateCSESkip ReassociateCSEWindow ReassociateLargeImmInUIADD64 \
             SpeculativeHoistCommonInsts";
        assert_eq!(documented.split(' ').count(), 24);
        for name in documented.split(' ') {
            assert!(Knobs::index(name).is_some(), "{name}");
        }
    }
}
