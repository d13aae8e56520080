//! Fuses multiplications and additions that carry no rounding, as ptxas does.
//!
//! PTX lets a compiler fuse `mul.f32` and `add.f32` (or `.f64`) when neither names a rounding; ptxas does so unless it is told
//! `-fmad=false`. The emulator executes what is written; with this pass it gives, for most kernels, the bits of a GPU.
//!
//! ## Method
//! In one basic block, an addition or subtraction one of whose operands is a product that nothing else reads becomes a
//! fused operation. Where both operands are products the first is fused.
//!
//! ## Not done
//! Products that pass through memory or a move, half precision, products with several readers.

use crate::lanes::{Binary, Ternary};
use crate::program::{Function, Kind, PredicateSource};
use crate::uses::uses;

struct Product {
    slot: u32,
    at: usize,
    a: u32,
    b: u32,
    double: bool,
    flush: bool,
}

/// Fuses what may be fused in a function.
pub(crate) fn contract(function: &mut Function) {
    let count = function.registers as usize;
    let (mut reads, mut writes) = (vec![0u32; count], vec![0u32; count]);
    let mut leaders = vec![false; function.code.len() + 1];
    for operation in &function.code {
        let used = uses(function, &operation.kind);
        used.reads
            .iter()
            .for_each(|&slot| reads[slot as usize] += 1);
        used.writes
            .iter()
            .for_each(|&slot| writes[slot as usize] += 1);
        if let Kind::Branch { target } = operation.kind {
            leaders[target as usize] = true;
        }
    }
    for table in &function.tables {
        table
            .iter()
            .for_each(|&target| leaders[target as usize] = true);
    }
    let mut products: Vec<Product> = Vec::new();
    for (at, &is_leader) in leaders[..function.code.len()].iter().enumerate() {
        if is_leader {
            products.clear();
        }
        let operation = &function.code[at];
        let written = uses(function, &operation.kind).writes;
        let kind = operation.kind.clone();
        let contracts = operation.contracts;
        let guarded = operation.guard != PredicateSource::TRUE;
        if let Kind::Binary { operation, d, a, b } = kind
            && contracts
        {
            let (sum, double, flush, negative) = match operation {
                Binary::AddF32 { flush } => (true, false, flush, false),
                Binary::SubtractF32 { flush } => (true, false, flush, true),
                Binary::AddF64 => (true, true, false, false),
                Binary::SubtractF64 => (true, true, false, true),
                _ => (false, false, false, false),
            };
            let find = |slot: u32| {
                products.iter().position(|product| {
                    product.slot == slot
                        && product.double == double
                        && product.flush == flush
                        && reads[slot as usize] == 1
                        && writes[slot as usize] == 1
                })
            };
            if sum && a != b {
                let (first, second) = (find(a), find(b));
                let chosen = first
                    .map(|index| (index, b, false))
                    .or(second.map(|index| (index, a, true)));
                if let Some((index, other, is_second)) = chosen {
                    let product = products.remove(index);
                    function.code[product.at].kind = Kind::Nothing;
                    // a·b − c, or c − a·b.
                    let negate_product = negative && is_second;
                    let negate_addend = negative && !is_second;
                    let fused = if double {
                        Ternary::ContractedF64 {
                            negate_product,
                            negate_addend,
                        }
                    } else {
                        Ternary::ContractedF32 {
                            flush,
                            negate_product,
                            negate_addend,
                        }
                    };
                    function.code[at].kind = Kind::Ternary {
                        operation: fused,
                        d,
                        a: product.a,
                        b: product.b,
                        c: other,
                    };
                }
            }
        }
        products.retain(|product| {
            written
                .iter()
                .all(|slot| ![product.slot, product.a, product.b].contains(slot))
        });
        if let Kind::Binary { operation, d, a, b } = kind
            && contracts
            && !guarded
            && d != a
            && d != b
        {
            let (is_product, double, flush) = match operation {
                Binary::MultiplyF32 { flush } => (true, false, flush),
                Binary::MultiplyF64 => (true, true, false),
                _ => (false, false, false),
            };
            if is_product {
                products.push(Product {
                    slot: d,
                    at,
                    a,
                    b,
                    double,
                    flush,
                });
            }
        }
    }
}
