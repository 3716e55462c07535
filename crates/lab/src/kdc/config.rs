//! Configuration of a scratch KDC and of the programs that use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::LabError;

/// Returns the path of the clients' configuration.
pub(super) fn krb5_conf(root: &Path) -> PathBuf {
    root.join("krb5.conf")
}

fn kdc_conf(root: &Path) -> PathBuf {
    root.join("kdc.conf")
}

/// Keeps a program from using the system's configuration, caches and keytabs.
pub(super) fn environment(command: &mut Command, root: &Path) {
    command
        .env("KRB5_CONFIG", krb5_conf(root))
        .env("KRB5_KDC_PROFILE", kdc_conf(root))
        .env("KRB5CCNAME", root.join("default.ccache"))
        .env("KRB5_KTNAME", root.join("default.keytab"))
        .env_remove("KRB5_TRACE");
}

pub(super) fn write(
    root: &Path,
    realm: &str,
    port: u16,
    encryption: Option<&str>,
) -> Result<(), LabError> {
    let shown = root.display();
    let encryption = encryption.map_or_else(String::new, |encryption| {
        format!("supported_enctypes = {encryption}:normal\nmaster_key_type = {encryption}\n")
    });
    let clients = format!(
        "[libdefaults]\n\
         default_realm = {realm}\n\
         dns_lookup_realm = false\n\
         dns_lookup_kdc = false\n\
         dns_canonicalize_hostname = false\n\
         rdns = false\n\
         udp_preference_limit = 1\n\
         [realms]\n\
         {realm} = {{\n\
         kdc = 127.0.0.1:{port}\n\
         }}\n"
    );
    // The KDC sends no authorization data. Samba refuses such data if the KDC
    // has no domain.
    let server = format!(
        "[kdcdefaults]\n\
         kdc_listen = \"\"\n\
         kdc_tcp_listen = 127.0.0.1:{port}\n\
         [realms]\n\
         {realm} = {{\n\
         database_name = {shown}/principal\n\
         key_stash_file = {shown}/stash\n\
         acl_file = {shown}/acl\n\
         disable_pac = true\n\
         {encryption}\
         }}\n\
         [logging]\n\
         kdc = FILE:{shown}/kdc.log\n\
         default = FILE:{shown}/kdc.log\n"
    );
    fs::write(krb5_conf(root), clients).map_err(LabError::io("write krb5.conf"))?;
    fs::write(kdc_conf(root), server).map_err(LabError::io("write kdc.conf"))
}
