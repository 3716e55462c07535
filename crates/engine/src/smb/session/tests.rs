use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::limits::Limits;
use smbench_model::secret::Secret;
use smbench_model::sessions::SessionOptions;
use smbench_model::target::Target;
use tokio::net::{TcpListener, TcpStream};

use super::*;

async fn echo(session: &mut Session) -> Result<Reply, SessionError> {
    let body = |out: &mut Vec<u8>| out.extend_from_slice(&EMPTY_BODY);
    session.call("ask", Command::Echo, 0, body).await
}

#[tokio::test]
async fn a_session_takes_nothing_more_once_a_request_was_given_up_on() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let (mut target, _) = Target::parse(&server.url()).unwrap();
    target.password = Secret::new(server.password());
    let options = SessionOptions::default();
    let endpoint = Endpoint::resolve(&target, options, Limits::default(), 64).await;
    let mut session = Session::open(&endpoint.unwrap()).await.unwrap();
    assert_eq!(
        echo(&mut session).await.unwrap().status,
        NtStatus::SUCCESS,
        "before"
    );

    // A peer that never answers replaces the server for one request.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = TcpStream::connect(listener.local_addr().unwrap());
    let stream = std::mem::replace(&mut session.stream.socket, silent.await.unwrap().into());
    let patience = session.stream.endpoint.limits;
    session.stream.endpoint.limits.setup = Duration::from_millis(10);
    let shortened = session.stream.endpoint.timed_out("ask").to_string();
    assert!(!shortened.contains("setup_timeout"), "{shortened}");
    let silence = echo(&mut session).await.err().unwrap();
    let advice = "no answer within 10ms; check that an SMB server runs there";
    assert!(silence.to_string().contains(advice), "{silence}");

    session.stream.socket = stream;
    session.stream.endpoint.limits = patience;
    let usual = session.stream.endpoint.timed_out("ask").to_string();
    assert!(usual.ends_with("; setup_timeout sets the limit"), "{usual}");
    let other = echo(&mut session).await.err().unwrap();
    let reason = "the session is out of step";
    assert!(other.to_string().contains(reason), "{other}");

    let limit_after = |error| session.stream.endpoint.after(error).limits.setup;
    assert!(limit_after(&silence) < patience.setup, "not as long again");
    assert_eq!(limit_after(&other), patience.setup);
}
