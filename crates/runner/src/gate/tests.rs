use smbench_report::doc::LoadPointDoc;

use super::*;

/// Returns a result of passes with these throughputs.
fn passes(throughputs: &[f64]) -> Vec<RunDoc> {
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/v1-curve.json");
    let doc = RunDoc::load(&frozen).unwrap();
    let point = doc.load_points[0].clone();
    let pass = |(at, throughput_mbps): (usize, &f64)| RunDoc {
        load_points: vec![LoadPointDoc {
            repeat: at as u32 + 1,
            throughput_mbps: *throughput_mbps,
            valid: true,
            invalid_reason: None,
            ..point.clone()
        }],
        ..doc.clone()
    };
    throughputs.iter().enumerate().map(pass).collect()
}

fn answered(old: &[f64], new: &[f64], look: u32) -> Option<GateAnswer> {
    let comparison = compared(&passes(old), &passes(new)).unwrap();
    let condition = "throughput < -10%".parse().unwrap();
    let judged = judgements(&[condition], &comparison).unwrap();
    answer(&judged, look, old.len().min(new.len()) as u32, |_| true)
}

#[test]
fn a_gate_answers_when_the_passes_tell() {
    let old = [100.0, 101.0, 99.0, 100.0, 100.5];
    let half = old.map(|value| value / 2.0);
    assert_eq!(answered(&old, &half, 3), Some(GateAnswer::Failed));
    assert_eq!(answered(&old, &old, 3), Some(GateAnswer::Passed));
    // A change that one comparison would show is not enough for many looks.
    let noisy = [100.0, 110.0, 90.0, 105.0, 95.0];
    let slower = noisy.map(|value| value * 0.85);
    assert_eq!(answered(&noisy, &slower, 20), None);
    let loud = [100.0, 160.0, 60.0, 130.0, 80.0];
    assert_eq!(answered(&loud, &loud, 3), None);
}

#[test]
fn a_change_that_may_be_chance_says_how_many_passes_decide_it() {
    let noisy = [100.0, 110.0, 90.0, 105.0, 95.0];
    let slower = noisy.map(|value| value * 0.85);
    let needed = |old: &[f64], new: &[f64]| {
        let comparison = compared(&passes(old), &passes(new)).unwrap();
        let condition = "throughput < -10%".parse().unwrap();
        let judged = judgements(&[condition], &comparison).unwrap();
        assert!(judged[0].failed);
        passes_needed(&judged[0], old.len() as u32, 1).unwrap()
    };
    let few = needed(&noisy, &slower);
    // As many passes with that noise are sure, and one less is not.
    let times = |count: u32, of: &[f64]| -> Vec<f64> {
        of.iter().copied().cycle().take(count as usize).collect()
    };
    let look = |count: u32| count - PASSES_MIN + 1;
    let enough = few.next_multiple_of(5);
    let sure = answered(
        &times(enough, &noisy),
        &times(enough, &slower),
        look(enough),
    );
    assert_eq!(sure, Some(GateAnswer::Failed));
    assert_eq!(answered(&noisy, &slower, look(5)), None);
    assert!((6..=30).contains(&few), "{few}");
}

#[test]
fn passes_are_counted_once() {
    let mut docs = passes(&[1.0, 2.0, 3.0]);
    let mut doc = docs.remove(0);
    assert_eq!(passes_of(&doc), 1);
    doc.load_points.extend(docs.remove(0).load_points);
    doc.load_points.extend(doc.load_points.clone());
    assert_eq!(passes_of(&doc), 2);
    doc.load_points
        .iter_mut()
        .for_each(|point| point.valid = false);
    assert_eq!(passes_of(&doc), 0);
}
