//! The cost of watches and lists for a server in a separate process (this program, started again): its memory
//! and its processor time, from `/proc`, while clients here hold thousands of connections. Every part is bounded and ends
//! by itself: `cargo bench -p tenure-server --bench watch -- [idle|deliver|sustain|list]` runs one.

mod clients;
mod delivery;
mod lists;
mod server;

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, directory, transport] = arguments.as_slice()
        && first == "serve"
    {
        return server::serve(directory, server::Transport::named(transport));
    }
    let only = arguments.iter().find(|argument| !argument.starts_with('-'));
    let wants = |part: &str| only.is_none_or(|only| only == part);
    if wants("idle") {
        delivery::idle();
    }
    if wants("deliver") {
        delivery::deliver(10_000);
    }
    if wants("sustain") {
        delivery::sustain();
    }
    if wants("list") {
        lists::list(10_000);
    }
}
