//! Instructions in which the lanes of a warp exchange values: `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`.
//!
//! A member mask names the lanes that take part. When some of them are elsewhere, the fragment waits until all that have not
//! exited stand at the same instruction, and the instruction is then executed once for all of them.

use oriole_isa::{
    Bits, Flag, Mnemonic, Opcode, ReductionOperation, ScalarType, ShuffleMode, VoteMode, evaluate,
};

use crate::execute::{Executor, Next, lanes_of};
use crate::program::{Lanes, SpecialOperand};
use crate::special::Scene;
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::State;

impl Executor<'_> {
    pub(crate) fn collective(&self, scene: &mut Scene<'_>) -> Outcome<Next> {
        let special = scene.special;
        let opcode = special.mnemonic.opcode();
        let mask_operand = match opcode {
            Opcode::Shfl if special.operands.len() == 5 => Some(4),
            Opcode::VoteSync | Opcode::MatchAny | Opcode::MatchAll | Opcode::Redux => Some(2),
            Opcode::Elect => Some(1),
            Opcode::BarWarpSync => Some(0),
            _ => None,
        };
        // Lanes that arrive together may belong to different groups.
        if let Some(index) = mask_operand {
            let masks = scene.values(index)?;
            let first = masks[scene.active.trailing_zeros().min(31) as usize];
            if lanes_of(scene.active).any(|lane| masks[lane] != first) {
                return self.collective_by_groups(scene, &masks);
            }
        }
        let members = match mask_operand {
            Some(index) => scene.uniform(index)? as u32,
            None => scene.active,
        };
        let wanted = members & scene.warp.live;
        if scene.active & !members != 0 {
            return Err(Fault::new(
                TrapKind::DivergentBarrier,
                format!(
                    "lanes {:#x} execute `{}` but are not in its member mask {members:#x}",
                    scene.active & !members,
                    special.mnemonic.text()
                ),
            ));
        }
        if wanted & !scene.active != 0 {
            // Lanes of the mask are elsewhere.
            let present = scene.warp.parked_with(scene.fragment);
            if wanted & !present != 0 {
                scene.fragment.state = State::Parked { wanted };
                return Ok(Next::Wait);
            }
            let here = (
                scene.fragment.function,
                scene.fragment.pc,
                scene.fragment.base,
            );
            for other in &mut scene.warp.fragments {
                if matches!(other.state, State::Parked { .. })
                    && (other.function, other.pc, other.base) == here
                {
                    other.state = State::Running;
                    other.pc += 1;
                }
            }
            scene.active = present;
        }
        if self.launch.options.check_races {
            self.order_lanes(scene);
        }
        match opcode {
            Opcode::BarWarpSync => {}
            Opcode::Shfl => self.shuffle(scene)?,
            Opcode::Vote | Opcode::VoteSync => {
                let truth = scene.predicate(1)?;
                let (active, all) = (scene.active, scene.active);
                match special.mnemonic.modifiers().vote {
                    Some(VoteMode::Ballot) => scene.set_destination(&[u64::from(truth & all); 32]),
                    Some(VoteMode::All) => {
                        scene.set_truth(if truth & all == all { active } else { 0 })
                    }
                    Some(VoteMode::Any) => {
                        scene.set_truth(if truth & all != 0 { active } else { 0 })
                    }
                    Some(VoteMode::Uniform) => {
                        let uniform = truth & all == all || truth & all == 0;
                        scene.set_truth(if uniform { active } else { 0 });
                    }
                    None => return Err(scene.missing()),
                }
            }
            Opcode::MatchAny => {
                let values = scene.values(1)?;
                let mut result = [0; 32];
                for lane in lanes_of(scene.active) {
                    result[lane] = lanes_of(scene.active)
                        .filter(|&other| values[other] == values[lane])
                        .fold(0, |mask, other| mask | 1 << other);
                }
                scene.set_destination(&result);
            }
            Opcode::MatchAll => {
                let values = scene.values(1)?;
                let first = values[scene.active.trailing_zeros() as usize];
                let equal = lanes_of(scene.active).all(|lane| values[lane] == first);
                let result = if equal { scene.active } else { 0 };
                scene.set_destination(&[u64::from(result); 32]);
                scene.set_truth(if equal { u32::MAX } else { 0 });
            }
            Opcode::Redux => {
                let values = scene.values(1)?;
                let result = reduce(&special.mnemonic, &values, scene.active)
                    .ok_or_else(|| scene.missing())?;
                scene.set_destination(&[result; 32]);
            }
            _ => {
                // `elect`: the lowest lane of the mask.
                let leader = members & scene.active;
                scene.set_destination(&[leader.trailing_zeros().into(); 32]);
                scene.set_truth(leader & leader.wrapping_neg());
            }
        }
        Ok(Next::Advance)
    }

    /// Executes an instruction for lanes with different member masks, group by group.
    fn collective_by_groups(&self, scene: &mut Scene<'_>, masks: &Lanes) -> Outcome<Next> {
        let all = scene.active;
        let mut rest = all;
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let group = lanes_of(rest)
                .filter(|&lane| masks[lane] == mask)
                .fold(0u32, |group, lane| group | 1 << lane);
            if mask as u32 & scene.warp.live & !group != 0 {
                return Err(Fault::new(
                    TrapKind::DivergentBarrier,
                    format!(
                        "lanes {:#x} of the member mask {mask:#x} are elsewhere",
                        mask as u32 & scene.warp.live & !group
                    ),
                ));
            }
            scene.active = group;
            self.collective(scene)?;
            rest &= !group;
        }
        scene.active = all;
        Ok(Next::Advance)
    }

    fn shuffle(&self, scene: &mut Scene<'_>) -> Outcome<()> {
        let mode = scene
            .special
            .mnemonic
            .modifiers()
            .shuffle
            .ok_or_else(|| scene.missing())?;
        let (values, offsets, controls) = (scene.values(1)?, scene.values(2)?, scene.values(3)?);
        let mut result: Lanes = [0; 32];
        let mut truth = 0;
        for lane in lanes_of(scene.active) {
            let offset = (offsets[lane] & 31) as i32;
            let clamp = (controls[lane] & 31) as i32;
            let segment = (controls[lane] >> 8 & 31) as i32;
            let here = lane as i32;
            let last = here & segment | clamp & !segment;
            let first = here & segment;
            let from = match mode {
                ShuffleMode::Up => here - offset,
                ShuffleMode::Down => here + offset,
                ShuffleMode::Butterfly => here ^ offset,
                ShuffleMode::Index => first | offset & !segment,
            };
            let inside = if mode == ShuffleMode::Up {
                from >= last
            } else {
                from <= last
            };
            let from = if inside { from as usize & 31 } else { lane };
            // A lane that does not take part has no value to give.
            result[lane] = values[from];
            truth |= u32::from(inside) << lane;
        }
        scene.set_destination(&result);
        if let Some(SpecialOperand::Pair(..)) = scene.special.operands.first() {
            scene.set_truth(truth);
        }
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
