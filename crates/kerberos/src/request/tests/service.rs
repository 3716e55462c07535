//! Referrals to other realms.

use super::*;

#[test]
fn referrals_are_followed_to_an_end() {
    let (mut request, mut message) = authenticated();
    for hop in 1..=REFERRALS_MAX {
        let (_, body) = parts(&message, TGS_REQ);
        let from = match hop {
            1 => REALM.to_owned(),
            _ => format!("R{}", hop - 1),
        };
        let referral = Principal::ticket_granting(&from, &format!("R{hop}"));
        let reply = Reply::with_ticket(&body, referral);
        let (realm, next) = asked(request.receive(&reply.encode(), now()).unwrap());
        assert_eq!(realm, format!("R{hop}"));
        assert_eq!(request.service.realm(), realm);
        assert_eq!(request.service.name(), files().name());
        message = next;
    }
    let (_, body) = parts(&message, TGS_REQ);
    let last = Principal::ticket_granting(&format!("R{REFERRALS_MAX}"), "ONE.MORE");
    let reply = Reply::with_ticket(&body, last).encode();
    let error = request.receive(&reply, now()).unwrap_err();
    let endless = KerberosError::EndlessReferral("ONE.MORE".to_owned());
    assert_eq!(error, endless);
}

#[test]
fn a_service_of_another_realm_is_reached_by_its_ticket_granting_service() {
    let there = Principal::service("cifs/there", "OTHER.COM");
    let key = session_key();
    let granting = Ticket {
        client: ann(),
        service: granting_service(),
        key,
        starts: now(),
        expires: now() + Duration::from_secs(60),
        encoded: der::application(1, b"opaque"),
    };
    let bytes = ccache::tests::cache(&ann(), &[granting]);
    let cache = CredentialCache::parse(&bytes).unwrap();
    let (mut request, step) = TicketRequest::with_cache(&cache, there.clone(), now()).unwrap();
    let (realm, message) = asked(step);
    assert_eq!(realm, REALM);
    let (_, body) = parts(&message, TGS_REQ);
    let cross = Principal::ticket_granting(REALM, "OTHER.COM");
    let reply = Reply::with_ticket(&body, cross).encode();
    let (realm, _) = asked(request.receive(&reply, now()).unwrap());
    assert_eq!(realm, "OTHER.COM");
    assert_eq!(request.service, there);
}
