//! Whole runs against real servers: the embedded one and a scratch Samba.

mod capture;
mod proxy;
mod run;
mod scale;
mod share;
mod support;
mod trouble;
