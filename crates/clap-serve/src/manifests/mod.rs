//! Files around the working folder as resources.
