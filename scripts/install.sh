#!/usr/bin/env bash
# Installs benchd from this repository on a machine with systemd; where dpkg is, the package is the better way: scripts/package.
#
#   sudo scripts/install.sh              build it, put it into /usr/local/lib/benchd, start the service
#   sudo scripts/install.sh --remove     take it away; configuration and state stay
#
# Needs Node 20.19 or newer with npm, and the network (npm ci). Called again, it puts the new version in place: not while something runs,
# unless BENCHD_FORCE_UPGRADE=1 is set, and if the new one does not become healthy, what was there before is put back.
set -euo pipefail
cd "$(dirname "$0")/.."
lib=/usr/local/lib/benchd
units=/etc/systemd/system
give_up() { echo "install: $*" >&2; exit 1; }

((EUID == 0)) || give_up "must be run as root: sudo $0"
command -v systemctl >/dev/null || give_up "there is no systemd here; without it: npm ci && npm run build && dist/bundle/main.js serve"
[[ ! -e /usr/lib/systemd/system/benchd.service ]] || give_up "the package benchd is installed; upgrade that one, or remove it: apt remove benchd"

if [[ ${1:-} == --remove ]]; then
  systemctl disable --now benchd.service 2>/dev/null || true
  rm -rf "$lib" /var/cache/benchd-compiled /usr/local/bin/benchd "$units/benchd.service" /etc/sysusers.d/benchd.conf /etc/tmpfiles.d/benchd.conf \
    /etc/modules-load.d/benchd.conf /etc/udev/rules.d/80-benchd.rules /etc/avahi/services/benchd.service \
    /usr/local/share/man/man1/benchd.1.gz /usr/local/share/bash-completion/completions/benchd
  systemctl daemon-reload
  echo "benchd is removed; /etc/benchd and /var/lib/benchd stay"
  exit
fi

node=$(command -v node) || give_up "there is no Node; Debian 13 and Raspberry Pi OS of that age have it: apt install nodejs npm"
"$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
  give_up "$node is $("$node" --version); 20.19 or newer is needed"
case $(readlink -f "$node") in
  /home/* | /root/*) give_up "$node lies in a home folder, which the service may not see; install Node for the whole machine" ;;
esac
command -v npm >/dev/null || give_up "there is no npm: apt install npm"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
npm ci --no-audit --no-fund
npm run --silent build
scripts/package --tree "$tree"

if [[ -e $lib/service-check.mjs ]] && [[ ${BENCHD_FORCE_UPGRADE:-} != 1 ]]; then
  "$node" "$lib/service-check.mjs" idle || give_up "not while this runs; or all the same: BENCHD_FORCE_UPGRADE=1"
fi
systemctl stop benchd.service 2>/dev/null || true
rm -rf "$lib.before"
[[ ! -e $lib ]] || mv "$lib" "$lib.before"
cp -R "$tree/usr/lib/benchd" "$lib"
rm -f "$lib/keep-package" "$lib/roll-back"
ln -sfn "$lib/dist/bundle/main.js" /usr/local/bin/benchd
put() { # FROM TO: with our places for those of the package
  mkdir -p "$(dirname "$2")"
  sed "s|/usr/lib/benchd|$lib|g; s|/usr/bin/node|$node|g" "$tree/$1" >"$2"
}
put usr/lib/systemd/system/benchd.service "$units/benchd.service"
put usr/lib/sysusers.d/benchd.conf /etc/sysusers.d/benchd.conf
put usr/lib/tmpfiles.d/benchd.conf /etc/tmpfiles.d/benchd.conf
put usr/lib/modules-load.d/benchd.conf /etc/modules-load.d/benchd.conf
put usr/lib/udev/rules.d/80-benchd.rules /etc/udev/rules.d/80-benchd.rules
[[ ! -d /etc/avahi/services ]] || put etc/avahi/services/benchd.service /etc/avahi/services/benchd.service
for file in man/man1/benchd.1.gz bash-completion/completions/benchd; do
  install -D -m 644 "$tree/usr/share/$file" "/usr/local/share/$file"
done
systemd-sysusers /etc/sysusers.d/benchd.conf
systemd-tmpfiles --create /etc/tmpfiles.d/benchd.conf
[[ -e /etc/benchd/config.json ]] || install -m 0644 "$tree/usr/share/benchd/config.json" /etc/benchd/config.json
modprobe -qa usbserial cdc_acm i2c-dev || true
udevadm control --reload && udevadm trigger --action=add --subsystem-match=tty --subsystem-match=i2c-dev --subsystem-match=gpio || true
systemctl daemon-reload
systemctl reset-failed benchd.service 2>/dev/null || true
version=$("$node" -p 'require("./package.json").version')
if systemctl enable --now benchd.service && "$node" "$lib/service-check.mjs" healthy "$version"; then
  rm -rf "$lib.before"
  echo "benchd $version is running: http://$(uname -n).local:8520"
  echo "A key for a laptop, shown once:  sudo benchd key create --name laptop --scope operate"
elif [[ -e $lib.before ]]; then
  systemctl stop benchd.service || true
  rm -rf "$lib"
  mv "$lib.before" "$lib"
  systemctl start benchd.service
  give_up "the new version does not become healthy (journalctl -u benchd); the one before is back"
else
  give_up "it does not start; see: journalctl -u benchd -n 30"
fi
