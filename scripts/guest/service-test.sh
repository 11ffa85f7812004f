#!/usr/bin/env bash
# `npm run test:service`: the Debian package under the systemd of the guest. In the guest: installed, killed, hung (story); upgrades that the
# power is cut off in, and the machine started again (cuts). In the guest's Debian without QEMU: looked at, backed up, upgraded, removed
# (administration); the upgrade and the roll-back of every data folder of scripts/upgrades (upgrades). Takes what was built into dist/, or the folder $BENCHD_DIST names.
#
#   scripts/guest/service-test.sh [story | administration | upgrades | cuts]…
#
# $SERVICE_PROJECT is a folder that service-project.sh has laid out, and $GUEST_PARTS what build-guest.sh has printed, for several calls of this; where
# they are not set, this calls them.
#
# Of the former versions, the oldest is built from its commit for `upgrades`; with EVERY_VERSION=1 all of them are.
#
# Ends with a line "N passed, N failed" and the time it took; what cannot run is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/guest/repacked.sh
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
GUEST_PARTS=${GUEST_PARTS:-$(scripts/guest/build-guest.sh)} || failed "scripts/guest/build-guest.sh"
export GUEST_PARTS

in_container() { # TEST
  scripts/guest/run-in-container.sh --project "$project" --timeout 1400 -- node --test-reporter=spec "/project/dist/scripts/guest/bundled/$1.js" 2>&1
}
in_guest() { # OPTION… -- COMMAND…
  scripts/guest/run-in-guest.sh --project "$project" --timeout 1400 ${GUEST_LOGS:+--logs "$GUEST_LOGS-$part"} "$@" 2>&1
}

# What another step has laid out is only read, so that steps beside each other can have the same.
project=${SERVICE_PROJECT:-$work/project}
[[ -n ${SERVICE_PROJECT:-} ]] || scripts/guest/service-project.sh "$project" || failed "scripts/guest/service-project.sh"

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
  tested in_guest -- node --test-reporter=spec /project/dist/scripts/guest/bundled/installed.js
}

administration() {
  tested in_container administration
}

# The package of the oldest version is built from its commit once, and kept; EVERY_VERSION=1 builds those of all. For the others, and in a clone
# without that commit, this version stands in, under their number.
upgrades() {
  local kept=${GUEST_CACHE:-/var/cache/benchd-guest}/old-packages name commit version packages
  # A copy with more in it than the other parts need.
  cp -Rl "$project" "$work/with-old-packages"
  local project=$work/with-old-packages
  packages=$project/packages
  mkdir -p "$packages/old" "$project/scripts/upgrades"
  cp -R scripts/upgrades/data scripts/upgrades/versions.json "$project/scripts/upgrades/"
  dpkg-deb -R "$(ls "$packages"/benchd_[0-9]*.deb | grep -v +)" "$work/tree"
  while read -r name commit version; do
    if [[ $name == 0.1.0 || -n ${EVERY_VERSION:-} ]] && git cat-file -e "$commit^{commit}" 2>/dev/null; then
      node scripts/upgrades/make.mjs --packages "$kept" "$name" >&2
      cp "$kept/$name-$commit.deb" "$packages/old/"
    else
      echo "this version stands in for $name"
      repacked "$version" "$packages/old/$name-$commit.deb"
    fi
  done < <(node -p 'require("./scripts/upgrades/versions.json").map(({ name, commit, version }) => `${name} ${commit} ${version}`).join("\n")')
  tested in_container upgrades
}

cuts() {
  local root_disk round status cut=/project/dist/scripts/guest/bundled/cut.js
  eval "$GUEST_PARTS"
  # With a journal, as the disks of machines that lose their power have it.
  cp --sparse=always "$root_disk" "$work/disk"
  tune2fs -O has_journal "$work/disk" >/dev/null
  # Installed at the speed of this machine, with Debian's own Node.js, which takes long to start in the guest.
  scripts/guest/run-in-container.sh --project "$project" --timeout 1400 --own-node --disk "$work/disk" -- node "$cut" install 2>&1 ||
    { echo "NOT OK - the package is not installed"; echo "0 passed, 1 failed"; return; }
  for round in 1 2 3; do
    status=0
    in_guest --disk "$work/disk" -- node "$cut" "$round" | tee "$work/cut" || status=$?
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
