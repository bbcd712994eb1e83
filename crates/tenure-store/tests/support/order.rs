//! Checks a concurrent history: there must be one order of all operations that explains every answer and keeps operations
//! that did not overlap in order. Used by the tests of the store and by those of whole servers.
//!
//! Revisions give the order of the writes, so what is left to check is simple. Every operation has an index in that
//! order (a write its own revision, a read the newest it saw), and an operation that began after another ended must
//! not have a smaller one; a write's must be larger.

/// What an operation did, with its index in the order of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Write(u64),
    Read(u64),
}

/// An operation with the moments at which it began and ended.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub began: u64,
    pub ended: u64,
    pub act: Act,
}

/// Returns the first operation that no order explains.
pub fn violation(history: &[Operation]) -> Option<Operation> {
    let mut by_begin = history.to_vec();
    by_begin.sort_by_key(|operation| operation.began);
    let mut by_end = history.to_vec();
    by_end.sort_by_key(|operation| operation.ended);
    let mut ended = by_end.iter().peekable();
    let mut newest = 0;
    for operation in by_begin {
        while let Some(before) = ended.next_if(|before| before.ended < operation.began) {
            let (Act::Write(index) | Act::Read(index)) = before.act;
            newest = newest.max(index);
        }
        match operation.act {
            Act::Write(index) if index <= newest => return Some(operation),
            Act::Read(index) if index < newest => return Some(operation),
            _ => {}
        }
    }
    None
}

#[test]
fn the_check_finds_histories_that_no_order_explains() {
    let operation = |began, ended, act| Operation { began, ended, act };
    let good = [
        operation(0, 3, Act::Write(1)),
        operation(1, 2, Act::Read(1)),
        operation(4, 7, Act::Write(2)),
        operation(5, 6, Act::Read(1)),
        operation(8, 9, Act::Read(2)),
    ];
    assert!(violation(&good).is_none());
    let bad = [
        ("a read misses a write that had ended", [(0, 1, Act::Write(1)), (2, 3, Act::Read(0))]),
        ("two reads go back in time", [(0, 1, Act::Read(2)), (2, 3, Act::Read(1))]),
        ("a read sees a write that has not begun", [(0, 1, Act::Read(1)), (2, 3, Act::Write(1))]),
        ("a later write comes first", [(0, 1, Act::Write(2)), (2, 3, Act::Write(1))]),
    ];
    for (what, history) in bad {
        let history = history.map(|(began, ended, act)| operation(began, ended, act));
        assert!(violation(&history).is_some(), "{what}");
    }
}
