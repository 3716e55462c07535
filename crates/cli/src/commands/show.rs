//! `smbench show`: a stored result again, or the tables of a study.

use smbench_report::published::tables;
use smbench_report::study::Study;
use smbench_report::table::Table;
use smbench_report::units::{counted, plain};
use smbench_report::{RunDoc, render};

use crate::args::{Destination, ShowArgs};
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::results::save_csv;

pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.result.is_dir() {
        return show_study(args);
    }
    let doc = RunDoc::load(&args.result)?;
    if let Some(to) = &args.csv {
        save_csv(&doc, to)?;
    }
    if args.csv != Some(Destination::Stdout) {
        print(&render(&doc))?;
    }
    Ok(Exit::Done)
}

fn show_study(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.csv.is_some() {
        return Err(Failure::Usage(format!(
            "--csv is for the load points of one result, and {} is a folder of several",
            args.result.display()
        )));
    }
    let study = Study::load(&args.result)?;
    let mut sections = vec![header(&study)];
    sections.extend(tables(&study).iter().map(Table::to_text));
    print(&sections.join("\n"))?;
    Ok(Exit::Done)
}

/// What was studied, and what the reader must know of each server.
fn header(study: &Study) -> String {
    let doc = &study.doc;
    let mut lines = vec![
        ("study", doc.title.clone()),
        (
            "plan",
            format!(
                "{} with {}, {}, {}",
                counted(doc.servers.len() as u64, "server"),
                doc.profiles.join(", "),
                counted(doc.load_points.len() as u64, "load point"),
                match doc.passes {
                    1 => "1 pass".to_owned(),
                    passes => format!("{passes} passes"),
                }
            ),
        ),
    ];
    for server in &doc.servers {
        let mut told = vec![
            server
                .url
                .clone()
                .unwrap_or_else(|| "started for the study".to_owned()),
        ];
        told.extend(server.settings.iter().cloned());
        told.extend(server.notes.iter().cloned());
        lines.push(("server", format!("{}: {}", server.name, told.join("; "))));
    }
    lines
        .into_iter()
        .map(|(label, text)| format!("{label:<9}{}\n", plain(&text)))
        .collect()
}
