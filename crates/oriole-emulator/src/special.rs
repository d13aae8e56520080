//! Special registers, and the dispatch of instructions that are not one loop over lanes.

use oriole_isa::{Component, Opcode, Space, SpecialRegister, SpecialRegisterKind};

use crate::execute::{Executor, Next, lanes_of, predicate, set_predicate};
use crate::execution::Execution;
use crate::memory::{CLUSTER_SHIFT, SHARED_WINDOW};
use crate::program::{Address, CONSTANT, Lanes, NONE, Special, SpecialOperand};
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::State;

/// Instructions that are not one loop over lanes, by what executes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Lanes of a warp exchange values.
    Collective,
    /// Barriers of a block.
    Barrier,
    /// The barrier of a cluster.
    ClusterBarrier,
    /// Asynchronous copies and barriers in memory.
    Asynchronous,
    /// Matrices over a warp. All its lanes have to execute the same instruction.
    Matrix,
    /// What needs no file of its own.
    Other,
}

impl Family {
    /// The family of an opcode, nothing if it is none of these instructions.
    pub(crate) fn of(opcode: Opcode) -> Option<Family> {
        use Opcode::*;
        Some(match opcode {
            Shfl | Vote | VoteSync | MatchAny | MatchAll | Redux | Elect | BarWarpSync => {
                Family::Collective
            }
            BarSync | BarArrive | BarRed | BarrierSync | BarrierArrive | BarrierRed => {
                Family::Barrier
            }
            BarrierClusterArrive | BarrierClusterWait => Family::ClusterBarrier,
            CpAsync
            | CpAsyncCommitGroup
            | CpAsyncWaitGroup
            | CpAsyncWaitAll
            | CpAsyncMbarrierArrive
            | CpAsyncBulk
            | CpReduceAsyncBulk
            | CpAsyncBulkTensor
            | TensormapReplace
            | TensormapCpFenceproxy
            | MbarrierInit
            | MbarrierInval
            | MbarrierExpectTx
            | MbarrierCompleteTx
            | MbarrierArrive
            | MbarrierArriveDrop
            | MbarrierTestWait
            | MbarrierTryWait
            | MbarrierPendingCount
            | StAsync
            | RedAsync => Family::Asynchronous,
            WmmaLoad | WmmaStore | WmmaMma | Mma | MmaSp | Ldmatrix | Stmatrix | Movmatrix
            | WgmmaMmaAsync => Family::Matrix,
            Activemask | Isspacep | Mapa | Getctarank | Createpolicy | Nanosleep | Trap
            | Alloca | Stacksave | Stackrestore => Family::Other,
            _ => return None,
        })
    }
}

/// The execution of an instruction that is not one loop over lanes.
pub(crate) struct Context<'a> {
    pub(crate) state: Execution<'a>,
    pub(crate) special: &'a Special,
}

impl Context<'_> {
    pub(crate) fn missing(&self) -> Box<Fault> {
        Fault::new(
            TrapKind::NotEmulated,
            format!(
                "`{}` with these operands is not emulated",
                self.special.mnemonic.text()
            ),
        )
    }

    /// The lanes of a value operand.
    pub(crate) fn values(&self, index: usize) -> Outcome<Lanes> {
        match self.special.operands.get(index) {
            Some(&SpecialOperand::Value(slot)) => Ok(*self.slot(slot)),
            Some(SpecialOperand::Vector(slots)) if slots.len() == 1 => Ok(*self.slot(slots[0])),
            _ => Err(self.missing()),
        }
    }

    pub(crate) fn slot(&self, slot: u32) -> &Lanes {
        self.state.slot(slot)
    }

    /// A value operand that must be the same in all active lanes.
    pub(crate) fn uniform(&self, index: usize) -> Outcome<u64> {
        Ok(self.values(index)?[self.state.active.trailing_zeros().min(31) as usize])
    }

    pub(crate) fn predicate(&self, index: usize) -> Outcome<u32> {
        match self.special.operands.get(index) {
            Some(&SpecialOperand::Predicate(source)) => {
                Ok(predicate(self.state.warp, self.state.fragment, source))
            }
            Some(&SpecialOperand::Value(slot)) if slot & CONSTANT != 0 => {
                Ok(if self.slot(slot)[0] != 0 { u32::MAX } else { 0 })
            }
            _ => Err(self.missing()),
        }
    }

    pub(crate) fn vector(&self, index: usize) -> Outcome<Vec<u32>> {
        match self.special.operands.get(index) {
            Some(SpecialOperand::Vector(slots)) => Ok(slots.clone()),
            Some(&SpecialOperand::Value(slot)) => Ok(vec![slot]),
            _ => Err(self.missing()),
        }
    }

    pub(crate) fn address(&self, index: usize) -> Outcome<Address> {
        match self.special.operands.get(index) {
            Some(&SpecialOperand::Address(address)) => Ok(address),
            Some(&SpecialOperand::Tensor(address, _)) => Ok(address),
            _ => Err(self.missing()),
        }
    }

    pub(crate) fn set(&mut self, slot: u32, lane: usize, value: u64) {
        if slot != NONE {
            let base = self.state.fragment.base;
            self.state.warp.registers[(base + slot) as usize][lane] = value;
        }
    }

    /// Writes the first operand, a register or nothing.
    pub(crate) fn set_destination(&mut self, values: &Lanes) {
        let slot = match self.special.operands.first() {
            Some(&SpecialOperand::Value(slot)) => slot,
            Some(&SpecialOperand::Pair(slot, _)) => slot,
            _ => return,
        };
        for lane in lanes_of(self.state.active) {
            self.set(slot, lane, values[lane]);
        }
    }

    /// Writes the predicate of the first operand: `p`, or `d|p`.
    pub(crate) fn set_truth(&mut self, truth: u32) {
        let slot = match self.special.operands.first() {
            Some(&SpecialOperand::Pair(_, slot)) => slot,
            Some(&SpecialOperand::Predicate(source)) => source.0 >> 1,
            _ => return,
        };
        let active = self.state.active;
        set_predicate(self.state.warp, self.state.fragment, slot, truth, active);
    }
}

