//! The Kerberos ticket of a run. It is fetched once, shared by all sessions, and
//! fetched again before it expires.

mod config;
mod error;
mod files;
mod kdc;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbench_model::limits::Limits;
use smbench_model::login::{KerberosLogin, Proof};
use smbench_model::target::Target;
use smbench_protocol::kerberos::{
    CredentialCache, KerberosError, Keytab, MalformedFile, Principal, ServiceTicket, TicketRequest,
    TicketStep,
};
use tokio::sync::Mutex;

use self::config::Configuration;
pub use self::error::TicketError;
pub(crate) use self::error::advice;
use crate::machine::clock;

/// How long before its end a ticket is replaced, unless it is short-lived.
const RENEWAL: Duration = Duration::from_secs(60);
/// A short-lived ticket is replaced when less than this part (one tenth) of its
/// life is left.
const RENEWAL_PART: u32 = 10;

/// The ticket of a run's user for a run's server.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    current: Mutex<Option<Arc<ServiceTicket>>>,
}

impl Tickets {
    /// Returns a ticket for a new session.
    pub(crate) async fn get(
        &self,
        target: &Target,
        login: &KerberosLogin,
        limits: &Limits,
    ) -> Result<Arc<ServiceTicket>, TicketError> {
        let mut current = self.current.lock().await;
        let now = clock::wall();
        let lasting = current.as_ref().filter(|ticket| {
            let life = ticket.expires().duration_since(ticket.starts());
            let margin = RENEWAL.min(life.unwrap_or_default() / RENEWAL_PART);
            ticket.expires() > now + margin
        });
        if let Some(ticket) = lasting {
            return Ok(Arc::clone(ticket));
        }
        match (fetch(target, login, limits).await, &*current) {
            (Ok(ticket), _) => Ok(Arc::clone(current.insert(Arc::new(ticket)))),
            // The old ticket is still valid for a while.
            (Err(_), Some(ticket)) if ticket.expires() > now => Ok(Arc::clone(ticket)),
            (Err(error), _) => Err(error),
        }
    }

    /// Returns a ticket for a session whose `expired` ticket the server no longer
    /// accepts. The first session that asks fetches it for all.
    pub(crate) async fn replace(
        &self,
        expired: &ServiceTicket,
        target: &Target,
        login: &KerberosLogin,
        limits: &Limits,
    ) -> Result<Arc<ServiceTicket>, TicketError> {
        let mut current = self.current.lock().await;
        if let Some(ticket) = &*current
            && ticket.expires() > expired.expires()
        {
            return Ok(Arc::clone(ticket));
        }
        let ticket = fetch(target, login, limits).await?;
        Ok(Arc::clone(current.insert(Arc::new(ticket))))
    }
}

async fn fetch(
    target: &Target,
    login: &KerberosLogin,
    limits: &Limits,
) -> Result<ServiceTicket, TicketError> {
    let configuration = Configuration::load(&login.configuration)?;
    let Begun {
        home,
        service,
        first,
    } = begin(target, login, &configuration, clock::wall())?;
    let refused = |source: KerberosError, at| TicketError::Refused {
        service: service.clone(),
        at,
        password_note: target.password.source_note().into(),
        source: Box::new(source),
    };
    let (mut request, mut step) = first.map_err(|source| refused(source, None))?;
    loop {
        let (realm, message) = match step {
            TicketStep::Granted(ticket) => return Ok(ticket),
            TicketStep::Ask { realm, message } => (realm, message),
        };
        let kdcs = match &login.kdc {
            // The KDC that the user gave belongs to the user's realm.
            Some(kdc) if realm == home => vec![kdc.clone()],
            _ => configuration.kdcs(&realm).cloned().collect(),
        };
        let (answer, at) = kdc::ask(&realm, &kdcs, &message, limits).await?;
        step = request
            .receive(&answer, clock::wall())
            .map_err(|source| refused(source, Some(at)))?;
    }
}

/// A ticket request that has been started.
struct Begun {
    /// The user's realm.
    home: String,
    service: Principal,
    first: Result<(TicketRequest, TicketStep), KerberosError>,
}

