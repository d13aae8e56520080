//! Which of the parameters of its block a value is.
//!
//! A block may have very many parameters, and each of them is asked about. Where one was found is kept, and with it where all others of
//! its block are. No change has to be told: what is kept is compared with the block.

use oriole_collections::IndexVec;
use oriole_ir::Value;
use std::cell::RefCell;

/// Parameters that are looked through one by one.
const FEW: usize = 16;

/// Where parameters of blocks with many of them were.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: RefCell<IndexVec<Value, u32>>,
}

impl Places {
    /// Which one a value is of the parameters of the block that defines it.
    pub fn of(&self, parameters: &[Value], value: Value) -> Option<usize> {
        if parameters.len() <= FEW {
            return parameters.iter().position(|&own| own == value);
        }
        let is_at = |place: usize| parameters.get(place) == Some(&value);
        let mut places = self.places.borrow_mut();
        if let Some(&place) = places.get(value)
            && is_at(place as usize)
        {
            return Some(place as usize);
        }
        for (place, &own) in parameters.iter().enumerate() {
            *places.ensure(own, 0) = place as u32;
        }
        let place = *places.get(value)? as usize;
        is_at(place).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_their_parameters() {
        let places = Places::default();
        let mut parameters: Vec<Value> = (10..60).map(Value::from_index).collect();
        let check = |parameters: &[Value]| {
            for index in 0..80 {
                let value = Value::from_index(index);
                let expected = parameters.iter().position(|&own| own == value);
                assert_eq!(places.of(parameters, value), expected, "{value}");
            }
        };
        check(&parameters);
        parameters.remove(7);
        check(&parameters);
        parameters.insert(3, Value::from_index(70));
        check(&parameters);
        parameters.truncate(5);
        check(&parameters);
    }
}
