//! Pressures of a program by several counts at once, in one walk.
//!
//! [`Pressure`](super::Pressure) adds up live intervals. Where nobody asks for the intervals themselves, one walk from the last instruction
//! to the first says the same: what is live at the end of each block is known from the live sets ([`BlockEnds`]).

use super::block_ends::BlockEnds;
use super::program::{Access, Program};
use super::slot_indexes::Moment;

/// Registers by several counts.
pub(crate) type Counts<const N: usize> = [u32; N];

/// Adds to all counts.
#[inline]
pub(crate) fn add<const N: usize>(sum: &mut Counts<N>, more: &Counts<N>) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Raises all counts to others.
#[inline]
fn raise<const N: usize>(peaks: &mut Counts<N>, others: &Counts<N>) {
    for (peak, other) in peaks.iter_mut().zip(others) {
        *peak = (*peak).max(*other);
    }
}

/// Registers taken at the two moments of an instruction that count.
pub(crate) struct Taken<const N: usize> {
    /// When its operands are needed.
    pub(crate) before: Counts<N>,
    /// When its results exist.
    pub(crate) behind: Counts<N>,
}

/// Goes back over one instruction: `now` is what is taken behind it, without results that nobody reads, and then what is taken before it, without
/// results that come before operands are read. `alive` says whether something is alive, and is told whether it is from there on up.
#[inline]
pub(crate) fn step_back<const N: usize>(
    accesses: &[Access],
    units: &[Counts<N>],
    now: &mut Counts<N>,
    mut alive: impl FnMut(u32, bool) -> bool,
) -> Taken<N> {
    // Behind it results are there, those that nobody reads, too.
    let mut behind = *now;
    for access in accesses.iter().filter(|access| access.defines()) {
        let own = &units[access.entity() as usize];
        if alive(access.entity(), false) {
            for (now, own) in now.iter_mut().zip(own) {
                *now -= own;
            }
        } else {
            add(&mut behind, own);
        }
    }
    for access in accesses.iter().filter(|access| access.uses()) {
        if !alive(access.entity(), true) {
            add(now, &units[access.entity() as usize]);
        }
    }
    Taken {
        before: *now,
        behind,
    }
}

/// The pressures of a program.
pub(crate) struct Profile<const N: usize> {
    /// At each instruction, before or behind it.
    pub(crate) along: Vec<Counts<N>>,
    /// What comes into each block from its predecessors.
    pub(crate) into: Vec<Counts<N>>,
    /// What is live at the end of each block.
    pub(crate) ends: Vec<Counts<N>>,
    /// The highest in each block.
    pub(crate) blocks: Vec<Counts<N>>,
    /// What comes into each block, and all that is defined in it: no order of its instructions needs more.
    pub(crate) most: Vec<Counts<N>>,
    /// The highest of all.
    pub(crate) peaks: Counts<N>,
    /// The first instruction where the first count is highest, and the moment.
    pub(crate) top: Option<(u32, Moment)>,
}

impl<const N: usize> Profile<N> {
    /// Of a program, given what everything in it takes.
    pub(crate) fn of<P: Program>(ends: &mut BlockEnds<'_, P>, units: &[Counts<N>]) -> Profile<N> {
        let program = ends.program();
        let blocks = program.block_count();
        let mut profile = Profile {
            along: vec![[0; N]; program.instruction_count()],
            into: vec![[0; N]; blocks],
            ends: vec![[0; N]; blocks],
            blocks: vec![[0; N]; blocks],
            most: vec![[0; N]; blocks],
            peaks: [0; N],
            top: None,
        };
        let mut alive = vec![false; program.entity_count()];
        let mut now = [0; N];
        for block in (0..blocks as u32).rev() {
            ends.cross(block, |entity, is_alive| {
                alive[entity as usize] = is_alive;
                let own = &units[entity as usize];
                for (now, own) in now.iter_mut().zip(own) {
                    *now = if is_alive { *now + own } else { *now - own };
                }
            });
            if ends.sets().is_reachable(block) {
                profile.block(program, block, units, &mut now, &mut alive);
            }
        }
        if profile.peaks.first() == Some(&0) && !profile.along.is_empty() {
            profile.top = Some((0, Moment::EarlyClobber));
        }
        profile
    }