impl Executor<'_> {
    /// Executes an instruction that is not one loop over lanes.
    pub(crate) fn special(&self, state: Execution<'_>, special: &Special) -> Outcome<Next> {
        let mut context = Context { state, special };
        let next = self.special_instruction(&mut context)?;
        if let Next::Advance = next {
            context.state.fragment.state = State::Running;
        }
        Ok(next)
    }

    fn special_instruction(&self, context: &mut Context<'_>) -> Outcome<Next> {
        match Family::of(context.special.mnemonic.opcode()) {
            Some(Family::Collective) => self.collective(context),
            Some(Family::Barrier) => self.barrier(context),
            Some(Family::ClusterBarrier) => self.cluster_barrier(context),
            Some(Family::Asynchronous) => self.asynchronous(context).map(|()| Next::Advance),
            Some(Family::Matrix) => self.matrix(context),
            Some(Family::Other) => self.other(context),
            None => Err(context.missing()),
        }
    }

    fn other(&self, context: &mut Context<'_>) -> Outcome<Next> {
        use Opcode::*;
        let special = context.special;
        match special.mnemonic.opcode() {
            Activemask => {
                let values = [u64::from(context.state.active); 32];
                context.set_destination(&values);
                Ok(Next::Advance)
            }
            Trap => Err(Fault::new(TrapKind::Trapped, "`trap` was executed")),
            Nanosleep => {
                context.state.warp.polls += 4;
                Ok(Next::Advance)
            }
            Createpolicy => {
                context.set_destination(&[0; 32]);
                Ok(Next::Advance)
            }
            Isspacep => self.is_in_space(context),
            Mapa => self.map_address(context),
            Getctarank => {
                let mut values = context.values(1)?;
                for value in &mut values {
                    let rank = (*value & 0xffff_ffff) >> CLUSTER_SHIFT;
                    *value = if rank == 0 {
                        context.state.block as u64
                    } else {
                        rank - 1
                    };
                }
                context.set_destination(&values);
                Ok(Next::Advance)
            }
            Alloca => self.allocate(context),
            Stacksave => {
                let top = u64::from(context.state.fragment.local_top);
                context.set_destination(&[top; 32]);
                Ok(Next::Advance)
            }
            Stackrestore => {
                let top = match special.operands.first() {
                    Some(&SpecialOperand::Value(_)) => context.uniform(0)?,
                    _ => return Err(context.missing()),
                };
                let range = u64::from(context.state.fragment.local_base)
                    ..=context.state.fragment.local_top.into();
                if !range.contains(&top) {
                    return Err(Fault::new(
                        TrapKind::OutOfBounds,
                        format!("`stackrestore` of {top:#x}, which `stacksave` did not give"),
                    ));
                }
                context.state.fragment.local_top = top as u32;
                Ok(Next::Advance)
            }
            _ => Err(context.missing()),
        }
    }

    /// Which lanes have an address of a state space.
    fn is_in_space(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let addresses = context.values(1)?;
        let wanted = context.special.mnemonic.space().unwrap_or(Space::Generic);
        let mut truth = 0;
        for lane in lanes_of(context.state.active) {
            let address = addresses[lane];
            let in_region = address >> crate::memory::REGION_SHIFT != 0;
            let holds = match wanted {
                Space::Shared => {
                    address >> 32 == 1 && (address & 0xffff_ffff) >> CLUSTER_SHIFT == 0
                }
                Space::SharedCluster => address >> 32 == 1,
                Space::Local => address >> 32 == 2,
                Space::Param | Space::ParamEntry => address >> 32 == 3,
                Space::Const | Space::Global => {
                    let index = (address >> crate::memory::REGION_SHIFT).wrapping_sub(1) as usize;
                    let writable = self
                        .launch
                        .memory
                        .regions
                        .get(index)
                        .is_none_or(|region| region.writable);
                    in_region && writable == (wanted == Space::Global)
                }
                _ => in_region,
            };
            truth |= u32::from(holds) << lane;
        }
        context.set_truth(truth);
        Ok(Next::Advance)
    }

    /// Addresses of shared memory in other blocks of the cluster.
    fn map_address(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let mut addresses = match context.special.operands.get(1) {
            Some(&SpecialOperand::Address(address)) => self.addresses(&context.state, address),
            _ => context.values(1)?,
        };
        let ranks = context.values(2)?;
        let window = if context
            .special
            .mnemonic
            .space()
            .is_some_and(|space| space != Space::Generic)
        {
            0
        } else {
            SHARED_WINDOW
        };
        for lane in lanes_of(context.state.active) {
            let offset = addresses[lane] & ((1 << CLUSTER_SHIFT) - 1);
            let rank = (ranks[lane] & 0xff) + 1;
            addresses[lane] = window | rank << CLUSTER_SHIFT | offset;
        }
        context.set_destination(&addresses);
        Ok(Next::Advance)
    }

    /// Room on the stack: as much for each lane as the largest wants.
    fn allocate(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let sizes = context.values(1)?;
        let alignment = match context.special.operands.get(2) {
            Some(_) => context.uniform(2)?.max(16),
            None => 16,
        };
        let largest = lanes_of(context.state.active)
            .map(|lane| sizes[lane])
            .max()
            .unwrap_or(0);
        let start = u64::from(context.state.fragment.local_top)
            .checked_next_multiple_of(alignment)
            .unwrap_or(u64::MAX);
        let end = start.saturating_add(largest);
        let bytes = self
            .launch
            .frame_bytes(0, u32::try_from(end).unwrap_or(u32::MAX));
        if end > self.launch.options.local_bytes || bytes > self.launch.warp_bytes {
            return Err(Fault::new(
                TrapKind::MemoryLimit,
                format!("`alloca` of {largest} bytes: the stack is full"),
            ));
        }
        context.state.fragment.local_top = end as u32;
        let active = context.state.active;
        let local = &mut context.state.warp.local;
        local.grow(end);
        local.forget(start, end.next_multiple_of(16), active);
        // `alloca` gives an address of local memory.
        context.set_destination(&[start; 32]);
        Ok(Next::Advance)
    }

    /// The values of a special register in all lanes.
    pub(crate) fn special_register(
        &self,
        state: &Execution<'_>,
        register: SpecialRegister,
        bits: u32,
    ) -> Lanes {
        use SpecialRegisterKind::*;
        let launch = self.launch;
        let (warp, group, block) = (&*state.warp, &*state.group, state.block);
        let component = match register.component() {
            Some(Component::X) | None => 0,
            Some(Component::Y) => 1,
            Some(Component::Z) => 2,
            Some(Component::W) => return [0; 32],
        };
        let here = group.blocks[block].index;
        let all = |value: u64| {
            if bits < 64 {
                [value & ((1 << bits) - 1); 32]
            } else {
                [value; 32]
            }
        };
        let lane_masks = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32).into());
        match register.kind() {
            Tid => std::array::from_fn(|lane| {
                warp.threads
                    .get(lane)
                    .map_or(0, |thread| thread[component])
                    .into()
            }),
            Ntid => all(launch.block[component].into()),
            Ctaid => all(here[component].into()),
            Nctaid => all(launch.grid[component].into()),
            Laneid => std::array::from_fn(|lane| lane as u64),
            Warpid => all(warp.index.into()),
            Nwarpid => all(group.blocks[block].live.len() as u64),
            Smid => all(0),
            Nsmid => all(132),
            Gridid => all(1),
            IsExplicitCluster => all((launch.cluster != [1; 3]).into()),
            Clusterid => all((here[component] / launch.cluster[component]).into()),
            Nclusterid => all((launch.grid[component] / launch.cluster[component]).into()),
            ClusterCtaid => all((here[component] % launch.cluster[component]).into()),
            ClusterNctaid => all(launch.cluster[component].into()),
            ClusterCtarank => all(block as u64),
            ClusterNctarank => all(launch.cluster.iter().product::<u32>().into()),
            LanemaskEq => lane_masks(|lane| 1 << lane),
            LanemaskLe => lane_masks(|lane| (2u32 << lane).wrapping_sub(1)),
            LanemaskLt => lane_masks(|lane| (1 << lane) - 1),
            LanemaskGe => lane_masks(|lane| !((1 << lane) - 1)),
            LanemaskGt => lane_masks(|lane| !(2u32 << lane).wrapping_sub(1)),
            Clock | GlobaltimerLo => all(group.steps & 0xffff_ffff),
            ClockHi | GlobaltimerHi => all(group.steps >> 32),
            Clock64 | Globaltimer => all(group.steps),
            TotalSmemSize | AggrSmemSize => all(launch.shared_bytes),
            DynamicSmemSize => all(launch.dynamic_shared),
            _ => all(0),
        }
    }
}
