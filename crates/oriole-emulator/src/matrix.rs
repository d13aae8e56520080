//! Matrix instructions: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix` and `wgmma`.
//!
//! Fragments are gathered into whole matrices, multiplied, and scattered again.
//!
//! **Layouts.** With *g* = lane / 4, *t* = lane mod 4 and *e* elements in a register, the manual's figures for all `mma` shapes
//! are one rule: register *i* of A holds row *g* + 8 (*i* mod 2) (for `m8` shapes, row *g*) and columns from *e t* + 4 *e* ⌊*i*/2⌋
//! on; register *j* of B holds column *g* and rows from *e t* + 4 *e j* on; accumulators *2j* and *2j*+1 hold row *g* + 8 *j* and
//! columns 2*t*, 2*t*+1. `wmma` fragments are opaque; their layout here is our own. `wgmma` reads shared memory through
//! descriptors in the canonical layouts with swizzling, each warp its 16 rows.
//!
//! **Rounding.** Integers are exact. Half precision, `.bf16` and `.tf32` are added as a tensor core does, see `tensor_core`. Other
//! floating-point numbers are added in double precision and rounded once.

use std::ops::Range;

use oriole_isa::memory_cost::Operation;
use oriole_isa::{Flag, Mnemonic, Opcode, ScalarType, Space, evaluate};

use crate::access::{LaneAccess, Spot};
use crate::checks::What;
use crate::execute::{Executor, Next, lanes_of};
use crate::lanes::half_to_single;
use crate::program::SpecialOperand;
use crate::special::Context;
use crate::tensor_core::TensorCore;
use crate::trap::{Fault, Outcome, TrapKind};

/// A matrix of numbers; integers up to 2⁵³ are exact.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, columns: usize) -> Matrix {
        Matrix {
            rows,
            columns,
            values: vec![0.0; rows * columns],
        }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.columns + column]
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }
}

/// The number that a pattern of bits stands for.
fn decode(scalar_type: ScalarType, bits: u64) -> f64 {
    let signed = |width: u32| f64::from((((bits << (64 - width)) as i64) >> (64 - width)) as i32);
    match scalar_type {
        ScalarType::F16 => f32::from_bits(half_to_single(bits as u16)).into(),
        ScalarType::Bf16 => f32::from_bits((bits as u32) << 16).into(),
        ScalarType::F32 => f32::from_bits(bits as u32).into(),
        ScalarType::Tf32 => f32::from_bits(bits as u32 & !0x1fff).into(),
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::E5m2 => f32::from_bits(half_to_single((bits as u16) << 8)).into(),
        ScalarType::E4m3 => {
            let (exponent, mantissa) = ((bits >> 3 & 15) as i32, (bits & 7) as f64);
            let magnitude = match exponent {
                15 if bits & 7 == 7 => f64::NAN,
                0 => mantissa * 2f64.powi(-9),
                _ => (8.0 + mantissa) * 2f64.powi(exponent - 10),
            };
            if bits & 0x80 != 0 {
                -magnitude
            } else {
                magnitude
            }
        }
        ScalarType::S8 => signed(8),
        ScalarType::S4 => signed(4),
        ScalarType::S32 => signed(32),
        ScalarType::U8 => (bits & 0xff) as f64,
        ScalarType::U4 => (bits & 15) as f64,
        ScalarType::B1 => (bits & 1) as f64,
        _ => (bits & 0xffff_ffff) as f64,
    }
}

fn encode(scalar_type: ScalarType, value: f64, saturate: bool) -> u64 {
    match scalar_type {
        ScalarType::F64 => value.to_bits(),
        ScalarType::F32 => {
            if value.is_nan() {
                0x7fff_ffff
            } else {
                (value as f32).to_bits().into()
            }
        }
        ScalarType::F16 | ScalarType::Bf16 => {
            let text = if scalar_type == ScalarType::F16 {
                "cvt.rn.f16.f64"
            } else {
                "cvt.rn.bf16.f64"
            };
            if value.is_nan() {
                return 0x7fff;
            }
            evaluate(&Mnemonic::parse(text), &[value.to_bits().into()])
                .map_or(0, |outputs| outputs.values()[0] as u64)
        }
        _ if saturate => value.clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32 as u32 as u64,
        _ => value as i64 as u32 as u64,
    }
}

