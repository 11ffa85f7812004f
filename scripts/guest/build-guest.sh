#!/usr/bin/env bash
# Builds what the test guest boots from: a small Debian with systemd and Node.js, Debian's stock kernel, and for that kernel the GPIO
# simulator. Prints, as shell assignments, where they are: root_disk=… kernel=… initramfs=…
#
#   SUITE         trixie (Debian 13, the default, which has a Node.js of its own too) or bookworm (Debian 12)
#   NODE_BINARY   the Node.js for the guest (default: this machine's)
#   GUEST_CACHE   the folder that keeps each part until what the part is made of changes (default /var/cache/benchd-guest)
#
# Needs root on Debian 12 or 13 and its package mirror. Installs the packages it needs here; what must be compiled with the tools of
# the other Debian is compiled in a temporary folder that has them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${GUEST_CACHE:-/var/cache/benchd-guest}
suite=${SUITE:-trixie}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
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
case $suite in
  trixie) node_package=nodejs ;;
  bookworm) node_package='' ;; # Its own Node.js is too old.
  *) give_up "SUITE is $suite; it can be trixie or bookworm" ;;
esac
node_binary=$(readlink -e "${NODE_BINARY:-$(command -v node)}") || give_up "there is no Node.js to copy into the guest"
own_suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[[ $own_suite == bookworm || $own_suite == trixie ]] || give_up "must be run on Debian 12 or 13"
mkdir -p "$cache"
# One at a time: apt has locks of its own, and does not wait for them.
exec 9>"$cache/lock"
flock 9

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

# Of the guest's Debian: with this machine's own lists of packages, or lists kept in the cache.
apt() { # COMMAND ARGUMENT…: of apt-get
  apt-get "${apt_options[@]}" -qq "$@"
}
candidate() { # PACKAGE: the version apt would install
  apt-cache "${apt_options[@]}" policy "$1" | sed -n 's/^ *Candidate: //p'
}

# part NAME KEY: runs the function NAME in a fresh folder unless the cache has that part; sets $part to its folder.
part() {
  part=$cache/$1-$suite-$2
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
  find "$cache" -maxdepth 1 -name "$1-$suite-*" ! -path "$part" -exec rm -rf {} +
  say "built $1 in $((SECONDS - from)) s"
}

bootstrap() { # FOLDER PACKAGE…: a Debian of the guest's suite in that folder
  local folder=$1
  shift
  mmdebstrap --mode=root --variant=minbase --include="$*" --keyring="$keyring" \
    --aptopt='Apt::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$folder" "deb $mirror $suite main"
}

root_disk() {
  # shellcheck disable=SC2046
  bootstrap root $(lines "$here/guest/packages") $node_package
  rm -rf root/var/lib/apt/lists/* root/var/cache/apt/* root/var/log/*.log
  local node=usr/local/lib/benchd-guest/node
  install -D "$node_binary" "root/$node"
  strip --strip-debug "root/$node" || true
  if [[ -z $node_package ]]; then
    ln -s "/$node" root/usr/bin/node
    # Debian's packages depend on Node.js by the name of its package.
    mkdir -p nodejs/DEBIAN
    printf '%s\n' 'Package: nodejs' "Version: $("$node_binary" -p process.versions.node)" "Architecture: $(dpkg --print-architecture)" \
      'Maintainer: nobody <nobody@localhost>' 'Description: stands for a Node.js that is no package' >nodejs/DEBIAN/control
    dpkg-deb --build nodejs root/nodejs.deb
    chroot root dpkg --install /nodejs.deb
    rm -r nodejs root/nodejs.deb
  fi
  cp -R "$here/guest/files/." root/
  chroot root node --version
  chroot root "/$node" --version
  chroot root systemctl enable guest-job.service
  # What a throw-away guest can do without, to boot sooner. What is gone costs nothing at a `systemctl daemon-reload` either.
  (cd root/usr/lib/systemd/system && without_units)
  chroot root systemctl mask systemd-logind.service systemd-update-utmp.service systemd-update-utmp-runlevel.service \
    systemd-random-seed.service systemd-binfmt.service systemd-pstore.service \
    modprobe@{drm,efi_pstore,loop,dm_mod,fuse,configfs}.service systemd-modules-load.service \
    systemd-sysctl.service systemd-udev-trigger.service systemd-remount-fs.service systemd-journal-flush.service \
    dev-mqueue.mount dev-hugepages.mount sys-kernel-{debug,tracing}.mount sys-fs-fuse-connections.mount \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer \
    e2scrub_all.timer e2scrub_reap.service systemd-timesyncd.service
  # A generator of systemd costs the guest a sixth of a second at each start and each `systemctl daemon-reload`, and finds nothing there.
  mkdir -p root/etc/systemd/system-generators
  local generator
  for generator in root/usr/lib/systemd/system-generators/*; do
    ln -s /dev/null "root/etc/systemd/system-generators/${generator##*/}"
  done
  echo benchd-guest >root/etc/hostname
  printf '127.0.0.1 localhost benchd-guest\n::1 localhost\n' >root/etc/hosts
  tr -d - </proc/sys/kernel/random/uuid >root/etc/machine-id
  mkdir -p root/{job,project} root/usr/lib/modules
  # What systemd does again when /usr is newer than these was done when the packages were installed.
  touch root/etc/.updated root/var/.updated
  local size=$(($(du -sm root | cut -f1) * 5 / 4 + 256))
  mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d root root.ext4 "${size}M"
  rm -rf root
}

