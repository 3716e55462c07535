# What the launchers of servers share. A launcher prepares a server below target/interop,
# prints these lines, and serves until SIGTERM:
#   version=TEXT              what the server says of itself, or its package
#   settings=TEXT             what differs from its defaults; may be missing
#   smb://USER@HOST:PORT/SHARE
#   SMBENCH_PASSWORD=TEXT
# A server that cannot be had: the reason on standard error, and a status other than 0.
# The launcher leads a process group, which it ends as a whole.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=${CARGO_TARGET_DIR:-$root/target}/interop
readonly here root cache
mkdir -p "$cache"
PATH="$PATH:/usr/sbin:/sbin"

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# Ends the process group. SIGTERM must not wait for a program in the foreground: what takes
# long runs with `limited`.
finish() {
  trap '' TERM INT
  kill -TERM 0
  local tries
  for ((tries = 0; tries < 80; tries++)); do
    [ -n "$(jobs -pr)" ] || exit 143
    sleep 0.1
  done
  kill -KILL 0
}
trap finish TERM INT

# limited SECONDS COMMAND...: runs a command that must end within this time.
limited() {
  timeout --foreground --kill-after=5 "$1" "${@:2}" <&0 &
  wait "$!"
}

# need PROGRAM:PACKAGE...
need() {
  local entry
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || die "${entry%%:*} is missing; install it with: apt-get install ${entry#*:}"
  done
}

# The Debian mirror of this machine.
mirror() {
  local uris
  uris=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -v security | sort -u)
  uris=${uris%%$'\n'*}
  printf '%s' "${uris:-http://deb.debian.org/debian/}"
}

# free_port: a port of loopback that nobody listens on.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# await PORT PID SECONDS: until the server listens.
await() {
  local tries
  for ((tries = 0; tries < $3 * 10; tries++)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}
