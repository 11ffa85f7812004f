// The labware that no thread moves: where it stands, or that nobody knows where it is. While the state of a run is written, this is written beside
// it, in the same transactions: the state says of each labware either which thread has it, or where it stands. At rest, while no run is open,
// `labware.json` has it.

import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import type { Change, StateSource } from '../events/states.ts'
import { someOf } from '../kit/listed.ts'
import { cannotBe, type Lost } from './recovery/stranded_labware.ts'
import type { RunEnvironments } from './run_environments.ts'
import type { Execution } from './runs/execution.ts'
import type { RunStates } from './state/entry.ts'
import { Labware } from './state/labware.ts'
import type { RunEnvironment } from './threads/run_environment.ts'

/** The name of this part of the state, beside the ids of runs. */
export const benchId = 'bench'

export const StandingLabware = v.strictObject({
  /** Null when it is somewhere, and nobody knows where. */
  seat: v.nullable(v.string()),
  ...v.omit(Labware, ['state', 'held_by']).entries,
  /** The transporter that may have it in its gripper. */
  held_by: v.optional(v.string()),
})
export type StandingLabware = v.InferOutput<typeof StandingLabware>

/** The labware on the topology that is loaded, in LIVE; while none is loaded, that of the last one. */
export type Standing = { topology: string | null; labware: StandingLabware[] }

type StandingLabwareOptions = {
  environments: Pick<RunEnvironments, 'topology'>
  /** Stores what stands at rest. Rejects with `storage`. */
  store(standing: Standing): Promise<unknown>
  /** Repeats work that writes until the card has taken it. */
  untilStored(work: () => Promise<unknown>): Promise<unknown>
  /** Called with labware that cannot be where it stood. */
  lost(lost: Lost): void
}

type Run = Pick<Execution, 'execution_id' | 'environment'>
type Deck = { environment: RunEnvironment; unfollow(): void }

/** The name of the deck of a run. The runs of a mode share one, but each in PURE_SIM has its own. */
function deckOf({ environment: { mode }, execution_id }: Run): string {
  return mode === 'PURE_SIM' ? execution_id : mode
}

/** The part of the state between two rests. Each has a source of its own, because a copy of the one before may still be made. */
type Written = StateSource & { readonly standing: Map<string, string> }

export class StandingLabwareStore {
  readonly #options: StandingLabwareOptions
  readonly #decks = new Map<string, Deck>()
  /** The labware of decks that are not there now. */
  readonly #remembered = new Map<string, Map<string, StandingLabware>>()
  /** The runs whose state is written. */
  readonly #open = new Set<Run>()
  #states: RunStates | undefined
  /** The part of the state; null while `labware.json` says where labware stands. */
  #written: Written | null = null
  /** The topology that was loaded and is not there: it is loaded at the next start at which it is, unless somebody says otherwise. */
  #missing: string | null = null
  #isToRest = false
  #changed = new Set<string>()
  /** Counts the changes. */
  #version = 0
  #hasLeft = false
  /** Resolves when all is stored where it is at rest, if no run is open. */
  resting: Promise<void> = Promise.resolve()

  constructor(options: StandingLabwareOptions) {
    this.#options = options
  }

  /** The labware of LIVE. */
  get live(): StandingLabware[] {
    const deck = this.#decks.get('LIVE')
    if (!deck) return this.rememberedOn('LIVE')
    return [...deck.environment.labware.keys()].flatMap((labware_id) => standingOn(deck.environment, labware_id) ?? [])
  }