/// `a · b + c`. Sums of one-bit products count bits.
fn multiply(
    a: &Matrix,
    b: &Matrix,
    c: &Matrix,
    one_bit: Option<bool>,
    core: Option<TensorCore>,
) -> Matrix {
    let (inner, columns) = (a.columns, b.columns);
    let rows = a.values.len() / inner;
    let mut d = Matrix::new(rows, columns);
    for row in 0..rows {
        for column in 0..columns {
            let mut sum = c.get(row, column);
            if let Some(core) = core {
                let factors = (0..inner).map(|k| (a.get(row, k), b.get(k, column)));
                *d.at(row, column) = core.sum(factors, sum);
                continue;
            }
            for k in 0..inner {
                let (x, y) = (a.get(row, k), b.get(k, column));
                sum = match one_bit {
                    None => x.mul_add(y, sum),
                    Some(true) => sum + f64::from(u8::from(x != y)),
                    Some(false) => sum + x * y,
                };
            }
            *d.at(row, column) = sum;
        }
    }
    d
}

/// Bits of an element inside a register.
fn width(scalar_type: ScalarType) -> u32 {
    match scalar_type {
        ScalarType::Tf32 => 32,
        other => other.bits(),
    }
}

/// The rows of the result, its columns, and the terms of each sum.
fn shape(context: &Context<'_>) -> Outcome<(usize, usize, usize)> {
    let named = context.special.mnemonic.modifiers().shape;
    let named = named.ok_or_else(|| context.missing())?;
    Ok((
        usize::from(named.m),
        usize::from(named.n),
        usize::from(named.k),
    ))
}

fn whole_warp(context: &Context<'_>) -> Outcome<()> {
    if context.state.active != u32::MAX {
        return Err(Fault::new(
            TrapKind::DivergentBarrier,
            format!(
                "`{}` needs all lanes of the warp, {:#x} are here",
                context.special.mnemonic.text(),
                context.state.active
            ),
        ));
    }
    Ok(())
}

/// Which of the matrices of a product the registers of a warp hold.
#[derive(Clone, Copy)]
enum Fragment {
    A,
    B,
    Accumulator,
}

impl Fragment {
    /// Row and column of an element, by its lane and its number in the lane's registers, `each` of them in a register. The matrix
    /// has so many rows.
    fn place(self, rows: usize, each: usize, lane: usize, number: usize) -> (usize, usize) {
        let (group, member) = (lane / 4, lane % 4);
        let (index, element) = (number / each, number % each);
        match self {
            Fragment::A => {
                let (row, block) = match rows {
                    8 => (group, index),
                    _ => (group + 8 * (index & 1), index >> 1),
                };
                (row, member * each + 4 * each * block + element)
            }
            Fragment::B => (member * each + 4 * each * index + element, group),
            Fragment::Accumulator => Fragment::accumulator_place(lane, number),
        }
    }

    /// Marks the results to which an element contributes.
    fn spread(self, results: &mut [bool], columns: usize, (row, column): (usize, usize)) {
        for (at, own) in results.iter_mut().enumerate() {
            let (in_row, in_column) = (at / columns == row, at % columns == column);
            *own |= match self {
                Fragment::A => in_row,
                Fragment::B => in_column,
                Fragment::Accumulator => in_row && in_column,
            };
        }
    }

    /// Row and column of an element of an accumulator.
    fn accumulator_place(lane: usize, number: usize) -> (usize, usize) {
        (
            lane / 4 + 8 * (number / 2 % 2),
            lane % 4 * 2 + number % 2 + 8 * (number / 4),
        )
    }
}

