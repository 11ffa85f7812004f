// A service that is killed at each boundary of a move by a PreciseFlex: the whereabouts are true, and no motion is repeated. The robot is a process of
// its own, behind a line that can hold up what follows a command.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { until } from '../testing/bridges.ts'
import { running } from '../testing/cli.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { atTheEnd } from '../testing/http.ts'
import { begun, killable, onlyLabware } from '../testing/killable.ts'

/** The commands that move the robot in a pick and a place, in their order. */
const orders = [...['moveJ', 'GripOpenPos', 'gripper', 'moveJ', 'GraspPlate', 'moveJ'], ...['moveJ', 'moveJ', 'ReleasePlate', 'moveJ']]
const isOrder = (line: string) => /^(move|gripper|Grip|Grasp|Release|home)/i.test(line)
const shoulders = { a: 30, b: -30 }
type Place = keyof typeof shoulders
const other = (place: Place): Place => (place === 'a' ? 'b' : 'a')

const points = Object.entries(shoulders).map(([name, shoulder]) => {
  return { device_id: 'arm-9', name, coord_type: 'joint', coords: { base: 150, shoulder, elbow: 120, wrist: 200 } }
})

/** Knows where the plate really is, from the orders that came to the robot. */
class Truth {
  plate: Place | 'gripper' = 'a'
  readonly problems: string[] = []
  #at: Place | undefined

  take(line: string): void {
    const [verb, , , shoulder] = line.split(' ')
    if (verb === 'moveJ') this.#at = Number(shoulder) === shoulders.a ? 'a' : 'b'
    if (verb === 'GraspPlate') {
      if (this.plate !== this.#at) this.problems.push(`it grips at ${this.#at}, and the plate is at ${this.plate}`)
      this.plate = 'gripper'
    }
    if (verb === 'ReleasePlate') {
      if (this.plate !== 'gripper') this.problems.push(`it puts down at ${this.#at}, and the plate is at ${this.plate}`)
      this.plate = this.#at!
    }
  }
}

/** Each order, before it has come to the robot, and after. */
const cuts: Cut[] = orders.flatMap((_, order) => [false, true].map((isPassed) => ({ order, isPassed })))

type Cut = { order: number; isPassed: boolean }

/** The line to the simulator. After a cut nothing goes over it until the service has gone. */
async function lineTo(t: Test, port: number, truth: Truth) {
  const sockets = new Set<Socket>()
  const passed: string[] = []
  let cut: Cut | undefined
  let isCut = () => {}
  let seen = 0
  let far: Socket | undefined
  const server = createServer({ noDelay: true }, async (near) => {
    near.on('error', () => undefined)
    near.pause()
    // The simulator serves one client at a time.
    if (far && !far.closed) await new Promise((resolve) => far!.once('close', resolve).destroy())
    const to = connect(port, '127.0.0.1')
    far = to
    for (const one of [near, to]) sockets.add(one)
    let isHeld = false
    let rest = ''
    const pass = (line: string) => {
      if (isHeld) return
      if (isOrder(line) && cut && seen++ === cut.order) {
        isHeld = true
        isCut()
        if (!cut.isPassed) return
      }
      if (isOrder(line)) {
        passed.push(line)
        truth.take(line)
      }
      to.write(`${line}\n`)
    }
    near.on('data', (bytes) => {
      const lines = (rest + bytes.toString('latin1')).split('\n')
      rest = lines.pop()!
      for (const line of lines) pass(line)
    })
    to.on('error', () => undefined).on('data', (bytes) => !isHeld && near.write(bytes))
    near.on('close', () => to.destroy()).resume()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atTheEnd(t).push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    passed,
    /** Resolves when the order with this number, counted from now, has come. */
    cutAt: (next: Cut) =>
      new Promise<void>((resolve) => {
        ;[cut, seen, isCut] = [next, 0, resolve]
      }),
    leave: () => {
      cut = undefined
    },
  }
}

test('a service that is killed at each boundary of a move by a PreciseFlex knows where the plate may be, and repeats no motion', async (t) => {
  const sim = running(t, t.testdir({ sim: {} }), ['sim', 'precise_flex', '--tcp', '0', '--time-scale', '20'])
  const truth = new Truth()
  const line = await lineTo(t, Number(await sim.line(/^127\.0\.0\.1:(\d+)/)), truth)
  const arm = { device_id: 'arm-9', driver: 'precise_flex', transport: { kind: 'tcp', host: '127.0.0.1', port: line.port } }
  const plate = { ...standing('a'), steps: Array.from({ length: 60 }, (_, i) => ({ park: [i % 2 ? 'a' : 'b'] })) }
  const service = await killable(t, {
    config: { devices: [arm] },
    topologies: { bench: oneArm({ arm: 'arm-9', pads: ['a', 'b'] }), rounds: workflowOf('rounds', { plate }) },
  })
  const { granted, ask } = service
  await granted('POST', '/api/teachpoints/bulk', points)
  await granted('POST', '/api/topology/load', { name: 'bench' })
  await granted('POST', '/api/devices/arm-9/initialize')
  let cut = line.cutAt(cuts[0]!)
  const execution = await begun(service, 'rounds')
  let from: Place = 'a'
  for (const [i, { order, isPassed }] of cuts.entries()) {
    const what = `${orders[order]}, ${order + 1} of ${orders.length}${isPassed ? ', came to the robot' : ''}`
    await cut
    await service.kill()
    line.leave()
    const before = line.passed.length
    await service.start()
    const { labware_id, place } = await onlyLabware(service)
    const isHeld = truth.plate === 'gripper'
    t.ok(place.includes(isHeld ? 'held by arm-9' : `at ${truth.plate}`), `${what}: ${truth.plate} is one of ${place}`)
    await until(async () => (await granted('GET', '/api/devices/arm-9')).identity)
    t.same(line.passed.slice(before), [], `${what}: nothing has moved`)
    const next = cuts[i + 1]
    if (next) cut = line.cutAt(next)
    // Open fingers prove that they hold nothing. Closed fingers prove nothing, so a person has to say where the plate is.
    const asked = await ask('POST', `${execution}/resume`)
    t.equal(asked.status, isHeld ? 409 : 200, `${what}: ${JSON.stringify(asked.body)}`)
    if (isHeld) {
      t.same(line.passed.slice(before), [], `${what}: nothing has moved`)
      await granted('POST', '/api/devices/arm-9/initialize')
      // Somebody takes the plate out of the gripper.
      truth.plate = from
      await granted('PUT', `/api/labware/${labware_id}/location`, { position: from })
      await granted('POST', `${execution}/resume`)
    } else if (truth.plate !== 'gripper') from = truth.plate
    t.same(truth.problems, [], what)
  }
  await until(() => truth.plate === other(from))
  t.same(truth.problems, [])
})
