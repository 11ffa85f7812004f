// A service that is killed at each boundary of a move by a bridge: the whereabouts are true, and no motion is repeated.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { arm, armAt, isArmRunning, programFile, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { begun, completed, killable, onlyLabware } from '../testing/killable.ts'
import { withPython } from '../testing/python.ts'

/** The service with a run of one plate, which a bridge carries. */
async function bridged(t: Test) {
  const path = programFile(t, arm)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const topology = oneArm({ name: 'bridged', arm: 'arm-9', pads: ['pad'], nests: { shaker_in: 'shaker-1' } })
  const shake = { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }
  const plate = { ...standing('pad'), steps: [{ method: 'shake_it' }] }
  const workflow = workflowOf('carry-it', { plate }, { topology: 'bridged', methods: { shake_it: [shake] } })
  const config = { time_scale: 100, devices: [armAt(path), shaker] }
  const service = await killable(t, { config, topologies: { bridged: topology } })
  await until(async () => (await service.granted('GET', '/api/devices/arm-9')).identity)
  await service.granted('POST', '/api/topology/load', { name: 'bridged' })
  await service.granted('PUT', '/api/workflows/carry-it', workflow)
  const log = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trim().split('\n') : [])
  return { path, service, log }
}

const between = 'at pad or held by arm-9'
const either = `${between} or at shaker_in`

for (const { boundary, place, truth } of [
  { boundary: 'pick begins', place: between, truth: 'pad' },
  { boundary: 'pick ends', place: between, truth: 'pad' },
  { boundary: 'place begins', place: either, truth: 'pad' },
  { boundary: 'place ends', place: either, truth: 'shaker_in' },
])
  withPython(`a service that is killed when ${boundary} knows where the labware may be, and moves nothing again by itself`, async (t) => {
    const { path, service, log } = await bridged(t)
    writeFileSync(`${path}.hold`, boundary)
    const execution = await begun(service, 'carry-it')
    await until(() => log().includes(boundary))
    await service.kill()
    // The program ends when its input does, and would go on with its move if it were let before that.
    await until(() => !isArmRunning(path))
    const before = log()
    rmSync(`${path}.hold`)
    await service.start()
    t.match(await onlyLabware(service), { place })
    await service.granted('POST', '/api/devices/arm-9/initialize')
    t.match(await service.ask('POST', `${execution}/resume`), { status: 409 }, 'nobody has said where it is')
    t.match(await onlyLabware(service), { place })
    t.same(log().slice(before.length), ['home'], 'nothing is picked or placed')

    // Somebody empties the gripper, and says where the labware is.
    writeFileSync(`${path}.gripper`, 'empty')
    const { labware_id } = await onlyLabware(service)
    await service.granted('PUT', `/api/labware/${labware_id}/location`, { position: truth })
    await service.granted('POST', `${execution}/resume`)
    await completed(service, execution)
    t.match(await onlyLabware(service), { place: 'at pad' })
    const picks = log()
      .slice(before.length)
      .filter((line) => /^(pick|place) (pad|shaker_in)$/.test(line))
    const back = ['pick shaker_in', 'place pad']
    t.same(picks, truth === 'pad' ? ['pick pad', 'place shaker_in', ...back] : back)
  })
