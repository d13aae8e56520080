//! Keys that somebody who knows this crate's source has chosen to collide.
//!
//! What is counted is comparisons of keys, not time: a table that was flooded compares every key with half of the others.

#![allow(clippy::disallowed_methods)] // bucket order is tested here

use oriole_collections::extra::OrderedMap;
use oriole_collections::key::keyed_word;
use oriole_collections::{DenseKey, DenseMap, DenseSet, Hashed, Lookup, dense_key};
use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

/// A key that counts how often it is compared.
#[derive(Clone, Copy, Debug)]
struct Watched<K>(K);

impl<K: PartialEq> PartialEq for Watched<K> {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.set(COMPARED.get() + 1);
        self.0 == other.0
    }
}

impl<K: Eq> Eq for Watched<K> {}

impl<K: DenseKey> DenseKey for Watched<K> {
    fn mix(&self) -> u64 {
        self.0.mix()
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        self.0.mix_keyed(secret)
    }
}

/// Builds a table of the keys and finds all of them; comparisons per key.
fn comparisons<K: DenseKey + Copy>(keys: &[K]) -> f64 {
    COMPARED.set(0);
    let mut map = DenseMap::new();
    for (number, key) in keys.iter().enumerate() {
        map.insert(Watched(*key), number);
    }
    assert_eq!(map.len(), keys.len());
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(map.get(&Watched(*key)), Some(&number));
    }
    map.retain(|_, number| *number % 2 == 0);
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(
            map.remove(&Watched(*key)).is_some(),
            number.is_multiple_of(2)
        );
    }
    assert!(map.is_empty());
    COMPARED.get() as f64 / keys.len() as f64
}

/// Hash and value at once, as if a mixer had been inverted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chosen(u64);

impl DenseKey for Chosen {
    fn mix(&self) -> u64 {
        self.0
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_word(self.mix(), secret)
    }
}

const COUNT: u64 = if cfg!(miri) { 300 } else { 20_000 };

#[test]
fn numbers_of_equal_homes_and_tags() {
    let keys: Vec<Chosen> = (0..COUNT).map(|n| Chosen(n << 32)).collect();
    assert!(comparisons(&keys) < 8.0, "{}", comparisons(&keys));
}

#[test]
fn numbers_of_equal_homes() {
    let keys: Vec<Chosen> = (0..COUNT).map(|n| Chosen(n << 40 | n << 20)).collect();
    assert!(comparisons(&keys) < 8.0, "{}", comparisons(&keys));
}

/// Names `v0`, `v1`, … whose hashes have equal low bits.
fn names(count: usize, bits: u32) -> Vec<String> {
    (0u64..)
        .map(|number| format!("v{number}"))
        .filter(|name| name.as_str().mix().trailing_zeros() >= bits)
        .take(count)
        .collect()
}

#[test]
fn names_of_equal_homes() {
    let (count, bits) = if cfg!(miri) { (40, 3) } else { (1500, 11) };
    let names = names(count, bits);
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(comparisons(&keys) < 8.0, "{}", comparisons(&keys));
    let keys: Vec<(&str, u32)> = keys.iter().map(|name| (*name, 7)).collect();
    assert!(comparisons(&keys) < 8.0, "{}", comparisons(&keys));
}

/// Sixteen bytes with this XXH3: the first eight make the product in it zero, and the rest can be undone.
fn bytes_of_hash(hash: u64) -> [u8; 16] {
    let mut word = hash ^ (hash >> 32);
    // The inverse of 0x165667919E3779F9 modulo 2^64, by Newton's iteration.
    let odd = 0x1656_6791_9E37_79F9u64;
    let inverse = (0..6).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
    });
    word = word.wrapping_mul(inverse);
    word ^= word >> 37;
    let high = word.wrapping_sub(16) ^ 0xAF56_BC3B_0996_523A;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&0x6782_737B_EA42_39B9u64.to_le_bytes());
    bytes[8..].copy_from_slice(&high.to_le_bytes());
    bytes
}

#[test]
fn string_tables_of_equal_homes_and_tags() {
    let mut map = oriole_collections::extra::ByteStringMap::new();
    let mut model = BTreeMap::new();
    for number in 0..COUNT {
        let key = bytes_of_hash(0x5555 | number << 32);
        assert_eq!(
            oriole_collections::key::mix_bytes(&key),
            0x5555 | number << 32
        );
        map.insert(&key[..], number);
        model.insert(key, number);
    }
    for (key, number) in &model {
        assert_eq!(map.get(&key[..]), Some(number));
    }
    assert_eq!(map.len(), model.len());
    assert!(map.remove(&bytes_of_hash(0x5555)[..]).is_some());
    map.retain(|_, number| *number % 2 == 0);
    assert_eq!(map.len() as u64, COUNT / 2 - 1);
}

#[test]
fn composite_keys_of_equal_hashes() {
    // Both parts of a pair of words take part in one exclusive or, so that pairs of one hash are easy to find.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Pair {
        first: u64,
        second: Chosen,
    }
    dense_key!(Pair { first, second });
    let keys: Vec<Pair> = (0..COUNT / 4)
        .map(|first| {
            let state = Pair {
                first,
                second: Chosen(0),
            };
            // `chain` turns the state by 23 bits and adds the second word.
            let state = oriole_collections::key::chain(0, state.first.mix());
            Pair {
                first,
                second: Chosen(state.rotate_left(23)),
            }
        })
        .collect();
    assert!(keys.windows(2).all(|pair| pair[0].mix() == pair[1].mix()));
    assert!(comparisons(&keys) < 8.0, "{}", comparisons(&keys));
}

