use super::*;

const RATE: SearchSpec = SearchSpec {
    start: 1000.0,
    min: 1.0,
    max: 1e6,
    grain: Grain::Fine,
    precision: 0.02,
    confirmations: Confirmations { held: 2, of: 3 },
    probes_max: 60,
};

const CLIENTS: SearchSpec = SearchSpec {
    start: 1.0,
    max: 10_000.0,
    grain: Grain::Steps(1),
    ..RATE
};

/// Carries a search out. Returns its probes and its end.
fn search(
    spec: SearchSpec,
    mut judge: impl FnMut(f64) -> ProbeVerdict,
) -> (Vec<SearchProbe>, SearchEnd) {
    let mut probes = Vec::new();
    loop {
        match spec.step(&probes) {
            SearchStep::Probe(load) => probes.push(SearchProbe {
                load,
                verdict: judge(load),
            }),
            SearchStep::End(end) => return (probes, end),
        }
    }
}

/// A server with a capacity.
fn capacity(limit: f64) -> impl Fn(f64) -> ProbeVerdict {
    move |load| {
        if load <= limit {
            ProbeVerdict::Held
        } else {
            ProbeVerdict::Broke {
                achieved: Some(limit),
            }
        }
    }
}

/// A limit that says nothing about the load that was achieved.
fn silent(limit: f64) -> impl Fn(f64) -> ProbeVerdict {
    move |load| {
        if load <= limit {
            ProbeVerdict::Held
        } else {
            ProbeVerdict::Broke { achieved: None }
        }
    }
}

#[test]
fn a_capacity_is_found_in_few_probes() {
    for limit in [20_000.0, 1500.0, 37.0, 123_456.0, 3.0] {
        let (probes, end) = search(RATE, capacity(limit));
        assert_eq!(end, SearchEnd::Found, "{limit}");
        let bounds = RATE.bounds(&probes);
        let held = bounds.held.unwrap();
        assert!(held <= limit && limit <= held * 1.02, "{limit}: {bounds:?}");
        assert!(probes.len() <= 12, "{limit}: {probes:?}");
    }
}

#[test]
fn a_search_in_steps_probes_multiples_only() {
    for (limit, expected) in [(4.0, None), (7.0, Some(5.0)), (112.0, Some(110.0))] {
        let spec = SearchSpec {
            max: 1003.0,
            precision: 0.001,
            ..CLIENTS
        };
        let spec = spec.in_steps(5).unwrap();
        assert_eq!((spec.start, spec.min, spec.max), (5.0, 5.0, 1000.0));
        for probes in [search(spec, capacity(limit)), search(spec, silent(limit))] {
            let (probes, end) = probes;
            assert_eq!(end == SearchEnd::Found, expected.is_some(), "{end:?}");
            assert_eq!(spec.bounds(&probes).held, expected);
            let loads = probes.iter().map(|probe| probe.load);
            assert!(loads.map(|load| load % 5.0).all(|rest| rest == 0.0));
        }
    }
    assert_eq!(CLIENTS.in_steps(20_000), None);
}

#[test]
fn a_limit_without_hints_is_bisected() {
    for limit in [20_000.0, 999.0, 1.5] {
        let (probes, end) = search(RATE, silent(limit));
        assert_eq!(end, SearchEnd::Found, "{limit}");
        let held = RATE.bounds(&probes).held.unwrap();
        assert!(
            held <= limit && limit <= held * 1.02 + 1e-9,
            "{limit}: {held}"
        );
        assert!(probes.len() <= 20, "{limit}: {}", probes.len());
    }
}

#[test]
fn whole_loads_are_found_exactly() {
    let exact = SearchSpec {
        precision: 1e-9,
        ..CLIENTS
    };
    for limit in [1.0, 2.0, 3.0, 7.0, 200.0, 9999.0] {
        let (probes, end) = search(exact, silent(limit));
        assert_eq!(end, SearchEnd::Found, "{limit}");
        assert_eq!(exact.bounds(&probes).held, Some(limit), "{probes:?}");
        assert!(probes.iter().all(|probe| probe.load.fract() == 0.0));
    }
}

