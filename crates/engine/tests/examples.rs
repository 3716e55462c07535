//! Runs the examples, so that they stay correct.

#[path = "../examples/inside_tokio.rs"]
mod inside_tokio;
#[path = "../examples/own_target.rs"]
mod own_target;
#[path = "../examples/run_a_plan.rs"]
mod run_a_plan;

#[test]
fn a_plan_made_in_code_runs() {
    run_a_plan::main().unwrap();
}

#[test]
fn a_tokio_application_continues_and_cancels_the_run() {
    inside_tokio::main().unwrap();
}

#[test]
fn a_driver_and_a_stream_of_somebody_else_run() {
    own_target::main().unwrap();
}