# Takes units away that nothing here asks for, and whatever wants them at the start.
without_units() {
  rm -rf systemd-{pcr,tpm2,creds,sysext,confext,initctl,ask-password,udev-load-credentials,user-sessions,tmpfiles-setup-dev,firstboot,battery}* \
    systemd-{hibernate,suspend,hybrid,homed,sysupdate,storagetm,growfs,portabled,rfkill,networkd,bless,boot,bsod,hwdb,journal-catalog}* \
    systemd-{machine-id,update-done,quotacheck,fsck}* kmod-static-nodes* proc-sys-fs-binfmt_misc* initrd* quota* rc-local* debug-shell* kexec* \
    emergency.service rescue.service ldconfig* first-boot* soft-reboot* system-update* getty* console-getty* container-getty* \
    {printer,sound,smartcard,bluetooth,usb-gadget,sleep,remote-cryptsetup,cryptsetup,veritysetup,integritysetup}*.target
  # It begins when somebody asks for it.
  rm -f multi-user.target.wants/dbus.service
  find . -xtype l -delete
}

kernel() {
  mkdir debs
  (cd debs && apt -o APT::Sandbox::User=root download "linux-image-$release=$release_version" "$source_package=$source_version")
  dpkg-deb -x debs/linux-image-*.deb package
  # In Debian 13 the package has its modules in /usr/lib.
  [[ -d package/lib ]] || ln -s usr/lib package/lib
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
  # Debian 13 has them compressed, which busybox does not load.
  find "$few" -name '*.ko.xz' -exec unxz {} +
  # The guest takes ten seconds to read the types and the signature of ext4 alone; nothing here needs them.
  find "$few" -name '*.ko' -exec strip --strip-debug --remove-section=.BTF {} +
  cp "$all"/modules.{order,builtin,builtin.modinfo} "$few/"
  mkdir -p tree/lib && ln -s ../../modules tree/lib/modules && depmod -b tree "$release"
  # The initramfs holds them all; its init puts them in the guest's place for them.
  for file in $(with_dependencies $(lines "$here/guest/kernel-modules" | sed -n 's/^boot //p')); do
    file=${file#*"/lib/modules/$release/"}
    echo "modules/$release/${file%.xz}"
  done >initramfs/boot/load-order
  cp /bin/busybox initramfs/bin/
  cp -R modules initramfs/
  install -m 755 "$here/guest/initramfs-init" initramfs/init
  (cd initramfs && find . | cpio -o -H newc --quiet) >initramfs.cpio
  rm -rf debs package gpio-sim toolbox initramfs modules tree
}

build_gpio_sim() { # from Debian's own source, against the stock kernel's headers and with the compiler of its Debian
  local inside=$PWD/gpio-sim toolbox=()
  local packages=("linux-headers-$release=$release_version" gcc make)
  if [[ $suite == "$own_suite" ]]; then
    mkdir gpio-sim
    DEBIAN_FRONTEND=noninteractive apt install -y --no-install-recommends "${packages[@]}"
  else
    bootstrap toolbox "${packages[@]}"
    mkdir toolbox/gpio-sim
    ln -s toolbox/gpio-sim gpio-sim
    inside=/gpio-sim toolbox=(chroot "$PWD/toolbox")
  fi
  cp "$here/guest/gpio-sim/Kbuild" gpio-sim/
  dpkg-deb --fsys-tarfile debs/"$source_package"_*.deb | tar -xO "./usr/src/$source_package.tar.xz" |
    tar -xJ -C gpio-sim --strip-components=3 "$source_package/drivers/gpio/gpio-sim.c" \
      "$source_package/drivers/gpio/gpiolib.h" "$source_package/kernel/irq/irq_sim.c"
  # irq_to_desc() is not there for modules; generic_handle_irq() does the same.
  sed -i 's/handle_simple_irq(irq_to_desc(\([a-z]*\)))/generic_handle_irq(\1)/' gpio-sim/irq_sim.c
  "${toolbox[@]}" make -C "/usr/src/linux-headers-$release" M="$inside" modules
}

with_dependencies() { # MODULE…: their files and those of what they need, in the order to load them
  modprobe --dirname package --set-version "$release" --show-depends --all "$@" |
    sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'
}

need mmdebstrap debian-archive-keyring e2fsprogs binutils qemu-system-x86 busybox-static kmod cpio xz-utils
# The mirror that this machine's own apt uses; which one that is, apt knows from its lists.
find_mirror() { mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $own_suite" "Component: main" | sort -u | head -n 1); }
find_mirror
if [[ -z $mirror ]]; then
  apt-get update -qq >&2
  find_mirror
fi
[[ -n $mirror ]] || give_up "apt has no package mirror for $own_suite; see /etc/apt/sources.list.d"
apt_options=()
if [[ $suite != "$own_suite" ]]; then
  lists=$cache/apt-$suite
  mkdir -p "$lists"/{lists/partial,archives/partial}
  [[ -e $lists/status ]] || : >"$lists/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$lists/sources.list"
  apt_options=(-o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$lists/lists"
    -o "Dir::State::Status=$lists/status" -o "Dir::Cache=$lists")
fi

part root_disk "$({ declare -f root_disk without_units bootstrap; echo "$suite $node_package"; cat "$here/guest/packages"
  find "$here/guest/files" -type f -print0 | sort -z | xargs -0 cat
  cat "$node_binary"; } | fingerprint)"
