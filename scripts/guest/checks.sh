# What test.sh and service-test.sh have in common. They set $title and $BENCHD_DIST, and are in the folder of the project.

work=$(mktemp -d) group=''
tidy() {
  if [[ -n $group ]]; then
    kill -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM
failed() { echo "$title: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

((EUID == 0)) || failed "must be run as root"
[[ -d $BENCHD_DIST/scripts/guest/tests ]] || failed "$BENCHD_DIST is not built; npm run build"

# in_group COMMAND…: with job control, to be one group that can be ended. Sets $status.
in_group() {
  set -m
  ("$@") &
  group=$!
  set +m
  status=0
  wait "$group" || status=$?
  group=''
}

# counted FILE: "N passed, N failed" of what the tests said there. Fails when they did not come to their end. One that was skipped or cancelled did
# not pass.
counted() {
  local tests pass
  tests=$(sed -n 's/^ℹ tests //p' "$1" | tail -n 1) pass=$(sed -n 's/^ℹ pass //p' "$1" | tail -n 1)
  [[ -n $tests ]] && echo "$pass passed, $((tests - pass)) failed"
}
