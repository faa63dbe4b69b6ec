//! Stands in for `tasks` without the feature: no call becomes a task.

use std::sync::Arc;

use rmcp::{RoleServer, service::RequestContext};

use super::{
    Caller, Handler,
    run::{CallEnd, needs_tasks},
};
use crate::{Call, CallTool, Fault, TaskSupport, tasks::Escalation};

impl Handler {
    pub(super) fn escalation(
        &self,
        _: &Caller,
        _: &RequestContext<RoleServer>,
        support: TaskSupport,
    ) -> Result<Option<Arc<Escalation>>, Fault> {
        match support {
            TaskSupport::Never | TaskSupport::Optional => Ok(None),
            TaskSupport::Required => Err(needs_tasks()),
        }
    }

    pub(super) async fn run_until_task(
        &self,
        _: &Caller,
        _: &RequestContext<RoleServer>,
        _: Arc<dyn CallTool>,
        _: Call,
        escalation: Arc<Escalation>,
    ) -> CallEnd {
        match *escalation {}
    }
}