echo "root_disk=$part/root.ext4"

# The kernel's metapackage says which release this Debian has.
find_kernel() {
  local package
  package=$(apt-cache "${apt_options[@]}" depends linux-image-amd64 2>/dev/null |
    sed -n '0,/^ *Depends: \(linux-image-[0-9].*\)$/s//\1/p') || return 0
  release=${package#linux-image-}
  [[ $release =~ ^[0-9]+\.[0-9]+ ]] || return 0
  release_version=$(candidate "$package")
  source_package=linux-source-${BASH_REMATCH[0]}
  source_version=$(candidate "$source_package")
  kernel_key=$({ declare -f kernel build_gpio_sim with_dependencies bootstrap
    cat "$here"/guest/{kernel-modules,initramfs-init,gpio-sim/Kbuild}; echo "$release $release_version"; } | fingerprint)
}
kernel_key=''
find_kernel
if [[ ! -e $cache/kernel-$suite-$kernel_key/complete ]]; then
  # The lists may be older than what the mirror still has.
  apt update >&2 || say "cannot update the lists of packages; going on with those from before"
  find_kernel
fi
[[ -n $kernel_key ]] || give_up "$mirror has no linux-image-amd64 for $suite"
part kernel "$kernel_key"
echo "kernel=$part/kernel"
echo "initramfs=$part/initramfs.cpio"
