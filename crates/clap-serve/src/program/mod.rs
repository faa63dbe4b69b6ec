//! A program that is run for a call.