/// Determines the user and the service of a ticket, and starts the request.
fn begin(
    target: &Target,
    login: &KerberosLogin,
    configuration: &Configuration,
    now: SystemTime,
) -> Result<Begun, TicketError> {
    let begun = |user: &Principal, first: &dyn Fn(Principal) -> _| {
        let service = service(target, login, configuration, user.realm());
        Begun {
            home: user.realm().to_owned(),
            first: first(service.clone()),
            service,
        }
    };
    Ok(match &login.proof {
        Proof::Password => {
            let user = named_user(target, login, configuration)?;
            let password = target.password.expose();
            begun(&user, &|service| {
                let user = user.clone();
                Ok(TicketRequest::with_password(user, password, service, now))
            })
        }
        Proof::Keytab(path) => {
            let keytab = parse("the keytab", path, Keytab::parse)?;
            let user = keytab_user(target, login, configuration, &keytab, path)?;
            begun(&user, &|service| {
                TicketRequest::with_keytab(user.clone(), &keytab, service, now)
            })
        }
        Proof::Cache(path) => {
            let cache = parse("the credential cache", path, CredentialCache::parse)?;
            check_owner(target, login, cache.user(), path)?;
            begun(cache.user(), &|service| {
                TicketRequest::with_cache(&cache, service, now)
            })
        }
    })
}

/// Refuses a credential cache of another user than the named one.
fn check_owner(
    target: &Target,
    login: &KerberosLogin,
    owner: &Principal,
    path: &Path,
) -> Result<(), TicketError> {
    let (name, realm) = user_and_realm(target, login);
    let is_owner = (name.is_empty() || name == owner.name())
        && realm.is_none_or(|realm| realm == owner.realm());
    if is_owner {
        return Ok(());
    }
    Err(TicketError::OtherUser {
        path: path.to_owned(),
        owner: owner.clone(),
        user: target.user.clone(),
    })
}

fn parse<T>(
    what: &'static str,
    path: &Path,
    parse: impl Fn(&[u8]) -> Result<T, MalformedFile>,
) -> Result<T, TicketError> {
    let bytes = files::read(path).map_err(|source| TicketError::Unreadable {
        what,
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes).map_err(|source| TicketError::Malformed {
        what,
        path: path.to_owned(),
        source,
    })
}

/// Returns the user's name, and the realm given on the command line: as an option,
/// behind the name, or as the domain.
fn user_and_realm(target: &Target, login: &KerberosLogin) -> (String, Option<String>) {
    let (name, behind) = match target.user.rsplit_once('@') {
        Some((name, realm)) => (name, Some(realm.to_owned())),
        None => (target.user.as_str(), None),
    };
    let domain = || (!target.domain.is_empty()).then(|| target.domain.to_uppercase());
    let realm = login.realm.clone().or(behind).or_else(domain);
    (name.to_owned(), realm)
}

/// Returns the user by name and realm.
fn named_user(
    target: &Target,
    login: &KerberosLogin,
    configuration: &Configuration,
) -> Result<Principal, TicketError> {
    let (name, realm) = user_and_realm(target, login);
    let realm = realm.as_deref().or(configuration.default_realm());
    let realm = realm.ok_or(TicketError::NoRealm)?;
    Ok(Principal::user(&name, realm))
}

/// Returns the user whose keys to use: the named one, or the only one in the
/// keytab.
fn keytab_user(
    target: &Target,
    login: &KerberosLogin,
    configuration: &Configuration,
    keytab: &Keytab,
    path: &Path,
) -> Result<Principal, TicketError> {
    let (name, realm) = user_and_realm(target, login);
    let matching: Vec<_> = keytab
        .principals()
        .into_iter()
        .filter(|principal| name.is_empty() || principal.name() == name)
        .filter(|principal| {
            realm
                .as_ref()
                .is_none_or(|realm| principal.realm() == realm)
        })
        .collect();
    match (&matching[..], name.is_empty()) {
        ([only], _) => Ok((*only).clone()),
        ([], true) if keytab.principals().is_empty() => Err(TicketError::EmptyKeytab {
            path: path.to_owned(),
        }),
        (_, true) => Err(TicketError::WhichUser {
            path: path.to_owned(),
        }),
        // With no realm or several, use that of the command line or the default.
        (_, false) => named_user(target, login, configuration),
    }
}

/// Returns the name of the file server in Kerberos.
fn service(
    target: &Target,
    login: &KerberosLogin,
    configuration: &Configuration,
    user_realm: &str,
) -> Principal {
    let host = target.server_name().trim_end_matches('.').to_lowercase();
    let in_realm_of = |name: &str| {
        let host = name.split_once('/').map_or(name, |(_, host)| host);
        let realm = configuration.realm_of(host).unwrap_or(user_realm);
        Principal::service(name, realm)
    };
    match &login.service {
        None => in_realm_of(&format!("cifs/{host}")),
        Some(given) => match given.rsplit_once('@') {
            Some((name, realm)) => Principal::service(name, realm),
            None => in_realm_of(given),
        },
    }
}
