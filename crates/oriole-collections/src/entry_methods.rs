//! The methods that the entries of every map have.

/// The methods of an `Entry` whose `Occupied` has `key`, `get_mut` and `into_mut`, and whose `Vacant` has `key` and `insert`: for values
/// of one type, keys of another, and the lifetime of the map's borrow.
macro_rules! entry_methods {
    ($lifetime:lifetime, $key:ty, $value:ty) => {
        /// The value, `value` when missing.
        #[inline]
        #[cfg_attr(debug_assertions, track_caller)]
        pub fn or_insert(self, value: $value) -> &$lifetime mut $value {
            self.or_insert_with(|| value)
        }

        /// The value, made by `make` when missing.
        #[inline]
        #[cfg_attr(debug_assertions, track_caller)]
        pub fn or_insert_with(self, make: impl FnOnce() -> $value) -> &$lifetime mut $value {
            match self {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(make()),
            }
        }

        /// The value, made of the key by `make` when missing.
        #[inline]
        #[cfg_attr(debug_assertions, track_caller)]
        pub fn or_insert_with_key(
            self,
            make: impl FnOnce(&$key) -> $value,
        ) -> &$lifetime mut $value {
            match self {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let value = make(entry.key());
                    entry.insert(value)
                }
            }
        }

        /// The value, the default when missing.
        #[inline]
        #[cfg_attr(debug_assertions, track_caller)]
        pub fn or_default(self) -> &$lifetime mut $value
        where
            $value: Default,
        {
            self.or_insert_with(<$value>::default)
        }

        /// Changes the value when present.
        #[inline]
        pub fn and_modify(mut self, change: impl FnOnce(&mut $value)) -> Self {
            if let Entry::Occupied(entry) = &mut self {
                change(entry.get_mut());
            }
            self
        }

        /// The key.
        pub fn key(&self) -> &$key {
            match self {
                Entry::Occupied(entry) => entry.key(),
                Entry::Vacant(entry) => entry.key(),
            }
        }
    };
}
pub(crate) use entry_methods;
