//! Copies. Up to 128 bytes are loaded before any is stored: the first and the last ones, which meet or overlap in the middle. Longer
//! ranges go in blocks, of which the last one, or the first one when copying backwards, is loaded before anything is stored.

use core::arch::x86_64::__m128i;

/// The bytes of a vector, and of a block of four.
const VECTOR: usize = 16;
const BLOCK: usize = 4 * VECTOR;

/// Loads a value from anywhere.
///
/// # Safety
///
/// The bytes of a `T`, a plain number or a vector, can be read there.
#[inline(always)]
unsafe fn load<T: Copy>(source: *const u8, at: usize) -> T {
    // SAFETY: as for this function.
    unsafe { source.add(at).cast::<T>().read_unaligned() }
}

/// Stores a value anywhere.
///
/// # Safety
///
/// The bytes of a `T` can be written there.
#[inline(always)]
unsafe fn store<T: Copy>(target: *mut u8, at: usize, value: T) {
    // SAFETY: as for this function.
    unsafe { target.add(at).cast::<T>().write_unaligned(value) }
}

/// Loads a block.
///
/// # Safety
///
/// Its bytes can be read there.
#[inline(always)]
unsafe fn block(source: *const u8, at: usize) -> [__m128i; 4] {
    // SAFETY: as for this function.
    unsafe {
        [
            load(source, at),
            load(source, at + VECTOR),
            load(source, at + 2 * VECTOR),
            load(source, at + 3 * VECTOR),
        ]
    }
}

/// Stores a block.
///
/// # Safety
///
/// Its bytes can be written there.
#[inline(always)]
unsafe fn store_block(target: *mut u8, at: usize, [a, b, c, d]: [__m128i; 4]) {
    // SAFETY: as for this function.
    unsafe {
        store(target, at, a);
        store(target, at + VECTOR, b);
        store(target, at + 2 * VECTOR, c);
        store(target, at + 3 * VECTOR, d);
    }
}

/// Copies a value from the beginning and one from the end, which may overlap.
///
/// # Safety
///
/// As for [`any`], with `n` at least the size of a `T`.
#[inline(always)]
unsafe fn ends<T: Copy>(target: *mut u8, source: *const u8, n: usize) {
    let last = n - size_of::<T>();
    // SAFETY: both are within the `n` bytes.
    unsafe {
        let (first, end): (T, T) = (load(source, 0), load(source, last));
        store(target, 0, first);
        store(target, last, end);
    }
}

/// Like [`ends`] with two vectors each.
///
/// # Safety
///
/// As for [`any`], with `n` at least the size of two vectors.
#[inline(always)]
unsafe fn vector_ends(target: *mut u8, source: *const u8, n: usize) {
    let last = n - 2 * VECTOR;
    // SAFETY: all are within the `n` bytes.
    unsafe {
        let (a, b): (__m128i, __m128i) = (load(source, 0), load(source, VECTOR));
        let (c, d): (__m128i, __m128i) = (load(source, last), load(source, last + VECTOR));
        store(target, 0, a);
        store(target, VECTOR, b);
        store(target, last, c);
        store(target, last + VECTOR, d);
    }
}

/// Like [`ends`] with a block each.
///
/// # Safety
///
/// As for [`any`], with `n` at least the size of a block.
#[inline(always)]
unsafe fn block_ends(target: *mut u8, source: *const u8, n: usize) {
    let last = n - BLOCK;
    // SAFETY: both are within the `n` bytes.
    unsafe {
        let (first, end) = (block(source, 0), block(source, last));
        store_block(target, 0, first);
        store_block(target, last, end);
    }
}

/// Copies up to 128 bytes.
///
/// # Safety
///
/// As for [`any`].
#[inline(always)]
unsafe fn short(target: *mut u8, source: *const u8, n: usize) {
    // SAFETY: in each case there are as many bytes as are copied at one end.
    unsafe {
        match n {
            0 => {}
            1 => store(target, 0, load::<u8>(source, 0)),
            2..4 => ends::<u16>(target, source, n),
            4..8 => ends::<u32>(target, source, n),
            8..16 => ends::<u64>(target, source, n),
            16..=32 => ends::<__m128i>(target, source, n),
            33..=64 => vector_ends(target, source, n),
            _ => block_ends(target, source, n),
        }
    }
}

/// Copies ranges that do not overlap, or whose target begins before the source.
///
/// # Safety
///
/// As for [`any`].
#[inline(always)]
pub(crate) unsafe fn forward(target: *mut u8, source: *const u8, n: usize) {
    // SAFETY: a block ends at `n` at the latest; what is stored before it is loaded lies before it.
    unsafe {
        if n <= 2 * BLOCK {
            return short(target, source, n);
        }
        let end = block(source, n - BLOCK);
        let mut at = 0;
        while at < n - BLOCK {
            store_block(target, at, block(source, at));
            at += BLOCK;
        }
        store_block(target, n - BLOCK, end);
    }
}

/// Copies ranges that may overlap.
///
/// # Safety
///
/// `n` bytes can be read at `source` and written at `target`.
#[inline(always)]
pub(crate) unsafe fn any(target: *mut u8, source: *const u8, n: usize) {
    // The target does not begin within the source.
    if n <= 2 * BLOCK || (target as usize).wrapping_sub(source as usize) >= n {
        // SAFETY: the contract is the same.
        return unsafe { forward(target, source, n) };
    }
    // SAFETY: a block begins at 0 at the earliest; what is stored before it is loaded lies behind it.
    unsafe {
        let start = block(source, 0);
        let mut at = n;
        while at > BLOCK {
            at -= BLOCK;
            store_block(target, at, block(source, at));
        }
        store_block(target, 0, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{vec, vec::Vec};

    /// More than two blocks and a part.
    const MOST: usize = 3 * BLOCK + 9;

    fn numbered(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        let source = numbered(MOST);
        for n in 0..=MOST {
            for shift in [0, 1, 7, 15] {
                let from = &source[..n.min(MOST - shift)];
                let mut target = vec![u8::MAX; from.len() + shift + BLOCK];
                // SAFETY: the target is longer than the source.
                unsafe { forward(target.as_mut_ptr().add(shift), from.as_ptr(), from.len()) };
                assert!(
                    target[..shift].iter().chain(&target[shift + from.len()..]).all(|byte| *byte == u8::MAX)
                );
                assert!(&target[shift..shift + from.len()] == from, "{n} bytes at {shift}");
            }
        }
    }

    #[test]
    fn ranges_overlap_in_both_directions() {
        for n in 0..=MOST {
            for distance in [1, 2, 3, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 200] {
                for (from, to) in [(0, distance), (distance, 0)] {
                    let mut moved = numbered(MOST + distance);
                    let mut expected = moved.clone();
                    expected.copy_within(from..from + n, to);
                    // SAFETY: both ranges are within the memory.
                    unsafe { any(moved.as_mut_ptr().add(to), moved.as_ptr().add(from), n) };
                    assert!(moved == expected, "{n} bytes from {from} to {to}");
                }
            }
        }
    }
}
