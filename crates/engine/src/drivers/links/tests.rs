use std::cell::Cell;

use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::limits::Limits;
use smbench_model::secret::Secret;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;

use super::*;
use crate::machine::poller::Poller;
use crate::smb::session::Endpoint;

async fn two(server: &EmbeddedServer) -> Links {
    let (mut target, _) = Target::parse(&server.url()).unwrap();
    target.password = Secret::new(server.password());
    let endpoint = Endpoint::resolve(&target, SessionOptions::default(), Limits::default(), 4);
    let endpoint = endpoint.await.unwrap();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(Session::open(&endpoint).await.unwrap());
    }
    Links::new(sessions, Vec::new(), Payloads::Received)
        .await
        .unwrap()
}

/// Calls `choose_free` so that only the connections with these numbers fit.
fn choose(links: &mut Links, fitting: &[usize]) -> Result<(), Busy> {
    let at = Cell::new(links.chosen);
    links.choose_free(|_| {
        at.set((at.get() + 1) % 2);
        fitting.contains(&at.get())
    })
}

#[tokio::test]
async fn lack_of_room_differs_from_lack_of_credits() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut links = two(&server).await;
    let mut scratch = Scratch::default();
    assert_eq!(choose(&mut links, &[]), Err(Busy::Credits));
    assert!(links.has_room(&scratch));
    // The connection with credits has no room, and the other one has only room.
    links.links[0].backlog.buffer().resize(backlog::FULL_LEN, 0);
    assert_eq!(choose(&mut links, &[0]), Err(Busy::Room));
    assert!(!links.has_room(&scratch));
    assert_eq!(choose(&mut links, &[0, 1]), Ok(()));
    assert_eq!(links.chosen, 1);
    assert!(links.has_room(&scratch));
    // Received data may bring credits to the connection that has room.
    assert_eq!(choose(&mut links, &[0]), Err(Busy::Room));
    let _ = links.received(&mut scratch.output);
    assert!(links.has_room(&scratch));
    assert_eq!(choose(&mut links, &[]), Err(Busy::Credits));
}

/// Operations of the sessions never use the connection of a slot's log-ons.
#[tokio::test]
async fn connections_for_log_ons_have_no_turn() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut links = two(&server).await;
    assert_eq!(links.for_log_ons(0), None);
    links.shared = 1;
    assert_eq!(links.for_log_ons(0), Some(1));
    assert_eq!(links.for_log_ons(1), None);
    links.pick(1);
    for _ in 0..3 {
        links.choose_free(|_| true).unwrap();
        assert_eq!(links.chosen, 0);
    }
}

/// What is lost is one connection, whose number the reason has.
#[tokio::test]
async fn a_lost_connection_has_its_number() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut links = two(&server).await;
    let socket = links.links[1].session.stream.socket.of_tokio().unwrap();
    socket2::SockRef::from(socket)
        .shutdown(std::net::Shutdown::Read)
        .unwrap();
    let mut scratch = Scratch::default();
    let received = std::future::poll_fn(|context| links.poll_receive(context, &mut scratch)).await;
    let Err(Dropped::Link(lost)) = received else {
        panic!("the connection is shut: {received:?}");
    };
    assert_eq!(lost.connection, 1);
    assert_eq!(lost.to_string(), "the server closed the connection");
}

/// Requests use it in turn with the others, although the numbers of these have changed.
#[tokio::test]
async fn a_connection_in_the_place_of_a_lost_one_has_its_turns() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let mut links = two(&server).await;
    let sessions = [SessionIndex::FIRST];
    let endpoint = links.lose(0, &sessions);
    assert_eq!((links.count(), links.shared), (1, 1));
    let added = Session::open(&endpoint).await.unwrap();
    let sockets = LoadSockets::new(Poller::new().unwrap());
    links.add(added, &sessions, &sockets).unwrap();
    let turns = [(); 4].map(|()| {
        links.choose_free(|_| true).unwrap();
        links.chosen
    });
    assert_eq!(turns, [1, 0, 1, 0]);
}
