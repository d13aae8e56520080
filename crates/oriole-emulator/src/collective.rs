//! Instructions in which the lanes of a warp exchange values: `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`.
//!
//! A member mask names the lanes that take part; `rendezvous` brings them together. Then the sources of all lanes are
//! gathered, the results computed once, and every lane gets its own.

use oriole_isa::{
    Bits, Flag, Mnemonic, Opcode, ReductionOperation, ScalarType, ShuffleMode, VoteMode, evaluate,
};

use crate::checks::{Origin, Report, What};
use crate::execute::{Executor, Next, lanes_of};
use crate::program::{Lanes, Special, SpecialOperand};
use crate::report::FindingKind;
use crate::special::Context;
use crate::trap::Outcome;
use crate::warp::{Fragment, Rendezvous, State};

/// The sources of all lanes that take part.
#[derive(Default)]
struct Sources {
    values: Lanes,
    offsets: Lanes,
    controls: Lanes,
    truth: u32,
    /// Lanes in which `truth` is undefined, where that is checked.
    open: u32,
    lanes: u32,
    /// The undefined bits of the values, where they are checked.
    undefined: Lanes,
    /// The place of the first read of something undefined.
    origin: Option<Origin>,
}

impl Sources {
    /// Adds those of the active lanes of one fragment.
    fn gather(&mut self, context: &Context<'_>) -> Outcome<()> {
        let take = |to: &mut Lanes, operand: usize| -> Outcome<()> {
            let values = context.values(operand)?;
            for lane in lanes_of(context.state.active) {
                to[lane] = values[lane];
            }
            Ok(())
        };
        match context.special.mnemonic.opcode() {
            Opcode::Shfl => {
                take(&mut self.values, 1)?;
                self.gather_undefined(context);
                take(&mut self.offsets, 2)?;
                take(&mut self.controls, 3)?;
            }
            Opcode::Vote | Opcode::VoteSync => {
                self.truth |= context.predicate(1)? & context.state.active;
                self.gather_undefined_predicate(context);
            }
            Opcode::MatchAny | Opcode::MatchAll | Opcode::Redux => take(&mut self.values, 1)?,
            _ => {}
        }
        self.lanes |= context.state.active;
        Ok(())
    }

    /// Adds what is undefined in the values that a shuffle moves.
    fn gather_undefined(&mut self, context: &Context<'_>) {
        let state = &context.state;
        let slot = context.special.operands.get(1).and_then(|own| own.value());
        let Some(slot) = slot else { return };
        let Some(own) = state.warp.undefined(state.fragment, slot) else {
            return;
        };
        for lane in lanes_of(state.active & own.lanes) {
            self.undefined[lane] = own.bits[lane];
            self.origin = self.origin.or(Some(match own.origin.what {
                What::Unread => Origin {
                    what: What::Register(slot),
                    function: state.fragment.function,
                    pc: state.fragment.pc,
                },
                _ => own.origin,
            }));
        }
    }

    /// Adds what is undefined in the predicate of a vote.
    fn gather_undefined_predicate(&mut self, context: &Context<'_>) {
        let state = &context.state;
        if let Some(&SpecialOperand::Predicate(source)) = context.special.operands.get(1) {
            let open = state.undefined_predicate(source) & state.active;
            if open != 0 {
                self.open |= open;
                self.origin = self.origin.or(state.origin_of_predicate(source));
            }
        }
    }

    /// The undefined bits of the result of a vote; for a predicate, all or none. Lanes whose predicate is defined may settle it.
    fn voted_undefined(&self, mode: VoteMode) -> u64 {
        let (ones, zeros) = (
            self.truth & !self.open,
            self.lanes & !self.truth & !self.open,
        );
        let is_settled = match mode {
            VoteMode::Ballot => return self.open.into(),
            VoteMode::Any => ones != 0,
            VoteMode::All => zeros != 0,
            VoteMode::Uniform => ones != 0 && zeros != 0,
        };
        if is_settled || self.open == 0 {
            0
        } else {
            u64::MAX
        }
    }

    /// The undefined bits of the results of a shuffle. All bits from a lane that takes no part are undefined.
    fn shuffled_undefined(&self, mode: ShuffleMode, here: Origin) -> (Lanes, Origin) {
        let mut origin = self.origin;
        let mut result = [0; 32];
        for lane in lanes_of(self.lanes) {
            let (offset, control) = (self.offsets[lane], self.controls[lane]);
            let (from, _) = oriole_isa::shuffle_source(mode, lane, offset, control);
            if self.lanes >> from & 1 != 0 {
                result[lane] = self.undefined[from];
            } else {
                result[lane] = u32::MAX.into();
                let what = What::Shuffle(lane as u8, from as u8);
                origin = origin.or(Some(Origin { what, ..here }));
            }
        }
        (result, origin.unwrap_or(here))
    }

