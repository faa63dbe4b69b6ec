//! What a call asks for, checked before the service of datafusion-distributed sees it: it allocates by
//! the numbers of a request, and puts steps around a plan that our gate has accepted already.

use bytes::BytesMut;
use prost::Message;
use tonic::Status;
use tonic::codegen::Bytes;

/// What stands before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// How large a request for the rows of a task may be.
const EXECUTE_BYTES_MAX: usize = 64 << 10;

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Execute,
    Coordinate,
    Other,
}

/// `ExecuteTaskRequest`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
struct Execute {
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(uint64, tag = "3")]
    end: u64,
    #[prost(message, optional, tag = "7")]
    broadcast: Option<Anything>,
    #[prost(message, optional, tag = "8")]
    repartition: Option<Anything>,
}

/// `CoordinatorToWorkerMsg`.
#[derive(Clone, PartialEq, Message)]
struct Coordinate {
    #[prost(message, optional, tag = "1")]
    plan: Option<SetPlan>,
    #[prost(message, optional, tag = "2")]
    units: Option<Anything>,
}

/// `SetPlanRequest`.
#[derive(Clone, PartialEq, Message)]
struct SetPlan {
    #[prost(uint64, tag = "2")]
    tasks: u64,
    #[prost(message, repeated, tag = "4")]
    feeds: Vec<Anything>,
}

/// A message that is only looked for.
#[derive(Clone, PartialEq, Message)]
struct Anything {}

/// Reads along with a request.
#[derive(Debug)]
pub(super) struct Requests {
    call: Call,
    bytes_max: usize,
    unread: BytesMut,
}

impl Requests {
    /// The requests of a call, by its path.
    pub(super) fn of(path: &str, plan_bytes_max: usize) -> Self {
        let (call, bytes_max) = match path.rsplit('/').next() {
            Some("ExecuteTask") => (Call::Execute, EXECUTE_BYTES_MAX),
            Some("CoordinatorChannel") => (Call::Coordinate, plan_bytes_max),
            _ => (Call::Other, EXECUTE_BYTES_MAX),
        };
        Self { call, bytes_max, unread: BytesMut::new() }
    }

    /// Refuses a request as soon as it is there as a whole, before anybody else has all of it.
    pub(super) fn read(&mut self, bytes: &Bytes) -> Result<(), Status> {
        self.unread.extend_from_slice(bytes);
        while let Some((prefix, rest)) = self.unread.split_first_chunk::<PREFIX_BYTES>() {
            let [is_compressed, length @ ..] = *prefix;
            let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            if is_compressed != 0 || length > self.bytes_max {
                return Err(Status::invalid_argument("the request is too large, or compressed"));
            }
            let Some(message) = rest.get(..length) else { return Ok(()) };
            self.check(message)?;
            let _ = self.unread.split_to(PREFIX_BYTES + length);
        }
        Ok(())
    }

    fn check(&self, message: &[u8]) -> Result<(), Status> {
        let unreadable = |error: prost::DecodeError| Status::invalid_argument(error.to_string());
        let is_asked = match self.call {
            Call::Execute => {
                let request = Execute::decode(message).map_err(unreadable)?;
                (request.start, request.end) == (0, 1)
                    && request.broadcast.is_none()
                    && request.repartition.is_none()
            }
            Call::Coordinate => {
                let request = Coordinate::decode(message).map_err(unreadable)?;
                let plan = request.plan.as_ref();
                request.units.is_none()
                    && plan.is_none_or(|plan| plan.tasks <= 1 && plan.feeds.is_empty())
            }
            Call::Other => message.len() <= EXECUTE_BYTES_MAX,
        };
        match is_asked {
            true => Ok(()),
            false => Err(Status::invalid_argument("an operator gives the one part of a task")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(message: &impl Message) -> Bytes {
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(message.encoded_len()).unwrap().to_be_bytes());
        bytes.extend(message.encode_to_vec());
        bytes.into()
    }

    fn execute(start: u64, end: u64) -> Execute {
        Execute { start, end, broadcast: None, repartition: None }
    }

    fn is_refused(path: &str, bytes: &Bytes) -> bool {
        let whole = Requests::of(path, 1 << 20).read(bytes).is_err();
        // The same byte by byte.
        let mut requests = Requests::of(path, 1 << 20);
        let piecewise = (0..bytes.len()).any(|at| requests.read(&bytes.slice(at..at + 1)).is_err());
        assert_eq!(whole, piecewise);
        whole
    }

    #[test]
    fn only_the_one_part_of_a_task_is_given() {
        let path = "/worker.WorkerService/ExecuteTask";
        assert!(!is_refused(path, &framed(&execute(0, 1))));
        for (start, end) in [(0, 1 << 34), (0, u64::MAX), (5, 1), (1, 2), (0, 0), (0, 2)] {
            assert!(is_refused(path, &framed(&execute(start, end))), "{start}..{end}");
        }
        let wrapped = [
            Execute { broadcast: Some(Anything {}), ..execute(0, 1) },
            Execute { repartition: Some(Anything {}), ..execute(0, 1) },
        ];
        assert!(wrapped.iter().all(|request| is_refused(path, &framed(request))));
    }

    #[test]
    fn a_plan_brings_no_feeds_and_no_tasks() {
        let path = "/worker.WorkerService/CoordinatorChannel";
        let plan = |tasks, feeds| {
            let feeds = vec![Anything {}; feeds];
            framed(&Coordinate { plan: Some(SetPlan { tasks, feeds }), units: None })
        };
        assert!(!is_refused(path, &plan(1, 0)));
        assert!(is_refused(path, &plan(1, 1)));
        assert!(is_refused(path, &plan(1 << 40, 0)));
        assert!(is_refused(path, &framed(&Coordinate { plan: None, units: Some(Anything {}) })));
        let long = Bytes::from_static(&[0, 255, 255, 255, 255]);
        assert!(
            is_refused(path, &long) && is_refused("/worker.WorkerService/GetWorkerInfo", &long)
        );
    }
}
