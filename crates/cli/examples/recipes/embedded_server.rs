//! An embedded server in `cargo test`.

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use smbench::Run;
    use smbench::lab::{EmbeddedOptions, EmbeddedServer};

    #[test]
    fn every_operation_succeeds() -> Result<(), Box<dyn std::error::Error>> {
        // It listens on a free port of loopback, has its files in memory, and stops when
        // it is dropped. Of its speed, only changes mean something.
        let server = EmbeddedServer::start(EmbeddedOptions::default())?;
        let run = Run::on_embedded(&server)
            .profile("file-server")
            .clients([4])
            .duration(Duration::from_millis(500));
        let finished = run.execute()?;
        let point = &finished.doc.load_points[0];
        assert_eq!(point.errors, 0, "{:?}", point.failures);
        assert!(point.ops["read"].count > 0);
        Ok(())
    }
}