/// Carries what is undefined in the matrices of an `mma` to its result: by rows of A, columns of B and elements of C.
fn carry_undefined(
    context: &mut Context<'_>,
    (rows, columns): (usize, usize),
    [a_type, b_type, c_type, d_type]: [ScalarType; 4],
) -> Outcome<()> {
    let mut undefined = vec![false; rows * columns];
    let mut slots = Vec::new();
    for (operand, scalar_type, fragment) in [
        (1, a_type, Fragment::A),
        (2, b_type, Fragment::B),
        (3, c_type, Fragment::Accumulator),
    ] {
        let (bits, each) = (width(scalar_type), elements_of(scalar_type));
        let own = context.vector(operand)?;
        for (index, &slot) in own.iter().enumerate() {
            for lane in 0..32 {
                let all = context.state.undefined_bits(slot)[lane];
                let is_open = |element: usize| all >> (element as u32 * bits) << (64 - bits) != 0;
                for element in (0..each).filter(|&element| is_open(element)) {
                    let place = fragment.place(rows, each, lane, index * each + element);
                    fragment.spread(&mut undefined, columns, place);
                }
            }
        }
        slots.extend(own);
    }
    let origin = context.state.first_origin(&slots);
    let each = if d_type == ScalarType::F16 { 2 } else { 1 };
    for (index, slot) in context.vector(0)?.into_iter().enumerate() {
        for lane in 0..32 {
            let bits = (0..each).fold(0, |bits, part| {
                let (row, column) = Fragment::accumulator_place(lane, index * each + part);
                let is_open = undefined.get(row * columns + column) == Some(&true);
                let whole = u64::MAX >> (64 - width(d_type)) << (16 * part);
                bits | if is_open { whole } else { 0 }
            });
            context.state.undefine_lane(slot, lane, bits, origin);
        }
    }
    Ok(())
}

/// Carries what is undefined in the fragments of a `wmma.mma` to its result, as [`carry_undefined`] does.
fn carry_undefined_fragments(
    context: &mut Context<'_>,
    (m, n, k): (usize, usize, usize),
    [a_type, b_type, c_type, d_type]: [ScalarType; 4],
) -> Outcome<()> {
    let mut undefined = vec![false; m * n];
    let mut slots = Vec::new();
    for (operand, scalar_type, fragment, rows, columns) in [
        (1, a_type, Fragment::A, m, k),
        (2, b_type, Fragment::B, k, n),
        (3, c_type, Fragment::Accumulator, m, n),
    ] {
        let (bits, each) = (width(scalar_type), elements_of(scalar_type));
        let own = context.vector(operand)?;
        for index in 0..rows * columns {
            let (lane, register, shift) = wmma_place(index, own.len(), each, bits);
            let all = context.state.undefined_bits(own[register])[lane];
            if all >> shift << (64 - bits) != 0 {
                fragment.spread(&mut undefined, n, (index / columns, index % columns));
            }
        }
        slots.extend(own);
    }
    let origin = context.state.first_origin(&slots);
    let (bits, each) = (width(d_type), elements_of(d_type));
    let to = context.vector(0)?;
    let mut registers = vec![[0u64; 32]; to.len()];
    for (index, _) in undefined.iter().enumerate().filter(|(_, own)| **own) {
        let (lane, register, shift) = wmma_place(index, to.len(), each, bits);
        registers[register][lane] |= u64::MAX >> (64 - bits) << shift;
    }
    for (register, &slot) in registers.iter().zip(&to) {
        for (lane, &bits) in register.iter().enumerate() {
            context.state.undefine_lane(slot, lane, bits, origin);
        }
    }
    Ok(())
}

