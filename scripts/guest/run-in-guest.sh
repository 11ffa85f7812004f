#!/usr/bin/env bash
# Boots the test guest under QEMU, runs one command in it, and hands back the command's output and exit status.
#
#   run-in-guest.sh [options] -- COMMAND [ARGUMENT…]
#     --project DIR      folder to find at /project in the guest, where the command runs; what it changes there is thrown away
#     --artifacts DIR    where to leave what the command wrote under $ARTIFACTS
#     --timeout SECONDS  end the guest after that long (default 600)
#     --memory MIB       (default 1024)
#     --logs DIR         keep the console's text, the journal and the boot times
#     --own-node         with the Node.js of the guest's Debian, which takes longer to start than that of this machine
#     --disk FILE        boot from this disk and keep what is changed on it; for a guest whose power is cut and that is booted again
#
# The guest has no network but loopback, and its disks are fresh every time, but for --disk. It has
#   /dev/ttyS4, /dev/ttyS5            two crossed 16550 ports
#   /dev/serial/by-id/…BENCHD01…      a USB serial adapter (FTDI); its far end is /dev/ttyS6
#   /dev/virtio-ports/benchd.qmp      QEMU's control socket, to unplug the adapter and plug it in
# $GUEST_PARTS, where it is set, is what build-guest.sh has printed: it is not asked again.
# Exit status: the command's; 124 when time ran out; 125 when the guest failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
project='' artifacts='' timeout=600 memory=1024 logs='' disk='' own_node=''
while (($#)); do
  case $1 in
    --project) project=$(readlink -e "$2"); shift 2 ;;
    --artifacts) artifacts=$2; shift 2 ;;
    --timeout) timeout=$2; shift 2 ;;
    --memory) memory=$2; shift 2 ;;
    --logs) logs=$2; shift 2 ;;
    --own-node) own_node=1; shift ;;
    --disk) disk=$2; shift 2 ;;
    --) shift; break ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
  esac
done
(($#)) || { echo "run-in-guest: no command" >&2; exit 2; }
parts=${GUEST_PARTS:-$("$here/build-guest.sh")} || exit 125
root_disk='' kernel='' initramfs=''
eval "$parts"

job=$(mktemp -d "${TMPDIR:-/tmp}/guest-job.XXXXXX")
guest_pid='' tail_pid=''
tidy() {
  [[ -z $guest_pid ]] || kill -9 "$guest_pid" 2>/dev/null || true
  [[ -z $tail_pid ]] || kill "$tail_pid" 2>/dev/null || true
  rm -rf "$job"
}
trap tidy EXIT
trap 'exit 130' INT TERM
mkdir "$job/share" "$job/share/artifacts"
: >"$job/share/output"
printf '%q ' "$@" >"$job/share/command"

# Without what takes much of the start and no test is about: tests of the kernel's ciphers and of its random numbers, security modules that have
# no rules here, certificates of modules, a look at all pages for those that are writable and executable, and pages that are cleared once more
# than needed.
words='console=ttyS0 root=/dev/vda rw lsm=yama cryptomgr.notests quiet panic=-1 mitigations=off audit=0 8250.nr_uarts=8 systemd.show_status=no'
words+=' initcall_blacklist=jent_mod_init,load_system_certificate_list,init_kprobe_trace rodata=off init_on_alloc=0 nokaslr psi=0'
[[ -n $own_node ]] || words+=' benchd.node=/usr/local/lib/benchd-guest/node'
disks=(-drive "file=${disk:-$root_disk},format=raw,if=virtio,snapshot=$([[ -n $disk ]] && echo off || echo on),cache=unsafe")
if [[ -n $project ]]; then
  megabytes=$(($(du -sm "$project" | cut -f1) * 3 / 2 + 64))
  mke2fs -q -F -t ext4 -O ^has_journal -E root_owner=0:0 -d "$project" "$job/project.ext4" "${megabytes}M" >/dev/null
  disks+=(-drive "file=$job/project.ext4,format=raw,if=virtio,cache=unsafe")
  words+=' benchd.project=/dev/vdb'
fi
# Two sockets, one listening and one connected to it, are a cable from one port of the guest to another.
cable() { # NAME
  printf '%s\n' -chardev "socket,id=$1-a,path=$job/$1.sock,server=on,wait=off" -chardev "socket,id=$1-b,path=$job/$1.sock"
}
mapfile -t cables < <(cable crossed; cable usb; cable control)
# QEMU can miss the moment at which a guest that waits should go on, where its clock counts instructions, and would then wait for ever. Whatever
# wakes its main loop mends that, so a line at its monitor does, ten times a second.
mkfifo "$job/pulse" "$job/silence"
exec 8<>"$job/pulse" 9<>"$job/silence"
# The guest's clock counts its instructions, 8 ns each, and goes as fast as the host's while it waits: whatever else the host does, a
# program takes as long by that clock as on a small computer, and limits of time hold or do not hold. A newer processor than this one has more
# to save when processes change and to check at each access, which costs QEMU an eighth more.
qemu-system-x86_64 -M q35 -accel tcg -icount shift=3 -smp 1 -cpu Nehalem -m "$memory" \
  -nodefaults -no-user-config -display none -no-reboot \
  -kernel "$kernel" -initrd "$initramfs" -append "$words" "${disks[@]}" -device virtio-rng-pci \
  -fsdev "local,id=job,path=$job/share,security_model=none" -device virtio-9p-pci,fsdev=job,mount_tag=job \
  -serial "file:$job/console.log" "${cables[@]}" \
  -device pci-serial-2x,chardev1=crossed-a,chardev2=crossed-b -device pci-serial,chardev=usb-b \
  -device qemu-xhci -device usb-serial,id=usb-adapter,serial=BENCHD01,chardev=usb-a \
  -mon chardev=control-a,mode=control -chardev stdio,id=pulse,signal=off -mon chardev=pulse \
  -device virtio-serial-pci -device virtserialport,chardev=control-b,name=benchd.qmp \
  <"$job/pulse" >/dev/null 2>"$job/qemu.log" &
guest_pid=$!

# Show the output as it comes, until the guest is gone or the time is up.
tail -c +1 -q -s 0.1 --pid="$guest_pid" -f "$job/share/output" &
tail_pid=$!
deadline=$((SECONDS + timeout))
while kill -0 "$guest_pid" 2>/dev/null && ((SECONDS < deadline)); do
  echo >&8
  # A tenth of a second, without a process for it: nobody writes there.
  read -rt 0.1 -u 9 || true
done
timed_out=''
if kill -0 "$guest_pid" 2>/dev/null; then timed_out=1; kill -9 "$guest_pid"; fi
wait "$guest_pid" 2>/dev/null || true
guest_pid=''
wait "$tail_pid" 2>/dev/null || true
tail_pid=''

if [[ -n $artifacts ]]; then mkdir -p "$artifacts"; cp -a "$job/share/artifacts/." "$artifacts/"; fi
if [[ -n $logs ]]; then
  mkdir -p "$logs"
  for file in "$job"/{console.log,qemu.log,share/journal.txt,share/times}; do
    [[ ! -e $file ]] || cp "$file" "$logs/"
  done
fi
if [[ -s $job/share/exit-status ]]; then exit "$(<"$job/share/exit-status")"; fi
if [[ -n $timed_out ]]; then why="no end after $timeout s"; else why="the guest ended without a status"; fi
echo "run-in-guest: $why; the last lines of its console:" >&2
tail -n 20 "$job"/{console,qemu}.log >&2 2>/dev/null || true
if [[ -n $timed_out ]]; then exit 124; else exit 125; fi
