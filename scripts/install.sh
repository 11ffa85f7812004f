#!/usr/bin/env bash
# Installs benchd from this repository on a machine with systemd; where dpkg is, the package is the better way: scripts/package.
#
#   sudo scripts/install.sh              build it, put it into /usr/local/lib/benchd, start the service
#   sudo /usr/local/lib/benchd/install.sh --back       to the version before, and from there to the newer one again
#   sudo /usr/local/lib/benchd/install.sh --remove     take it away; configuration and state stay
#
# Needs Node 20.19 or newer with npm, and the network (npm ci); for I2C and GPIO by way of sysfs also g++, make, python3 and Node's headers
# (libnode-dev). Called again, it puts the new version in place: not while something runs,
# unless BENCHD_FORCE_UPGRADE=1 is set, and if the new one does not become healthy, what was there before is put back.
#
# The power may fail at any moment: each version lies whole in a folder of its own, with what it has elsewhere on the machine, and
# /usr/local/lib/benchd is a link to the one in use, which turns from one to the other in one step. The one before stays.
set -euo pipefail
umask 022
root=''
lib=/usr/local/lib/benchd
give_up() { echo "install: $*" >&2; exit 1; }

((EUID == 0)) || give_up "must be run as root: sudo $0"
command -v systemctl >/dev/null || give_up "there is no systemd here; without it: npm ci && npm run build && dist/bundle/main.js serve"

must_be_idle() {
  [[ -e $root$lib/service-check.mjs && ${BENCHD_FORCE_UPGRADE:-} != 1 ]] || return 0
  node "$root$lib/service-check.mjs" idle ||
    give_up "not while this runs; wait for it, or all the same, which ends it: sudo BENCHD_FORCE_UPGRADE=1 $0${1:+ $1}"
}

# Versions 0.1.0 and 0.2.0 kept a file for each open run. As in scripts/debian/preinst.
must_know_open_runs() {
  local file open=''
  [[ ${BENCHD_FORCE_UPGRADE:-} != 1 ]] || return 0
  for file in "$root"/var/lib/benchd/executions/*.jsonl; do
    if [[ -f $file && ! -L $file && $file != */state-* ]]; then open+=" $(basename "$file" .jsonl)"; fi
  done
  [[ -z $open ]] || give_up "a run of version 0.1.0 or 0.2.0 is open or paused, and this version cannot go on with it:$open. With that version," \
    "finish it (benchd runs resume ID) or end it (benchd runs stop ID); or all the same, which aborts it: sudo BENCHD_FORCE_UPGRADE=1 $0"
}

version_of() { node -p 'require(process.argv[1]).version' "$root$1/package.json"; }

# The folder of the version in use, if there is any.
in_use() { if [[ -L $root$lib ]]; then echo "/usr/local/lib/$(readlink "$root$lib")"; fi; }

# The newest other one that has been healthy.
one_before() {
  local folder
  for folder in $(cd "$root/usr/local/lib" && ls -dr benchd.[0-9]* 2>/dev/null); do
    folder=/usr/local/lib/$folder
    if [[ $folder != "$(in_use)" && -e $root$folder/was-healthy ]]; then echo "$folder"; return; fi
  done
}

# Each file is renamed into its place, so that it is the old one or the new one; what is in use changes last.
put_in_place() { # FOLDER
  local file
  while read -r file; do
    mkdir -p "$(dirname "$root/$file")"
    cp -p "$root$1/machine/$file" "$root/$file.new"
    mv "$root/$file.new" "$root/$file"
  done < <(cd "$root$1/machine" && find . -type f -printf '%P\n')
  sync
  ln -sfn "$(basename "$1")" "$root$lib.new"
  mv -T "$root$lib.new" "$root$lib"
  sync
  systemctl daemon-reload
}

becomes_healthy() { # FOLDER
  systemctl reset-failed benchd.service 2>/dev/null || true
  systemctl enable --now benchd.service && node "$root$lib/service-check.mjs" healthy "$(version_of "$1")" || return 1
  : >"$root$1/was-healthy"
}

