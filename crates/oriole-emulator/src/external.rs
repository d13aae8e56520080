//! Functions of the driver that kernels call: `vprintf`, `malloc`, `free` and `__assertfail`.

use oriole_isa::Space;

use crate::execute::{Executor, lanes_of, source};
use crate::heap::Heap;
use crate::launch::Group;
use crate::limits;
use crate::memory::GlobalMemory;
use crate::program::{Call, Lanes, Passed};
use crate::trap::{Fault, Outcome, TrapKind};
use crate::warp::{Fragment, Warp};

/// The longest string that is read.
const MAXIMUM_STRING: u64 = 4096;

impl Executor<'_> {
    #[allow(clippy::too_many_arguments, reason = "the state of an execution")]
    pub(crate) fn external(
        &self,
        warp: &mut Warp,
        fragment: &Fragment,
        group: &mut Group,
        block: usize,
        constants: &[Lanes],
        call: &Call,
        name: &str,
        active: u32,
    ) -> Outcome<()> {
        let argument = |warp: &Warp, index: usize, lane: usize| -> u64 {
            match call.arguments.get(index) {
                Some(&Passed::Memory { offset, bytes }) => warp.local.load(
                    lane as u32,
                    u64::from(fragment.local_base + offset),
                    bytes.min(8),
                ),
                Some(&Passed::Register(slot)) => {
                    source(&warp.registers[fragment.base as usize..], constants, slot)[lane]
                }
                _ => 0,
            }
        };
        for lane in lanes_of(active) {
            let result = match name {
                "vprintf" => {
                    let (format, arguments) = (argument(warp, 0, lane), argument(warp, 1, lane));
                    if format == 0 {
                        // As on the machine: no format, no output.
                        u64::from(u32::MAX)
                    } else {
                        let format = self.string(warp, group, block, format, lane)?;
                        let (text, count) =
                            self.print(warp, group, block, &format, arguments, lane)?;
                        group.output.extend(text);
                        if group.output.len() > limits::OUTPUT {
                            return Err(Fault::new(
                                TrapKind::MemoryLimit,
                                format!("`printf` wrote more than {} bytes", limits::OUTPUT),
                            ));
                        }
                        count
                    }
                }
                "malloc" => {
                    let bytes = argument(warp, 0, lane);
                    let offset = self.heap(|heap| heap.allocate(bytes)).flatten();
                    // Out of memory is a null pointer.
                    let base = self.launch.heap_region.map(GlobalMemory::base);
                    match offset.zip(base) {
                        Some((offset, base)) => base + offset,
                        None => 0,
                    }
                }
                "free" => {
                    let address = argument(warp, 0, lane);
                    let base = self.launch.heap_region.map_or(0, GlobalMemory::base);
                    let freed = self.heap(|heap| heap.free(address.wrapping_sub(base)));
                    if let Some(Err(why)) = freed.filter(|_| address != 0) {
                        return Err(Fault::at(
                            TrapKind::InvalidAccess,
                            format!("{why}: {address:#x}"),
                            lane as u32,
                            address,
                        ));
                    }
                    0
                }
                "__assertfail" => {
                    let message = self.string(warp, group, block, argument(warp, 0, lane), lane)?;
                    let message = String::from_utf8_lossy(&message).into_owned();
                    return Err(Box::new(Fault {
                        kind: TrapKind::Trapped,
                        message: format!("assertion failed: {message}"),
                        lane: Some(lane as u32),
                        address: None,
                    }));
                }
                _ => {
                    return Err(Fault::new(
                        TrapKind::BadCall,
                        format!("`{name}` has no body"),
                    ));
                }
            };
            match call.results.first() {
                Some(&Passed::Memory { offset, bytes }) => {
                    warp.local.store(
                        lane as u32,
                        u64::from(fragment.local_base + offset),
                        bytes.min(8),
                        result,
                    );
                }
                Some(&Passed::Register(slot)) => {
                    warp.registers[(fragment.base + slot) as usize][lane] = result
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Does something with the heap, if there is one.
    fn heap<R>(&self, action: impl FnOnce(&mut Heap) -> R) -> Option<R> {
        let region = &self.launch.memory.regions[self.launch.heap_region?];
        let mut heap = region.heap.as_ref()?.lock().ok()?;
        Some(action(&mut heap))
    }

    fn string(
        &self,
        warp: &Warp,
        group: &Group,
        block: usize,
        address: u64,
        lane: usize,
    ) -> Outcome<Vec<u8>> {
        let mut text = Vec::new();
        for offset in 0..MAXIMUM_STRING {
            let spot = self.locate(
                warp,
                group,
                block,
                Space::Generic,
                address.wrapping_add(offset),
                1,
                false,
                lane,
            )?;
            match self.read(warp, group, lane, spot, 1) as u8 {
                0 => break,
                byte => text.push(byte),
            }
        }
        Ok(text)
    }

    /// Formats as C's `printf` does; each argument lies aligned to its size behind the one before. Also gives the number of
    /// arguments, which `vprintf` returns.
    fn print(
        &self,
        warp: &Warp,
        group: &Group,
        block: usize,
        format: &[u8],
        arguments: u64,
        lane: usize,
    ) -> Outcome<(Vec<u8>, u64)> {
        let mut at = arguments;
        let mut count = 0;
        let argument = |size: u64| {
            count += 1;
            at = at.checked_next_multiple_of(size).unwrap_or(u64::MAX);
            let bytes = size as u32;
            let spot = self.locate(warp, group, block, Space::Generic, at, bytes, false, lane)?;
            at = at.wrapping_add(size);
            Ok(self.read(warp, group, lane, spot, bytes))
        };
        let string = |address: u64| self.string(warp, group, block, address, lane);
        let text = crate::printf::format(format, argument, string)?;
        Ok((text, count))
    }
}
