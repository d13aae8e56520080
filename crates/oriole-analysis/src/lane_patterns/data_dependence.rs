//! Which values differ by lane because of data: of what was loaded, or had from functions that are called.
//!
//! A worklist over values and their uses; what is uniform depends on data in no way that could tell lanes apart.

use crate::control_flow::ControlFlow;
use crate::uniformity::Uniformity;
use oriole_collections::BitSet;
use oriole_ir::{Function, Use, Value};
use oriole_isa::{Opcode, Space};

/// The values of a function that depend on data and differ by lane.
pub(super) fn data_dependent(
    function: &Function,
    flow: &ControlFlow,
    uniformity: &Uniformity,
) -> BitSet<Value> {
    let mut found: BitSet<Value> = BitSet::with_domain(function.values().len());
    let mut worklist = Vec::new();
    let mut mark = |value: Value, worklist: &mut Vec<Value>| {
        if !uniformity.is_uniform(value) && found.insert(value) {
            worklist.push(value);
        }
    };
    for &block in flow.reverse_postorder() {
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let mnemonic = &format.mnemonic;
            let is_parameter =
                mnemonic.opcode() == Opcode::Ld && mnemonic.space() == Some(Space::Param);
            let is_exchange = format.effects.convergent && !format.effects.is_call;
            let is_data = format.opaque || !format.is_pure() && !is_parameter && !is_exchange;
            if is_data {
                for result in function.results(instruction) {
                    mark(result, &mut worklist);
                }
            }
        }
    }
    while let Some(value) = worklist.pop() {
        for user in function.uses_of(value) {
            match user {
                Use::Instruction(user) => {
                    for result in function.results(user) {
                        mark(result, &mut worklist);
                    }
                }
                Use::Edge(block) => {
                    for edge in function.edges(block) {
                        let parameters = &function.blocks()[edge.target].parameters;
                        let arguments = function.arguments(*edge).iter();
                        for (&argument, &parameter) in arguments.zip(parameters) {
                            if argument == value {
                                mark(parameter, &mut worklist);
                            }
                        }
                    }
                }
            }
        }
    }
    found
}
