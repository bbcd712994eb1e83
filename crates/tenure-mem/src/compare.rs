//! Comparisons of memory as lists of bytes.

use core::{
    arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8},
    cmp::Ordering,
    ffi::c_int,
};

/// The bytes of a vector.
const VECTOR: usize = 16;

/// Returns the first eight bytes behind a place as a number that is ordered as they are.
///
/// # Safety
///
/// They can be read.
#[inline(always)]
unsafe fn eight(memory: *const u8, at: usize) -> u64 {
    // SAFETY: as for this function.
    u64::from_be(unsafe { memory.add(at).cast::<u64>().read_unaligned() })
}

/// Like [`eight`] with four bytes.
///
/// # Safety
///
/// They can be read.
#[inline(always)]
unsafe fn four(memory: *const u8, at: usize) -> u64 {
    // SAFETY: as for this function.
    u64::from(u32::from_be(unsafe { memory.add(at).cast::<u32>().read_unaligned() }))
}

/// Returns up to eight bytes as a number that is ordered as they are, if there are equally many on both sides.
///
/// # Safety
///
/// `n` bytes can be read.
#[inline(always)]
unsafe fn few(memory: *const u8, n: usize) -> u64 {
    // SAFETY: the first and the last four bytes, or the first, middle and last one, are among the `n`.
    unsafe {
        match n {
            0 => 0,
            1..4 => {
                let byte = |at: usize| u64::from(memory.add(at).read());
                byte(0) << 16 | byte(n / 2) << 8 | byte(n - 1)
            }
            _ => four(memory, 0) << 32 | four(memory, n - 4),
        }
    }
}

/// Compares two vectors; `None` if they are the same.
///
/// # Safety
///
/// 16 bytes can be read at both.
#[inline(always)]
unsafe fn vectors(a: *const u8, b: *const u8, at: usize) -> Option<c_int> {
    // SAFETY: as for this function; a byte that differs is one of the 16.
    unsafe {
        let (one, other) = (_mm_loadu_si128(a.add(at).cast()), _mm_loadu_si128(b.add(at).cast()));
        let same = _mm_movemask_epi8(_mm_cmpeq_epi8(one, other)) as u32;
        let different = same ^ 0xffff;
        if different == 0 {
            return None;
        }
        let at = at + different.trailing_zeros() as usize;
        Some(c_int::from(a.add(at).read()) - c_int::from(b.add(at).read()))
    }
}

fn sign(order: Ordering) -> c_int {
    order as c_int
}

/// Compares two lists of bytes: negative if the first one comes before the second, zero if they are the same.
///
/// # Safety
///
/// `n` bytes can be read at `a` and at `b`.
#[inline(always)]
pub(crate) unsafe fn compare(a: *const u8, b: *const u8, n: usize) -> c_int {
    // SAFETY: no place is beyond `n`.
    unsafe {
        if n < 8 {
            return sign(few(a, n).cmp(&few(b, n)));
        }
        if n <= VECTOR {
            return match eight(a, 0).cmp(&eight(b, 0)) {
                Ordering::Equal => sign(eight(a, n - 8).cmp(&eight(b, n - 8))),
                order => sign(order),
            };
        }
        let last = n - VECTOR;
        let mut at = 0;
        while at < last {
            if let Some(order) = vectors(a, b, at) {
                return order;
            }
            at += VECTOR;
        }
        vectors(a, b, last).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn order(a: &[u8], b: &[u8]) -> Ordering {
        assert_eq!(a.len(), b.len());
        // SAFETY: both are as long.
        unsafe { compare(a.as_ptr(), b.as_ptr(), a.len()) }.cmp(&0)
    }

    #[test]
    fn a_difference_is_found_wherever_it_is() {
        for n in 0..100 {
            let same: Vec<u8> = (0..n).map(|at| at as u8).collect();
            assert_eq!(order(&same, &same.clone()), Ordering::Equal, "{n}");
            for at in 0..n {
                for byte in [0, 127, 128, 255] {
                    let mut other = same.clone();
                    other[at] = byte;
                    assert_eq!(order(&same, &other), same.cmp(&other), "{n} bytes, {byte} at {at}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn lists_are_ordered_as_slices_are(pairs in prop::collection::vec((0..4u8, 0..4u8), 0..70), at in 0..9usize) {
            let (a, b): (Vec<u8>, Vec<u8>) = pairs.into_iter().unzip();
            let at = at.min(a.len());
            prop_assert_eq!(order(&a[at..], &b[at..]), a[at..].cmp(&b[at..]));
        }
    }
}
