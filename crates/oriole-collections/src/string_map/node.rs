//! The heap nodes of string tables: length, bytes, a zero byte, value.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The start of a node. The key's bytes and a zero byte follow it, then the value at its alignment.
///
/// What comes before the value does not depend on its type, so tables know nodes by this alone.
#[repr(C)]
pub struct Head {
    length: usize,
}

impl Head {
    /// The bytes of a node's key.
    ///
    /// # Safety
    ///
    /// The node must be live for `'a`.
    #[inline]
    pub(crate) unsafe fn key<'a>(node: NonNull<Head>) -> &'a [u8] {
        // SAFETY: the caller vouches for the node; the bytes follow the head and never change.
        unsafe {
            let bytes = node.as_ptr().add(1).cast::<u8>();
            core::slice::from_raw_parts(bytes, (*node.as_ptr()).length)
        }
    }

    /// The same with the zero byte behind it.
    ///
    /// # Safety
    ///
    /// The node must be live for `'a`.
    pub(crate) unsafe fn key_with_nul<'a>(node: NonNull<Head>) -> &'a [u8] {
        // SAFETY: as above; a zero byte follows the key.
        unsafe {
            let bytes = node.as_ptr().add(1).cast::<u8>();
            core::slice::from_raw_parts(bytes, (*node.as_ptr()).length + 1)
        }
    }
}

/// An owned node with a value.
pub(crate) struct NodeBox<V> {
    node: NonNull<Head>,
    value: PhantomData<V>,
}

impl<V> NodeBox<V> {
    /// The allocation of a node and where its value lies. Panics when the key is too long for one.
    #[inline]
    fn layout(length: usize) -> (Layout, usize) {
        // A length is at most that of a slice, so adding to it does not overflow.
        let bytes = size_of::<Head>() + length + 1;
        let at = bytes.next_multiple_of(align_of::<V>());
        let align = align_of::<Head>().max(align_of::<V>());
        let layout = at
            .checked_add(size_of::<V>())
            .and_then(|size| Layout::from_size_align(size, align).ok());
        (layout.expect("string too long"), at)
    }

    pub(crate) fn new(key: &[u8], value: V) -> Self {
        let (layout, at) = Self::layout(key.len());
        // SAFETY: the layout holds at least the head, so it is not empty.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation holds the head, the bytes and one more, and the value from `at` on.
        unsafe {
            base.cast::<Head>().write(Head { length: key.len() });
            let bytes = base.add(size_of::<Head>());
            bytes.copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
            bytes.add(key.len()).write(0);
            base.add(at).cast::<V>().write(value);
        }
        Self {
            node: base.cast(),
            value: PhantomData,
        }
    }

    /// Takes ownership of a node.
    ///
    /// # Safety
    ///
    /// The node must be one of [`NodeBox::into_raw`] with a value of this type, and owned by nobody else.
    pub(crate) unsafe fn from_raw(node: NonNull<Head>) -> Self {
        Self {
            node,
            value: PhantomData,
        }
    }

    pub(crate) fn into_raw(self) -> NonNull<Head> {
        core::mem::ManuallyDrop::new(self).node
    }

    /// The place of a node's value.
    ///
    /// # Safety
    ///
    /// The node must be live and have a value of this type.
    #[inline]
    pub(crate) unsafe fn value(node: NonNull<Head>) -> NonNull<V> {
        // SAFETY: the caller vouches for the node, whose value lies there.
        unsafe {
            let bytes = size_of::<Head>() + (*node.as_ptr()).length + 1;
            node.byte_add(bytes.next_multiple_of(align_of::<V>()))
                .cast()
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        // SAFETY: the node is owned, so it is live.
        unsafe { Head::key(self.node) }
    }

    pub(crate) fn into_value(self) -> V {
        let free = Free::<V>(self.into_raw(), PhantomData);
        // SAFETY: the node is owned; its value is read once, and only its memory is freed then.
        unsafe { Self::value(free.0).read() }
    }
}

/// Frees a node's memory without dropping its value.
struct Free<V>(NonNull<Head>, PhantomData<V>);

impl<V> Drop for Free<V> {
    fn drop(&mut self) {
        // SAFETY: the node is owned and freed with the layout it was made with.
        unsafe {
            let layout = NodeBox::<V>::layout((*self.0.as_ptr()).length).0;
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

impl<V> Drop for NodeBox<V> {
    fn drop(&mut self) {
        // Freed even when the value's destructor panics.
        let free = Free::<V>(self.node, PhantomData);
        // SAFETY: the node is owned and its value dropped once.
        unsafe { Self::value(free.0).drop_in_place() };
    }
}
