//! The `tenure` binary. What it does is in the library of this crate.

use std::process::ExitCode;

/// Allocation takes a third of the time of a request with the system's allocator; mimalloc was measured to be faster.
#[cfg(not(any(target_os = "linux", windows)))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// On Linux mimalloc takes the place of `malloc` itself, where blocks are found by their size alone: its interface for Rust asks for an
/// alignment each time, and for most sizes gets a larger block, by a longer way. This name alone has it linked.
#[cfg(target_os = "linux")]
#[used]
static ALLOCATOR: unsafe fn(&mimalloc::MiMalloc, std::alloc::Layout) -> *mut u8 =
    <mimalloc::MiMalloc as std::alloc::GlobalAlloc>::alloc;

/// musl's copies and comparisons take a tenth of the time of a request. This name alone has others linked.
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
use tenure_mem as _;

fn main() -> ExitCode {
    tenure_cli::run(std::env::args_os()).into()
}
