//! The bars on how much smaller unoptimized kernels get.

use oriole_bench::size::{BAR, Kernel, Size, unoptimized};

fn total<'kernel>(kernels: impl Iterator<Item = &'kernel Kernel>) -> (Size, Size) {
    let mut total = (Size::default(), Size::default());
    for kernel in kernels {
        total.0 += kernel.before;
        total.1 += kernel.after;
    }
    total
}

#[test]
fn straight_arithmetic_shrinks_to_three_fifths() {
    let kernels = unoptimized();
    let straight = kernels.iter().filter(|kernel| kernel.before.calls == 0);
    assert!(
        straight.clone().count() > 70,
        "too few kernels to say anything"
    );
    let (before, after) = total(straight);
    let left = after.without_local() as f64 / before.without_local() as f64;
    assert!(left <= BAR, "{left:.3} of the instructions are left");
}