#[test]
fn a_hash_that_a_secret_cannot_help_still_works() {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Constant(u32);
    impl DenseKey for Constant {
        fn mix(&self) -> u64 {
            5
        }
        fn mix_keyed(&self, secret: u64) -> u64 {
            keyed_word(self.mix(), secret)
        }
    }
    let set: DenseSet<Constant> = (0..300).map(Constant).collect();
    assert_eq!(set.len(), 300);
    assert!((0..300).all(|n| set.contains(&Constant(n))) && !set.contains(&Constant(300)));
}

#[test]
fn a_flooded_table_answers_like_any_other() {
    let keys: Vec<Chosen> = (0..500).map(|n| Chosen(n << 32)).collect();
    let mut flooded: DenseMap<Chosen, u64> = keys.iter().map(|key| (*key, key.0)).collect();
    let copy = flooded.clone();
    assert_eq!(copy, flooded);
    assert!(
        flooded
            .iter_sorted_by_key()
            .eq(keys.iter().map(|key| key.0))
    );
    flooded.clear();
    assert!(!flooded.contains_key(&keys[3]));
    flooded.extend(copy.iter().map(|(key, value)| (*key, *value)));
    assert_eq!(copy, flooded);
    // Order does not depend on the secret where it matters.
    let ordered: OrderedMap<Chosen, u64> = keys.iter().map(|key| (*key, key.0)).collect();
    assert!(ordered.iter().map(|(key, _)| *key).eq(keys.iter().copied()));
    let hashed: DenseSet<Hashed<u128>> = (0..100).map(Hashed).collect();
    assert_eq!(hashed.len(), 100);
}

trait Sorted {
    fn iter_sorted_by_key(&self) -> std::vec::IntoIter<u64>;
}

impl Sorted for DenseMap<Chosen, u64> {
    fn iter_sorted_by_key(&self) -> std::vec::IntoIter<u64> {
        let mut values: Vec<u64> = self.values().copied().collect();
        values.sort_unstable();
        values.into_iter()
    }
}

/// A table of random keys, filled to its limit and then churned, twice: a secret would give two different orders.
#[test]
fn keys_that_were_not_chosen_draw_no_secret() {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 32) as u32
    };
    let sizes: &[(usize, usize)] = if cfg!(miri) {
        &[(56, 1)]
    } else {
        &[(56, 500), (896, 200), (14_336, 40), (229_376, 1)]
    };
    for &(count, tables) in sizes {
        for _ in 0..tables {
            let keys: Vec<u32> = (0..2 * count).map(|_| random()).collect();
            let build = || {
                let mut set = DenseSet::new();
                for (at, &key) in keys.iter().enumerate() {
                    set.insert(key);
                    if at >= count {
                        set.remove(&keys[at - count]);
                    }
                }
                set
            };
            assert!(build().iter().eq(build().iter()), "{count} keys");
        }
    }
}

/// Operands that lie elsewhere, looked up among keys that own theirs.
struct Operands<'a>(&'a [u32]);

impl Lookup<Vec<u32>> for Operands<'_> {
    fn lookup_mix(&self) -> u64 {
        self.0.mix()
    }
    fn lookup_keyed(&self, secret: u64) -> u64 {
        self.0.mix_keyed(secret)
    }
    fn lookup_classic_hash(&self) -> u32 {
        self.0.classic_hash()
    }
    fn matches(&self, key: &Vec<u32>) -> bool {
        key == self.0
    }
}

/// A table that has drawn a secret finds its keys by every form they can be looked up by.
#[test]
fn lookups_find_keys_hashed_by_a_secret() {
    let (count, bits) = if cfg!(miri) { (40, 3) } else { (900, 11) };
    let keys: Vec<Vec<u32>> = (0u32..)
        .map(|number| vec![1, number])
        .filter(|key| key.mix().trailing_ones() >= bits)
        .take(count)
        .collect();
    let mut map = DenseMap::new();
    for (number, key) in keys.iter().enumerate() {
        map.insert(key.clone(), number);
    }
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(map.get(&Operands(key)), Some(&number));
        assert_eq!(map.get(key.as_slice()), Some(&number));
    }
}

/// Holds all hashes of a key against those of a form it can be looked up by.
fn same_hashes<K: DenseKey + Borrow<Q>, Q: DenseKey + ?Sized>(key: K) {
    let form: &Q = key.borrow();
    assert_eq!(form.mix(), key.mix());
    assert_eq!(form.classic_hash(), key.classic_hash());
    for secret in [2, 7, u64::MAX / 3] {
        assert_eq!(form.mix_keyed(secret), key.mix_keyed(secret));
    }
}

#[test]
fn borrowed_forms_have_the_hashes_of_their_keys() {
    use std::borrow::Cow;
    use std::ffi::{CStr, CString, OsStr, OsString};
    use std::path::{Path, PathBuf};
    same_hashes::<_, str>(String::from("name"));
    same_hashes::<_, str>("name");
    same_hashes::<Box<str>, str>("name".into());
    same_hashes::<std::rc::Rc<str>, str>("name".into());
    same_hashes::<std::sync::Arc<str>, str>("name".into());
    same_hashes::<_, str>(Cow::Borrowed("name"));
    same_hashes::<_, [u32]>(vec![1u32, 2]);
    same_hashes::<_, [u32]>([1u32, 2]);
    same_hashes::<_, u64>(Box::new(3u64));
    same_hashes::<_, CStr>(CString::from(c"name"));
    same_hashes::<_, OsStr>(OsString::from("name"));
    same_hashes::<_, Path>(PathBuf::from("a/./b"));
    same_hashes::<_, Hashed<str>>(Hashed(String::from("name")));
    same_hashes::<_, Hashed<[u8]>>(Hashed(vec![1u8, 2]));
}