case ${1:-} in
  --remove)
    must_be_idle --remove
    systemctl disable --now benchd.service 2>/dev/null || true
    systemctl stop 'benchd-bridge@*' 2>/dev/null || true
    systemctl disable benchd-bridge@.socket 2>/dev/null || true
    (cd "$root/" && rm -rf usr/local/bin/benchd etc/systemd/system/benchd.service etc/systemd/system/benchd-bridge@.s* etc/sysusers.d/benchd.conf etc/tmpfiles.d/benchd.conf \
      etc/modules-load.d/benchd.conf etc/udev/rules.d/80-benchd.rules etc/avahi/services/benchd.service \
      usr/local/share/man/man1/benchd.1.gz usr/local/share/bash-completion/completions/benchd ".$lib" ".$lib".* var/cache/benchd-compiled)
    systemctl daemon-reload
    echo "benchd is removed; /etc/benchd and /var/lib/benchd stay"
    [[ ! -e $root/usr/lib/systemd/system/benchd.service ]] || echo "the package is here as well; to go on with that: systemctl enable --now benchd"
    exit
    ;;
  --back)
    before=$(one_before)
    [[ -n $before ]] || give_up "there is no version before this one"
    must_be_idle --back
    systemctl stop benchd.service || true
    put_in_place "$before"
    becomes_healthy "$before" ||
      give_up "benchd $(version_of "$before") does not become healthy (journalctl -u benchd); to the other one again: sudo $lib/install.sh --back. If the journal names a file of a newer format in executions, end the paused runs there first: benchd runs stop RUN --confirm"
    echo "benchd $(version_of "$before") is running"
    exit
    ;;
  '') ;;
  *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

cd "$(dirname "$0")/.."
[[ -e scripts/package ]] || give_up "this is the one that was installed; call the one in the sources: sudo scripts/install.sh"
[[ ! -e $root/usr/lib/systemd/system/benchd.service ]] ||
  give_up "the package benchd is installed; upgrade that (sudo benchd update benchd_….deb), or remove it first, configuration and state stay: sudo apt remove benchd"
node=$(command -v node) || give_up "there is no Node; Debian 13 and Raspberry Pi OS of that age have it: apt install nodejs npm"
"$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
  give_up "$node is $("$node" --version); 20.19 or newer is needed"
