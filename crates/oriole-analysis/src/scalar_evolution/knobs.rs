//! Limits of the analysis, by the names and with the defaults that compilers know them by.
//!
//! Compilers have three more. Two say how deep expressions and values are compared to bring them into order; here equal expressions are
//! one number, and others are compared in the first operand only in which they differ. The third says after how many expressions that are too large to simplify none is
//! simplified any more; answers would depend on the order of questions.

/// Limits and switches of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// How many iterations of a loop are computed one by one to find its count.
    pub max_iterations: u32,
    /// How deep sums and products are looked into to simplify them.
    pub max_arith_depth: u32,
    /// How deep extensions are pushed into an expression.
    pub max_ext_depth: u32,
    /// How deep truncations are pushed into an expression.
    pub max_cast_depth: u32,
    /// How many levels of `and` and `or` an exit condition may have.
    pub max_constant_evolving_depth: u32,
    /// The most nodes of an expression that is still simplified.
    pub max_expr_size: u32,
    /// How many minima inside each other are looked into to derive a comparison from those that are known.
    pub max_scev_operations_implication_depth: u32,
    /// The most factors of a product that become factors of another one.
    pub mulops_inline_threshold: u32,
    /// The most terms of a sum that become terms of another one.
    pub addops_inline_threshold: u32,
    /// Whether every answer that is kept behind an edit, or was given, is recomputed and compared.
    pub verify_scev: bool,
    /// Whether counts of loops are compared too; means nothing without `verify_scev`.
    pub verify_scev_strict: bool,
    /// Whether the tables are checked against each other behind an edit.
    pub verify_scev_maps: bool,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs {
            max_iterations: 100,
            max_arith_depth: 32,
            max_ext_depth: 8,
            max_cast_depth: 8,
            max_constant_evolving_depth: 32,
            max_expr_size: 384,
            max_scev_operations_implication_depth: 2,
            mulops_inline_threshold: 32,
            addops_inline_threshold: 500,
            verify_scev: false,
            verify_scev_strict: false,
            verify_scev_maps: false,
        }
    }
}

/// Why a knob cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKnob(String);

impl std::fmt::Display for UnknownKnob {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "no such limit, or no number: `{}`", self.0)
    }
}

impl std::error::Error for UnknownKnob {}

/// The names of the numbers and where they are kept.
type Number = (&'static str, fn(&mut Knobs) -> &mut u32);
/// The names of the switches and where they are kept.
type Switch = (&'static str, fn(&mut Knobs) -> &mut bool);

const NUMBERS: [Number; 9] = [
    ("scalar-evolution-max-iterations", |it| {
        &mut it.max_iterations
    }),
    ("scalar-evolution-max-arith-depth", |it| {
        &mut it.max_arith_depth
    }),
    ("scalar-evolution-max-ext-depth", |it| &mut it.max_ext_depth),
    ("scalar-evolution-max-cast-depth", |it| {
        &mut it.max_cast_depth
    }),
    ("scalar-evolution-max-constant-evolving-depth", |it| {
        &mut it.max_constant_evolving_depth
    }),
    ("scalar-evolution-max-expr-size", |it| &mut it.max_expr_size),
    (
        "scalar-evolution-max-scev-operations-implication-depth",
        |it| &mut it.max_scev_operations_implication_depth,
    ),
    ("scev-mulops-inline-threshold", |it| {
        &mut it.mulops_inline_threshold
    }),
    ("scev-addops-inline-threshold", |it| {
        &mut it.addops_inline_threshold
    }),
];

const SWITCHES: [Switch; 3] = [
    ("verify-scev", |it| &mut it.verify_scev),
    ("verify-scev-strict", |it| &mut it.verify_scev_strict),
    ("verify-scev-maps", |it| &mut it.verify_scev_maps),
];

impl Knobs {
    /// Sets one knob: `name=value`.
    ///
    /// # Errors
    /// If there is no such knob, or the value is none it can have.
    pub fn set(&mut self, assignment: &str) -> Result<(), UnknownKnob> {
        let unknown = || UnknownKnob(assignment.to_owned());
        let (name, value) = assignment.split_once('=').ok_or_else(unknown)?;
        if let Some((_, field)) = NUMBERS.iter().find(|(own, _)| *own == name) {
            *field(self) = value.parse().map_err(|_| unknown())?;
            return Ok(());
        }
        let (_, field) = SWITCHES
            .iter()
            .find(|(own, _)| *own == name)
            .ok_or_else(unknown)?;
        *field(self) = value.parse().map_err(|_| unknown())?;
        Ok(())
    }

    /// All names with their values, in order.
    pub fn list(mut self) -> Vec<(&'static str, String)> {
        let mut list = Vec::new();
        for (name, field) in NUMBERS {
            list.push((name, field(&mut self).to_string()));
        }
        for (name, field) in SWITCHES {
            list.push((name, field(&mut self).to_string()));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_are_set_by_name() {
        let mut knobs = Knobs::default();
        knobs.set("scalar-evolution-max-iterations=7").unwrap();
        knobs.set("verify-scev=true").unwrap();
        assert_eq!((knobs.max_iterations, knobs.verify_scev), (7, true));
        assert!(knobs.set("scalar-evolution-max-iterations=x").is_err());
        assert!(knobs.set("no-such=1").is_err());
        assert_eq!(Knobs::default().list().len(), 12);
        assert_eq!(
            Knobs::default().list()[5],
            ("scalar-evolution-max-expr-size", "384".to_owned())
        );
    }
}