#[test]
fn the_ends_of_the_range_end_the_search() {
    let (probes, end) = search(CLIENTS, silent(1e9));
    assert_eq!(end, SearchEnd::NeverBroke);
    assert_eq!(CLIENTS.bounds(&probes).held, Some(10_000.0));
    let start = SearchSpec {
        start: 64.0,
        ..CLIENTS
    };
    let (probes, end) = search(start, silent(0.0));
    assert_eq!(end, SearchEnd::NeverHeld);
    assert_eq!(probes.last().map(|probe| probe.load), Some(1.0));
}

#[test]
fn a_generator_at_its_limit_ends_the_search() {
    let (probes, end) = search(RATE, |load| {
        if load < 5000.0 {
            ProbeVerdict::Held
        } else {
            ProbeVerdict::ClientLimited
        }
    });
    assert_eq!(end, SearchEnd::ClientLimited);
    let limited: Vec<_> = probes.iter().filter(|probe| probe.load > 5000.0).collect();
    assert_eq!(limited.len(), CLIENT_LIMITED_MAX as usize, "{probes:?}");
    let expected = SearchBounds {
        held: Some(4000.0),
        broke: None,
    };
    assert_eq!(RATE.bounds(&probes), expected);
}

/// Another program had the CPUs for a while.
#[test]
fn a_generator_that_was_at_its_limit_for_a_while_does_not_end_the_search() {
    let mut disturbed = CLIENT_LIMITED_MAX - 1;
    let (probes, end) = search(RATE, |load| {
        if load > 5000.0 && disturbed > 0 {
            disturbed -= 1;
            ProbeVerdict::ClientLimited
        } else {
            capacity(20_000.0)(load)
        }
    });
    assert_eq!(end, SearchEnd::Found);
    let held = RATE.bounds(&probes).held.unwrap();
    assert!(held <= 20_000.0 && 20_000.0 <= held * 1.02, "{held}");
}

#[test]
fn probes_of_a_generator_at_its_limit_are_limited_as_well() {
    let short = SearchSpec {
        probes_max: 2,
        ..RATE
    };
    let (probes, end) = search(short, |_| ProbeVerdict::ClientLimited);
    assert_eq!((probes.len(), end), (2, SearchEnd::ClientLimited));
}

/// A load that held once by chance is not the answer.
#[test]
fn a_lucky_probe_is_not_confirmed() {
    let mut lucky = true;
    let (probes, end) = search(CLIENTS, |load| match load {
        64.0 if lucky => {
            lucky = false;
            ProbeVerdict::Held
        }
        _ => silent(40.0)(load),
    });
    assert_eq!(end, SearchEnd::Found);
    assert_eq!(CLIENTS.bounds(&probes).held, Some(40.0), "{probes:?}");
}

#[test]
fn the_number_of_probes_is_limited() {
    let short = SearchSpec {
        probes_max: 4,
        ..RATE
    };
    let (probes, end) = search(short, silent(1e5));
    assert_eq!((probes.len(), end), (4, SearchEnd::ProbesUsedUp));
}

/// A load that broke the limit once by chance does not end the search too low.
#[test]
fn an_unlucky_probe_is_not_confirmed() {
    let mut unlucky = true;
    let exact = SearchSpec {
        precision: 1e-9,
        ..CLIENTS
    };
    let (probes, end) = search(exact, |load| match load {
        32.0 if unlucky => {
            unlucky = false;
            ProbeVerdict::Broke { achieved: None }
        }
        _ => silent(40.0)(load),
    });
    assert_eq!(end, SearchEnd::Found);
    assert_eq!(exact.bounds(&probes).held, Some(40.0), "{probes:?}");
}
