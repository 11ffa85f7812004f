// A device with a program behind it, which describes its operations and performs them over JSON-RPC.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import {
  changesOf,
  type Description,
  mostSeconds,
  type OwnOperation,
  ownOperations,
  readDescription,
} from '../../src/devices/description.ts'
import type { KeptDescription } from '../../src/devices/descriptions.ts'
import type {
  AnyProfile,
  AskedOperation,
  Destination,
  Device,
  EndedEarly,
  Identity,
  Learned,
  Limits,
  SelfDescribed,
} from '../../src/devices/device.ts'
import { connectionLost, isRefusal } from '../../src/devices/failure.ts'
import type { MoveName, Params } from '../../src/devices/operations.ts'
import type { MoveTarget, Skill } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { described } from '../../src/kit/described.ts'
import { checked } from '../../src/kit/schema.ts'
import { OperationRunner } from '../operation_runner.ts'
import type { BridgeLine } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { describedOf, profileOf, unaccepted } from './as_described.ts'
import { OperationFiles } from './files.ts'
import { halts } from './halts.ts'
import { JsonRpc } from './json_rpc.ts'
import { limitsOf, Performed, Progressed, refused, valueIn } from './shared_words.ts'
import { BridgeTransporter } from './transporter.ts'

export const settings = v.strictObject({
  halt: v.optional(
    described(
      v.picklist(['message', 'kill', 'none']),
      'How the instrument is stopped: by the message `halt`, by the end of the program, or not at all',
    ),
    'message',
  ),
  halt_s: v.optional(
    described(
      v.pipe(v.number(), v.minValue(0.1), v.maxValue(60)),
      'A program that has not answered a halt by then is ended and started again',
      's',
    ),
    5,
  ),
  move_timeout_s: v.optional(
    described(v.pipe(v.number(), v.minValue(1), v.maxValue(600)), 'How long a move of a transporter may take', 's'),
    60,
  ),
  uninterruptible: v.optional(
    described(
      v.boolean(),
      'Whether a transporter that nothing stops may be used in LIVE runs. A person must be there with a hand at its red button',
    ),
    false,
  ),
})
export type Settings = v.InferOutput<typeof settings>

type BridgeMount = {
  device_id: string
  /** The type of the device in the configuration. */
  type: string
  line: BridgeLine
  settings: Settings
  kept: KeptDescription
}

/** The limit for the description, since interpreters and instrument libraries load slowly. */
const describe_s = 30
const answer_s = 5

const EndedProgram = v.object({ reason: v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000)) })
const Ended = v.object({ seconds_left: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(mostSeconds)), 0) })

