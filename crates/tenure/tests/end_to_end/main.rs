//! The binary as a person uses it: started, asked by the clients that people have, stopped and started again.

mod curl;
mod kubectl;
mod process;
mod serve;
