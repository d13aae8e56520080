//! Where lanes of a warp wait for each other: instructions with a member mask, and `.aligned` ones.
//!
//! A lane that executes `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `elect.sync` or `bar.warp.sync` waits until every
//! lane of its member mask that has not exited executes one with the same qualifiers and the same mask. The lanes need not be
//! at the same place of the program: since Volta each lane has its own program counter, and the two arms of a branch may
//! meet. The instruction is then executed once for all lanes, each with its own sources and destination. An `.aligned`
//! instruction (`mma.sync`, `ldmatrix`, …) is met only by itself: all lanes have to execute the same one.
//!
//! Lanes that wait for each other at different instructions, or with different masks, wait forever. That is a trap.

use oriole_isa::Mnemonic;

use crate::execute::{Executor, Next};
use crate::execution::Execution;
use crate::launch::Group;
use crate::program::{Kind, Special};
use crate::special::{Context, Family};
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::{Fragment, Join, Rendezvous, State, Warp};

/// Whether lanes of a warp wait for each other at an instruction, and only at this very one.
pub(crate) fn is_aligned(mnemonic: &Mnemonic) -> bool {
    Family::of(mnemonic.opcode()) == Some(Family::Matrix)
}

impl Execution<'_> {
    /// Sends the lanes that the guard turns off on to the next instruction, where they wait for the others. The fragment
    /// keeps the active lanes and may then wait.
    pub(crate) fn separate_inactive(&mut self) {
        if self.active == self.fragment.mask {
            return;
        }
        let next = self.fragment.pc + 1;
        self.fragment.join = self.warp.add_join(Join {
            pc: next,
            expected: self.fragment.mask,
            waiting: None,
            parent: self.fragment.join,
        });
        self.fragment.join_pc = next;
        let mut others = self.fragment.clone();
        others.mask &= !self.active;
        others.pc = next;
        self.fragment.mask = self.active;
        self.warp.arrive(others);
    }
}