  /** The labware of a deck that is not there now. */
  rememberedOn(name: string): StandingLabware[] {
    return [...(this.#remembered.get(name)?.values() ?? [])]
  }

  /** Remembers labware of a deck that is not there: LIVE is while its topology is loaded, DEVICE_SIM while a run uses it. */
  remember(pieces: Iterable<StandingLabware>, name = 'LIVE'): void {
    const remembered = this.#remembered.get(name) ?? new Map()
    for (const piece of pieces) remembered.set(piece.labware_id, piece)
    this.#remembered.set(name, remembered)
    this.#markAll()
  }

  /** Takes labware off a deck, if it stands there. */
  forget(labware_id: string, name = 'LIVE'): void {
    const deck = this.#decks.get(name)
    deck?.environment.scheduler.remove(labware_id)
    // Where it may have been was kept in its own name.
    deck?.environment.scheduler.forget(labware_id)
    deck?.environment.labware.delete(labware_id)
    this.#remembered.get(name)?.delete(labware_id)
    this.#mark(`${name} ${labware_id}`)
  }

  // Decks that come and go

  /** Puts what is remembered of a deck in its place. */
  opened(environment: RunEnvironment, name: string = environment.mode): void {
    if (this.#decks.get(name)?.environment !== environment) this.#follow(name, environment)
    const lost = [...(this.#remembered.get(name)?.values() ?? [])].flatMap((piece) => this.#place(environment, piece))
    // A storage that has lost its slots has lost a thousand plates at once.
    const [first, ...others] = lost
    const words = someOf(lost.map(({ what }) => what))
    if (first && words.length <= others.length) this.#options.lost({ ...first, what: words.join('; ') })
    else for (const one of lost) this.#options.lost(one)
    this.#remembered.delete(name)
    this.#markAll()
  }

  #follow(name: string, environment: RunEnvironment): void {
    this.#decks.get(name)?.unfollow()
    const mark = (labware_id: string) => this.#mark(`${name} ${labware_id}`)
    const stop = environment.scheduler.onMoved(mark)
    environment.labware.onChanged = mark
    const unfollow = () => {
      stop()
      environment.labware.onChanged = () => {}
    }
    this.#decks.set(name, { environment, unfollow })
  }

  /** Puts in its place what is remembered of the deck of a run. */
  openedFor(run: Run): void {
    this.opened(run.environment, deckOf(run))
  }

  closed(environment: RunEnvironment): void {
    for (const [name, deck] of this.#decks) {
      if (deck.environment !== environment) continue
      deck.unfollow()
      this.#decks.delete(name)
    }
    this.#markAll()
  }

  /** Puts labware in its place. Labware that cannot be there is known all the same, and returned: somebody has to say where it is. */
  #place({ labware, scheduler }: RunEnvironment, { seat: position, held_by, ...its }: StandingLabware): Lost[] {
    const { labware_id, name, placing } = its
    labware.set(labware_id, { ...its, state: 'ENDED', held_by: held_by ?? null })
    if (position === null) return []
    if (its.on !== undefined) {
      scheduler.lids.belong(labware_id, its.on)
      return []
    }
    // It may stand there, wherever it cannot be.
    if (placing !== undefined && scheduler.graph.positions.has(placing)) scheduler.holds.keep(labware_id, placing)
    try {
      scheduler.put(labware_id, position, null)
      return []
    } catch (error) {
      return [cannotBe(name, { position, why: messageOf(error) })]
    }
  }

  // On the card

  /** Takes over what was saved, before any deck is there. Returns the topology that was loaded. */
  recall(keys: ReadonlyMap<string, unknown>): string | null {
    for (const [key, value] of keys) {
      const piece = v.safeParse(StandingLabware, value)
      if (!piece.success) continue
      const { name } = partsOf(key)
      const remembered = this.#remembered.get(name) ?? new Map()
      this.#remembered.set(name, remembered.set(piece.output.labware_id, piece.output))
    }
    const topology = keys.get('topology')
    this.#missing = typeof topology === 'string' ? topology : null
    return this.#missing
  }

  /** No topology is to be loaded again. */
  unloaded(): void {
    this.#missing = null
    this.#mark('topology')
  }

  /** All runs that were open are taken up, or never will be: so are the decks that they had for themselves. */
  takenUp(): void {
    for (const name of this.#remembered.keys()) if (name !== 'LIVE') this.#remembered.delete(name)
    for (const { environment } of this.#decks.values()) this.#closeUnlessUsed(environment)
    this.#markAll()
    this.#settle()
  }

  /** Writes it into the state, until no run is open. */
  writeTo(states: RunStates): void {
    if (this.#written) return
    const standing = new Map<string, string>()
    this.#states = states
    this.#written = { standing, changes: () => this.#changes(standing) }
    this.#markAll()
    states.add(benchId, this.#written)
  }

  /** The state of a run is written from now on. */
  began(run: Run, states: RunStates): void {
    this.#open.add(run)
    this.openedFor(run)
    this.writeTo(states)
  }

  /** The state of a run is gone. */
  ended(run: Run): void {
    const { environment } = run
    const wasWritten = this.#open.delete(run)
    if (environment.mode === 'PURE_SIM' && !wasWritten) return
    this.#closeUnlessUsed(environment)
    this.#settle()
  }

  /** A deck of LIVE stays. */
  #closeUnlessUsed(environment: RunEnvironment): void {
    if (environment.mode !== 'LIVE' && ![...this.#open].some((run) => run.environment === environment)) this.closed(environment)
  }

  /** Resolves when it is on the card. Rejects with `storage`. */
  async persisted(): Promise<void> {
    if (!this.#written) await this.#store()
    // At rest, the state must no longer say where it stood before.
    await this.#states?.persist()
  }

  /** With the next transaction all that is written stands as it is then; `left` is called in that very moment. Rejects with `storage`. */
  async leave(left: () => void): Promise<void> {
    this.#hasLeft = true
    if (!this.#written) return
    this.#states?.leave(left)
    await this.#states?.persist()
  }

  /** Stores the labware at rest, one store at a time and at most one waiting: a full disk is not asked once more for each run that ended. */
  #settle(): void {
    if (this.#isToRest) return
    this.#isToRest = true
    const rest = () => {
      this.#isToRest = false
      return this.#rest()
    }
    this.resting = this.resting.then(rest).catch(() => undefined)
  }

  /** When no run is open, `labware.json` gets what stands, and then the state has it no longer. */
  async #rest(): Promise<void> {
    const isAtRest = () => this.#open.size === 0 && !this.#hasLeft
    for (let version = -1; isAtRest() && version !== this.#version; ) {
      version = this.#version
      await this.#options.untilStored(() => this.#store())
    }
    if (!isAtRest()) return
    this.#states?.drop(benchId)
    this.#written = null
    this.#changed.clear()
  }

  #store(): Promise<unknown> {
    return this.#options.store({ topology: this.#topology, labware: this.live })
  }

  get #topology(): string | null {
    return this.#options.environments.topology?.name ?? this.#missing
  }

  #changes(standing: Map<string, string>): Change[] {
    const keys = this.#changed
    this.#changed = new Set()
    return [...keys].flatMap((key): Change[] => {
      const text = this.#textOf(key)
      if (text === (standing.get(key) ?? null)) return []
      if (text === null) standing.delete(key)
      else standing.set(key, text)
      return [[key, text]]
    })
  }

  #textOf(key: string): string | null {
    const { name, labware_id } = partsOf(key)
    const deck = this.#decks.get(name)
    if (labware_id === undefined) return textOf(this.#topology ?? undefined)
    return textOf(deck ? standingOn(deck.environment, labware_id) : this.#remembered.get(name)?.get(labware_id))
  }

  #mark(key: string): void {
    this.#version++
    if (this.#written) this.#changed.add(key)
  }

  #markAll(): void {
    for (const key of [...this.#keys(), ...(this.#written?.standing.keys() ?? [])]) this.#mark(key)
  }

  /** The keys that can have values. */
  *#keys(): Generator<string> {
    yield 'topology'
    for (const [name, { environment }] of this.#decks) for (const labware_id of environment.labware.keys()) yield `${name} ${labware_id}`
    for (const [name, pieces] of this.#remembered) for (const labware_id of pieces.keys()) yield `${name} ${labware_id}`
  }

  /** Returns the JSON of each value as it is now. Tests compare it with what is written. */
  present(): Map<string, string> {
    return new Map(
      [...this.#keys()].flatMap((key): [string, string][] => {
        const text = this.#textOf(key)
        return text === null ? [] : [[key, text]]
      }),
    )
  }
}

/** The id is undefined for the key of the topology. It may hold spaces: people write `labware.json` too. */
function partsOf(key: string): { name: string; labware_id: string | undefined } {
  const at = key.indexOf(' ')
  return at === -1 ? { name: key, labware_id: undefined } : { name: key.slice(0, at), labware_id: key.slice(at + 1) }
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** The labware with this id, if it is on the deck and no thread moves it. */
function standingOn({ labware, scheduler }: RunEnvironment, labware_id: string): StandingLabware | undefined {
  const one = labware.get(labware_id)
  if (one?.state !== 'ENDED' || scheduler.whose(labware_id) !== null) return undefined
  return standingLabwareOf(one, scheduler.whereIs(labware_id) ?? null)
}

export function standingLabwareOf({ state: _, held_by, ...its }: Labware, position: string | null): StandingLabware {
  return { seat: position, ...its, ...(held_by !== null && { held_by }) }
}
