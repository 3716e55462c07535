#!/usr/bin/env bash
# embedded.sh: smbench's own server, with files in memory.
. "$(dirname "$0")/common.sh"
awk '/^name = "smb-server"/ { getline; gsub(/"/, ""); print "version=smb-server " $3 }' "$root/Cargo.lock"
exec "$SMBENCH" lab embedded
