#!/usr/bin/env bash
# Lays out in DIR, which is made, what service-test.sh has at /project: the Debian packages that are installed there, the tests, and what these load.
# Takes what was built into dist/, or the folder $BENCHD_DIST names.
#
#   scripts/guest/service-project.sh DIR
set -euo pipefail
cd "$(dirname "$0")/../.."
(($# == 1)) || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
export BENCHD_DIST=${BENCHD_DIST:-dist}
[[ -e $BENCHD_DIST/scripts/guest/tests/installed.js ]] || { echo "service-project: $BENCHD_DIST is not built; npm run build" >&2; exit 1; }
project=$1 work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# This version, the next, and one whose service breaks off soon after it said that it is ready; and the package of a lab's coordinator.
packages=$project/packages
mkdir -p "$packages"
version=$(node -p 'require("./package.json").version')
first=$(scripts/package --out "$work/built")
scripts/package-lab --out "$packages" >&2
. scripts/guest/repacked.sh
dpkg-deb -R "$first" "$work/tree"
repacked "$version"
repacked "$version+next"
# The method by which the service tells systemd that it is ready, in whichever file of the bundle it lies.
ready=$(grep -l $'^\tready() {' "$work"/tree/usr/lib/benchd/dist/bundle/*.js) || { echo "service-project: nothing says ready() in the bundle" >&2; exit 1; }
sed -i 's/^\tready() {/&\n\t\tsetTimeout(() => process.exit(1), 2000)/' "$ready"
repacked "$version+broken"
# The tests use the packages of the .deb, and load modules that are not bundled: those need valibot, which the bundle holds.
cp -R "$work/tree/usr/lib/benchd/node_modules" "$project/"
cp -R --parents node_modules/valibot "$project"
mkdir -p "$project/dist/scripts/guest"
cp -R "$BENCHD_DIST/src" "$BENCHD_DIST/drivers" "$project/dist/"
cp -R "$BENCHD_DIST/scripts/guest/tests" "$project/dist/scripts/guest/"
node scripts/guest/bundle-tests.mjs "$project/dist"
cp package.json README.md "$project/"
cp --parents systemd/README.md "$project/"
