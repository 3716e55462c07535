#!/usr/bin/env bash
# ksmbd.sh: the SMB server of a Linux kernel of Debian's backports, in a small virtual machine
# with a share in memory. QEMU emulates the processor, which is slow but works everywhere.
. "$(dirname "$0")/common.sh"
need qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod
readonly suite=bookworm-backports
readonly modules=(ksmbd virtio_net virtio_pci af_packet cmac ccm gcm ctr ecb md4 md5 hmac sha256_generic sha512_generic
  nls_utf8 ghash_generic seqiv aes_generic)
vm=$cache/ksmbd

# Packages of the suite, with package lists of their own, so that nothing of this machine changes.
apt_of_suite() {
  local tool=$1
  limited 300 "$tool" -o Dir::Etc::sourcelist="$vm.new/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::Lists="$vm.new/lists" -o Dir::Cache="$vm.new/cache" -o APT::Sandbox::User=root "${@:2}"
}

fetch_packages() {
  mkdir -p "$vm.new"/{lists/partial,cache/archives/partial,packages}
  printf 'deb %s %s main\n' "$(mirror)" "$suite" >"$vm.new/sources.list"
  apt_of_suite apt-get update -qq || die "the package lists of $suite cannot be read"
  kernel=$(apt_of_suite apt-cache search --names-only '^linux-image-6[.].*-amd64$' | awk '{ print $1 }' |
    grep -vE 'rt|dbg|unsigned|cloud' | sort -V | tail -1)
  [ -n "$kernel" ] || die "$suite has no kernel"
  (cd "$vm.new/packages" && apt_of_suite apt-get download -qq "$kernel" ksmbd-tools) || die "$kernel cannot be downloaded"
  for package in "$vm.new"/packages/*.deb; do
    dpkg -x "$package" "$vm.new/tree"
    dpkg-deb --show --showformat '${Package} ${Version}\n' "$package" >>"$vm.new/versions"
  done
}

# The module of the name and those that it needs.
copy_module() {
  local file to
  while read -r file; do
    to=$image/lib/modules/$release/${file#*/lib/modules/"$release"/}
    mkdir -p "$(dirname "$to")"
    cp "$file" "$to"
  done < <(modprobe --dirname "$tree" --set-version "$release" --show-depends "$1" 2>/dev/null | awk '/^insmod/ { print $2 }')
}

make_image() {
  rm -rf "$vm.new"
  mkdir -p "$vm.new"
  fetch_packages
  local tree=$vm.new/tree image=$vm.new/image release tools library
  mkdir -p "$tree/lib"
  [ -d "$tree/lib/modules" ] || mv "$tree/usr/lib/modules" "$tree/lib/modules"
  release=$(ls "$tree/lib/modules")
  mkdir -p "$image"/{bin,sbin,proc,sys,dev,etc/ksmbd,run,tmp,share,usr/sbin,root}
  depmod --basedir "$tree" "$release"
  for module in "${modules[@]}"; do copy_module "$module"; done
  cp "$tree/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$image/lib/modules/$release/"
  depmod --basedir "$image" "$release"
  cp "$(command -v busybox)" "$image/bin/busybox"
  ln -s /bin/busybox "$image/sbin/modprobe"
  tools=$(find "$tree" -name ksmbd.tools -type f -print -quit)
  cp "$tools" "$image/usr/sbin/"
  for name in mountd adduser; do ln -s ksmbd.tools "$image/usr/sbin/ksmbd.$name"; done
  for library in $(ldd "$tools" | grep -oE '/[^ ]+\.so[^ ]*'); do
    mkdir -p "$image$(dirname "$library")"
    cp -L "$library" "$image$library"
  done
  local conversions=/usr/lib/x86_64-linux-gnu/gconv
  mkdir -p "$image$conversions"
  cp "$conversions"/{UTF-16.so,UNICODE.so,gconv-modules*} "$image$conversions/" 2>/dev/null || true
  cp "$here/ksmbd-init" "$image/init"
  (cd "$image" && find . | cpio --create --format newc --quiet | gzip -1) >"$vm.new/initrd"
  cp "$tree/boot/vmlinuz-$release" "$vm.new/kernel"
  printf '%s\n' "$release" >"$vm.new/release"
  rm -rf "$tree" "$image" "$vm.new"/{lists,cache,packages} "$vm"
  mv "$vm.new" "$vm"
}
[ -s "$vm/initrd" ] && [ "$vm/initrd" -nt "$here/ksmbd-init" ] || make_image

port=$(free_port)
log=$vm/console
# What an earlier machine said must not count.
rm -f "$log"
: >"$log"
qemu-system-x86_64 -m 2048 -smp 2 -accel tcg,thread=multi -cpu max -nographic -no-reboot \
  -kernel "$vm/kernel" -initrd "$vm/initrd" -append "console=ttyS0 panic=-1 mitigations=off" \
  -netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:445" -device virtio-net-pci,netdev=net \
  </dev/null >>"$log" 2>&1 &
machine=$!
# The machine listens at once, whatever runs in it.
for ((tries = 0; tries < 3000; tries++)); do
  grep -q 'ksmbd serves' "$log" && break
  kill -0 "$machine" 2>/dev/null || break
  sleep 0.1
done
grep -q 'ksmbd serves' "$log" || die "ksmbd does not serve: $(tail -1 "$log")"
# ksmbd listens anew when it has its configuration.
url=smb://bench@127.0.0.1:$port/bench
for ((tries = 0; tries < 20; tries++)); do
  SMBENCH_PASSWORD=interop limited 30 "$SMBENCH" probe "$url" >/dev/null 2>"$vm/probe.log" && break
  sleep 1
done
[ "$tries" -lt 20 ] || die "ksmbd does not serve: $(tail -1 "$vm/probe.log")"
printf 'version=ksmbd of Linux %s\n%s\nSMBENCH_PASSWORD=interop\n' "$(cat "$vm/release")" "$url"
wait "$machine"
