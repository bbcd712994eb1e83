//! Lets the linker leave the functions of Node open.

fn main() {
    napi_build::setup();
}