    /// The results: a value for each lane, and a predicate.
    fn results(&self, mnemonic: &Mnemonic) -> Option<(Lanes, u32)> {
        let (values, truth, lanes) = (&self.values, self.truth, self.lanes);
        let when = |holds: bool| if holds { lanes } else { 0 };
        Some(match mnemonic.opcode() {
            Opcode::Shfl => self.shuffle(mnemonic.modifiers().shuffle?),
            Opcode::Vote | Opcode::VoteSync => match mnemonic.modifiers().vote? {
                VoteMode::Ballot => ([truth.into(); 32], 0),
                VoteMode::All => ([0; 32], when(truth == lanes)),
                VoteMode::Any => ([0; 32], when(truth != 0)),
                VoteMode::Uniform => ([0; 32], when(truth == lanes || truth == 0)),
            },
            Opcode::MatchAny => {
                let mut result = [0; 32];
                for lane in lanes_of(lanes) {
                    result[lane] = lanes_of(lanes)
                        .filter(|&other| values[other] == values[lane])
                        .fold(0, |mask, other| mask | 1 << other);
                }
                (result, 0)
            }
            Opcode::MatchAll => {
                let first = values[lanes.trailing_zeros() as usize & 31];
                let equal = when(lanes_of(lanes).all(|lane| values[lane] == first));
                ([equal.into(); 32], equal)
            }
            Opcode::Redux => ([reduce(mnemonic, values, lanes)?; 32], 0),
            // The lowest lane.
            Opcode::Elect => (
                [lanes.trailing_zeros().into(); 32],
                lanes & lanes.wrapping_neg(),
            ),
            _ => ([0; 32], 0),
        })
    }

    fn shuffle(&self, mode: ShuffleMode) -> (Lanes, u32) {
        let mut result: Lanes = [0; 32];
        let mut truth = 0;
        for lane in lanes_of(self.lanes) {
            let (offset, control) = (self.offsets[lane], self.controls[lane]);
            let (from, inside) = oriole_isa::shuffle_source(mode, lane, offset, control);
            // A lane that does not take part has no value to give.
            result[lane] = self.values[from];
            truth |= u32::from(inside) << lane;
        }
        (result, truth)
    }
}

fn is_vote(special: &Special) -> bool {
    matches!(special.mnemonic.opcode(), Opcode::Vote | Opcode::VoteSync)
}

/// Which operand is the member mask.
fn mask_operand(special: &Special) -> Option<usize> {
    match special.mnemonic.opcode() {
        Opcode::Shfl if special.operands.len() == 5 => Some(4),
        Opcode::VoteSync | Opcode::MatchAny | Opcode::MatchAll | Opcode::Redux => Some(2),
        Opcode::Elect => Some(1),
        Opcode::BarWarpSync => Some(0),
        _ => None,
    }
}

