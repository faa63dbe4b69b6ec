//! `get …`: what there is to see of the node, its rows and its ledger.

pub(super) mod columns;
pub(super) mod connections;
pub(super) mod cpu_usage;
pub(super) mod data_nodes;
pub(super) mod databases;
pub(super) mod dictionary;
pub(super) mod disk_usage;
pub(super) mod memory_info;
pub(super) mod metadata_version;
pub(super) mod node_name;
pub(super) mod node_resources;
pub(super) mod partitions;
pub(super) mod processes;
pub(super) mod rest_calls;
pub(super) mod rest_server_info;
pub(super) mod retention;
pub(super) mod rows_count;
pub(super) mod sample;
pub(super) mod schema;
pub(super) mod status;
pub(super) mod synchronizer;
pub(super) mod tables;
pub(super) mod variable;
pub(super) mod version;
pub(super) mod views;
pub(super) mod virtual_tables;