impl Executor<'_> {
    /// The instruction at which a fragment stands.
    pub(crate) fn special_of(&self, fragment: &Fragment) -> Option<&Special> {
        let function = &self.launch.program.functions[fragment.function as usize];
        match function.code.get(fragment.pc as usize)?.kind {
            Kind::Special(index) => function.specials.get(index as usize),
            _ => None,
        }
    }

    /// The line of the instruction at which a fragment stands.
    pub(crate) fn line_of(&self, fragment: &Fragment) -> u32 {
        let program = self.launch.program;
        let function = &program.functions[fragment.function as usize];
        program.line_of(function.origins[fragment.pc as usize].span)
    }

    /// The other fragments that the active lanes meet here, taken out of the warp; nothing while lanes of the mask are
    /// still on their way.
    pub(crate) fn partners(
        &self,
        context: &mut Context<'_>,
        members: u32,
    ) -> Outcome<Option<Vec<Fragment>>> {
        if context.state.active & !members != 0 {
            return Err(Fault::new(
                TrapKind::DivergentBarrier,
                format!(
                    "lanes {:#x} execute `{}` but are not in its member mask {members:#x}",
                    context.state.active & !members,
                    context.special.mnemonic.text()
                ),
            ));
        }
        let wanted = members & context.state.warp.live & !context.state.active;
        if wanted == 0 {
            return Ok(Some(Vec::new()));
        }
        let here = Rendezvous {
            kind: context.special.kind,
            members,
        };
        if wanted & !context.state.warp.waiting_at(here) != 0 {
            self.check_mismatch(context, here)?;
            return Ok(None);
        }
        let fragments = std::mem::take(&mut context.state.warp.fragments);
        let (partners, others) = fragments
            .into_iter()
            .partition(|fragment| fragment.state == State::Meeting(here));
        context.state.warp.fragments = others;
        Ok(Some(partners.into()))
    }

    /// Lets the active lanes wait for the others of their mask.
    pub(crate) fn wait_for_members(&self, context: &mut Context<'_>, members: u32) -> Next {
        context.state.separate_inactive();
        context.state.fragment.state = State::Meeting(Rendezvous {
            kind: context.special.kind,
            members,
        });
        Next::Wait
    }

    /// Sends fragments that have met the active lanes on to their next instruction. Those that met them at the very same
    /// place go on together with them, as lanes do that come out of a join.
    pub(crate) fn send_on(&self, context: &mut Context<'_>, partners: Vec<Fragment>) {
        for mut partner in partners {
            if context.state.fragment.is_beside(&partner) {
                context.state.fragment.mask |= partner.mask;
                continue;
            }
            partner.state = State::Running;
            partner.pc += 1;
            context.state.warp.fragments.push_back(partner);
        }
    }

    /// Executes an instruction for a fragment that the lanes of a context have met.
    pub(crate) fn beside<R>(
        &self,
        context: &mut Context<'_>,
        partner: &mut Fragment,
        action: impl FnOnce(&mut Context<'_>) -> Outcome<R>,
    ) -> Outcome<R> {
        let special = self.special_of(partner).ok_or_else(|| context.missing())?;
        let active = partner.mask;
        let constants = &self.launch.constants[partner.function as usize];
        action(&mut Context {
            state: Execution {
                warp: &mut *context.state.warp,
                fragment: partner,
                group: &mut *context.state.group,
                block: context.state.block,
                constants,
                active,
            },
            special,
        })
    }

    /// Traps when lanes that the active ones wait for wait for the active ones somewhere else.
    fn check_mismatch(&self, context: &Context<'_>, here: Rendezvous) -> Outcome<()> {
        for other in &context.state.warp.fragments {
            let State::Meeting(there) = other.state else {
                continue;
            };
            if there == here
                || there.members & context.state.active == 0
                || here.members & other.mask == 0
            {
                continue;
            }
            let name = |special: Option<&Special>| {
                special.map_or(String::new(), |special| special.mnemonic.text().to_string())
            };
            let aligned = if is_aligned(&context.special.mnemonic) && here.members == there.members
            {
                "; an `.aligned` instruction is met only by itself"
            } else {
                ""
            };
            return Err(Fault::new(
                TrapKind::DivergentBarrier,
                format!(
                    "lanes {:#x} execute `{}` with member mask {:#x} while lanes {:#x} of it execute `{}` with member mask \
                     {:#x} at PTX line {}: they wait for each other forever{aligned}",
                    context.state.active,
                    context.special.mnemonic.text(),
                    here.members,
                    here.members & other.mask,
                    name(self.special_of(other)),
                    there.members,
                    self.line_of(other),
                ),
            ));
        }
        Ok(())
    }

    /// Whom a fragment waits for that will never come, in words.
    pub(crate) fn describe_waiting(
        &self,
        fragment: &Fragment,
        here: Rendezvous,
        warp: &Warp,
        group: &Group,
        block: usize,
    ) -> String {
        let missing = here.members & warp.live & !warp.waiting_at(here);
        let mut message = format!(
            "lanes {:#x} wait at `{}` for lanes {missing:#x} of the member mask {:#x}, which never execute it",
            warp.waiting_at(here),
            self.special_of(fragment)
                .map_or("", |special| special.mnemonic.text()),
            here.members,
        );
        for other in warp
            .fragments
            .iter()
            .filter(|other| other.mask & missing != 0)
            .take(3)
        {
            let what = match other.state {
                State::Barrier { number, .. } => {
                    crate::barrier::describe_missing(&group.blocks[block], number as usize)
                }
                State::Cluster { .. } => "they wait for the cluster".to_string(),
                _ => format!(
                    "they wait at `{}`",
                    self.special_of(other)
                        .map_or("", |special| special.mnemonic.text())
                ),
            };
            message += &format!(
                "; lanes {:#x} are at PTX line {}: {what}",
                other.mask & missing,
                self.line_of(other)
            );
        }
        message
    }
}
