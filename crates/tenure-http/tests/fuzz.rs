//! Runs the fuzz target over chosen and random inputs, as an ordinary test.

mod fuzzed;

#[test]
fn requests_in_pieces_are_answered_like_whole_ones() {
    for tls in [0, 1] {
        for (room, step) in [(0, 0), (0, 255), (255, 0), (6, 12), (255, 255)] {
            // Streams between whole responses, at the beginning, at the end, and alone.
            for asked in [&[0, 1, 0][..], &[1, 1, 3, 1], &[2, 3, 2], &[1], &[]] {
                fuzzed::connection(&[&[tls, room, step], asked].concat());
            }
        }
    }
}

#[test]
fn any_bytes_are_answered_or_end_the_connection() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    // The beginnings of a request, of HTTP/2 and of a handshake, so that not everything ends at the first byte.
    let beginnings = [
        &b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"[..],
        b"GET /whole HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[22, 3, 1, 0, 40, 1, 0, 0, 36, 3, 3],
        &[21, 3, 3, 0, 2, 1, 0],
    ];
    for round in 0..300 {
        let mut bytes = vec![random(256) as u8, random(256) as u8, random(256) as u8];
        bytes.extend_from_slice(beginnings[round % beginnings.len()]);
        for _ in 0..random(4) {
            let place = 3 + random(bytes.len() - 3);
            match random(3) {
                0 => bytes.truncate(place),
                1 => bytes.insert(place, random(256) as u8),
                _ if place == bytes.len() => {}
                _ => bytes[place] = random(256) as u8,
            }
        }
        fuzzed::connection(&bytes);
    }
}
