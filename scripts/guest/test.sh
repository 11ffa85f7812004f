#!/usr/bin/env bash
# `npm run test:guest`: the tests of scripts/guest/tests, as they were built into dist/ (or the folder that $BENCHD_DIST names), in
# the guest. With words, only the files of these names: scripts/guest/test.sh serial pins
# Ends with a line "N passed, N failed" and the time it took; what cannot run is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=${BENCHD_DIST:-dist}
log=$(mktemp) project=$(mktemp -d) guest=''
tidy() {
  if [[ -n $guest ]]; then
    kill -- "-$guest" 2>/dev/null || true
    wait "$guest" 2>/dev/null || true
  fi
  rm -rf "$log" "$project"
}
trap tidy EXIT
trap 'exit 130' INT TERM
failed() { echo "test:guest: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

((EUID == 0)) || failed "must be run as root"
[[ -d $dist/scripts/guest/tests ]] || failed "$dist is not built; npm run build"
if (($#)); then files=("${@/%/.js}"); else files=(serial.js usb_serial.js pins.js i2c.js pin_devices.js service.js); fi
for package in serialport onoff i2c-bus; do
  node -e 'import(process.argv[1]).catch((error) => { console.error(error.message); process.exit(1) })' "$package" ||
    failed "$package does not load; npm ci compiles it, with g++, make, python3 and Node's headers"
done

# The program as it is installed: what was built, and the packages it needs to run. The tests also load modules, and start a service, that are
# not bundled, so they need the packages that the bundle holds.
cp -R "$dist" "$project/dist"
node scripts/guest/bundle-tests.mjs "$project/dist"
cp package.json "$project/"
npm ls --omit=dev --omit=peer --all --parseable | sed -n "s|^$PWD/||p" | xargs cp -R --parents -t "$project"
cp -R --parents node_modules/valibot node_modules/hono node_modules/@hono "$project"

status=0
# Node 20 with --enable-source-maps reads the map of every module that it loads, which takes a slow guest long.
# With job control, to be one group that can be ended.
set -m
(scripts/guest/run-in-guest.sh --project "$project" --timeout 1200 ${GUEST_LOGS:+--logs "$GUEST_LOGS"} -- \
  node --test --test-concurrency=1 --test-timeout=120000 --test-reporter=spec \
  "${files[@]/#/dist/scripts/guest/bundled/}" | tee "$log") &
guest=$!
set +m
wait "$guest" || status=$?
echo "took $SECONDS s"
count() { sed -n "s/^ℹ $1 //p" "$log" | tail -n 1; }
tests=$(count tests) pass=$(count pass)
[[ -n $tests ]] || failed "the guest ended with $status, before its tests did"
# One that was skipped or cancelled did not pass.
echo "$pass passed, $((tests - pass)) failed"
exit "$status"
