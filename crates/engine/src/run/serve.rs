//! A host that follows the first host: it carries its part of the clients, and hands in what
//! it measures.

use smbench_model::plan::Plan;
use smbench_model::progress::PointNumber;
use smbench_model::record::{LoadPointRecord, Outcome, RunRecord};
use smbench_model::secret::Secret;
use tokio::sync::mpsc;

use crate::hosts::{Order, OtherHost, PointOrder, Refusal, RunOrder, Upstream};
use crate::machine::cancel::Cancel;
use crate::machine::runtime::blocking;
use crate::run::carrier::Carrier;
use crate::run::context::{Context, RunRole};
use crate::run::error::RunError;
use crate::run::reserve::reserve;
use crate::run::site::{self, ShareJob, ShareOperations};
use crate::run::{Observer, Unobserved, point};
use crate::smb::session::LogoffScope;

/// Follows the first host until it says that no run follows. It runs those of `plans` that the
/// first host asks for, by their work and server. Instead of plans, there may be the reason why
/// there are none, as a clause. Gives this host's own part of each finished run to `ended`.
/// Blocks the thread.
///
/// # Errors
/// If the first host is lost, or if this host cannot start a thread.
///
/// # Panics
/// On a thread that runs async code of tokio.
pub fn serve(
    host: OtherHost,
    plans: Result<&[Plan], String>,
    cancel: &Cancel,
    ended: &mut dyn FnMut(&RunRecord),
) -> Result<(), RunError> {
    let following = follow(host, plans, cancel, ended);
    blocking(RunError::System, following)
}

async fn follow(
    host: OtherHost,
    plans: Result<&[Plan], String>,
    cancel: &Cancel,
    ended: &mut dyn FnMut(&RunRecord),
) -> Result<(), RunError> {
    let (upstream, mut orders) = host.listen();
    loop {
        match orders.recv().await {
            Some(Order::Run(order)) => {
                // The first host cancels the run alone, the user of this one everything.
                let run = cancel.child();
                upstream.obey_with(&run);
                if let Some(record) = run_one(&order, &plans, &upstream, &mut orders, &run).await {
                    ended(&record);
                }
            }
            Some(Order::End) => return Ok(()),
            Some(Order::Lost) | None => return Err(RunError::FirstHostLost),
            Some(Order::Point(_)) => upstream.unmeasured("it is in no run".to_owned()),
            // The end of a run that this host could not begin.
            Some(Order::EndRun) => {}
        }
    }
}

/// Carries out this host's part of a run. Returns `None` if it cannot.
async fn run_one(
    order: &RunOrder,
    plans: &Result<&[Plan], String>,
    upstream: &Upstream,
    orders: &mut mpsc::UnboundedReceiver<Order>,
    cancel: &Cancel,
) -> Option<RunRecord> {
    let ready = match planned(order, plans) {
        Err(reason) => Err(Refusal::Other(reason)),
        Ok(plan) => ready(order, &plan, upstream, cancel)
            .await
            .map_err(|error| {
                if error.is_of_log_on() {
                    Refusal::NotLetIn(error.to_string())
                } else {
                    Refusal::Other(error.to_string())
                }
            }),
    };
    let (context, mut record) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            upstream.greet(Err(reason));
            return None;
        }
    };
    upstream.greet(Ok(()));
    while let Some(Order::Point(order)) = orders.recv().await {
        match measure(&context, order, &mut Unobserved).await {
            Ok(point) => record.load_points.push(point),
            Err(error) => upstream.unmeasured(error.to_string()),
        }
    }
    if !cancel.is_cancelled() {
        record.outcome = Outcome::Complete;
    }
    Some(record)
}

/// Returns the plan that the first host asks for. The first host chooses the load points.
fn planned(order: &RunOrder, plans: &Result<&[Plan], String>) -> Result<Plan, String> {
    let at_points = |plan: &Plan| {
        let mut plan = plan.clone();
        let populations = plan.work.populations.iter_mut();
        for (population, of_order) in populations.zip(&order.populations) {
            population.share = of_order.share;
            population.clients.clone_from(&of_order.load_points);
            population.rates.clone_from(&of_order.rates);
        }
        (plan.work.repeat, plan.work.seed) = (order.repeat, order.seed);
        if let (Some(stages), Some(level)) = (&mut plan.work.stages, order.level) {
            stages.begin = level;
        }
        plan
    };
    let plans = plans.clone()?.iter();
    let possible = plans.filter(|plan| plan.work.populations.len() == order.populations.len());
    let mut planned = possible.map(at_points);
    let is_asked_for =
        |plan: &Plan| plan.digest() == order.digest && plan.sessions.target.redacted() == order.url;
    let mut plan = planned.find(is_asked_for).ok_or(
        "its options, profiles or files differ from those of the first host: give all hosts the \
         same",
    )?;
    if let Some(password) = &order.password {
        plan.sessions.target.password = Secret::new(&password.0);
    }
    Ok(plan)
}

/// Connects to the server, to see that this host can log on there.
async fn ready<'a>(
    order: &RunOrder,
    plan: &Plan,
    upstream: &'a Upstream,
    cancel: &'a Cancel,
) -> Result<(Context<'a>, RunRecord), RunError> {
    plan.check().map_err(RunError::Plan)?;
    reserve(plan, Carrier::Own(LogoffScope::default()))?;
    let job = ShareJob {
        plan,
        operations: ShareOperations::of_plan(plan),
        role: RunRole::Other(upstream),
        state: None,
    };
    site::join(job, order, cancel).await
}

/// Carries out this host's part of a load point.
async fn measure(
    context: &Context<'_>,
    order: PointOrder,
    observer: &mut dyn Observer,
) -> Result<LoadPointRecord, RunError> {
    let PointOrder { number, load } = order;
    let number = PointNumber {
        number,
        of: number,
        repeat: load.repeat,
        clients: context.own_clients(load),
        rate: load.rate,
    };
    let (record, _) = point::measure(context, number, load, observer).await?;
    Ok(record)
}
