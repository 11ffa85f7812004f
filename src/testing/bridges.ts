// Bridges for tests: programs in Python that stand behind a device, each written into a folder of its own beside the libraries for bridges.

import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { atTheEnd } from './http.ts'

const clients = fileURLToPath(new URL('../../../src/clients/python/', import.meta.url))
const libraries = ['benchd_bridge.py', 'benchd_bridge_pylabrobot.py', 'benchd_bridge_arms.py']

/** The reader of the guide, extended: it also writes what it does to a file, one word per line. */
export const reader = `
import sys, threading
from benchd_bridge import *

def note(word):
    with open(__file__ + ".log", "a") as log:
        log.write(word + "\\n")

class Reader(Bridge):
    type = "reader"
    model = "Example 96"
    halted = threading.Event()

    def initialize(self):
        print("a library that prints")
        note("initialize")
        self.halted.clear()

    @operation(seconds=1, units={"wavelength": "nm"}, minimum={"wavelength": 230}, maximum={"wavelength": 1000}, leaves_on=None)
    def read(self, wavelength: int = 600) -> dict:
        """Read a plate"""
        if wavelength == 999:
            raise Interlock("the door is open", hint="close it")
        if wavelength == 998:
            raise DeviceFailed("the lamp is dead", hint="replace it, then initialize")
        note(f"read {wavelength}")
        return {"absorbance": [0.25, wavelength / 1000]}

    @operation(seconds=("duration", 2), can_end_early=True)
    async def wait(self, duration: float) -> None:
        self.progress(0.5, "half of it")
        note("wait")
        if self.halted.wait(duration):
            raise DeviceFailed("it was halted")

    def end(self, operation_id):
        return 7

    def temperature(self):
        return 22.5

    @reading("mbar")
    async def pressure(self):
        return 1013.25, 1000

    @reading("")
    def broken(self):
        return "high"

    def halt(self):
        note("halt")
        self.halted.set()

Reader().serve()
`

/**
 * An arm that knows its positions. What it does is written to a file, a line each. Its gripper outlasts the program, and the program waits at each step
 * whose words stand in the file `hold`.
 */
export const arm = `
import os, time
from benchd_bridge import *

def note(words):
    with open(__file__ + ".log", "a") as log:
        log.write(words + "\\n")

def content(name):
    try:
        return open(f"{__file__}.{name}").read()
    except OSError:
        return ""

class Arm(Transporter):
    model = "Example 6"
    points = "own"
    state = "unhomed"

    def home(self):
        note("home")
        self.state = "idle"

    def reach(self, words):
        note(words)
        while content("hold") == words:
            if self.state == "stopped":
                raise DeviceFailed("it was halted")
            time.sleep(0.01)

    def move(self, verb, position, gripper):
        self.state = "moving"
        self.reach(f"{verb} begins")
        open(__file__ + ".gripper", "w").write(gripper)
        self.reach(f"{verb} ends")
        self.state = "idle"
        note(f"{verb} {position}")

    def pick(self, labware: Labware, position: str, point: None) -> None:
        note(f"{labware['name']} {labware['type']} {labware['barcode']}")
        self.move("pick", position, "full")

    def place(self, labware: Labware, position: str, point: None) -> None:
        self.move("place", position, "empty")

    def where(self):
        return {"state": self.state, "gripper": content("gripper") or "empty"}

    def halt(self):
        note("halt")
        self.state = "stopped"

open(__file__ + ".pid", "w").write(str(os.getpid()))
Arm().serve()
`

/**
 * A program that describes itself by the file `described.json` beside it, for which it waits. `perform` answers with the file `data.json`, or with the
 * parameters that it got.
 */
const scripted = `
import { existsSync, readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'

const folder = dirname(process.argv[1])
const read = (name) => {
  try {
    return JSON.parse(readFileSync(folder + '/' + name, 'utf8'))
  } catch {
    return undefined
  }
}
const described = () => new Promise((resolve) => {
  const look = () => {
    const found = read('described.json')
    if (found === undefined) return
    watcher.close()
    resolve(found)
  }
  const watcher = watch(folder, look)
  look()
})
let gripper = 'empty'
const answers = {
  describe: described,
  perform: ({ params }) => ({ data: existsSync(folder + '/data.json') ? read('data.json') : params }),
  read: () => ({ value: 22, target: null }),
  where: () => ({ state: 'idle', gripper }),
  pick: () => ((gripper = 'full'), {}),
  place: () => ((gripper = 'empty'), {}),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  void Promise.resolve((answers[method] ?? (() => ({})))(params)).then((result) => {
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
  })
}
`

/** Writes a program that is described by `describe`, at once if there is a description, and returns its device for a configuration. */
export function scriptedBridge(t: Test, first?: object, { device_id = 'reader-1', type = 'reader' } = {}) {
  const folder = dirname(programFile(t, ''))
  const path = `${folder}/scripted.mjs`
  writeFileSync(path, scripted)
  const write = (name: string, content: unknown) => {
    // Renamed into its place, so that the program reads all of it or nothing.
    writeFileSync(`${folder}/${name}.part`, JSON.stringify(content))
    renameSync(`${folder}/${name}.part`, `${folder}/${name}`)
  }
  const describe = (description: object) =>
    write('described.json', { protocol: 1, type, model: 'Scripted', operations: {}, ...description })
  if (first) describe(first)
  const transport = { kind: 'bridge', command: [process.execPath, path] }
  return { device: { device_id, driver: 'bridge', type, transport }, folder, describe, answer: (data: unknown) => write('data.json', data) }
}

/** Returns whether the program of the arm at this path, as it last began, is running. */
export function isArmRunning(path: string): boolean {
  try {
    // A process that has ended, and that nobody has waited for, has no command line.
    return readFileSync(`/proc/${readFileSync(`${path}.pid`, 'utf8')}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

/** The configuration of a transporter whose program is at this path. */
export function armAt(path: string, more: object = {}) {
  return { device_id: 'arm-9', driver: 'bridge', type: 'transporter', transport: { kind: 'bridge', command: ['python3', path] }, ...more }
}

/** Writes a program into a folder that is deleted after the test, and returns its path. */
export function programFile(t: Test, source: string): string {
  const folder = mkdtempSync(`${tmpdir()}/benchd-bridge-`)
  atTheEnd(t).push(async () => rmSync(folder, { recursive: true, force: true }))
  return writeProgram(folder, source)
}

/** Writes the program into the folder, beside the libraries, and returns its path. */
export function writeProgram(folder: string, source: string): string {
  for (const name of libraries) copyFileSync(clients + name, `${folder}/${name}`)
  writeFileSync(`${folder}/bridge.py`, source)
  return `${folder}/bridge.py`
}

/** A device of a configuration. */
export function bridgeTo(path: string, more: object = {}) {
  return { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport: { kind: 'bridge', command: ['python3', path] }, ...more }
}

/** Calls `look` until it finds something, and resolves with that. */
export async function until<Found>(look: () => Found | Promise<Found>): Promise<NonNullable<Found>> {
  for (;;) {
    const found = await look()
    if (found) return found
    await sleep(10)
  }
}
