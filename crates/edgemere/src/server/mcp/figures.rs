//! The figures of MCP for Prometheus.

use std::fmt;

use mcp_serve::Server;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Tells what a server has done.
pub(super) struct Figures(pub(super) Server);

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let metrics = self.0.metrics();
        let counters = [
            ("mcp_requests", "Requests of agents", metrics.requests),
            ("mcp_calls", "Calls of tools", metrics.calls),
            ("mcp_calls_failed", "Calls that ended with an error", metrics.calls_failed),
            ("mcp_calls_cancelled", "Calls that the client gave up", metrics.calls_cancelled),
            ("mcp_refused", "Requests that a limit refused", metrics.refused_by_limit),
            ("mcp_sessions_opened", "Sessions that were opened", metrics.sessions_opened),
            ("mcp_sessions_expired", "Sessions that nobody used", metrics.sessions_expired),
        ];
        for (name, help, value) in counters {
            let counter = ConstCounter::new(value);
            let encoder = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(encoder)?;
        }
        let gauges = [
            ("mcp_calls_open", "Calls that are under way", metrics.calls_open),
            ("mcp_sessions", "Sessions that are open", metrics.sessions_open),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            let encoder = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(encoder)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}
