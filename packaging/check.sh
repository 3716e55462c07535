#!/usr/bin/env bash
# Tries the files of a release where users have them: packages, wheel and tarball on
# Debian 12 and 13 without Rust, the static binary in an empty root. release.sh --check
# starts it. Runs as root, on a Debian machine.
#
#   check.sh FOLDER     the folder with the files
set -euo pipefail
files=$(realpath "${1:?usage: check.sh FOLDER}")
export LC_ALL=C

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'check.sh: %s\n' "$*" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || fail "needs root, for chroot"
for program in mmdebstrap unshare lintian; do
  command -v "$program" >/dev/null || missing=${missing:-}\ $program
done
[ -z "${missing:-}" ] || fail "install$missing"
# The mirror of this machine.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sort -u | head -1)
[ -n "$mirror" ] || fail "apt-get update first: no mirror of Debian is known"
here=$(. /etc/os-release && echo "$VERSION_CODENAME")

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
tar -C "$work" -xzf "$files"/smbench-*-linux-*.tar.gz
tarball=$(echo "$work"/smbench-*)

# Runs a command in a root, with /proc and a name space of processes that ends with it.
inside() {
  local root=$1
  shift
  unshare --mount --pid --fork --mount-proc="$root/proc" \
    chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

# Runs a load point on the embedded server, and checks that it measured.
measure() {
  local root=$1 smbench=$2
  inside "$root" "$smbench" --version
  inside "$root" "$smbench" run -c 2 --quick --out /tmp/results >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err" >&2; fail "$smbench does not run in $root"; }
  grep -q '^Peak ' "$work/out" || fail "$smbench measured nothing in $root"
  grep '^Peak ' "$work/out"
  inside "$root" "$smbench" lab embedded -- "$smbench" run -c 1 --quick --out /tmp/results >"$work/out" 2>&1 ||
    fail "$smbench lab does not work in $root"
}

try_on() {
  local release=$1 root=$work/$1
  local packages=man-db,bash-completion,python3-venv
  step "$release"
  # Its libraries for MPI are those of the release that built it.
  [ "$release" != "$here" ] || packages+=,openmpi-bin
  mmdebstrap --quiet --variant=apt --include="$packages" "$release" "$root" "$mirror"
  ! inside "$root" sh -c 'command -v cargo rustc' || fail "$release has Rust"
  mkdir "$root/files"
  cp "$files"/*.deb "$files"/*.whl "$root/files/"
  cp -r "$tarball" "$root/files/tarball"

  step "$release: Debian package"
  inside "$root" sh -c 'dpkg -i /files/smbench_*.deb' >/dev/null
  measure "$root" /usr/bin/smbench
  inside "$root" man smbench | grep -q '^SYNOPSIS' || fail "man smbench shows nothing"
  inside "$root" man smbench-run | grep -q -- '--clients' || fail "man smbench-run shows nothing"
  inside "$root" bash -c '
    . /usr/share/bash-completion/bash_completion
    _completion_loader smbench 2>/dev/null || _comp_load smbench
    complete -p smbench >/dev/null
    COMP_WORDS=(smbench prob) COMP_CWORD=1 COMP_LINE="smbench prob" COMP_POINT=12
    function=$(complete -p smbench | sed "s/.*-F \([^ ]*\).*/\1/")
    "$function" smbench prob smbench
    [[ " ${COMPREPLY[*]} " == *" probe "* ]]' || fail "bash completes nothing"
  if [ "$release" = "$here" ] && compgen -G "$files/smbench-mpi_*.deb" >/dev/null; then
    inside "$root" sh -c 'dpkg -i /files/smbench-mpi_*.deb' >/dev/null
    inside "$root" smbench-mpi --version
    inside "$root" man smbench-mpi | grep -q '^SYNOPSIS' || fail "man smbench-mpi shows nothing"
  fi
  inside "$root" sh -c 'dpkg -r smbench-mpi smbench' >/dev/null 2>&1
  ! inside "$root" sh -c 'command -v smbench' || fail "smbench is still there after its removal"

  step "$release: wheel"
  inside "$root" python3 -m venv /venv
  inside "$root" sh -c '/venv/bin/pip install --quiet --no-index /files/*.whl'
  measure "$root" /venv/bin/smbench
  inside "$root" /venv/bin/pip show smbench | grep -E '^(Name|Version|Summary|License)'

  step "$release: tarball"
  measure "$root" /files/tarball/smbench
  inside "$root" man /files/tarball/man/smbench.1 | grep -q '^SYNOPSIS' || fail "the man page of the tarball shows nothing"
  rm -rf "$root"
}

step "checksums, lintian"
(cd "$files" && sha256sum --check --quiet SHA256SUMS)
lintian --fail-on error "$files"/*.deb

step "container"
recipe=$(sed -n 's/.*`podman build -f \([^ ]*\) .*/\1/p' "$tarball/README.md")
[ -n "$recipe" ] || fail "README.md has no command for a container"
[ -f "$tarball/$recipe" ] || fail "the tarball lacks $recipe, which README.md names"
for copied in $(sed -n 's/^COPY \(.*\) [^ ]*$/\1/p' "$tarball/$recipe"); do
  [ -f "$tarball/$copied" ] || fail "the tarball lacks $copied, which $recipe copies"
done

step "empty root"
mkdir "$work/empty"
cp "$tarball/smbench" "$work/empty/"
chroot "$work/empty" /smbench --version
# The server has /dev and /proc.
"$tarball/smbench" lab embedded -- sh -c 'chroot "$0" /smbench run "$SMBENCH_TARGET" -c 2 --quick --out /results' \
  "$work/empty" >"$work/out" || fail "the static binary does not run in an empty root"
grep '^Peak ' "$work/out"

try_on bookworm
try_on trixie
step "all files work"