case $(readlink -f "$node") in
  /home/* | /root/*) give_up "$node lies in a home folder, which the service may not see; install Node for the whole machine" ;;
esac
command -v npm >/dev/null || give_up "there is no npm: apt install npm"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
# npm compiles the packages for GPIO and I2C. Without this it fetches Node's headers from nodejs.org, although they came with Node.
prefix=$(dirname "$(dirname "$(readlink -f "$node")")")
major=$("$node" --version)
major=${major#v} major=${major%%.*}
if grep -qsx "#define NODE_MAJOR_VERSION $major" "$prefix/include/node/node_version.h"; then
  export npm_config_nodedir=$prefix
fi
npm ci --no-audit --no-fund
for package in onoff i2c-bus; do
  # They are optional: npm says nothing when it leaves one out.
  [[ -e node_modules/$package ]] || echo "install: npm could not compile $package and left it out; benchd runs without it." \
    "To have it: apt install g++ make python3 libnode-dev (NodeSource's nodejs has the headers itself), then call this again" >&2
done
npm run --silent build
scripts/package --tree "$tree"

# As it was laid out by earlier versions of this script: not a link, but the folder itself.
if [[ -d $root$lib && ! -L $root$lib ]]; then
  mkdir -p "$root$lib/machine"
  : >"$root$lib/was-healthy"
  mv "$root$lib" "$root$lib.0"
  ln -s "$(basename "$lib").0" "$root$lib"
fi
draft=$lib.draft
rm -rf "$root$draft"
mkdir -p "$root/usr/local/lib" "$root/usr/local/bin"
cp -R "$tree/usr/lib/benchd" "$root$draft"
rm -f "$root$draft/keep-package" "$root$draft/roll-back"
sed -i "s|\"by\": \"package\"|\"by\": \"install.sh\"|; s|\"folder\": \"/usr/lib/benchd\"|\"folder\": \"$lib\"|" "$root$draft/package.json"
install -m 755 scripts/install.sh "$root$draft/install.sh"
put() { # FROM TO: with our places for those of the package
  mkdir -p "$(dirname "$root$draft/machine$2")"
  sed "s|/usr/lib/benchd|$lib|g; s|/usr/bin/node|$node|g" "$tree/$1" >"$root$draft/machine$2"
}
for unit in benchd.service benchd-bridge@.service benchd-bridge@.socket; do put "usr/lib/systemd/system/$unit" "/etc/systemd/system/$unit"; done
put usr/lib/sysusers.d/benchd.conf /etc/sysusers.d/benchd.conf
put usr/lib/tmpfiles.d/benchd.conf /etc/tmpfiles.d/benchd.conf
put usr/lib/modules-load.d/benchd.conf /etc/modules-load.d/benchd.conf
put usr/lib/udev/rules.d/80-benchd.rules /etc/udev/rules.d/80-benchd.rules
for file in man/man1/benchd.1.gz bash-completion/completions/benchd; do
  install -D -m 644 "$tree/usr/share/$file" "$root$draft/machine/usr/local/share/$file"
done
sync
new=$lib.$(date -u +%Y%m%dT%H%M%S%3N)
mv -T "$root$draft" "$root$new"

if ! (must_know_open_runs && must_be_idle); then rm -rf "$root$new"; exit 1; fi
before=$(in_use)
systemctl stop benchd.service 2>/dev/null || true
put_in_place "$new"
[[ -L $root/usr/local/bin/benchd ]] || ln -sf "$lib/dist/bundle/main.js" "$root/usr/local/bin/benchd"
systemd-sysusers "$root/etc/sysusers.d/benchd.conf"
# Earlier versions gave the service's user its state for a home, where sshd would look for an .ssh of it.
if [[ $(getent passwd benchd | cut -d: -f6) == /var/lib/benchd ]] && ! usermod --home /nonexistent benchd; then
  echo "install: the user benchd still has the home /var/lib/benchd; when nothing of benchd runs: sudo usermod --home /nonexistent benchd" >&2
fi
systemd-tmpfiles --create "$root/etc/tmpfiles.d/benchd.conf"
# These two are the administrator's from then on.
[[ -e $root/etc/benchd/config.json ]] || install -m 0644 "$tree/usr/share/benchd/config.json" "$root/etc/benchd/config.json"
told=$root/etc/avahi/services/benchd.service
if [[ -z $before && -d $root/etc/avahi/services && ! -e $told ]]; then install -m 0644 "$tree/usr/share/benchd/avahi.service" "$told"; fi
modprobe -qa usbserial cdc_acm i2c-dev || true
udevadm control --reload && udevadm trigger --action=add --subsystem-match=tty --subsystem-match=i2c-dev --subsystem-match=gpio || true

version=$(version_of "$new")
if becomes_healthy "$new"; then
  kept=$(one_before)
  for folder in "$root$lib".[0-9]*; do
    [[ $folder == "$root$new" || $folder == "$root$kept" ]] || rm -rf "$folder"
  done
  echo "benchd $version is running: http://$(uname -n).local:8520"
  echo "A key for a laptop, shown once:  sudo benchd key create --name laptop --scope operate"
elif [[ -n $before ]]; then
  systemctl stop benchd.service || true
  put_in_place "$before"
  rm -rf "$root$new"
  systemctl start benchd.service || true
  give_up "benchd $version does not become healthy (journalctl -u benchd); benchd $(version_of "$before") is back"
else
  give_up "it does not start; why: journalctl -u benchd -n 30, and sudo benchd doctor; then: sudo systemctl restart benchd"
fi
