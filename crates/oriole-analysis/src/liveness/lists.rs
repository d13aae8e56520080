//! Lists one after the other in one vector.

/// Lists that are filled one after the other, in one vector.
#[derive(Clone, Debug)]
pub struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists::with_capacity(0, 0)
    }
}

impl<T> Lists<T> {
    /// No lists, with room for so many lists and items.
    pub fn with_capacity(lists: usize, items: usize) -> Lists<T> {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        Lists {
            starts,
            items: Vec::with_capacity(items),
        }
    }

    /// Adds an item to the list that is being filled.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Adds items to the list that is being filled.
    #[inline]
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
    }

    /// Ends the list that is being filled.
    #[inline]
    pub fn close(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    /// Whether nothing was added since the last list ended.
    #[inline]
    pub fn is_open_empty(&self) -> bool {
        self.starts[self.starts.len() - 1] as usize == self.items.len()
    }

    /// How many lists have ended.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items all lists have.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    /// The items of a list.
    #[inline]
    pub fn of(&self, index: u32) -> &[T] {
        &self.items[self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize]
    }

    /// The items of a list, to change them.
    pub(super) fn of_mut(&mut self, index: u32) -> &mut [T] {
        let (start, end) = (self.starts[index as usize], self.starts[index as usize + 1]);
        &mut self.items[start as usize..end as usize]
    }
}
