// A robot arm that carries plates: home, pick and place, over a line protocol of our own (see the README).

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { Lane } from '../../src/kit/lane.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { type Answer, axes, encode, errors, moveTo, nextAnswer, type Pose, readWhere, type Where } from './protocol.ts'
import { simulate } from './simulator.ts'

/** `speed` is the simulator's, in mm/s; a real arm goes at its own. `move_timeout_s` is how long one move may take. */
export const settings = v.strictObject({
  speed: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(2000)), 250),
  move_timeout_s: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(600)), 60),
})
export type Settings = v.InferOutput<typeof settings>

/**
 * An arm has moves besides the operations. A move resolves when the plate is gripped, or let go, and the gripper is clear of the
 * place; it rejects as an operation does.
 */
export type Arm = Device & {
  pick(pose: Pose, signal: AbortSignal): Promise<void>
  place(pose: Pose, signal: AbortSignal): Promise<void>
}

export const driver = { type: 'transporter', settings, serial: { baud: 115_200 }, profile, open, simulate } satisfies Driver<Settings>

export function isArm(device: Device): device is Arm {
  return 'pick' in device && 'place' in device
}

const short_ms = 1000
/** While it moves it is asked so often where it is, and has so long to answer; twice without an answer, and the line is dead. */
const look_ms = 500
const mostWaiting = 16

function profile(): Profile {
  return { model: 'arm', limits: {}, features: {} }
}

function open({ line, settings }: { line: Line; settings: Settings }): Arm {
  const exchange = new Exchange<Answer, string>(line, {
    framer: nextAnswer,
    encode,
    gap_ms: 5,
    resync: { question: 'where', recognises: ({ verb }) => verb === 'where', deadline_ms: short_ms },
    unsolicited(answer) {
      if (!isMove(answer.verb)) return false
      arrived(answer)
      return true
    },
  })
  const going = new Going(line)
  const lane = new Lane(mostWaiting)
  /** Takes the answers to moves. */
  let arrived: (answer: Answer) => void = () => {}

  async function ask(verb: 'where' | 'who'): Promise<Answer> {
    const answer = await exchange.query(verb, { deadline_ms: short_ms, accepts: (frame) => frame.verb === verb })
    if (!answer.ok) throw refusal(verb, answer)
    return answer
  }

  async function where(): Promise<Where> {
    const answer = await ask('where')
    const found = readWhere(answer)
    if (!found)
      throw new LabError('device_failed', `it answered where with ${JSON.stringify(answer.text)}; see that its adapter is the right one`)
    return found
  }

  async function identify(): Promise<Identity> {
    const [model = null, serial_number = null, firmware_version = null] = (await ask('who')).text.split(' ').filter(Boolean)
    return { model, serial_number, firmware_version }
  }

  /** The way to a pose, once it stands. */
  function go(question: string, signal: AbortSignal): Promise<void> {
    const gone = lane.run(async () => {
      signal.throwIfAborted()
      await mustStand('wait, or stop it')
      await walk(question, signal)
    })
    return unlessAborted(gone, signal)
  }

  async function mustStand(remedy: string): Promise<void> {
    if ((await where()).state === 'moving') throw new LabError('interlock', `it is moving; ${remedy}`)
  }

  async function walk(question: string, signal: AbortSignal): Promise<void> {
    const verb = question.split(' ', 1)[0]!
    const latest = line.clock.now() + settings.move_timeout_s * 1000
    const ear = listen(verb)
    try {
      signal.throwIfAborted()
      await exchange.tell(question)
      while (!(await hasArrived(verb, await ear.next(signal)))) {
        signal.throwIfAborted()
        if (line.clock.now() > latest)
          throw new LabError('no_reply', `it did not arrive within ${settings.move_timeout_s} s; see what it does`)
      }
    } finally {
      arrived = () => {}
    }
  }

  /** What says that it has arrived while it moves is the answer to a move of before. */
  async function hasArrived(verb: string, answer: Answer | undefined): Promise<boolean> {
    if (answer?.ok) return (await where()).state !== 'moving'
    if (answer) throw refusal(verb, answer)
    await mustSpeak()
    return false
  }

  /** The answers to a move as they come; undefined when none came for a while. */
  function listen(verb: string) {
    let said: Answer | undefined
    let wake = () => {}
    arrived = (answer) => {
      if (answer.verb === verb) said = answer
      wake()
    }
    return {
      async next(signal: AbortSignal): Promise<Answer | undefined> {
        signal.throwIfAborted()
        const awake = new AbortController()
        const stir = () => awake.abort()
        wake = stir
        signal.addEventListener('abort', stir)
        if (!said) await sleep(line.clock, look_ms, awake.signal).catch(() => undefined)
        signal.removeEventListener('abort', stir)
        signal.throwIfAborted()
        const answer = said
        said = undefined
        return answer
      },
    }
  }

  async function mustSpeak(): Promise<void> {
    const look = { deadline_ms: look_ms, accepts: ({ verb }: Answer) => verb === 'where' }
    if ((await exchange.probe('where', look)) ?? (await exchange.probe('where', look))) return
    throw new LabError('no_reply', 'it does not answer while it moves; see its cable and its power, then initialize')
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await mustStand('wait, or stop it, then initialize')
    const identity = await identify()
    await unlessAborted(
      lane.run(() => walk('home', signal)),
      signal,
    )
    return { identity }
  }

  async function check(): Promise<void> {
    const { state } = await where()
    if (state === 'error') throw new LabError('device_failed', 'it reports an error; see what is in its way, then initialize')
  }

  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    exchange.interrupt('stop')
    const { state } = await where()
    if (state === 'moving') throw new LabError('device_failed', 'it was told to stop and still moves; use its red button')
  }

  return {
    initialize: going.operation(initialize),
    identify,
    check,
    halt,
    pick: going.operation(async (pose: Pose, signal) => go(moveTo('pick', checked(pose)), signal)),
    place: going.operation(async (pose: Pose, signal) => go(moveTo('place', checked(pose)), signal)),
  }
}

function isMove(verb: string): boolean {
  return verb === 'home' || verb === 'pick' || verb === 'place'
}

function checked(pose: Pose): Pose {
  for (const axis of axes) {
    if (!Number.isFinite(pose[axis])) throw new LabError('invalid', `${axis} of a pose must be a number, not ${pose[axis]}`)
  }
  return pose
}

/** What is thrown for an `err`. Where it says that nothing was done, so does the code. */
function refusal(verb: string, { number, text }: Answer): LabError {
  const sentence = `it refused ${verb}: ${text}`
  switch (number) {
    case errors.parameter:
      return new LabError('invalid', `${sentence}; see the teachpoint`)
    case errors.unhomed:
      return new LabError('not_initialized', `${sentence}; initialize it`)
    case errors.busy:
    case errors.gripper:
      return new LabError('interlock', sentence)
    default:
      return new LabError('device_failed', `${verb} failed: ${text}; see to it, then initialize`)
  }
}

/** The move itself is ended by a stop: who aborts without one is not kept waiting for the answer. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
