//! What every test stands on: [`world::World`].

pub mod calls;
pub mod emulator;
pub mod proxy;
pub mod world;

pub use world::World;
