// A bridge that carries labware: what its program is told, and which evidence it must give of each move.

import { setImmediate as turn } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { readDescription } from '../../src/devices/description.ts'
import { inMemory } from '../../src/devices/descriptions.ts'
import type { Way } from '../../src/devices/way.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import { targetOf } from '../../src/testing/moves.ts'
import type { BridgeLine } from '../transports/line.ts'
import { Bridge } from './bridge.ts'

type Asked = { id: number; method: string; params?: object }
type Seen = { state: string; gripper: string | null; pose?: object }

const calm = new AbortController().signal
const pose = { x: 1, y: 2, z: 3, yaw: 4, pitch: 5, roll: 6 }
const pad: Way = { at: 'pad', pose }

/** A transporter whose program is the test: `seen` is what it answers to `where`, null for no answer. */
async function bridge(t: Test, { described = {}, settings = {} }: { described?: object; settings?: object } = {}) {
  const clock = new VirtualClock()
  const asked: Asked[] = []
  const lost: ((reason: string) => void)[] = []
  const given: string[] = []
  let hear: (bytes: Uint8Array) => void = () => {}
  const say = (message: object) => hear(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  const description = { protocol: 1, type: 'transporter', model: 'Example', operations: {}, points: 'taught', ...described }
  const program = {
    seen: { state: 'unhomed', gripper: 'empty' } as Seen | null,
    /** The answer to each method besides `where`; undefined for none. */
    answers: {
      describe: { result: description },
      check: { result: {} },
      halt: { result: {} },
      initialize: { result: {} },
    } as Record<string, object | undefined>,
  }
  const line = {
    state: 'open',
    clock,
    write(bytes: Uint8Array) {
      const question: Asked = JSON.parse(Buffer.from(bytes).toString())
      asked.push(question)
      const answer = question.method === 'where' ? program.seen && { result: program.seen } : program.answers[question.method]
      if (answer) queueMicrotask(() => say({ id: question.id, ...answer }))
    },
    onBytes(listen: typeof hear) {
      hear = listen
    },
    onLost: (call: (reason: string) => void) => lost.push(call),
    onClosed() {},
    async giveUp(reason: string) {
      given.push(reason)
      for (const call of lost) call(reason)
    },
  } as unknown as BridgeLine
  const whole = { halt: 'message', halt_s: 5, move_timeout_s: 60, uninterruptible: false, ...settings } as const
  const device = new Bridge({ device_id: 'd', type: 'transporter', line, settings: whole, kept: inMemory(readDescription(description)) })
  t.teardown(() => clock.advance(100_000))
  const home = async () => {
    program.answers.initialize = { result: {} }
    const homing = device.initialize({}, calm)
    program.seen = { state: 'idle', gripper: 'empty' }
    await homing
  }
  const methods = () => asked.map(({ method }) => method)
  const moves = () => asked.filter(({ method }) => method === 'pick' || method === 'place')
  const lose = async (reason: string) => {
    for (const call of lost) call(reason)
  }
  /** Answers the last pick or place. */
  const answer = (message: object) => say({ id: moves().at(-1)!.id, ...message })
  return { device, program, clock, asked, given, methods, moves, home, lose, answer, settle }
}

async function settle() {
  for (let turns = 0; turns < 20; turns++) await turn()
}

const full: Seen = { state: 'idle', gripper: 'full' }
const empty: Seen = { state: 'idle', gripper: 'empty' }

test('a program is told the labware, the position and the point as it was taught', async (t) => {
  const b = await bridge(t, { described: { skills: ['gateway', 'access', 'elbow', 'joint'] } })
  await b.home()
  const gate: Way = { at: 'gate', joints: { base: 1, shoulder: 2, elbow: 3, wrist: 4, rail: 5, gripper: 6 } }
  const way: Way = { ...pad, elbow: 'left', via: [{ at: 'hall', pose }, gate], access: { access_type: 'vertical', vertical_clearance: 50 } }
  b.program.answers.pick = { result: {} }
  const picking = b.device.pick!(targetOf(way), calm)
  await Promise.resolve()
  b.program.seen = full
  await picking.catch(() => undefined)
  t.same(b.moves()[0]?.params, {
    labware: { name: 'plate', type: '96-well', barcode: null },
    position: 'pad',
    point: {
      ...{ name: 'pad', coord_type: 'cartesian', coords: pose, elbow: 'left' },
      access: { access_type: 'vertical', vertical_clearance: 50, horizontal_clearance: null, gripper_offset: null },
      gateways: [
        { name: 'hall', coord_type: 'cartesian', coords: pose, elbow: null },
        { name: 'gate', coord_type: 'joint', coords: gate.joints, elbow: null },
      ],
    },
  })
})

/** Begins a move of a homed transporter, and waits until the program has it. */
async function moving(t: Test, verb: 'pick' | 'place', options: Parameters<typeof bridge>[1] = {}) {
  const b = await bridge(t, options)
  await b.home()
  if (verb === 'place') b.program.seen = full
  const move = b.device[verb]!(targetOf(pad), calm)
  move.catch(() => undefined)
  await b.settle()
  t.equal(b.moves().length, 1)
  b.program.seen = { state: 'moving', gripper: null }
  return { ...b, move }
}

for (const [verb, done, other] of [
  ['pick', full, empty],
  ['place', empty, full],
] as const) {
  test(`a ${verb} is done when its answer has come and where agrees`, async (t) => {
    const { move, program, answer, clock, methods } = await moving(t, verb)
    await clock.advance(3500)
    t.equal(methods().filter((method) => method === 'where').length, 3 + 3, 'it is asked each second')
    program.seen = done
    answer({ result: {} })
    await move
  })

  for (const [seen, words] of [
    [other, new RegExp(`says that ${verb} is done, and its gripper is ${other.gripper}; see where the labware is`)],
    [{ state: 'idle', gripper: null }, /its gripper is unknown/],
    [{ ...done, state: 'moving' }, /and it is moving/],
    [{ ...done, state: 'stopped' }, /and it is stopped/],
    [{ gripper: 'full' }, /its answer to where: state is missing/],
  ] as const)
    test(`a ${verb} whose answer ${JSON.stringify(seen)} contradicts has failed`, async (t) => {
      const { move, program, answer, moves } = await moving(t, verb)
      program.seen = seen as Seen
      answer({ result: {} })
      await t.rejects(move, { code: 'device_failed', message: words })
      t.equal(moves().length, 1, 'and is not sent again')
    })

  test(`a ${verb} that is refused has done nothing, unless where shows otherwise`, async (t) => {
    const refusal = { error: { code: -32_000, message: 'the door is open', data: { reason: 'interlock' } } }
    const first = await moving(t, verb)
    first.program.seen = other
    first.answer(refusal)
    await t.rejects(first.move, { code: 'interlock', message: 'the door is open' })
    const second = await moving(t, verb)
    second.program.seen = done
    second.answer(refusal)
    await t.rejects(second.move, { code: 'device_failed', message: /says that it refused .*, and its gripper is/ })
  })

  test(`a program that is silent for two questions during a ${verb} counts as lost, and still hears the halt`, async (t) => {
    const { move, program, clock, given, device, methods, moves, settle } = await moving(t, verb)
    program.seen = null
    await clock.advance(1000 + 2500 + 2499)
    let isOver = false
    move.catch(() => {
      isOver = true
    })
    await settle()
    t.notOk(isOver)
    await clock.advance(2)
    await t.rejects(move, { code: 'no_reply', message: /does not answer while it moves/ })
    t.same(given, [])
    program.seen = { state: 'stopped', gripper: null }
    await device.halt()
    t.equal(methods().at(-2), 'halt')
    t.equal(moves().length, 1)
  })

  test(`a late answer to where ends nothing, and a program that dies during a ${verb} ends it`, async (t) => {
    const { move, program, clock, lose, moves } = await moving(t, verb)
    program.seen = null
    await clock.advance(1000 + 2499)
    program.seen = { state: 'moving', gripper: null }
    await clock.advance(5000)
    await lose('it was killed')
    await t.rejects(move, { code: 'disconnected', message: /it was killed/ })
    t.equal(moves().length, 1)
  })

  for (const [state, words] of [
    ['unhomed', /restarted by itself/],
    ['error', /reports an error/],
    ['stopped', /somebody stopped it/],
  ] as const)
    test(`a transporter that is ${state} in the middle of a ${verb} has failed`, async (t) => {
      const { move, program, clock } = await moving(t, verb)
      program.seen = { state, gripper: null }
      await clock.advance(1001)
      await t.rejects(move, { code: 'device_failed', message: words })
    })
}

test('a move that takes too long is given up', async (t) => {
  const { move, clock } = await moving(t, 'pick', { settings: { move_timeout_s: 10 } })
  await clock.advance(12_000)
  await t.rejects(move, { code: 'no_reply', message: /within 10 s/ })
})

test('a halt goes out at once, ends the move, and is confirmed only when where says that it stands', async (t) => {
  const { device, move, program, methods } = await moving(t, 'pick')
  const before = methods().length
  const halted = device.halt()
  t.equal(methods()[before], 'halt', 'in the same turn')
  await t.rejects(move, { code: 'stopped' })
  await t.rejects(halted, { code: 'device_failed', message: 'it still moves after a stop; use its red button' })
  program.seen = { state: 'stopped', gripper: null }
  await device.halt()
  t.equal(methods().at(-1), 'where')
  await device.check()
  t.equal(methods().at(-1), 'check', 'what was stopped is no fault that a check finds')
})

test('a program that is silent after a halt is given up', async (t) => {
  const { device, program, clock, given, settle } = await moving(t, 'pick')
  program.seen = null
  const halted = device.halt()
  halted.catch(() => undefined)
  await settle()
  await clock.advance(6000)
  await settle()
  t.match(given, [/has not answered where within 5 s/])
  await t.rejects(halted)
})

test('nothing is sent while it moves, when it is not ready, or when its gripper cannot do it', async (t) => {
  const { device, program, home, moves } = await bridge(t)
  await home()
  for (const [seen, code, message] of [
    [{ state: 'moving', gripper: null }, 'interlock', /it is moving/],
    [full, 'interlock', /cannot pick: its gripper is full/],
    [{ state: 'unhomed', gripper: null }, 'device_failed', /has to be homed/],
  ] as const) {
    program.seen = seen
    await t.rejects(device.pick!(targetOf(pad), calm), { code, message })
  }
  program.seen = empty
  await t.rejects(device.place!(targetOf(pad), calm), { code: 'interlock', message: /cannot place: its gripper is empty/ })
  await t.rejects(device.pick!({ ...targetOf(pad), way: null }, calm), { code: 'not_found', message: /no teachpoint pad/ })
  await t.rejects(device.pick!(targetOf({ ...pad, via: [{ at: 'gate', pose }] }), calm), {
    code: 'invalid',
    message: /cannot pass a gateway/,
  })
  t.same(moves(), [])
})

test('initialize is refused while it moves, and has failed unless where says that it stands', async (t) => {
  const { device, program, methods } = await bridge(t)
  program.seen = { state: 'moving', gripper: null }
  await t.rejects(device.initialize({}, calm), { code: 'interlock', message: /it is moving/ })
  t.notOk(methods().includes('initialize'))
  program.seen = { state: 'unhomed', gripper: null }
  await t.rejects(device.initialize({}, calm), { code: 'device_failed', message: /says that it is initialized, and it is unhomed/ })
})

test('a check tells of a homed transporter that is not ready, and the gripper counts only while it is', async (t) => {
  const { device, program, home } = await bridge(t)
  program.seen = { state: 'unhomed', gripper: null }
  await device.check()
  await home()
  await device.check()
  t.equal(await device.gripper!(), 'empty')
  program.seen = { state: 'unhomed', gripper: 'full' }
  await t.rejects(device.check(), { code: 'device_failed', message: /restarted by itself/ })
  t.equal(await device.gripper!(), null)
  program.seen = { state: 'moving', gripper: null }
  await t.rejects(device.gripper!(), { code: 'interlock' })
})

test('a transporter that knows its positions gets no point, and tells no pose', async (t) => {
  const { device, program, home, asked } = await bridge(t, { described: { points: 'own' } })
  await home()
  t.match([device.points, device.pose, device.unfit], ['own', undefined, undefined])
  program.answers.pick = { result: {} }
  const picking = device.pick!({ ...targetOf(pad), way: null }, calm)
  await Promise.resolve()
  await picking.catch(() => undefined)
  t.match(asked.find(({ method }) => method === 'pick')?.params, { position: 'pad', point: null })
})

test('a pose is that of a teachpoint, where the program knows one', async (t) => {
  const { device, program } = await bridge(t)
  program.seen = { ...empty, pose }
  t.same(await device.pose!(), pose)
  program.seen = empty
  await t.rejects(device.pose!(), { code: 'invalid', message: /does not know its pose/ })
})

test('a transporter that nothing stops is unfit for LIVE runs, unless the configuration accepts that', async (t) => {
  t.match((await bridge(t, { described: { halt: 'none' } })).device.unfit, /no stop ends its motion; .*"uninterruptible": true/)
  t.match((await bridge(t, { settings: { halt: 'none' } })).device.unfit, /no stop ends its motion/)
  t.equal((await bridge(t, { described: { halt: 'none' }, settings: { uninterruptible: true } })).device.unfit, undefined)
})

test('a description of a transporter says how it is sent to a place, and does not use the names of its moves', async (t) => {
  const base = { protocol: 1, type: 'transporter', model: 'M', operations: {} }
  const wrong = (more: object, message: RegExp) => t.throws(() => readDescription({ ...base, ...more }), { code: 'device_failed', message })
  wrong({}, /points is missing/)
  wrong({ points: 'mine' }, /points/)
  wrong(
    { points: 'own', operations: { pick: { seconds: 1 } } },
    /operations.pick: the name pick has a meaning of its own for a transporter/,
  )
  wrong({ points: 'taught', skills: ['fly'] }, /skills/)
  wrong({ type: 'reader', points: 'own' }, /only a transporter has points/)
})
