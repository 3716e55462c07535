//! The session key of a log-on that was recorded, for who has the server's keytab (RFC
//! 4120 3.2, RFC 4121 2).

use std::fmt;

use crate::decode::DecodeError;
use crate::der::{Der, application_tag};
use crate::enctype::Key;
use crate::keytab::Keytab;
use crate::messages::reply::{ApReplyPart, Encrypted, ap_reply, decode_key};
use crate::messages::{AP_REQ, AUTHENTICATOR, ENC_TICKET_PART, TICKET, usage};
use crate::principal::Principal;

/// What a recorded log-on shows to who has the server's key.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedLogon {
    /// The user.
    pub client: Principal,
    /// The key of the ticket, with which the server answers.
    ticket_key: Key,
    /// The key that the client proposes.
    subkey: Option<Key>,
}

/// The parts of an AP-REQ (5.5.1) that are encrypted.
struct ApRequest<'a> {
    /// For the service.
    ticket: Encrypted<'a>,
    /// With the key in the ticket.
    authenticator: Encrypted<'a>,
}

impl fmt::Debug for RecordedLogon {
    /// Writes the user. Keys are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedLogon({})", self.client)
    }
}

impl<'a> ApRequest<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "Kerberos AP-REQ";
        let mut fields = Der::message(message, AP_REQ, WHAT)?;
        for number in 0..=2 {
            fields.field(number, WHAT)?;
        }
        let mut ticket = fields.field(3, WHAT)?;
        let mut ticket = ticket
            .expect(application_tag(TICKET), WHAT)?
            .sequence(WHAT)?;
        for number in 0..=2 {
            ticket.field(number, WHAT)?;
        }
        Ok(Self {
            ticket: Encrypted::decode(&mut ticket.field(3, WHAT)?)?,
            authenticator: Encrypted::decode(&mut fields.field(4, WHAT)?)?,
        })
    }
}

/// Reads the decrypted part of a ticket (5.3).
fn ticket_part(bytes: &[u8]) -> Result<(Option<Key>, Principal), DecodeError> {
    const WHAT: &str = "Kerberos ticket part";
    let mut fields = Der::message(bytes, ENC_TICKET_PART, WHAT)?;
    fields.field(0, WHAT)?;
    let key = decode_key(&mut fields.field(1, WHAT)?)?;
    let realm = fields.field(2, WHAT)?.string(WHAT)?;
    let client = Principal::decode(realm, &mut fields.field(3, WHAT)?)?;
    Ok((key, client))
}

/// Reads the key in a decrypted authenticator (5.5.1).
fn authenticator_subkey(bytes: &[u8]) -> Result<Option<Key>, DecodeError> {
    const WHAT: &str = "Kerberos authenticator";
    let mut fields = Der::message(bytes, AUTHENTICATOR, WHAT)?;
    for number in 0..=2 {
        fields.field(number, WHAT)?;
    }
    fields.skip_field(3, WHAT)?;
    for number in 4..=5 {
        fields.field(number, WHAT)?;
    }
    let key = fields.optional_field(6, WHAT, |field, _| decode_key(field))?;
    Ok(key.flatten())
}

impl RecordedLogon {
    /// Opens the AP-REQ of a client. Returns `None` if no key of the keytab is that of the
    /// ticket, or if the message is cut.
    #[must_use]
    pub fn open(request: &[u8], keytab: &Keytab) -> Option<Self> {
        let request = ApRequest::decode(request).ok()?;
        let mut keys = keytab.all_keys();
        let part = keys.find_map(|key| request.ticket.decrypt(key, usage::TICKET))?;
        let (key, client) = ticket_part(&part).ok()?;
        let ticket_key = key?;
        let part = request
            .authenticator
            .decrypt(&ticket_key, usage::AP_REQ_AUTHENTICATOR)?;
        Some(Self {
            client,
            subkey: authenticator_subkey(&part).ok()?,
            ticket_key,
        })
    }

