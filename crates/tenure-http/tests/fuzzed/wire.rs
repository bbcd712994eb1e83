//! A wire in memory between a client and a server. A schedule says how many bytes each read and write moves, and where the wire breaks.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// After how many reads and writes of a side nothing is cut any more, so that every conversation ends soon.
const CUTS: usize = 3_000;

/// The least that the wire holds. During a handshake rustls does not read before what it has to write is written; six bytes of the
/// client, which announce nothing, cross the first answer of the server.
const SMALLEST: usize = 8;

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// The wire carries no more than so many bytes; whether the reader sees an end or an error.
    Cut {
        from_client: bool,
        at: usize,
        is_error: bool,
    },
    /// A byte arrives with other bits.
    Changed {
        from_client: bool,
        at: usize,
        bits: u8,
    },
}

impl Fault {
    pub fn new(kind: u8, at: usize) -> Fault {
        let from_client = kind & 8 == 0;
        match kind % 8 {
            0..=2 => Fault::None,
            3 | 4 => Fault::Cut { from_client, at, is_error: false },
            5 => Fault::Cut { from_client, at, is_error: true },
            _ => Fault::Changed { from_client, at, bits: (kind >> 4).max(1) },
        }
    }

    pub fn is_change(&self) -> bool {
        matches!(self, Fault::Changed { .. })
    }
}

/// One direction.
struct Direction {
    fault: Fault,
    bytes: VecDeque<u8>,
    capacity: usize,
    /// How many bytes were written.
    written: usize,
    /// Whether nothing more is written, or read.
    is_ended: bool,
    is_unread: bool,
    /// Who waits for a change.
    waiting: Vec<Waker>,
}

impl Direction {
    fn new(fault: Fault, capacity: usize) -> Arc<Mutex<Direction>> {
        let (bytes, waiting) = (VecDeque::new(), Vec::new());
        let ends =
            Direction { fault, bytes, capacity, written: 0, is_ended: false, is_unread: false, waiting };
        Arc::new(Mutex::new(ends))
    }

    /// What a write may do: `None` is to wait.
    fn write(&mut self, bytes: &[u8], step: usize) -> Option<io::Result<usize>> {
        let mut count = bytes.len().min(step).min(self.capacity - self.bytes.len());
        if let Fault::Cut { at, .. } = self.fault {
            count = count.min(at.saturating_sub(self.written));
            self.is_ended |= self.written >= at;
        }
        if self.is_ended || self.is_unread {
            return Some(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let start = self.written;
        for (position, byte) in (start..).zip(&bytes[..count]) {
            let changed = match self.fault {
                Fault::Changed { at, bits, .. } if at == position => bits,
                _ => 0,
            };
            self.bytes.push_back(byte ^ changed);
        }
        self.written += count;
        if let Fault::Cut { at, .. } = self.fault {
            self.is_ended |= self.written >= at;
        }
        (count > 0 || bytes.is_empty()).then_some(Ok(count))
    }

    fn read(&mut self, buffer: &mut ReadBuf<'_>, step: usize) -> Option<io::Result<()>> {
        let count = buffer.remaining().min(step).min(self.bytes.len());
        for byte in self.bytes.drain(..count) {
            buffer.put_slice(&[byte]);
        }
        match (count, self.is_ended, self.fault) {
            (0, true, Fault::Cut { is_error: true, .. }) => Some(Err(io::ErrorKind::ConnectionReset.into())),
            (0, false, _) => None,
            _ => Some(Ok(())),
        }
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// One end of the wire.
pub struct Side {
    reads: Arc<Mutex<Direction>>,
    writes: Arc<Mutex<Direction>>,
    steps: Vec<u8>,
    taken: usize,
}

/// Returns the ends of the client and of the server. The first byte of the steps is how much the wire holds; the others are the
/// lengths of reads and writes, repeated from the start when they are used up; 0 is a step that has to be polled again.
pub fn wire(fault: Fault, steps: &[u8]) -> (Side, Side) {
    let (capacity, steps) = steps.split_first().unwrap_or((&16, &[]));
    let capacity = SMALLEST << (capacity % 14);
    let of_client = match fault {
        Fault::None => true,
        Fault::Cut { from_client, .. } | Fault::Changed { from_client, .. } => from_client,
    };
    let (up, down) = if of_client { (fault, Fault::None) } else { (Fault::None, fault) };
    let (up, down) = (Direction::new(up, capacity), Direction::new(down, capacity));
    let side = |reads: &Arc<_>, writes: &Arc<_>, taken| Side {
        reads: Arc::clone(reads),
        writes: Arc::clone(writes),
        steps: steps.to_vec(),
        taken,
    };
    // The sides begin at different steps.
    (side(&down, &up, 0), side(&up, &down, steps.len() / 2))
}

impl Side {
    /// Returns the most bytes of the next read or write; `None` if it has to be polled again.
    fn step(&mut self) -> Option<usize> {
        self.taken += 1;
        let at = |taken: usize| self.steps.get(taken % self.steps.len().max(1)).copied();
        match (at(self.taken), at(self.taken.wrapping_sub(1))) {
            (None, _) => Some(usize::MAX),
            _ if self.taken > CUTS + self.steps.len() => Some(usize::MAX),
            // Twice in a row would not add anything.
            (Some(0), Some(0)) => Some(1),
            (Some(0), _) => None,
            (Some(small @ 1..=200), _) => Some(small.into()),
            (Some(large), _) => Some((usize::from(large) - 200) * 1000),
        }
    }

    /// Carries out what is possible, and otherwise waits.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        is_read: bool,
        carry_out: impl FnOnce(&mut Direction, usize) -> Option<T>,
    ) -> Poll<T> {
        let Some(step) = self.step() else {
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let direction = if is_read { &self.reads } else { &self.writes };
        let mut direction = direction.lock().expect("the wire");
        match carry_out(&mut direction, step) {
            Some(done) => {
                direction.wake();
                Poll::Ready(done)
            }
            None => {
                let waker = context.waker();
                if !direction.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
                    direction.waiting.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

impl AsyncRead for Side {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(context, true, |direction, step| direction.read(buffer, step))
    }
}

impl AsyncWrite for Side {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(context, false, |direction, step| direction.write(bytes, step))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut direction = self.writes.lock().expect("the wire");
        direction.is_ended = true;
        direction.wake();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        for (direction, is_read) in [(&self.reads, true), (&self.writes, false)] {
            let mut direction = direction.lock().expect("the wire");
            match is_read {
                true => direction.is_unread = true,
                false => direction.is_ended = true,
            }
            direction.wake();
        }
    }
}