export class Bridge extends WithMount<BridgeMount> implements Device {
  readonly #rpc = new JsonRpc({
    line: this.at.line,
    notified: (method, params) => this.#notified(method, params),
    lost: (reason) => connectionLost(reason, this.at.line.advice),
    refused,
  })
  readonly #files = new OperationFiles({ line: this.at.line, rpc: this.#rpc })
  readonly #runner = new OperationRunner(this.at.line)
  /** The last description if it differs from the accepted one. */
  #unaccepted: Description | undefined
  /** The last valid description, and the hash of its text. */
  #told: { hash: string; description: Description } | undefined
  #known: Known = { description: undefined, operations: none, limits: {} }
  #running: AskedOperation | undefined
  /** Resolves with whether the last operation ended well, when it is answered or can no longer be. */
  #endedWell: Promise<boolean> = Promise.resolve(true)

  /** The profile of the present description. */
  readonly profile: AnyProfile = profileOf(this)

  readonly described: SelfDescribed = describedOf(this, {
    accept: () => this.#accept(),
    read: (reading) => this.#read(reading),
    fetching: () => this.#files.fetching,
    perform: this.#runner.operation((asked: AskedOperation, signal) => this.#perform(asked, signal)),
  })

  /** The part of a bridge that carries labware; undefined for every other type. */
  readonly #transporter = this.at.type === 'transporter' ? this.#carrier() : undefined
  readonly pick = this.#move('pick')
  readonly place = this.#move('place')
  readonly #jog = this.#led((params: Params<'jog'>, signal) => this.#transporter!.jog(params, signal))
  readonly #freeDrive = this.#led((params: object, signal) => this.#transporter!.freeDrive(params, signal))
  readonly #goTo = this.#led((params: Params<'go_to'> & Destination, signal) => this.#transporter!.goTo(params, signal))
  readonly gripper = this.#transporter && (() => this.#transporter!.gripper())

  readonly initialize = this.#runner.operation(async (_params: object, signal): Promise<Learned> => {
    if (this.#transporter) await this.#transporter.home(signal)
    else await this.#ask('initialize', undefined, signal)
    return { identity: await this.identify() }
  })

  get description(): Description | undefined {
    return this.at.kept.description
  }

  get operations(): ReadonlyMap<string, OwnOperation> {
    return this.#present.operations
  }

  /** The ranges of the parameters of operations that are also in the table. */
  get limits(): Limits {
    return this.#present.limits
  }

  get #present(): Known {
    const { description } = this
    if (description && this.#known.description !== description) {
      const operations = ownOperations(description)
      this.#known = { description, operations, limits: limitsOf(operations) }
    }
    return this.#known
  }

  /** The movements by hand that its program has described. */
  get jog() {
    return this.description?.jog && this.#jog
  }

  get free_drive() {
    return this.description?.free_drive ? this.#freeDrive : undefined
  }

  get go_to() {
    return this.description?.go_to ? this.#goTo : undefined
  }

  get choices(): Readonly<Record<string, readonly string[]>> {
    const { jog } = this.description ?? {}
    return jog ? { axis: jog } : {}
  }

  get uninterruptible(): boolean {
    return this.#halting === 'none'
  }

  get points(): 'taught' | 'own' {
    return this.description?.points ?? 'taught'
  }

  get skills(): ReadonlySet<Skill> | null {
    const { description } = this
    return this.#transporter && description ? new Set(description.skills) : null
  }

  get pose() {
    const transporter = this.#transporter
    return transporter && this.points === 'taught' ? () => transporter.pose() : undefined
  }

  get unfit(): string | undefined {
    const proposed = this.#halting === 'message' ? this.description?.proposed_halt : undefined
    if (proposed) return unaccepted(proposed)
    if (!this.#transporter) return undefined
    if (!this.description) return 'its program has never run, so that nobody knows how it is sent to a place; start it once'
    if (this.#halting !== 'none' || this.at.settings.uninterruptible) return undefined
    return 'no stop ends its motion; drive it by a program that can halt it, or accept the risk by "uninterruptible": true in its settings'
  }

  get unhaltable(): Device['unhaltable'] {
    return halts[this.#halting].cannotEnd
  }

  /** The configured way to halt. For a program that cannot halt, `message` becomes `none`. */
  get #halting(): Settings['halt'] {
    const { halt } = this.at.settings
    return halt === 'message' && this.description?.halt === 'none' ? 'none' : halt
  }

  get get_temperature() {
    return this.description?.readings.temperature ? () => this.#temperature() : undefined
  }

  /** Asks for the description. Rejects with `device_failed` if it is invalid, or differs from the accepted one. */
  async identify(): Promise<Identity> {
    const description = this.#descriptionIn(await this.#rpc.request('describe', undefined, describe_s))
    const { type } = this.at
    if (description.type !== type) {
      const sentence = `it describes itself as a ${description.type}, and the configuration says ${type}; see that the program is the right one`
      throw new LabError('device_failed', sentence)
    }
    this.#compare(description)
    const { model, identity } = description
    return { model, serial_number: identity?.serial_number ?? null, firmware_version: identity?.firmware_version ?? null }
  }

  async check(): Promise<void> {
    await this.#rpc.request('check', undefined, answer_s)
    await this.#transporter?.check()
  }

  async end(): Promise<EndedEarly> {
    const running = this.#running
    if (!running && !this.#runner.isIdle) return this.#runner.early.ask()
    if (!running) throw new LabError('conflict', 'it does nothing that could be ended')
    const answer = await this.#rpc.request('end', { operation_id: running.operation_id }, answer_s)
    return checked(Ended, answer ?? {}, 'its answer to end', 'device_failed')
  }

  halt(): Promise<void> {
    this.#runner.stop()
    this.#transporter?.unhome()
    const { halt_s } = this.at.settings
    return halts[this.#halting].halt(this.at, {
      ask: () => this.#rpc.request('halt', undefined, this.#rpc.isAwake ? halt_s : describe_s),
      stands: async () => this.#transporter?.mustStand(halt_s),
      endedWell: this.#endedWell,
    })
  }

  #carrier(): BridgeTransporter {
    const { line, settings } = this.at
    const transporter = new BridgeTransporter({
      clock: line.clock,
      early: this.#runner.early,
      description: () => this.description,
      move_timeout_s: settings.move_timeout_s,
      ask: (method, params, signal) => this.#ask(method, params, signal),
      where: (deadline_s) => this.#rpc.request('where', undefined, deadline_s),
    })
    line.onLost(() => transporter.unhome())
    return transporter
  }

  /** Makes an operation that a person leads. */
  #led<Given, Result>(work: (params: Given, signal: AbortSignal) => Promise<Result>) {
    return this.#transporter && this.#runner.operation(work)
  }

  #move(verb: MoveName) {
    const transporter = this.#transporter
    return transporter && this.#runner.operation((target: MoveTarget, signal) => transporter.move(verb, target, signal))
  }

  async #perform(asked: AskedOperation, signal: AbortSignal) {
    const { operation, params, operation_id, deadline_s } = asked
    if (this.#files.fetching) throw new LabError('busy', 'it still gives the files of its last operation', { retry_after_s: 5 })
    this.#running = asked
    try {
      const answer = await this.#ask('perform', { operation, params, operation_id, deadline_s }, signal)
      const { message, data, files } = checked(Performed, answer ?? {}, `its answer to ${operation}`, 'device_failed')
      this.#files.fetch(files ?? [], asked)
      return { ...(message && { message }), ...(data !== null && data !== undefined && { data }) }
    } finally {
      this.#running = undefined
    }
  }

  /** Requests an operation without a deadline. A caller that aborts it also halts the device. */
  #ask(method: string, params: object | undefined, signal: AbortSignal): Promise<unknown> {
    const answer = this.#rpc.request(method, params)
    const before = this.#endedWell
    this.#endedWell = answer.then(
      () => true,
      (error) => (isRefusal(error) ? before : false),
    )
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
    })
  }

  async #temperature() {
    const { value, target } = await this.#read('temperature')
    return { temperature: value, target }
  }

  #read(reading: string) {
    // Names of readings need no escapes.
    return this.#rpc.request('read', `{"reading":"${reading}"}`, answer_s).then(valueIn)
  }

  #notified(method: string, params: unknown): void {
    // The supervisor knows why the program has ended; the connection only knows that it is closed.
    const ended = method === 'ended' ? v.safeParse(EndedProgram, params) : undefined
    if (ended?.success) void this.at.line.giveUp(ended.output.reason)
    const progress = method === 'progress' ? v.safeParse(Progressed, params) : undefined
    if (!progress?.success || progress.output.operation_id !== this.#running?.operation_id) return
    const { fraction, message } = progress.output
    this.#running.progressed({ fraction, message })
  }

  /** Parses a description, unless the program has told the same one before: a large one takes a third of a second. */
  #descriptionIn(answer: unknown): Description {
    const hash = createHash('sha256')
      .update(JSON.stringify(answer) ?? '')
      .digest('base64')
    if (this.#told?.hash !== hash) this.#told = { hash, description: readDescription(answer) }
    return this.#told.description
  }

  #compare(description: Description): void {
    const { kept, device_id } = this.at
    const changes = kept.description ? changesOf(kept.description, description) : []
    this.#unaccepted = changes.length > 0 ? description : undefined
    if (changes.length === 0) {
      const { halt, proposed_halt } = kept.description ?? {}
      const isKept = kept.description && isDeepStrictEqual([halt, proposed_halt], [description.halt, description.proposed_halt])
      if (!isKept) kept.keep(description)
      // The description of a large class has megabytes, so memory holds one copy of it.
      else if (this.#told) this.#told = { ...this.#told, description: { ...kept.description!, identity: description.identity } }
      return
    }
    const what = changes.slice(0, 5).join(', ')
    const sentence = `it describes itself otherwise than it did (${what}); see that the program is the right one, then accept that: POST /api/devices/${device_id}/accept, then initialize`
    throw new LabError('device_failed', sentence)
  }

  #accept(): boolean {
    if (!this.#unaccepted) return false
    this.at.kept.keep(this.#unaccepted)
    this.#unaccepted = undefined
    return true
  }
}

const none: ReadonlyMap<string, OwnOperation> = new Map()

type Known = { description: Description | undefined; operations: ReadonlyMap<string, OwnOperation>; limits: Limits }
