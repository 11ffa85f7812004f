#!/usr/bin/env bash
# Boots the Debian of the test guest in namespaces of this machine's kernel, runs one command in it, and hands back the command's output and
# exit status. It is ten times as fast as run-in-guest.sh, for what needs systemd and dpkg, and no hardware, no kernel and no slow computer.
#
#   run-in-container.sh [options] -- COMMAND [ARGUMENT…]
#     --project DIR      folder to find at /project, where the command runs; it cannot be changed there
#     --timeout SECONDS  end it after that long (default 600)
#     --own-node         with the Node.js of the guest's Debian
#     --disk FILE        boot from this disk and keep what is changed on it
#
# It has no network but loopback, and a fresh disk every time, but for --disk. Needs root that may mount, and version 2 of the kernel's control groups.
# Exit status: the command's; 124 when time ran out; 125 when the container failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# What the first process does in the new namespaces: it lays out the root folder, and becomes systemd.
if [[ ${1:-} == --inside ]]; then
  job=$2 root_disk=$3 project=$4 disk=$5 own_node=$6
  mount --make-rprivate /
  # The mount point is a folder of that shape: the disk below, and what is changed in memory above.
  mount -t tmpfs -o mode=755 benchd "$job/disk"
  mkdir "$job/disk"/{below,changed,work,root}
  root=$job/disk/root
  if [[ -n $disk ]]; then
    mount -o loop "$disk" "$root"
  else
    mount -o loop,ro "$root_disk" "$job/disk/below"
    mount -t overlay -o "lowerdir=$job/disk/below,upperdir=$job/disk/changed,workdir=$job/disk/work" overlay "$root"
  fi
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  mount -t tmpfs -o mode=755 dev "$root/dev"
  for device in null zero full random urandom tty; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root/dev"/{pts,shm}
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  mount -t tmpfs shm "$root/dev/shm"
  mount -t tmpfs -o mode=755 run "$root/run"
  mkdir -p "$root"/{project,job}
  mount --bind "$project" "$root/project"
  mount -o remount,bind,ro "$root/project"
  mount --bind "$job/share" "$root/job"
  [[ -n $own_node ]] || mount --bind "$root/usr/local/lib/benchd-guest/node" "$root/usr/bin/node"
  # In place of the guest's own job, which waits for a disk and a folder of QEMU.
  mkdir -p "$root/run/systemd/system/guest-job.service.d"
  printf '[Service]\nExecStart=\nExecStart=/bin/bash /job/run\n' >"$root/run/systemd/system/guest-job.service.d/container.conf"
  hostname benchd-guest
  chroot "$root" ip link set lo up
  exec chroot "$root" env -i container=benchd PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no
fi

project='' timeout=600 disk='' own_node=''
while (($#)); do
  case $1 in
    --project) project=$(readlink -e "$2"); shift 2 ;;
    --timeout) timeout=$2; shift 2 ;;
    --own-node) own_node=1; shift ;;
    --disk) disk=$(readlink -e "$2"); shift 2 ;;
    --) shift; break ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
  esac
done
(($#)) || { echo "run-in-container: no command" >&2; exit 2; }
parts=${GUEST_PARTS:-$("$here/build-guest.sh")} || exit 125
root_disk=''
eval "$parts"

job=$(mktemp -d "${TMPDIR:-/tmp}/container-job.XXXXXX")
# A control group of its own, so that what systemd makes there goes with it.
groups=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
group=$groups/$(basename "$job")
container='' tail=''
tidy() {
  [[ -z $container ]] || kill -9 "$container" 2>/dev/null || true
  [[ -z $tail ]] || kill "$tail" 2>/dev/null || true
  wait 2>/dev/null || true
  find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  rm -rf --one-file-system "$job"
}
trap tidy EXIT
trap 'exit 130' INT TERM
[[ -n $groups ]] && mkdir "$group" || { echo "run-in-container: there are no control groups of version 2" >&2; exit 125; }
mkdir "$job/disk" "$job/share"
: >"$job/share/output"
# The shell goes on with the output when the command has ended.
printf 'cd /project\nexport HOME=/root CI=true IN_GUEST=1\n%s </dev/null >/job/output 2>&1\necho $? >/job/exit-status\nsystemctl --force --force poweroff\n' \
  "$(printf '%q ' "$@")" >"$job/share/run"

bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" \
  unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup -- \
  "$0" --inside "$job" "$root_disk" "${project:-$job/share}" "$disk" "$own_node" >"$job/console.log" 2>&1 &
container=$!
tail -c +1 -q -s 0.1 --pid="$container" -f "$job/share/output" &
tail=$!
deadline=$((SECONDS + timeout))
while kill -0 "$container" 2>/dev/null && ((SECONDS < deadline)); do sleep 0.2; done
timed_out=''
if kill -0 "$container" 2>/dev/null; then timed_out=1; kill -9 "$container"; fi
wait "$container" 2>/dev/null || true
container=''
wait "$tail" 2>/dev/null || true
tail=''
# The kernel writes the last of it when it lets go of the disk, which is a moment after the container has ended.
while [[ -n $disk && -n $(losetup --associated "$disk") ]]; do sleep 0.1; done
if [[ -s $job/share/exit-status ]]; then exit "$(<"$job/share/exit-status")"; fi
if [[ -n $timed_out ]]; then why="no end after $timeout s"; else why="the container ended without a status"; fi
echo "run-in-container: $why; the last lines of its console:" >&2
tail -n 20 "$job/console.log" >&2 || true
if [[ -n $timed_out ]]; then exit 124; else exit 125; fi
