#!/usr/bin/env bash
# impacket.sh smb2|cifs: impacket's smbserver, as it is without further options.
. "$(dirname "$0")/common.sh"
readonly protocol=$1 package=impacket==0.13.1
need pip3:python3-pip python3:python3
packages=$cache/$package
if [ ! -d "$packages" ]; then
  rm -rf "$packages.new"
  limited 300 pip3 install --quiet --disable-pip-version-check --target "$packages.new" "$package" >"$packages.log" 2>&1 ||
    die "$package was not installed: $(tail -1 "$packages.log")"
  mv "$packages.new" "$packages"
fi
smbserver=$packages/bin/smbserver.py
share=$cache/impacket-$protocol
rm -rf "$share"
mkdir -p "$share"
port=$(free_port)
options=()
[ "$protocol" = cifs ] || options=(-smb2support)
PYTHONPATH=$packages python3 "$smbserver" "${options[@]}" -ip 127.0.0.1 -port "$port" -username bench -password interop bench "$share" \
  </dev/null >"$share.log" 2>&1 &
server=$!
await "$port" "$server" 30 || die "smbserver.py does not serve: $(tail -1 "$share.log")"
printf 'version=impacket %s\n' "${package#*==}"
[ "$protocol" = cifs ] || printf 'settings=-smb2support\n'
printf 'smb://bench@127.0.0.1:%s/bench\nSMBENCH_PASSWORD=interop\n' "$port"
wait "$server"
