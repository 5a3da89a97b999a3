//! What every test stands on: [`world::World`].

pub(crate) mod aws;
pub(crate) mod calls;
pub(crate) mod emulator;
pub(crate) mod golden;
pub(crate) mod kubernetes;
pub(crate) mod measured;
pub(crate) mod proxy;
pub(crate) mod shipped;
pub(crate) mod skip;
pub(crate) mod terminal;
pub(crate) mod world;

pub(crate) use world::World;
