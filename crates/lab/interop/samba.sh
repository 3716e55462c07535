#!/usr/bin/env bash
# samba.sh SUITE: Samba of a Debian release in a chroot, such as trixie or trixie-backports.
# samba.sh installed: the Samba of this machine.
. "$(dirname "$0")/common.sh"
suite=$1
# Samba signs CIFS only if it is asked to.
readonly settings=('server min protocol = NT1' 'server signing = auto')

# describe VERSION OS-RELEASE
describe() {
  local version=${1#Version }
  (. "$2" && printf 'version=Samba %s, %s\n' "${version%%-*}" "$PRETTY_NAME")
}

if [ "$suite" = installed ]; then
  need smbd:samba pdbedit:samba-common-bin
  describe "$(smbd --version)" /etc/os-release
  printf 'settings=%s, %s\n' "${settings[@]}"
  exec "$SMBENCH" lab samba --option "${settings[0]}" --option "${settings[1]}"
fi

[ "$(id -u)" -eq 0 ] || die "the chroot of $suite needs root"
need mmdebstrap:mmdebstrap unshare:util-linux
chroot=$cache/$suite
# A package's scripts may need some minutes on a slow machine.
make_chroot() {
  local base=${suite%-backports} options=()
  {
    printf 'deb %s %s main\n' "$(mirror)" "$base"
    [ "$suite" = "$base" ] || printf 'deb %s %s main\n' "$(mirror)" "$suite"
  } >"$cache/$suite.list"
  [ "$suite" = "$base" ] || options=(--aptopt="APT::Default-Release \"$suite\"")
  rm -rf --one-file-system "$chroot.new"
  limited 900 mmdebstrap --quiet --mode=root --variant=apt --include=samba,samba-common-bin,samba-vfs-modules \
    "${options[@]}" "$base" "$chroot.new" - <"$cache/$suite.list" >"$cache/$suite.log" 2>&1 ||
    die "the chroot of $suite was not made: $(tail -1 "$cache/$suite.log")"
  # With a name server that does not answer, smbd waits 5 s for it in some log-ons.
  printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$chroot.new/etc/hosts"
  : >"$chroot.new/etc/resolv.conf"
  chroot "$chroot.new" useradd --no-create-home bench
  mv "$chroot.new" "$chroot"
}
[ -d "$chroot" ] || make_chroot

# Mounts and processes are in namespaces, which end with their first process.
inside() {
  unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
    mount -t tmpfs tmpfs "$0/run" && exec chroot "$0" "$@"' "$chroot" "$@"
}

port=$(free_port)
home=/srv/bench
rm -rf --one-file-system "$chroot$home"
mkdir -p "$chroot$home"/{private,lock,state,cache,pid,ncalrpc,log,share}
chmod 777 "$chroot$home/share"
{
  sed -e "s|@HOME@|$home|g" -e "s|@PORT@|$port|g" "$here/smb.conf"
  printf '[global]\n'
  printf '%s\n' "${settings[@]}"
} >"$chroot$home/smb.conf"
password=interop-$port
printf '%s\n%s\n' "$password" "$password" |
  inside pdbedit --configfile "$home/smb.conf" --create --password-from-stdin --user bench >"$chroot$home/log/pdbedit" 2>&1 ||
  die "pdbedit of $suite failed: $(tail -1 "$chroot$home/log/pdbedit")"
describe "$(inside smbd --version)" "$chroot/etc/os-release"
inside smbd --foreground --no-process-group --configfile "$home/smb.conf" --log-basename "$home/log" \
  </dev/null >"$chroot$home/log/startup" 2>&1 &
server=$!
await "$port" "$server" 30 || die "smbd of $suite does not serve: $(tail -1 "$chroot$home/log/startup")"
printf 'settings=%s, %s\n' "${settings[@]}"
printf 'smb://bench@127.0.0.1:%s/bench\nSMBENCH_PASSWORD=%s\n' "$port" "$password"
wait "$server"
