# What run-in-guest.sh and run-in-container.sh have in common: the parts of the guest, a folder for its job, and the wait for its end.

# Ends with 125 when the guest cannot be built. Sets $root_disk, $kernel, $initramfs, and $job; what is in $job/share is shared with the machine.
prepare_job() {
  local parts
  parts=$("$(dirname "${BASH_SOURCE[0]}")/build-guest.sh") || exit 125
  eval "$parts"
  job=$(mktemp -d "${TMPDIR:-/tmp}/guest-job.XXXXXX") machine='' tail=''
  trap tidy EXIT
  trap 'exit 130' INT TERM
  mkdir "$job/share"
  : >"$job/share/output"
}

tidy() {
  [[ -z $machine ]] || kill -9 "$machine" 2>/dev/null || true
  [[ -z $tail ]] || kill "$tail" 2>/dev/null || true
  wait 2>/dev/null || true
  tidy_more
  rm -rf --one-file-system "$job"
}
tidy_more() { :; }

# run_to_end SECONDS PAUSE: shows the output of the process $machine as it comes, until it is gone or the time is up; calls PAUSE meanwhile, again
# and again.
run_to_end() {
  local deadline=$((SECONDS + $1))
  limit=$1 timed_out=''
  tail -c +1 -q -s 0.1 --pid="$machine" -f "$job/share/output" &
  tail=$!
  while kill -0 "$machine" 2>/dev/null && ((SECONDS < deadline)); do "$2"; done
  if kill -0 "$machine" 2>/dev/null; then timed_out=1; kill -9 "$machine"; fi
  wait "$machine" "$tail" 2>/dev/null || true
  machine='' tail=''
}

# Exits with the status of the command: 124 when time ran out, 125 when the machine ended without a status.
exit_as_command() {
  if [[ -s $job/share/exit-status ]]; then exit "$(<"$job/share/exit-status")"; fi
  echo "${0##*/}: $([[ -n $timed_out ]] && echo "no end after $limit s" || echo 'it ended without a status'); the last lines of its console:" >&2
  tail -q -n 20 "$job"/*.log >&2 2>/dev/null || true
  if [[ -n $timed_out ]]; then exit 124; else exit 125; fi
}
