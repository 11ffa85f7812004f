#!/usr/bin/env bash
# Builds what the test guest boots from: a small Debian 12 with systemd and this machine's own Node.js, Debian's stock kernel, and
# for that kernel the GPIO simulator. Prints, as shell assignments, where they are: root_disk=… kernel=… initramfs=…
#
# Each part is kept in $GUEST_CACHE (default /var/cache/benchd-guest) and built again only when what it is made of has changed.
# Wants root on Debian 12 and its package mirror; installs the packages it needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${GUEST_CACHE:-/var/cache/benchd-guest}
suite=bookworm
work='' builder=''

say() { printf 'build-guest: %(%T)T %s\n' -1 "$*" >&2; }
give_up() { say "$*"; exit 1; }
lines() { sed 's/#.*//; /^[[:space:]]*$/d' "$1"; }
fingerprint() { sha256sum | cut -c1-16; }
tidy() {
  if [[ -n $builder ]]; then
    kill -- "-$builder" 2>/dev/null || true
    wait "$builder" 2>/dev/null || true
  fi
  [[ -z $work ]] || rm -rf --one-file-system "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM

((EUID == 0)) || give_up "must be run as root"
grep -qx "VERSION_CODENAME=$suite" /etc/os-release || give_up "must be run on Debian 12 ($suite)"
node_binary=$(readlink -f "$(command -v node)") || give_up "there is no node in PATH"
mkdir -p "$cache"

need() { # PACKAGE…: installs what is missing on this machine
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

candidate() { # PACKAGE: the version apt would install
  apt-cache policy "$1" | sed -n 's/^ *Candidate: //p'
}

# part NAME KEY: runs the function NAME in a fresh folder unless the cache has $cache/NAME-KEY; sets $part to that folder.
part() {
  part=$cache/$1-$2
  [[ -e $part/complete ]] && return
  local from=$SECONDS
  work=$(mktemp -d "$cache/building-$1.XXXXXX")
  say "building $1"
  # In the background, because `set -e` does not hold inside a condition; with job control, to be one group that can be ended.
  set -m
  (cd "$work" && "$1") >"$work/build.log" 2>&1 </dev/null &
  builder=$!
  set +m
  if ! wait "$builder"; then
    tail -n 30 "$work/build.log" >&2
    give_up "building $1 failed"
  fi
  builder=''
  touch "$work/complete"
  chmod 755 "$work"
  mv -T "$work" "$part" 2>/dev/null || rm -rf "$work" # another run was first
  work=''
  find "$cache" -maxdepth 1 -name "$1-*" ! -path "$part" -exec rm -rf {} +
  say "built $1 in $((SECONDS - from)) s"
}

root_disk() {
  # The mirror that this machine's own apt uses.
  local mirror
  mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $suite" | head -n 1)
  mmdebstrap --mode=root --variant=minbase --include="$(lines "$here/guest/packages" | paste -sd,)" \
    --aptopt='Apt::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" root "deb $mirror $suite main"
  rm -rf root/var/lib/apt/lists/* root/var/cache/apt/* root/var/log/*.log
  cp "$node_binary" root/usr/bin/node
  strip --strip-debug root/usr/bin/node || true
  cp -R "$here/guest/files/." root/
  chroot root node --version
  chroot root systemctl enable guest-job.service
  # What a throw-away guest can do without, to boot sooner.
  chroot root systemctl mask getty@tty1.service serial-getty@ttyS0.service getty-static.service \
    systemd-logind.service systemd-update-utmp.service systemd-update-utmp-runlevel.service \
    systemd-random-seed.service systemd-binfmt.service systemd-pstore.service \
    modprobe@{drm,efi_pstore,loop,dm_mod,fuse,configfs}.service systemd-modules-load.service \
    systemd-sysctl.service systemd-udev-trigger.service systemd-remount-fs.service systemd-journal-flush.service \
    dev-mqueue.mount dev-hugepages.mount sys-kernel-{debug,tracing}.mount sys-fs-fuse-connections.mount \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer \
    e2scrub_all.timer e2scrub_reap.service systemd-timesyncd.service
  echo benchd-guest >root/etc/hostname
  printf '127.0.0.1 localhost benchd-guest\n::1 localhost\n' >root/etc/hosts
  systemd-id128 new >root/etc/machine-id
  mkdir -p root/{job,project} root/usr/lib/modules
  local size=$(($(du -sm root | cut -f1) * 5 / 4 + 256))
  mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d root root.ext4 "${size}M"
  rm -rf root
}

kernel() {
  mkdir debs gpio-sim
  (cd debs && apt-get -qq -o APT::Sandbox::User=root download "linux-image-$release=$release_version" "$source_package=$source_version")
  dpkg-deb -x debs/linux-image-*.deb package
  cp "package/boot/vmlinuz-$release" kernel
  build_gpio_sim
  local all=package/lib/modules/$release few=modules/$release
  mkdir -p "$all/extra" "$few" initramfs/bin initramfs/boot
  strip --strip-debug -o "$all/extra/gpio-sim-benchd.ko" gpio-sim/gpio-sim-benchd.ko
  depmod -b package "$release"
  # Of the 4,000 modules only those asked for and what they depend on.
  local file
  for file in $(with_dependencies $(lines "$here/guest/kernel-modules" | sed 's/^boot //') gpio-sim-benchd); do
    install -D -m 644 "$file" "$few/${file#*"/lib/modules/$release/"}"
  done
  cp "$all"/modules.{order,builtin,builtin.modinfo} "$few/"
  mkdir -p tree/lib && ln -s ../../modules tree/lib/modules && depmod -b tree "$release"
  # The initramfs holds them all; its init puts them in the guest's place for them.
  for file in $(with_dependencies $(lines "$here/guest/kernel-modules" | sed -n 's/^boot //p')); do
    echo "modules/$release/${file#*"/lib/modules/$release/"}"
  done >initramfs/boot/load-order
  cp /bin/busybox initramfs/bin/
  cp -R modules initramfs/
  install -m 755 "$here/guest/initramfs-init" initramfs/init
  (cd initramfs && find . | cpio -o -H newc --quiet) >initramfs.cpio
  rm -rf debs package gpio-sim initramfs modules tree
}

build_gpio_sim() { # from Debian's own source, against the stock kernel's headers
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "linux-headers-$release=$release_version"
  cp "$here/guest/gpio-sim/Kbuild" gpio-sim/
  dpkg-deb --fsys-tarfile debs/"$source_package"_*.deb | tar -xO "./usr/src/$source_package.tar.xz" |
    tar -xJ -C gpio-sim --strip-components=3 "$source_package/drivers/gpio/gpio-sim.c" \
      "$source_package/drivers/gpio/gpiolib.h" "$source_package/kernel/irq/irq_sim.c"
  # irq_to_desc() is not there for modules; generic_handle_irq() does the same.
  sed -i 's/handle_simple_irq(irq_to_desc(\([a-z]*\)))/generic_handle_irq(\1)/' gpio-sim/irq_sim.c
  make -C "/usr/src/linux-headers-$release" M="$PWD/gpio-sim" modules
}

with_dependencies() { # MODULE…: their files and those of what they need, in the order to load them
  modprobe --dirname package --set-version "$release" --show-depends --all "$@" |
    sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'
}

need mmdebstrap e2fsprogs binutils qemu-system-x86 busybox-static kmod cpio gcc make xz-utils
apt-cache show linux-image-amd64 >/dev/null 2>&1 || apt-get update -qq >&2

part root_disk "$({ declare -f root_disk; cat "$here/guest/packages"; find "$here/guest/files" -type f -print0 | sort -z | xargs -0 cat
  cat "$node_binary"; } | fingerprint)"
echo "root_disk=$part/root.ext4"

# The kernel's metapackage says which release this Debian has.
kernel_package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
release=${kernel_package#linux-image-}
release_version=$(candidate "$kernel_package")
source_package=linux-source-${release%.*}
source_version=$(candidate "$source_package")
part kernel "$({ declare -f kernel build_gpio_sim with_dependencies; cat "$here"/guest/{kernel-modules,initramfs-init,gpio-sim/Kbuild}
  echo "$release $release_version"; } | fingerprint)"
echo "kernel=$part/kernel"
echo "initramfs=$part/initramfs.cpio"