    fn block<P: Program>(
        &mut self,
        program: &P,
        block: u32,
        units: &[Counts<N>],
        now: &mut Counts<N>,
        alive: &mut [bool],
    ) {
        let at = block as usize;
        self.ends[at] = *now;
        let mut peaks = [0; N];
        let mut defined = [0; N];
        for instruction in program.instructions(block).rev() {
            let accesses = program.accesses(instruction);
            let taken = step_back(accesses, units, now, |entity, is_alive| {
                std::mem::replace(&mut alive[entity as usize], is_alive)
            });
            for access in accesses.iter().filter(|access| access.defines()) {
                add(&mut defined, &units[access.entity() as usize]);
            }
            let mut along = taken.behind;
            raise(&mut along, &taken.before);
            self.along[instruction as usize] = along;
            // From the last to the first: one that is as high comes earlier.
            if along[0] >= self.peaks[0].max(peaks[0]) {
                let moment = match taken.before[0] == along[0] {
                    true => Moment::EarlyClobber,
                    false => Moment::Register,
                };
                self.top = Some((instruction, moment));
            }
            raise(&mut peaks, &along);
        }
        for &entity in program.entry_definitions(block) {
            let own = &units[entity as usize];
            add(&mut defined, own);
            if std::mem::replace(&mut alive[entity as usize], false) {
                for (now, own) in now.iter_mut().zip(own) {
                    *now -= own;
                }
            }
        }
        self.blocks[at] = peaks;
        self.into[at] = *now;
        add(&mut defined, now);
        self.most[at] = defined;
        raise(&mut self.peaks, &peaks);
    }
}

#[cfg(debug_assertions)]
impl Profile<3> {
    /// Compares pressures with those of live intervals, and what is live at the ends of blocks with live sets that are found in
    /// all ways, for programs for which that does not take long.
    pub(crate) fn check<P: Program>(&self, program: &P, units: &[Counts<3>]) {
        use super::live_intervals::LiveIntervals;
        use super::live_sets::Method;
        use super::pressure::Pressure;
        use super::program::RegisterFile;

        if program.instruction_count() > 2000 || program.block_count() == 0 {
            return;
        }
        let intervals = LiveIntervals::of(program);
        for (at, file) in [
            (0, RegisterFile::Data),
            (1, RegisterFile::Data),
            (2, RegisterFile::Predicate),
        ] {
            let of = |entity: u32| units[entity as usize][at];
            let pressure = Pressure::weighted(program, &intervals, of);
            let along = self.along.iter().map(|here| here[at]);
            assert!(along.eq(pressure.along(file).iter().copied()));
            assert_eq!(self.peaks[at], pressure.peak(file).units);
            let into = Pressure::into_blocks_weighted(program, &intervals, file, of);
            assert!(self.into.iter().map(|into| into[at]).eq(into));
            if at == 0
                && let Some((instruction, moment)) = self.top
            {
                let slot = intervals.slots().slot(instruction, moment);
                assert_eq!(pressure.peak(file).instruction, Some(instruction));
                assert_eq!(pressure.peak(file).slot, slot);
            }
        }
        for method in [Method::Dense, Method::Sparse, Method::Runs] {
            let mut ends = BlockEnds::with(program, method);
            let same = Profile::of(&mut ends, units);
            assert!(same.along == self.along && same.into == self.into && same.top == self.top);
            for block in 0..program.block_count() as u32 {
                ends.enter(block);
                let live = ends.sets().live_out(program, block);
                let is_live = |entity: &u32| ends.is_live(*entity);
                let entities = 0..program.entity_count() as u32;
                assert!(entities.filter(is_live).eq(live));
            }
        }
    }
}

/// What is live at a moment of an instruction of a block, in order of numbers.
pub(crate) fn live_at<P: Program>(
    ends: &BlockEnds<'_, P>,
    block: u32,
    instruction: u32,
    moment: Moment,
) -> Vec<u32> {
    let program = ends.program();
    let mut alive = vec![false; program.entity_count()];
    for entity in ends.sets().live_out(program, block) {
        alive[entity as usize] = true;
    }
    for own in program.instructions(block).rev() {
        let accesses = program.accesses(own);
        let is_here = own == instruction;
        let is_behind = is_here && moment == Moment::Register;
        for access in accesses.iter().filter(|access| access.defines()) {
            alive[access.entity() as usize] = is_behind;
        }
        if is_behind {
            break;
        }
        for access in accesses.iter().filter(|access| access.uses()) {
            alive[access.entity() as usize] = true;
        }
        if is_here {
            break;
        }
    }
    let entities = 0..program.entity_count() as u32;
    entities.filter(|&entity| alive[entity as usize]).collect()
}