impl Executor<'_> {
    pub(crate) fn collective(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let Some(operand) = mask_operand(context.special) else {
            self.exchange(context, Vec::new())?;
            return Ok(Next::Advance);
        };
        let masks = context.values(operand)?;
        let members = masks[context.state.active.trailing_zeros().min(31) as usize];
        if lanes_of(context.state.active).any(|lane| masks[lane] != members) {
            return self.collective_by_groups(context, &masks);
        }
        let members = members as u32;
        match self.partners(context, members)? {
            Some(partners) => {
                self.exchange(context, partners)?;
                Ok(Next::Advance)
            }
            None => Ok(self.wait_for_members(context, members)),
        }
    }

    /// Lanes that arrive together may belong to different groups: those whose group is complete go on, every other group
    /// waits by itself.
    fn collective_by_groups(&self, context: &mut Context<'_>, masks: &Lanes) -> Outcome<Next> {
        let mut rest = context.state.active;
        let mut waiting = Vec::new();
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let group = lanes_of(rest)
                .filter(|&lane| masks[lane] == mask)
                .fold(0u32, |group, lane| group | 1 << lane);
            rest &= !group;
            context.state.active = group;
            match self.partners(context, mask as u32)? {
                Some(partners) => self.exchange(context, partners)?,
                None => waiting.push((group, mask as u32)),
            }
        }
        context.state.active = waiting.iter().fold(0, |all, (group, _)| all | group);
        let Some((first, others)) = waiting.split_first() else {
            return Ok(Next::Advance);
        };
        context.state.separate_inactive();
        for &(group, members) in others {
            let mut other = context.state.fragment.clone();
            other.mask = group;
            other.state = State::Meeting(Rendezvous {
                kind: context.special.kind,
                members,
            });
            context.state.warp.fragments.push_back(other);
        }
        context.state.fragment.mask = first.0;
        context.state.active = first.0;
        Ok(self.wait_for_members(context, first.1))
    }

    /// Lets lanes that execute `bar.warp.sync` know of each other, and reports shuffles that read from lanes that take no part.
    fn check_exchange(&self, context: &mut Context<'_>, sources: &Sources) {
        let mnemonic = &context.special.mnemonic;
        if mnemonic.opcode() == Opcode::BarWarpSync {
            let first = context.state.thread(0);
            if let Some(clocks) = &mut context.state.group.blocks[context.state.block]
                .checks
                .clocks
            {
                let threads: Vec<u16> = lanes_of(sources.lanes)
                    .map(|lane| first + lane as u16)
                    .collect();
                clocks.synchronize(threads.into_iter());
            }
        }
        let Some(mode) = mnemonic.modifiers().shuffle else {
            return;
        };
        // Undefined values are reported where they decide something.
        if self.launch.options.check_uninitialized {
            return;
        }
        for lane in lanes_of(sources.lanes) {
            let (offset, control) = (sources.offsets[lane], sources.controls[lane]);
            let (from, _) = oriole_isa::shuffle_source(mode, lane, offset, control);
            if sources.lanes >> from & 1 == 0 {
                let message = format!(
                    "`{}` of lane {lane} reads from lane {from}, which takes no part in it",
                    mnemonic.text()
                );
                let report = Report::new(FindingKind::ShuffleSource, lane, message);
                self.report(&mut context.state, report);
                return;
            }
        }
    }

    /// Executes an instruction for the active lanes and for those that they have met.
    fn exchange(&self, context: &mut Context<'_>, mut partners: Vec<Fragment>) -> Outcome<()> {
        let mut sources = Sources::default();
        sources.gather(context)?;
        for partner in &mut partners {
            self.beside(context, partner, |context| sources.gather(context))?;
        }
        let (values, truth) = sources
            .results(&context.special.mnemonic)
            .ok_or_else(|| context.missing())?;
        if self.launch.options.check_races {
            self.check_exchange(context, &sources);
        }
        let modifiers = context.special.mnemonic.modifiers();
        let here = context.state.here(What::Unread);
        let undefined = match (modifiers.shuffle, modifiers.vote) {
            _ if !self.launch.options.check_uninitialized => None,
            (Some(mode), _) => Some(sources.shuffled_undefined(mode, here)),
            (None, Some(mode)) if is_vote(context.special) => Some((
                [sources.voted_undefined(mode); 32],
                sources.origin.unwrap_or(here),
            )),
            _ => None,
        };
        let give = |context: &mut Context<'_>| {
            if context.special.mnemonic.opcode() != Opcode::BarWarpSync {
                context.set_destination(&values);
                context.set_truth(truth);
            }
            if let Some((bits, origin)) = &undefined {
                let functions = &self.launch.program.functions;
                let function = &functions[context.state.fragment.function as usize];
                match context.special.operands.first() {
                    Some(&SpecialOperand::Value(slot) | &SpecialOperand::Pair(slot, _)) => {
                        context.state.undefine(function, slot, bits, 0, *origin);
                    }
                    Some(&SpecialOperand::Predicate(to)) => {
                        let open = if bits[0] == 0 { 0 } else { u32::MAX };
                        context.state.define_predicate(to.0 >> 1, open, *origin);
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        give(context)?;
        for partner in &mut partners {
            self.beside(context, partner, give)?;
        }
        self.send_on(context, partners);
        Ok(())
    }
}

/// The reduction of the values of the active lanes.
fn reduce(mnemonic: &Mnemonic, values: &Lanes, active: u32) -> Option<u64> {
    let scalar_type = mnemonic.first_type()?;
    let operation = mnemonic.modifiers().operation?;
    let mut lanes = lanes_of(active).map(|lane| values[lane] as u32);
    let first = lanes.next()?;
    if scalar_type == ScalarType::F32 {
        let absolute = if mnemonic.has(Flag::Absolute) {
            0x7fff_ffff
        } else {
            u32::MAX
        };
        let nan = if mnemonic.has(Flag::PropagateNan) {
            ".NaN"
        } else {
            ""
        };
        let name = if operation == ReductionOperation::Min {
            "min"
        } else {
            "max"
        };
        let step = Mnemonic::parse(&format!("{name}{nan}.f32"));
        let mut result = Bits::from(first & absolute);
        for value in lanes {
            result = evaluate(&step, &[result, Bits::from(value & absolute)])?.values()[0];
        }
        return Some(result as u64);
    }
    let signed = scalar_type.is_signed();
    let result = lanes.try_fold(first, |a, b| {
        Some(match operation {
            ReductionOperation::Add => a.wrapping_add(b),
            ReductionOperation::And => a & b,
            ReductionOperation::Or => a | b,
            ReductionOperation::Xor => a ^ b,
            ReductionOperation::Min if signed => (a as i32).min(b as i32) as u32,
            ReductionOperation::Max if signed => (a as i32).max(b as i32) as u32,
            ReductionOperation::Min => a.min(b),
            ReductionOperation::Max => a.max(b),
            _ => return None,
        })
    })?;
    Some(result.into())
}
