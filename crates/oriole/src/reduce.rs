//! Shrinks a module while something stays true of it: the way from a failing kernel of a thousand lines to one of ten.
//!
//! ## Method
//! Delta debugging by halves: leave out runs of statements, long runs first, and keep what is left whenever the question is
//! still answered with yes. First whole functions and other statements of the module, then the statements of each body
//! (a scope's two braces go together), then guards. Rounds go on until one changes nothing. Candidates whose names do not
//! resolve are not asked about, unless the first module was such a one.

use crate::{Module, check, print};
use oriole_syntax::tree::{Body, Guard, Instruction, Statement};

/// What came of a reduction.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reduced {
    /// The smallest text found.
    pub text: String,
    /// How many candidates were tried.
    pub tried: u64,
    /// How many statements are left, those of the module and of all bodies together.
    pub statements: usize,
}

/// The smallest module found of which `is_interesting` holds. Gives nothing if it does not hold of the module given.
pub fn reduce(module: &Module, is_interesting: &mut dyn FnMut(&str) -> bool) -> Option<Reduced> {
    let needs_sound_names = check(module).is_empty();
    let mut reducer = Reducer {
        module: module.clone(),
        is_interesting,
        needs_sound_names,
        tried: 0,
    };
    let original = reducer.module.clone();
    if !reducer.holds(&original) {
        return None;
    }
    loop {
        let before = print(&reducer.module);
        reducer.top_level();
        for index in 0..reducer.module.functions.len() {
            reducer.body(index);
            reducer.guards(index);
        }
        if print(&reducer.module) == before {
            break;
        }
    }
    let bodies = reducer
        .module
        .functions
        .iter()
        .filter_map(|function| function.body.as_ref());
    Some(Reduced {
        text: print(&reducer.module),
        tried: reducer.tried,
        statements: reducer.module.top.statements.len()
            + bodies.map(|body| body.statements.len()).sum::<usize>(),
    })
}

struct Reducer<'question> {
    module: Module,
    is_interesting: &'question mut dyn FnMut(&str) -> bool,
    needs_sound_names: bool,
    tried: u64,
}

impl Reducer<'_> {
    fn holds(&mut self, candidate: &Module) -> bool {
        let text = print(candidate);
        // What is printed is what counts: functions no statement mentions any more are not in it.
        let sound = match crate::parse(candidate.name(), text.as_str()) {
            Ok(parsed) => !self.needs_sound_names || check(&parsed).is_empty(),
            Err(_) => false,
        };
        if !sound {
            return false;
        }
        self.tried += 1;
        (self.is_interesting)(&text)
    }

    /// Leaves out runs of units, long runs first. `without` makes a candidate that lacks some units.
    fn halve(&mut self, mut units: Vec<Vec<usize>>, without: &dyn Fn(&Module, &[usize]) -> Module) {
        let mut length = units.len();
        while length > 0 {
            let mut start = 0;
            while start < units.len() {
                let end = (start + length).min(units.len());
                let mut gone: Vec<usize> = units[start..end].concat();
                gone.sort_unstable();
                let candidate = without(&self.module, &gone);
                if self.holds(&candidate) {
                    self.module = candidate;
                    units.drain(start..end);
                    // Statements behind those that went have new numbers.
                    for unit in &mut units {
                        for statement in unit {
                            *statement -= gone.partition_point(|&at| at < *statement);
                        }
                    }
                } else {
                    start = end;
                }
            }
            length /= 2;
        }
    }

    fn top_level(&mut self) {
        let units = (0..self.module.top.statements.len())
            .map(|index| vec![index])
            .collect();
        self.halve(units, &|module, gone| {
            let mut candidate = module.clone();
            remove(&mut candidate.top.statements, gone);
            candidate
        });
    }

    fn body(&mut self, index: usize) {
        let Some(body) = &self.module.functions[index].body else {
            return;
        };
        self.halve(units(body), &|module, gone| {
            let mut candidate = module.clone();
            if let Some(body) = &mut candidate.functions[index].body {
                remove(&mut body.statements, gone);
            }
            candidate
        });
    }

    fn guards(&mut self, index: usize) {
        let count = self.module.functions[index]
            .body
            .as_ref()
            .map_or(0, |body| body.statements.len());
        for at in 0..count {
            let mut candidate = self.module.clone();
            let Some(body) = &mut candidate.functions[index].body else {
                return;
            };
            let Statement::Instruction(instruction) = body.statements[at] else {
                continue;
            };
            if instruction.guard == Guard::None {
                continue;
            }
            let nodes = instruction.nodes();
            body.statements[at] = Statement::Instruction(Instruction::new(
                instruction.mnemonic,
                Guard::None,
                nodes.start + 1..nodes.end,
            ));
            if self.holds(&candidate) {
                self.module = candidate;
            }
        }
    }
}

/// Statements that can go alone, and pairs of braces that go together.
fn units(body: &Body) -> Vec<Vec<usize>> {
    let mut units = Vec::new();
    let mut open = Vec::new();
    for (index, statement) in body.statements.iter().enumerate() {
        match statement {
            Statement::ScopeOpen(_) => {
                open.push(units.len());
                units.push(vec![index]);
            }
            Statement::ScopeClose(_) => {
                let unit = open.pop().expect("the parser balances scopes");
                units[unit].push(index);
            }
            _ => units.push(vec![index]),
        }
    }
    units
}

fn remove(statements: &mut Vec<Statement>, gone: &[usize]) {
    let mut index = 0;
    statements.retain(|_| {
        index += 1;
        gone.binary_search(&(index - 1)).is_err()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_one_instruction_that_matters() {
        let module = crate::parse("e.ptx", crate::EXAMPLE).unwrap();
        let reduced = reduce(&module, &mut |text| text.contains("sub.f32")).unwrap();
        assert!(reduced.text.contains("sub.f32"));
        // The header, the registers and the instruction.
        assert!(reduced.statements <= 3, "{}", reduced.text);
        assert!(reduced.tried < 200);
    }

    #[test]
    fn braces_go_together_and_guards_go_when_they_can() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred p; .reg .b32 r;\n\
                    { { mov.u32 r, 1; } @p add.s32 r, r, 1; } ret;\n}\n";
        let module = crate::parse("k.ptx", text).unwrap();
        let reduced = reduce(&module, &mut |text| text.contains("add.s32")).unwrap();
        assert!(!reduced.text.contains('@'), "{}", reduced.text);
        assert_eq!(reduced.text.matches('{').count(), 1, "{}", reduced.text);
        assert!(reduce(&module, &mut |_| false).is_none());
    }
}
