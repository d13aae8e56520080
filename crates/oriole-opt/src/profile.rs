//! Which of a level's phases run for which architecture.
//!
//! The default profile runs every phase everywhere. `ptxas-13.0` runs what `ptxas` 13.0 is documented to run, by the
//! generation of the target:
//!
//! | generation | targets | gvn-cse | late-commoning |
//! |---|---|---|---|
//! | Kepler and before | below sm_50 | no | if forced |
//! | Maxwell | sm_50 to sm_53 | no | if forced |
//! | Pascal | sm_60 to sm_62 | yes | if forced |
//! | Volta, Turing | sm_70 to sm_75 | yes | if forced |
//! | Ampere | sm_80 to sm_88 | no | yes |
//! | Ada | sm_89 | no | yes |
//! | Hopper and later | from sm_90 | yes | if forced |
//!
//! There is no back end for Turing by itself, nor for sm_86 to sm_88: a target goes with the nearest generation below it.
//! Late commoning asks the knob `ForceLateCommoning`; Ampere and Ada are said to rely on it in place of gvn-cse, so there it
//! runs unasked. Backward copy propagation is a hook that no documented generation fills: it runs only for callers who fill it.

use crate::knobs::{Knobs, Switch};
use crate::pipeline::Phase;
use std::fmt;
use std::str::FromStr;

// Settings.
const FORCE_LATE_COMMONING: Switch = Switch::named("ForceLateCommoning");

/// Architectures that `ptxas` treats alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// sm_37 and before.
    Kepler,
    /// sm_50 to sm_53.
    Maxwell,
    /// sm_60 to sm_62.
    Pascal,
    /// sm_70 to sm_75, Turing among them.
    Volta,
    /// sm_80 to sm_88.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90 and all later.
    Hopper,
}

impl Generation {
    /// The generation of a target, given as the number in its name.
    pub fn of(target: u16) -> Generation {
        match target {
            0..=49 => Generation::Kepler,
            50..=59 => Generation::Maxwell,
            60..=69 => Generation::Pascal,
            70..=79 => Generation::Volta,
            80..=88 => Generation::Ampere,
            89 => Generation::Ada,
            _ => Generation::Hopper,
        }
    }

    /// Whether `ptxas` 13.0 has a gvn-cse for it that does something.
    fn has_gvn_cse(self) -> bool {
        matches!(
            self,
            Generation::Pascal | Generation::Volta | Generation::Hopper
        )
    }

    /// Whether `ptxas` 13.0 leaves common values to late commoning.
    fn relies_on_late_commoning(self) -> bool {
        matches!(self, Generation::Ampere | Generation::Ada)
    }
}

/// A choice of phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// What measures best.
    #[default]
    Default,
    /// What `ptxas` 13.0 is documented to run.
    Ptxas13,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 2] = [Profile::Default, Profile::Ptxas13];

    /// Its name.
    pub const fn text(self) -> &'static str {
        match self {
            Profile::Default => "default",
            Profile::Ptxas13 => "ptxas-13.0",
        }
    }

    /// The phases of a list that run for a target, given as the number in its name. `hook` says whether the caller fills the
    /// hook for backward copy propagation.
    pub fn choose(self, phases: &[Phase], target: u16, knobs: &Knobs, hook: bool) -> Vec<Phase> {
        let generation = Generation::of(target);
        let runs = |phase: &&Phase| match (self, phase.pass.name) {
            (Profile::Default, _) => true,
            (Profile::Ptxas13, "gvn-cse") => generation.has_gvn_cse(),
            (Profile::Ptxas13, "late-commoning") => {
                generation.relies_on_late_commoning() || knobs.switch(FORCE_LATE_COMMONING)
            }
            (Profile::Ptxas13, "back-copy-propagation") => hook,
            (Profile::Ptxas13, _) => true,
        };
        phases.iter().filter(runs).copied().collect()
    }
}

/// There is no profile of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(pub String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no profile `{}`; there are", self.0)?;
        for (index, profile) in Profile::ALL.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma} `{}`", profile.text())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Profile, UnknownProfile> {
        Profile::ALL
            .into_iter()
            .find(|profile| profile.text() == text)
            .ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::{Action, Pass, Trigger};
    use crate::pipeline::Level;

    /// Passes that do nothing under the names that profiles know: profiles go by name.
    static PASSES: [Pass; 4] = [
        idle("general-optimize"),
        idle("gvn-cse"),
        idle("late-commoning"),
        idle("back-copy-propagation"),
    ];

    const fn idle(name: &'static str) -> Pass {
        Pass {
            name,
            summary: "",
            action: Action::Once(|_, _, _| {}, Trigger::Changes),
        }
    }

    fn chosen(profile: Profile, target: u16, knobs: &Knobs, hook: bool) -> Vec<&'static str> {
        let phases: Vec<Phase> = PASSES
            .iter()
            .map(|pass| Phase {
                number: None,
                from: Level::Less,
                pass,
            })
            .collect();
        profile
            .choose(&phases, target, knobs, hook)
            .iter()
            .map(|phase| phase.pass.name)
            .collect()
    }

    #[test]
    fn the_default_runs_everything_everywhere() {
        for target in [30, 50, 61, 70, 80, 89, 90, 120] {
            assert_eq!(
                chosen(Profile::Default, target, &Knobs::default(), false).len(),
                PASSES.len()
            );
        }
    }

    #[test]
    fn ptxas_goes_by_generation() {
        use Generation::*;
        let table: [(&[u16], Generation, bool, bool); 7] = [
            (&[20, 30, 32, 35, 37], Kepler, false, false),
            (&[50, 52, 53], Maxwell, false, false),
            (&[60, 61, 62], Pascal, true, false),
            (&[70, 72, 75], Volta, true, false),
            (&[80, 86, 87, 88], Ampere, false, true),
            (&[89], Ada, false, true),
            (&[90, 100, 101, 103, 110, 120, 121], Hopper, true, false),
        ];
        for (targets, generation, gvn_cse, late_commoning) in table {
            for &target in targets {
                assert_eq!(Generation::of(target), generation, "sm_{target}");
                let names = chosen(Profile::Ptxas13, target, &Knobs::default(), false);
                assert!(names.contains(&"general-optimize"), "sm_{target}");
                assert_eq!(names.contains(&"gvn-cse"), gvn_cse, "sm_{target}");
                assert_eq!(
                    names.contains(&"late-commoning"),
                    late_commoning,
                    "sm_{target}"
                );
            }
        }
    }

    #[test]
    fn ptxas_is_told_about_late_commoning_and_the_hook() {
        let mut knobs = Knobs::default();
        knobs.set("ForceLateCommoning=true").unwrap();
        for target in [30, 50, 60, 70, 80, 89, 90] {
            assert!(chosen(Profile::Ptxas13, target, &knobs, false).contains(&"late-commoning"));
            for hook in [false, true] {
                assert_eq!(
                    chosen(Profile::Ptxas13, target, &knobs, hook)
                        .contains(&"back-copy-propagation"),
                    hook
                );
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for profile in Profile::ALL {
            assert_eq!(profile.text().parse(), Ok(profile));
        }
        assert_eq!(
            "ptxas".parse::<Profile>().unwrap_err().to_string(),
            "there is no profile `ptxas`; there are `default`, `ptxas-13.0`"
        );
    }
}