impl Executor<'_> {
    /// Executes a matrix instruction when all lanes of the warp have come to it.
    pub(crate) fn matrix(&self, context: &mut Context<'_>) -> Outcome<Next> {
        let Some(partners) = self.partners(context, u32::MAX)? else {
            return Ok(self.wait_for_members(context, u32::MAX));
        };
        if let Some(partner) = partners
            .iter()
            .find(|partner| partner.base != context.state.fragment.base)
        {
            return Err(Fault::new(
                TrapKind::DivergentBarrier,
                format!(
                    "lanes {:#x} execute `{}` in another call than lanes {:#x}",
                    partner.mask,
                    context.special.mnemonic.text(),
                    context.state.active
                ),
            ));
        }
        let own = context.state.active;
        context.state.active |= partners.iter().fold(0, |mask, partner| mask | partner.mask);
        whole_warp(context)?;
        self.multiply_or_move(context)?;
        context.state.active = own;
        self.send_on(context, partners);
        Ok(Next::Advance)
    }

    fn multiply_or_move(&self, context: &mut Context<'_>) -> Outcome<()> {
        match context.special.mnemonic.opcode() {
            Opcode::Mma | Opcode::MmaSp => self.mma(context),
            Opcode::WmmaLoad => self.wmma_memory(context, true),
            Opcode::WmmaStore => self.wmma_memory(context, false),
            Opcode::WmmaMma => self.wmma(context),
            Opcode::Ldmatrix | Opcode::Stmatrix => self.matrix_memory(context),
            Opcode::Movmatrix => {
                let values = context.values(1)?;
                let mut result = [0; 32];
                for (lane, slot) in result.iter_mut().enumerate() {
                    let (row, column) = (lane / 4, lane % 4 * 2);
                    let half = |row: usize, column: usize| {
                        values[row * 4 + column / 2] >> (16 * (column & 1)) & 0xffff
                    };
                    *slot = half(column, row) | half(column + 1, row) << 16;
                }
                context.set_destination(&result);
                Ok(())
            }
            _ => self.wgmma(context),
        }
    }

    fn mma(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = &context.special.mnemonic;
        let sparse = mnemonic.opcode() == Opcode::MmaSp;
        let (m, n, k) = shape(context)?;
        let &[d_type, a_type, b_type, c_type] = mnemonic.types() else {
            return Err(context.missing());
        };
        let scaled = context.special.operands.len() > if sparse { 6 } else { 4 };
        if scaled || (m == 8 && k == 4 && a_type == ScalarType::F16) {
            return Err(context.missing());
        }
        let saturate = mnemonic.has(Flag::SaturateFinite);
        let one_bit = (a_type == ScalarType::B1).then(|| mnemonic.has_modifier("xor"));
        let stored = if sparse { k / 2 } else { k };
        let mut a = self.gather(context, 1, a_type, (m, stored), Fragment::A)?;
        let b = self.gather(context, 2, b_type, (k, n), Fragment::B)?;
        if sparse {
            a = expand(context, &a, m, k, a_type)?;
        }
        let c = self.gather(context, 3, c_type, (m, n), Fragment::Accumulator)?;
        let core = TensorCore::of(a_type, c_type, d_type);
        let d = multiply(&a, &b, &c, one_bit, core);
        if self.launch.options.check_uninitialized {
            carry_undefined(context, (m, n), [a_type, b_type, c_type, d_type])?;
        }
        self.scatter_accumulator(context, 0, d_type, &d, saturate)
    }

    /// Reads a matrix of so many rows and columns out of the registers of a warp.
    fn gather(
        &self,
        context: &Context<'_>,
        operand: usize,
        scalar_type: ScalarType,
        (rows, columns): (usize, usize),
        fragment: Fragment,
    ) -> Outcome<Matrix> {
        let slots = context.vector(operand)?;
        let bits = width(scalar_type);
        let each = elements_of(scalar_type);
        let mut matrix = Matrix::new(rows, columns);
        for lane in 0..32 {
            for (index, &slot) in slots.iter().enumerate() {
                let value = context.slot(slot)[lane];
                for element in 0..each {
                    let (row, column) = fragment.place(rows, each, lane, index * each + element);
                    if row >= rows || column >= columns {
                        return Err(context.missing());
                    }
                    *matrix.at(row, column) = decode(scalar_type, value >> (element as u32 * bits));
                }
            }
        }
        Ok(matrix)
    }

    fn scatter_accumulator(
        &self,
        context: &mut Context<'_>,
        operand: usize,
        scalar_type: ScalarType,
        matrix: &Matrix,
        saturate: bool,
    ) -> Outcome<()> {
        let slots = context.vector(operand)?;
        let each = if scalar_type == ScalarType::F16 { 2 } else { 1 };
        for lane in 0..32 {
            for (index, &slot) in slots.iter().enumerate() {
                let mut value = 0;
                for part in 0..each {
                    let (row, column) = Fragment::accumulator_place(lane, index * each + part);
                    if row >= matrix.rows || column >= matrix.columns {
                        return Err(context.missing());
                    }
                    value |= encode(scalar_type, matrix.get(row, column), saturate) << (16 * part);
                }
                context.set(slot, lane, value);
            }
        }
        Ok(())
    }

    /// Loads or stores a `wmma` fragment.
    fn wmma_memory(&self, context: &mut Context<'_>, loads: bool) -> Outcome<()> {
        let mnemonic = context.special.mnemonic.clone();
        let (m, n, k) = shape(context)?;
        let scalar_type = mnemonic.first_type().ok_or_else(|| context.missing())?;
        let (rows, columns) = if mnemonic.has_modifier("a") {
            (m, k)
        } else if mnemonic.has_modifier("b") {
            (k, n)
        } else {
            (m, n)
        };
        let row_major = mnemonic.has_modifier("row");
        let (fragment, memory) = if loads { (0, 1) } else { (1, 0) };
        let slots = context.vector(fragment)?;
        let addresses = self.addresses(&context.state, context.address(memory)?);
        let default = if row_major { columns } else { rows };
        let stride = if context.special.operands.len() > 2 {
            context.uniform(2)? as usize
        } else {
            default
        };
        let bits = width(scalar_type);
        let space = mnemonic.space().unwrap_or(Space::Generic);
        if bits < 8 {
            return Err(context.missing());
        }
        let size = bits / 8;
        let each = elements_of(scalar_type);
        let mut registers = vec![[0u64; 32]; slots.len()];
        if !loads {
            for (register, &slot) in registers.iter_mut().zip(&slots) {
                *register = *context.slot(slot);
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let (lane, register, shift) =
                    wmma_place(row * columns + column, slots.len(), each, bits);
                let (outer, inner) = if row_major {
                    (row, column)
                } else {
                    (column, row)
                };
                let element = outer.wrapping_mul(stride).wrapping_add(inner);
                let offset = (element as u64).wrapping_mul(u64::from(size));
                let address = addresses[lane].wrapping_add(offset);
                let spot = self.locate(
                    &context.state,
                    LaneAccess {
                        lane,
                        space,
                        address,
                        size,
                        writes: !loads,
                    },
                )?;
                self.check_spot(&mut context.state, lane, spot, size, !loads);
                if loads {
                    let value = self.read(&context.state, lane, spot, size);
                    registers[register][lane] |= value << shift;
                    let bits = self.undefined_at(&context.state, lane, spot, size);
                    if bits != 0 {
                        let all = context.state.undefined_bits(slots[register])[lane];
                        let origin = context.state.here(What::of(spot));
                        let bits = all | bits << shift;
                        context
                            .state
                            .undefine_lane(slots[register], lane, bits, origin);
                    }
                } else {
                    self.write(
                        &mut context.state,
                        lane,
                        spot,
                        size,
                        registers[register][lane] >> shift,
                    );
                    if let crate::access::Spot::Shared(block, offset) = spot {
                        context.state.group.blocks[block]
                            .checks
                            .initialize(offset, size.into());
                    }
                    let slot = slots[register];
                    let undefined = context.state.undefined_bits(slot)[lane] >> shift;
                    let part = undefined & u64::MAX >> (64 - bits);
                    if part != 0 {
                        self.store_undefined(&mut context.state, lane, spot, (slot, size, part));
                    }
                }
            }
        }
        if loads {
            for (register, &slot) in registers.iter().zip(&slots) {
                for (lane, &value) in register.iter().enumerate() {
                    context.set(slot, lane, value);
                }
            }
        }
        Ok(())
    }

    fn wmma(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = &context.special.mnemonic;
        let (m, n, k) = shape(context)?;
        let [d_type, a_type, b_type, c_type] = match *mnemonic.types() {
            [d, c] => [d, ScalarType::F16, ScalarType::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(context.missing()),
        };
        let saturate = mnemonic.has(Flag::SaturateFinite);
        if width(a_type) < 8 {
            return Err(context.missing());
        }
        let gather = |context: &Context<'_>,
                      operand: usize,
                      scalar_type: ScalarType,
                      rows: usize,
                      columns: usize|
         -> Outcome<Matrix> {
            let slots = context.vector(operand)?;
            let bits = width(scalar_type);
            let each = elements_of(scalar_type);
            let mut matrix = Matrix::new(rows, columns);
            for index in 0..rows * columns {
                let (lane, register, shift) = wmma_place(index, slots.len(), each, bits);
                matrix.values[index] =
                    decode(scalar_type, context.slot(slots[register])[lane] >> shift);
            }
            Ok(matrix)
        };
        let (a, b) = (
            gather(context, 1, a_type, m, k)?,
            gather(context, 2, b_type, k, n)?,
        );
        let c = gather(context, 3, c_type, m, n)?;
        let core = TensorCore::of(a_type, c_type, d_type);
        let d = multiply(&a, &b, &c, None, core);
        if self.launch.options.check_uninitialized {
            carry_undefined_fragments(context, (m, n, k), [a_type, b_type, c_type, d_type])?;
        }
        let slots = context.vector(0)?;
        let bits = width(d_type);
        let each = elements_of(d_type);
        let mut registers = vec![[0u64; 32]; slots.len()];
        for (index, &value) in d.values.iter().enumerate() {
            let (lane, register, shift) = wmma_place(index, slots.len(), each, bits);
            registers[register][lane] |= encode(d_type, value, saturate) << shift;
        }
        for (register, &slot) in registers.iter().zip(&slots) {
            for (lane, &value) in register.iter().enumerate() {
                context.set(slot, lane, value);
            }
        }
        Ok(())
    }

    fn matrix_memory(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = context.special.mnemonic.clone();
        let loads = mnemonic.opcode() == Opcode::Ldmatrix;
        let (m, n, _) = shape(context)?;
        if (m, n) != (8, 8) || mnemonic.first_type() != Some(ScalarType::B16) {
            return Err(context.missing());
        }
        let transposed = mnemonic.has(Flag::Transpose);
        let count = usize::from(mnemonic.modifiers().repeat.unwrap_or(1));
        let (fragment, memory) = if loads { (0, 1) } else { (1, 0) };
        let slots = context.vector(fragment)?;
        let addresses = self.addresses(&context.state, context.address(memory)?);
        let space = mnemonic.space().unwrap_or(Space::Generic);
        if self.launch.options.profile {
            // Each matrix is a phase of eight rows of 16 bytes.
            let lanes = if count == 4 {
                u32::MAX
            } else {
                (1 << (8 * count)) - 1
            };
            let state = &mut context.state;
            self.count(
                state,
                Space::Shared,
                Operation::Matrix,
                &addresses,
                lanes,
                16,
            );
        }
        for (index, &slot) in slots.iter().enumerate().take(count) {
            let mut rows = [None; 8];
            for (row, spot) in rows.iter_mut().enumerate() {
                let lane = 8 * index + row;
                let place = self.locate(
                    &context.state,
                    LaneAccess {
                        lane,
                        space,
                        address: addresses[lane],
                        size: 16,
                        writes: !loads,
                    },
                )?;
                self.check_spot(&mut context.state, lane, place, 16, !loads);
                *spot = Some(place);
            }
            for lane in 0..32 {
                let mut undefined = (0, Spot::Parameter(0));
                let mut value = if loads { 0 } else { context.slot(slot)[lane] };
                for part in 0..2 {
                    let (mut row, mut column) = (lane / 4, lane % 4 * 2 + part);
                    if transposed {
                        (row, column) = (column, row);
                    }
                    let spot = rows[row]
                        .ok_or_else(|| context.missing())?
                        .plus(2 * column as u64);
                    if loads {
                        value |= self.read(&context.state, lane, spot, 2) << (16 * part);
                        let bits = self.undefined_at(&context.state, lane, spot, 2);
                        if bits != 0 {
                            undefined = (undefined.0 | bits << (16 * part), spot);
                        }
                    } else {
                        self.write(&mut context.state, lane, spot, 2, value & 0xffff);
                        if let crate::access::Spot::Shared(block, offset) = spot {
                            context.state.group.blocks[block]
                                .checks
                                .initialize(offset, 2);
                        }
                        value >>= 16;
                    }
                }
                if loads {
                    context.set(slot, lane, value);
                    let origin = context.state.here(What::of(undefined.1));
                    context.state.undefine_lane(slot, lane, undefined.0, origin);
                }
            }
        }
        Ok(())
    }

    fn wgmma(&self, context: &mut Context<'_>) -> Outcome<()> {
        let mnemonic = context.special.mnemonic.clone();
        let (_, n, k) = shape(context)?;
        let &[d_type, a_type, b_type] = mnemonic.types() else {
            return Err(context.missing());
        };
        let first_row = context.state.warp.index as usize % 4 * 16;
        let from_registers = matches!(context.special.operands[1], SpecialOperand::Vector(_));
        let immediate = |context: &Context<'_>, index: usize| -> Outcome<i64> {
            match context.special.operands.get(index) {
                Some(_) => Ok(i64::from(context.uniform(index)? as i32)),
                None => Ok(0),
            }
        };
        let accumulate = context.predicate(3)? != 0;
        let floating = d_type.is_float();
        let (scale_a, scale_b) = if floating && context.special.operands.len() > 5 {
            (immediate(context, 4)?, immediate(context, 5)?)
        } else {
            (1, 1)
        };
        let (transpose_a, transpose_b) = if from_registers {
            (false, immediate(context, 6)? != 0)
        } else {
            (immediate(context, 6)? != 0, immediate(context, 7)? != 0)
        };
        let mut a = if from_registers {
            self.gather(context, 1, a_type, (16, k), Fragment::A)?
        } else {
            let descriptor = context.uniform(1)?;
            let rows = first_row..first_row + 16;
            self.gather_shared(context, descriptor, a_type, rows, k, transpose_a)?
        };
        let descriptor = context.uniform(2)?;
        let mut b = Matrix::new(k, n);
        let columns = self.gather_shared(context, descriptor, b_type, 0..n, k, transpose_b)?;
        for row in 0..k {
            for column in 0..n {
                *b.at(row, column) = columns.get(column, row) * scale_b as f64;
            }
        }
        for value in &mut a.values {
            *value *= scale_a as f64;
        }
        let c = if accumulate {
            self.gather(context, 0, d_type, (16, n), Fragment::Accumulator)?
        } else {
            Matrix::new(16, n)
        };
        let one_bit = (a_type == ScalarType::B1).then_some(false);
        let core = TensorCore::of(a_type, d_type, d_type);
        let d = multiply(&a, &b, &c, one_bit, core);
        let saturate = mnemonic.has(Flag::SaturateFinite);
        self.scatter_accumulator(context, 0, d_type, &d, saturate)
    }

    /// Rows of a matrix in shared memory, `columns` along the inner dimension, through a descriptor.
    fn gather_shared(
        &self,
        context: &Context<'_>,
        descriptor: u64,
        scalar_type: ScalarType,
        rows: Range<usize>,
        columns: usize,
        transposed: bool,
    ) -> Outcome<Matrix> {
        let start = (descriptor & 0x3fff) << 4;
        let leading = (descriptor >> 16 & 0x3fff) << 4;
        let stride = (descriptor >> 32 & 0x3fff) << 4;
        let span = match descriptor >> 62 {
            0 => 16,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        let size = u64::from(width(scalar_type) / 8);
        if size == 0 || descriptor >> 49 & 7 != 0 {
            return Err(context.missing());
        }
        let mut matrix = Matrix::new(rows.len(), columns);
        for row in 0..rows.len() {
            for column in 0..columns {
                let (r, c) = ((rows.start + row) as u64, column as u64);
                let plain = if transposed {
                    // Rows run along the span; the inner dimension steps from line to line.
                    let per_span = span / size;
                    start
                        + r / per_span * leading
                        + c / 8 * stride
                        + c % 8 * span
                        + r % per_span * size
                } else {
                    let bytes = c * size;
                    start + r / 8 * stride + bytes / span * leading + r % 8 * span + bytes % span
                };
                let address = match span {
                    128 => plain ^ (plain >> 7 & 7) << 4,
                    64 => plain ^ (plain >> 7 & 3) << 4,
                    32 => plain ^ (plain >> 7 & 1) << 4,
                    _ => plain,
                };
                let spot = self.locate(
                    &context.state,
                    LaneAccess {
                        lane: 0,
                        space: Space::Shared,
                        address,
                        size: size as u32,
                        writes: false,
                    },
                )?;
                let bits = self.read(&context.state, 0, spot, size as u32);
                *matrix.at(row, column) = decode(scalar_type, bits);
            }
        }
        Ok(matrix)
    }
}

