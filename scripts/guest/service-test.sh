#!/usr/bin/env bash
# `npm run test:service`: the Debian package under the systemd of the guest. In the guest: installed, killed, hung (story); upgrades that the
# power is cut off in, and the machine started again (cuts). In the guest's Debian without QEMU: looked at, backed up, upgraded, removed
# (administration); the upgrade and the roll-back of every data folder of scripts/upgrades (upgrades). Takes what was built into dist/, or the folder $BENCHD_DIST names.
#
#   scripts/guest/service-test.sh [story | administration | upgrades | cuts]…
#
# Of the former versions, the oldest is built from its commit for `upgrades`; with EVERY_VERSION=1 all of them are.
#
# Ends with a line "N passed, N failed" and the time it took; what cannot run is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
export BENCHD_DIST=${BENCHD_DIST:-dist}
parts=(${*:-story administration upgrades cuts})
work=$(mktemp -d) guest=''
tidy() {
  if [[ -n $guest ]]; then
    kill -- "-$guest" 2>/dev/null || true
    wait "$guest" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM
failed() { echo "test:service: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

((EUID == 0)) || failed "must be run as root"
[[ -e $BENCHD_DIST/scripts/guest/tests/installed.js ]] || failed "$BENCHD_DIST is not built; npm run build"

in_container() { # TEST
  scripts/guest/run-in-container.sh --project "$project" --timeout 1400 -- node --test-reporter=spec "/project/dist/scripts/guest/tests/$1.js" 2>&1
}
in_guest() { # OPTION… -- COMMAND…
  scripts/guest/run-in-guest.sh --project "$project" --timeout 1400 ${GUEST_LOGS:+--logs "$GUEST_LOGS-$part"} "$@" 2>&1
}

# This version, the next, and one whose service breaks off soon after it said that it is ready; and the package of a lab's coordinator.
project=$work/project
packages=$project/packages
mkdir -p "$packages"
version=$(node -p 'require("./package.json").version')
first=$(scripts/package --out "$packages") || failed "scripts/package"
scripts/package-lab --out "$packages" >&2 || failed "scripts/package-lab"
arch=$(dpkg --print-architecture)
again() { # VERSION [FILE]: the first package as one of that version, from $work/tree
  sed -i "s/^Version: .*/Version: $1/" "$work/tree/DEBIAN/control"
  sed -i "s/\"version\": .*/\"version\": \"$1\",/" "$work/tree/usr/lib/benchd/package.json"
  (cd "$work/tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb -Zgzip -z1 --root-owner-group --build "$work/tree" "${2:-$packages/benchd_$1_$arch.deb}" >/dev/null
}
dpkg-deb -R "$first" "$work/tree"
again "$version+next"
# The method by which the service tells systemd that it is ready, in whichever file of the bundle it lies.
ready=$(grep -l $'^\tready() {' "$work"/tree/usr/lib/benchd/dist/bundle/*.js) || failed "nothing says ready() in the bundle"
sed -i 's/^\tready() {/&\n\t\tsetTimeout(() => process.exit(1), 2000)/' "$ready"
again "$version+broken"
# The tests use the packages of the .deb, and load modules that are not bundled: those need valibot, which the bundle holds.
cp -R "$work/tree/usr/lib/benchd/node_modules" "$project/"
cp -R --parents node_modules/valibot "$project"
mkdir -p "$project/dist/scripts/guest"
cp -R "$BENCHD_DIST/src" "$BENCHD_DIST/drivers" "$project/dist/"
cp -R "$BENCHD_DIST/scripts/guest/tests" "$project/dist/scripts/guest/"
cp package.json README.md "$project/"
cp --parents systemd/README.md "$project/"

tested() { # COMMAND…: runs the tests of a part, and counts them
  local status=0 tests pass
  "$@" | tee "$work/$part.tests" || status=$?
  tests=$(sed -n 's/^ℹ tests //p' "$work/$part.tests") pass=$(sed -n 's/^ℹ pass //p' "$work/$part.tests")
  if [[ -n $tests ]]; then
    echo "$pass passed, $((tests - pass)) failed"
  else
    echo "test:service: the guest ended with $status, before its tests did"
    echo "0 passed, 1 failed"
  fi
}

story() {
  tested in_guest -- node --test-reporter=spec /project/dist/scripts/guest/tests/installed.js
}

administration() {
  tested in_container administration
}

# The package of the oldest version is built from its commit once, and kept; EVERY_VERSION=1 builds those of all. For the others, and in a clone
# without that commit, this version stands in, under their number.
upgrades() {
  local kept=${GUEST_CACHE:-/var/cache/benchd-guest}/old-packages name commit version
  mkdir -p "$packages/old" "$project/scripts/upgrades"
  cp -R scripts/upgrades/data scripts/upgrades/versions.json "$project/scripts/upgrades/"
  rm -rf "$work/tree"
  dpkg-deb -R "$first" "$work/tree"
  while read -r name commit version; do
    if [[ $name == 0.1.0 || -n ${EVERY_VERSION:-} ]] && git cat-file -e "$commit^{commit}" 2>/dev/null; then
      node scripts/upgrades/make.mjs --packages "$kept" "$name" >&2
      cp "$kept/$name-$commit.deb" "$packages/old/"
    else
      echo "this version stands in for $name"
      again "$version" "$packages/old/$name-$commit.deb"
    fi
  done < <(node -p 'require("./scripts/upgrades/versions.json").map(({ name, commit, version }) => `${name} ${commit} ${version}`).join("\n")')
  tested in_container upgrades
}

cuts() {
  local root_disk round status node=(--own-node)
  eval "$(scripts/guest/build-guest.sh)"
  # With a journal, as the disks of machines that lose their power have it.
  cp --sparse=always "$root_disk" "$work/disk"
  tune2fs -O has_journal "$work/disk" >/dev/null
  for round in 1 2 3; do
    status=0
    in_guest "${node[@]}" --disk "$work/disk" -- node /project/dist/scripts/guest/tests/cut.js "$round" | tee "$work/cut" || status=$?
    # The package has been installed and has run on Debian's own Node.js, which takes long to start, by then.
    node=()
    # A guest whose power is cut ends without a status.
    if ((round < 3 ? status == 125 : status == 0)) && { ((round == 3)) || grep -q '^CUT ' "$work/cut"; }; then continue; fi
    echo "NOT OK - start $round of the machine ended with $status"
    echo "$((round - 1)) passed, 1 failed"
    return
  done
  echo "3 passed, 0 failed"
}

passed=0 failures=0
for part in "${parts[@]}"; do
  # With job control, to be one group that can be ended.
  set -m
  ("$part" | tee "$work/$part") &
  guest=$!
  set +m
  wait "$guest" || true
  guest=''
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$work/$part" | tail -n 1 || true)
  line=${line:-0 passed, 1 failed}
  passed=$((passed + ${line%% passed*}))
  line=${line#*passed, }
  failures=$((failures + ${line%% failed*}))
done
echo
echo "took $SECONDS s"
echo "$passed passed, $failures failed"
((failures == 0))
