//! One request to an exporter of metrics over HTTP.

use std::io::Read as _;
use std::time::Duration;

use smbench_model::cpu::MetricsUrl;

/// How long an exporter may take to answer; a scrape takes about 10 ms.
const SCRAPE_LIMIT: Duration = Duration::from_secs(2);
/// Maximum bytes read of an answer; node_exporter sends about 100 KiB.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Reads the metrics once. The error text goes into results, as the reason why they lack
/// what the metrics tell.
pub(crate) fn scrape(url: &MetricsUrl) -> Result<String, String> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(SCRAPE_LIMIT))
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .new_agent();
    let answer = agent.get(url.uri()).call();
    let answer = answer.map_err(|error| match error {
        ureq::Error::Io(source) => format!("no answer: {source}"),
        error => format!("no answer: {error}"),
    })?;
    if answer.status() != 200 {
        return Err(format!("it answered with HTTP status {}", answer.status()));
    }
    let mut text = Vec::new();
    let body = answer.into_body().into_reader();
    body.take(ANSWER_BYTES_MAX)
        .read_to_end(&mut text)
        .map_err(|error| format!("it broke off its answer: {error}"))?;
    if text.len() as u64 == ANSWER_BYTES_MAX {
        return Err(format!(
            "its answer is longer than {} MiB",
            ANSWER_BYTES_MAX >> 20
        ));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn parsed(text: &str) -> Result<String, String> {
        let url: Result<MetricsUrl, _> = text.parse();
        url.map(|url| url.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_url_needs_no_path_and_may_have_no_secret() {
        assert_eq!(parsed("http://a:9100").unwrap(), "http://a:9100/metrics");
        let asked: MetricsUrl = "http://[::1]:9100/m?token=secret".parse().unwrap();
        assert_eq!(asked.to_string(), "http://[::1]:9100/m?...");
        assert_eq!(format!("{asked:?}"), "MetricsUrl(http://[::1]:9100/m?...)");
        for (wrong, says) in [
            ("", "this is none"),
            ("a:9100", "begin with http://"),
            ("/metrics", "begin with http://"),
            ("https://a", "only http"),
            ("http://u:secret@a/metrics", "would be shown"),
        ] {
            let complaint = parsed(wrong).unwrap_err();
            assert!(complaint.contains(says), "{wrong}: {complaint}");
            assert!(!complaint.contains("secret"), "{complaint}");
        }
    }

    /// Returns the error of a scrape whose peer sends `answer`. The peer then hangs
    /// up, or keeps the connection open with `hold`.
    fn answered(answer: &'static [u8], hold: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let peer = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = socket.read(&mut request);
            let _ = socket.write_all(answer);
            if hold {
                // Until the other side closes the connection.
                while socket.read(&mut request).is_ok_and(|read| read > 0) {}
            }
        });
        let url = format!("http://{address}").parse().unwrap();
        let complaint = scrape(&url).unwrap_err();
        peer.join().unwrap();
        complaint
    }

    #[test]
    fn an_answer_without_end_is_given_up() {
        const LINE: &[u8] = b"node_load1 0.5 and so on and on\n";
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let peer = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
            let lines = LINE.repeat(4096);
            // Until the other side closes the connection.
            while socket.write_all(&lines).is_ok() {}
        });
        let complaint = scrape(&url.parse().unwrap()).unwrap_err();
        peer.join().unwrap();
        // Which limit is reached first depends on the machine.
        let is_limited = ["longer than", "broke off"].map(|says| complaint.contains(says));
        assert!(is_limited.contains(&true), "{complaint}");
    }

    #[test]
    fn every_answer_ends_in_words() {
        for (answer, hold, says) in [
            (&b""[..], false, "no answer"),
            (b"", true, "no answer"),
            (
                b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n",
                false,
                "it answered with HTTP status 404",
            ),
            (
                b"HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
                false,
                "it answered with HTTP status 302",
            ),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nnode",
                false,
                "broke off",
            ),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nnode",
                true,
                "broke off",
            ),
            (b"\xff\xfe nonsense\r\n\r\n", false, "no answer"),
        ] {
            let complaint = answered(answer, hold);
            assert!(
                complaint.contains(says),
                "{:?}: {complaint}",
                String::from_utf8_lossy(answer)
            );
        }
    }
}