    /// Returns the session key after the server's AP-REP, if it sent one: that of the
    /// server, else that of the client, else that of the ticket (MS-KILE 3.1.1.2).
    #[must_use]
    pub fn session_key(&self, reply: Option<&[u8]>) -> Option<Vec<u8>> {
        let of_server = match reply {
            Some(reply) => {
                let part = ap_reply(reply)
                    .ok()?
                    .decrypt(&self.ticket_key, usage::AP_REP)?;
                ApReplyPart::decode(&part).ok()?.subkey
            }
            None => None,
        };
        let key = of_server.as_ref().or(self.subkey.as_ref());
        Some(key.unwrap_or(&self.ticket_key).bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::context::Initiator;
    use crate::der;
    use crate::enctype::Enctype;
    use crate::messages;
    use crate::spnego;
    use crate::ticket::{ServiceTicket, Ticket};

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn encryption_key(key: &Key) -> Vec<u8> {
        der::sequence(&[
            der::context(0, &der::integer(key.enctype.number().into())),
            der::context(1, &der::octets(&key.bytes)),
        ])
    }

    /// Returns a keytab with a key, as ktutil writes it.
    fn keytab(key: &Key) -> Keytab {
        let counted = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat();
        let entry = [
            &1u16.to_be_bytes()[..],
            &counted(b"R"),
            &counted(b"cifs"),
            &[0; 8],
            &[1],
            &u16::from(key.enctype.number()).to_be_bytes(),
            &counted(&key.bytes),
        ]
        .concat();
        let file = [&[5, 2][..], &(entry.len() as u32).to_be_bytes(), &entry].concat();
        Keytab::parse(&file).unwrap()
    }

    /// Returns a ticket for the service with this key.
    fn ticket(service_key: &Key, key: &Key) -> ServiceTicket {
        let (client, service) = (
            Principal::user("ann", "R"),
            Principal::service("cifs/h", "R"),
        );
        let part = der::sequence(&[
            der::context(0, &der::flags(0)),
            der::context(1, &encryption_key(key)),
            der::context(2, &client.encode_realm()),
            der::context(3, &client.encode_name()),
        ]);
        let part = der::application(ENC_TICKET_PART, &part);
        let encoded = der::sequence(&[
            der::context(0, &der::integer(5)),
            der::context(1, &service.encode_realm()),
            der::context(2, &service.encode_name()),
            der::context(3, &messages::encrypted(service_key, usage::TICKET, &part)),
        ]);
        let starts = SystemTime::UNIX_EPOCH + NOW;
        ServiceTicket::new(Ticket {
            client,
            service,
            key: key.clone(),
            starts,
            expires: starts + Duration::from_secs(600),
            encoded: der::application(TICKET, &encoded),
        })
    }

    fn reply(key: &Key, subkey: Option<&Key>) -> Vec<u8> {
        let mut part = vec![
            der::context(0, &der::time(SystemTime::UNIX_EPOCH + NOW)),
            der::context(1, &der::integer(0)),
        ];
        part.extend(subkey.map(|subkey| der::context(2, &encryption_key(subkey))));
        let part = der::application(27, &der::sequence(&part));
        let reply = der::sequence(&[
            der::context(0, &der::integer(5)),
            der::context(1, &der::integer(15)),
            der::context(2, &messages::encrypted(key, usage::AP_REP, &part)),
        ]);
        der::application(15, &reply)
    }

    #[test]
    fn the_session_key_is_that_of_both_sides() {
        for enctype in Enctype::ALL {
            let [service_key, key, of_server] = [(); 3].map(|()| Key::random(enctype));
            let ticket = Arc::new(ticket(&service_key, &key));
            let now = SystemTime::UNIX_EPOCH + NOW;
            let (initiator, token) = Initiator::start(ticket, now).unwrap();
            let (_, message) = spnego::unframed(&token).unwrap();
            let request = &message[2..];
            let logon = RecordedLogon::open(request, &keytab(&service_key)).unwrap();
            assert_eq!(logon.client, Principal::user("ann", "R"));
            let of_client = initiator.session_key();
            let found = |reply: Option<&[u8]>| logon.session_key(reply);
            assert_eq!(found(None).unwrap(), of_client);
            assert_eq!(found(Some(&reply(&key, None))).unwrap(), of_client);
            let with_subkey = reply(&key, Some(&of_server));
            assert_eq!(found(Some(&with_subkey)).unwrap(), of_server.bytes);
            assert_eq!(found(Some(&with_subkey[..40])), None);
            assert!(RecordedLogon::open(request, &keytab(&key)).is_none());
            for end in 0..request.len() {
                let cut = RecordedLogon::open(&request[..end], &keytab(&service_key));
                assert!(cut.is_none(), "{end}");
            }
        }
    }
}