/// How many elements of a type a register of a fragment holds.
fn elements_of(scalar_type: ScalarType) -> usize {
    (32 / width(scalar_type).clamp(1, 32)) as usize
}

/// Where element `index` of a `wmma` fragment is: lane, register, and shift in it.
fn wmma_place(index: usize, registers: usize, each: usize, bits: u32) -> (usize, usize, u32) {
    let per_lane = registers * each;
    let lane = index / per_lane;
    (lane, index % per_lane / each, (index % each) as u32 * bits)
}

/// Spreads a 2:4 sparse matrix by its metadata. How metadata is spread over lanes differs by shape; only metadata that is
/// the same in all of them is emulated.
fn expand(
    context: &Context<'_>,
    stored: &Matrix,
    m: usize,
    k: usize,
    scalar_type: ScalarType,
) -> Outcome<Matrix> {
    let metadata = context.values(4)?;
    let pattern = metadata[0] as u32;
    let nibble = pattern & 15;
    let uniform = lanes_of(context.state.active).all(|lane| metadata[lane] as u32 == pattern)
        && pattern == nibble * 0x1111_1111;
    if !uniform
        || width(scalar_type) > 16
        || width(scalar_type) < 8
        || context.special.operands.len() > 6
    {
        return Err(Fault::new(
            TrapKind::NotEmulated,
            "sparse products with varying metadata are not emulated",
        ));
    }
    let places = [nibble as usize & 3, nibble as usize >> 2];
    let mut matrix = Matrix::new(m, k);
    for row in 0..m {
        for column in 0..stored.columns {
            *matrix.at(row, column / 2 * 4 + places[column % 2]) = stored.get(row, column);
        }
    }
    Ok(matrix)
}
