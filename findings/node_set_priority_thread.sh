#!/usr/bin/env bash
# os.setPriority() of Node gives the priority to one thread on Linux, not to the process.
#
# One would guess: `os.setPriority(process.pid, 10)` lowers the priority of the whole process, with its worker threads and the threads that read and
#   write files, as the documentation says ("scheduling priority for the process specified by pid"); and a worker thread cannot be lowered alone.
# What happens: only the main thread gets the new priority. Threads that were there before keep theirs; those that the main thread starts afterwards
#   begin with its priority. With the id of a thread in place of the process (the last part of the link /proc/thread-self, read in that thread), a single
#   worker gets its own priority, and the rest of the process keeps theirs.
# Consequence: a worker that is to give way sets the priority of its own thread id. A service that lowers itself does so before it starts threads.
# Versions: Node.js 24.21.0 (package node@24.21.0); the same with 20.20.2. Source: seen by running this; setpriority(2), section NOTES: "in the current
#   Linux implementation, the nice value is a per-thread attribute".
# Output seen:
#   after setPriority(process.pid, 10): main 10, worker 0
#   after setPriority(id of the worker's thread, 15): main 10, worker 15
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node@24.21.0
cat >trial.mjs <<'JS'
import { readFileSync, readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const ownId = () => Number(readlinkSync('/proc/thread-self').split('/').at(-1))

/** Reads the 19th field of the thread's stat: its nice value. The name of the thread, which may contain spaces, is in brackets. */
function niceOf(id) {
  const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  const said = () => new Promise((resolve) => worker.once('message', resolve))
  const id = await said()
  const seen = () => `main ${niceOf(process.pid)}, worker ${niceOf(id)}`
  setPriority(process.pid, 10)
  const first = seen()
  worker.postMessage('give way')
  await said()
  const second = seen()
  console.log(`after setPriority(process.pid, 10): ${first}`)
  console.log(`after setPriority(id of the worker's thread, 15): ${second}`)
  process.exitCode = first === 'main 10, worker 0' && second === 'main 10, worker 15' ? 0 : 1
  await worker.terminate()
} else {
  parentPort.postMessage(ownId())
  parentPort.once('message', () => {
    setPriority(ownId(), 15)
    parentPort.postMessage('done')
  })
}
JS
node_modules/.bin/node trial.mjs
