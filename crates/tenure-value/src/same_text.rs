//! Equality of names and short strings. Most comparisons are of names that differ in length, or that are equal and short: both are
//! decided here without a call.

/// Whether two strings are equal.
#[inline]
pub fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    // For every length up to sixteen two loads of fixed size, which may overlap.
    match (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) => {
            first_a == first_b && last_a == last_b && (a.len() <= 16 || a == b)
        }
        _ => match (a.first_chunk::<4>(), a.last_chunk::<4>(), b.first_chunk::<4>(), b.last_chunk::<4>()) {
            (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) => {
                first_a == first_b && last_a == last_b
            }
            _ => a.iter().zip(b).all(|(a, b)| a == b),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::same_text;

    #[test]
    fn strings_are_the_same_if_no_byte_differs() {
        let text = "abcdefghijklmnopqrstuvwxyz0123456789";
        for length in 0..=text.len() {
            let (part, same) = (&text[..length], text[..length].to_owned());
            assert!(same_text(part, &same), "{part}");
            assert!(!same_text(part, &format!("{part}a")) && !same_text(&format!("{part}a"), part), "{part}");
            for at in 0..length {
                let mut other = same.clone();
                other.replace_range(at..=at, "_");
                assert!(!same_text(part, &other) && !same_text(&other, part), "{other}");
            }
        }
    }
}
