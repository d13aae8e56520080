//! Functions of the driver that kernels call: `vprintf`, `malloc`, `free` and `__assertfail`.

use oriole_isa::Space;

use crate::access::LaneAccess;
use crate::execute::{Executor, lanes_of};
use crate::execution::Execution;
use crate::heap::Heap;
use crate::limits;
use crate::memory::GlobalMemory;
use crate::program::{Call, Passed};
use crate::trap::{Fault, Outcome, TrapKind};

/// The longest string that is read.
const MAXIMUM_STRING: u64 = 4096;

impl Executor<'_> {
    /// Executes a call of one of them.
    pub(crate) fn external(
        &self,
        state: &mut Execution<'_>,
        call: &Call,
        name: &str,
    ) -> Outcome<()> {
        let argument = |state: &Execution<'_>, index: usize, lane: usize| -> u64 {
            match call.arguments.get(index) {
                Some(&Passed::Memory { offset, bytes }) => state.warp.local.load(
                    lane as u32,
                    u64::from(state.fragment.local_base + offset),
                    bytes.min(8),
                ),
                Some(&Passed::Register(slot)) => state.slot(slot)[lane],
                _ => 0,
            }
        };
        for lane in lanes_of(state.active) {
            let result = match name {
                "vprintf" => {
                    let (format, arguments) = (argument(state, 0, lane), argument(state, 1, lane));
                    if format == 0 {
                        // As on the machine: no format, no output.
                        u64::from(u32::MAX)
                    } else {
                        let format = self.string(state, format, lane)?;
                        let (text, count) = self.print(state, &format, arguments, lane)?;
                        state.group.output.extend(text);
                        if state.group.output.len() > limits::OUTPUT {
                            return Err(Fault::new(
                                TrapKind::MemoryLimit,
                                format!("`printf` wrote more than {} bytes", limits::OUTPUT),
                            ));
                        }
                        count
                    }
                }
                "malloc" => {
                    let bytes = argument(state, 0, lane);
                    let offset = self.heap(|heap| heap.allocate(bytes)).flatten();
                    // Out of memory is a null pointer.
                    let base = self.launch.heap_region.map(GlobalMemory::base);
                    match offset.zip(base) {
                        Some((offset, base)) => base + offset,
                        None => 0,
                    }
                }
                "free" => {
                    let address = argument(state, 0, lane);
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
                    let message = self.string(state, argument(state, 0, lane), lane)?;
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
                    let at = u64::from(state.fragment.local_base + offset);
                    let local = &mut state.warp.local;
                    local.store(lane as u32, at, bytes.min(8), result);
                    local.store_undefined(lane as u32, at, bytes.min(8), 0);
                }
                Some(&Passed::Register(slot)) => {
                    state.warp.registers[(state.fragment.base + slot) as usize][lane] = result
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

    fn string(&self, state: &Execution<'_>, address: u64, lane: usize) -> Outcome<Vec<u8>> {
        let mut text = Vec::new();
        for offset in 0..MAXIMUM_STRING {
            let access = LaneAccess {
                lane,
                space: Space::Generic,
                address: address.wrapping_add(offset),
                size: 1,
                writes: false,
            };
            let spot = self.locate(state, access)?;
            match self.read(state, lane, spot, 1) as u8 {
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
        state: &Execution<'_>,
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
            let access = LaneAccess {
                lane,
                space: Space::Generic,
                address: at,
                size: bytes,
                writes: false,
            };
            let spot = self.locate(state, access)?;
            at = at.wrapping_add(size);
            Ok(self.read(state, lane, spot, bytes))
        };
        let string = |address: u64| self.string(state, address, lane);
        let text = crate::printf::format(format, argument, string)?;
        Ok((text, count))
    }
}
