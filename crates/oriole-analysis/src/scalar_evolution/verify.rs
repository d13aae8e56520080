//! Compares what is kept with what a fresh analysis says.

use super::expression::{Expression, Expressions};
use super::{Knobs, Names, Query, ScalarEvolution};
use oriole_ir::{Block, Function, Value};

impl ScalarEvolution {
    /// Checks what the knobs say is to be checked, and says what is wrong.
    pub fn verify_by_knobs(&self, function: &Function) -> Vec<String> {
        let knobs = self.state.borrow().knobs;
        if knobs.verify_scev {
            self.verify(function, knobs.verify_scev_strict)
        } else if knobs.verify_scev_maps {
            self.state.borrow().tables.inconsistencies()
        } else {
            Vec::new()
        }
    }

    /// Recomputes everything that is kept, and says in what it differs. With `strict`, counts of loops too.
    pub fn verify(&self, function: &Function, strict: bool) -> Vec<String> {
        let mut wrong = self.state.borrow().tables.inconsistencies();
        let (bounds, knobs) = {
            let state = self.state.borrow();
            (state.bounds, state.knobs)
        };
        let fresh = ScalarEvolution::new(function, bounds, Knobs { ..knobs });
        let mut fresh = fresh.on(function);
        let kept = self.on(function);
        let values: Vec<Value> = kept
            .state
            .tables
            .value_expressions
            .iter()
            .filter(|(value, entry)| {
                let definition = function.values()[*value].definition;
                entry.is_some_and(|entry| entry.definition == definition)
            })
            .map(|(value, _)| value)
            .collect();
        for value in values {
            let entry = kept.state.tables.value(value).expect("kept");
            let again = fresh.value(value);
            if entry.known != again.known
                || !same(&kept, entry.expression, &mut fresh, again.expression)
            {
                let kept = shown(&kept, entry.expression);
                let again = shown(&fresh, again.expression);
                wrong.push(format!("{value} is {again}, not {kept}"));
            }
        }
        let folded = kept.state.tables.folded.iter();
        for (leafy, folded) in folded.filter_map(|(from, to)| Some((from, to.expand()?))) {
            let there = import(&kept, leafy, &mut fresh);
            let again = fresh.folded(there);
            if !same(&kept, folded, &mut fresh, again) {
                let (from, kept) = (shown(&kept, leafy), shown(&kept, folded));
                let again = shown(&fresh, again);
                wrong.push(format!("{from} folds to {again}, not {kept}"));
            }
        }
        let ranges = kept.state.tables.ranges.iter();
        for (expression, ranges) in ranges.filter_map(|(own, ranges)| Some((own, (*ranges)?))) {
            let there = import(&kept, expression, &mut fresh);
            let again = fresh.range(there);
            if (again.unsigned, again.signed) != ranges {
                let kept = shown(&kept, expression);
                wrong.push(format!("{kept} is in {again}"));
            }
        }
        for (&predicate, &(block, decided)) in kept.state.tables.decisions.iter_sorted() {
            let is_there = function.defining_block(predicate) == Some(block);
            if is_there && fresh.decided_predicate(predicate, block) != decided {
                wrong.push(format!("{predicate} is not {decided:?} in {block}"));
            }
        }
        if strict {
            compare_counts(&kept, &mut fresh, &mut wrong);
        }
        wrong
    }
}

fn compare_counts(kept: &Query<'_>, fresh: &mut Query<'_>, wrong: &mut Vec<String>) {
    let headers: Vec<Block> = kept
        .state
        .tables
        .backedge_taken
        .iter_sorted()
        .map(|(&header, _)| header)
        .collect();
    for header in headers {
        let count = kept.state.tables.backedge_taken.get(&header).expect("kept");
        let Some(again) = fresh.backedge_taken(header) else {
            wrong.push(format!("{header} is no loop any more"));
            continue;
        };
        if count.maximum != again.maximum
            || count.exits != again.exits
            || !same(kept, count.exact, fresh, again.exact)
            || !same(kept, count.symbolic_maximum, fresh, again.symbolic_maximum)
        {
            let (kept, again) = (shown(kept, count.exact), shown(fresh, again.exact));
            wrong.push(format!(
                "the loop at {header} is taken {again} times, not {kept}"
            ));
        }
        for &from in &count.exits {
            let exit = kept.state.tables.exit_counts.get(&(header, from));
            let again = fresh.exit_count_of(header, from);
            let is_same = match (exit, &again) {
                (Some(exit), Some(again)) => {
                    exit.maximum == again.maximum
                        && exit.is_always_reached == again.is_always_reached
                        && exit.predicated.is_some() == again.predicated.is_some()
                        && same(kept, exit.exact, fresh, again.exact)
                }
                (None, _) => true,
                (Some(_), None) => false,
            };
            if !is_same {
                wrong.push(format!("the exit {from} of {header} has another count"));
            }
        }
        if let Some(predicated) = kept.state.tables.predicated.get(&header) {
            let again = fresh.predicated_backedge_taken(header).expect("a loop");
            if predicated.assumptions.len() != again.assumptions.len()
                || !same(kept, predicated.count, fresh, again.count)
            {
                wrong.push(format!("{header} has another count under assumptions"));
            }
        }
    }
}

/// An expression with numbers for names.
fn shown(query: &Query<'_>, expression: Expression) -> String {
    let names = Names {
        text: "",
        header: &|header| header.to_string(),
    };
    query.print(&names, expression)
}

fn import(kept: &Query<'_>, expression: Expression, fresh: &mut Query<'_>) -> Expression {
    let from: &Expressions = &kept.state.expressions;
    fresh.state.expressions.import(expression, from)
}

fn same(kept: &Query<'_>, ours: Expression, fresh: &mut Query<'_>, theirs: Expression) -> bool {
    import(kept, ours, fresh) == theirs
}
