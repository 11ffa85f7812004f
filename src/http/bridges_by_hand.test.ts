// Movements of a bridge that a person leads: jog, free drive and go to, with a program in Python behind it.

import { existsSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { OperationRecord } from '../devices/records.ts'
import { armAt, programFile, until } from '../testing/bridges.ts'
import { openService } from '../testing/http.ts'
import { withPython } from '../testing/python.ts'

const source = `
import time
from benchd_bridge import *

def note(words):
    with open(__file__ + ".log", "a") as log:
        log.write(words + "\\n")

class Arm(Transporter):
    model, points, jog_axes = "Example 7", "own", ("x", "yaw")
    state, x = "unhomed", 0.0

    def home(self): self.state = "idle"
    def where(self): return {"state": self.state, "gripper": "empty"}
    def pick(self, labware, position, point): note("pick")
    def place(self, labware, position, point): note("place")
    def halt(self):
        note("halt")
        self.state = "stopped"

    def jog(self, axis, by, speed):
        if self.x + by > 10: raise Invalid("the axis ends there")
        self.state = "moving"
        time.sleep(0.05)
        self.x += by
        self.state = "idle"
        note(f"{time.time() * 1000} jog {axis} {by:g} {speed}")

    def free_drive(self, on): note(f"free_drive {on}")
    def go_to(self, position, point, offset_z, speed): note(f"go_to {position} {point} {offset_z:g} {speed}")

Arm().serve()
`

async function opened(t: Test) {
  const path = programFile(t, source)
  const { ask, bench } = await openService(t, { devices: [armAt(path)], time_scale: 1 })
  const instrument = bench.registry.find('arm-9')
  await until(() => instrument.info().identity ?? instrument.info().fault)
  const call = (operation: string, json: object = {}, headers: Record<string, string> = {}) =>
    ask('POST', `/api/devices/arm-9/${operation}`, { json, headers })
  t.equal((await call('initialize')).status, 200)
  const begun = async (operation: string, json: object) => {
    const { body } = await call(operation, json, { Prefer: 'respond-async' })
    return `/api/operations/${(body as OperationRecord).operation_id}`
  }
  const ended = (path: string) =>
    until(async () => {
      const { body } = await ask('GET', path)
      return (body as OperationRecord).status === 'ended' ? (body as OperationRecord) : undefined
    })
  const log = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trim().split('\n') : [])
  return { ask, call, begun, ended, log }
}

withPython('a program with the method is jogged in steps while somebody renews it, and no step begins after that', async (t) => {
  const { ask, call, begun, ended, log } = await opened(t)
  const { body } = await ask('GET', '/api/devices/arm-9/capabilities')
  const { operations } = body as { operations: { name: string; params: { properties: Record<string, { enum: string[] }> } }[] }
  t.same(operations.find(({ name }) => name === 'jog')!.params.properties.axis!.enum, ['x', 'yaw'])
  t.equal((await call('jog', { axis: 'y', direction: '+' })).status, 400)
  const path = await begun('jog', { axis: 'x', direction: '-', speed: 20 })
  await until(async () => {
    await ask('POST', `${path}/renew`)
    return log().length >= 3
  })
  const letGo = Date.now()
  t.equal((await ask('DELETE', path)).status, 202)
  const { result } = await ended(path)
  t.match(result, { success: true, message: /^arm-9: jogged x by -\d+ mm; its caller ended it$/ })
  const stood = Math.max(...log().map((line) => Number(line.split(' ')[0])))
  t.comment(`from letting go to standing: ${Math.round(stood - letGo)} ms`)
  t.ok(log().every((line) => / jog x -2 20$/.test(line)))
  const steps = log().length
  t.match(await call('jog', { axis: 'x', direction: '+', speed: 10 }), { body: { message: /nothing renewed it for 150 ms$/ } })
  t.ok(log().length > steps)
})

withPython('a jog ends where the axis ends, without a fault', async (t) => {
  const { ask, begun, ended, call } = await opened(t)
  const path = await begun('jog', { axis: 'x', direction: '+', speed: 20 })
  const record = ended(path)
  let isOver = false
  record.then(() => {
    isOver = true
  })
  await until(async () => {
    if (!isOver) await ask('POST', `${path}/renew`)
    return isOver
  })
  t.match(await record, { result: { success: true, message: /jogged x by \+10 mm; it goes no further/ } })
  t.match(await call('jog', { axis: 'x', direction: '+', speed: 20 }), { status: 400 })
  t.match(await ask('GET', '/api/devices/arm-9'), { body: { state: 'ready', fault: null } })
})

withPython('free drive is begun and ended, and a program goes to a position by its name', async (t) => {
  const { ask, begun, ended, log, call } = await opened(t)
  const path = await begun('free_drive', {})
  await until(() => log().includes('free_drive True'))
  await ask('DELETE', path)
  t.match(await ended(path), { result: { success: true } })
  t.equal(log().at(-1), 'free_drive False')
  t.match(await call('go_to', { teachpoint: 'pad', offset_z: 30 }), { status: 200 })
  t.equal(log().at(-1), 'go_to pad None 30 20')
})
