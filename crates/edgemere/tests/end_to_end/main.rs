//! The program from outside: real processes, each with a folder and ports of its own, asked over the
//! command line and over REST.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop"
)]

mod backup;
mod config;
mod crash;
mod data;
mod databases;
mod demo;
mod documented;
mod doors;
mod identity;
mod import;
mod import_kill;
mod import_live;
mod jobs;
mod jobs_network;
mod ledger;
mod mcp;
mod mcp_install;
mod member;
mod network;
#[cfg(target_os = "linux")]
mod network_cut;
mod network_faults;
mod network_key;
mod network_port;
mod network_sql;
mod node;
mod pages;
mod pressure;
mod queries;
mod query_bodies;
mod rest;
mod rows;
mod rows_crash;
mod run;
mod shell;
#[cfg(target_os = "linux")]
mod shell_terminal;
mod sql_doors;
mod stopping;
mod support;
mod tools_cli;
mod tools_edgelake;
#[cfg(target_os = "linux")]
mod tools_programs;
