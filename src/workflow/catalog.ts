// The catalog: the topologies and workflows there are, and which topology is loaded; over a restart too.

import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Id } from '../kit/name.ts'
import { cannotBe, isOver, type Lost, leftInGrippers, strandLabware } from './journal/stranded_labware.ts'
import type { Bench } from './plans/bench.ts'
import { compileWorkflow } from './plans/compile.ts'
import { compileLibrary, type Library, readFolder, type Source } from './plans/library.ts'
import type { Workflow } from './plans/plan.ts'
import { hasDevice, type Topology } from './plans/topology.ts'
import { mustBeKnown } from './plans/wrong.ts'
import type { ThreadOnBench } from './runs/state.ts'
import type { Runtime } from './runtime.ts'
import type { RunMode } from './threads/run_environment.ts'
import { mayBe } from './threads/uncertain.ts'
import { rememberedAt, type Whereabouts, whereaboutsOf } from './whereabouts.ts'

type CatalogOptions = {
  data_dir: string
  /** Of `*.json` and `*.ts`; none, and there is nothing but what is shipped and what came over the API. */
  topologies: string | undefined
  /** The workflows and topologies that come with the program, without those that do not fit the bench. */
  shipped: readonly Source[]
  bench: Bench
  report: Report
  warn(message: string): void
  /** Is called with labware that nobody knows a place for. */
  lost(lost: Lost): void
}

/** Where a workflow is from: a file of the topologies folder, the API, or the program itself. */
export const workflowSources = ['file', 'api', 'example'] as const
export type WorkflowSource = (typeof workflowSources)[number]

const Document = v.looseObject({ name: Id })
const Stored = v.strictObject({ workflows: v.array(Document) })
type Stored = v.InferOutput<typeof Stored>

const PlacedLabware = v.strictObject({
  seat: v.pipe(v.nullable(v.string()), v.description('null when it is somewhere, and nobody knows where')),
  labware_id: v.string(),
  name: v.string(),
  template: v.string(),
  type: v.string(),
  kind: v.picklist(['plate', 'tip_rack', 'trough']),
  barcode: v.nullable(v.string()),
  tips: v.nullable(v.number()),
  tips_left: v.nullable(v.number()),
  last_run: v.optional(v.pipe(v.string(), v.description('The execution that moved it last'))),
  held_by: v.optional(v.pipe(v.string(), v.description('The transporter that may have it in its gripper'))),
  placing: v.optional(v.pipe(v.string(), v.description('The position where it may stand already'))),
})
const Placed = v.strictObject({ topology: v.nullable(Id), labware: v.array(PlacedLabware) })
type PlacedLabware = v.InferOutput<typeof PlacedLabware>
type Placed = v.InferOutput<typeof Placed>

type Files = Awaited<ReturnType<typeof readFolder>>

const storedOrigin = 'workflows.json'
const mostStored = 500

export class Catalog {
  readonly runtime: Runtime
  readonly #options: CatalogOptions
  readonly #stored: JsonFile<Stored>
  readonly #placed: JsonFile<Placed>
  #files: Files

  /** `begin` makes the runtime on what there is; the topology that was loaded last is loaded again. */
  static async open(options: CatalogOptions, begin: (library: Library) => Runtime): Promise<Catalog> {
    const { data_dir, topologies, report } = options
    const file = { format: 1, report }
    const stored = await JsonFile.open({ ...file, path: `${data_dir}/workflows.json`, schema: Stored, empty: { workflows: [] } })
    const placed = await JsonFile.open({
      ...file,
      path: `${data_dir}/labware.json`,
      schema: Placed,
      empty: { topology: null, labware: [] },
    })
    const files = topologies === undefined ? { sources: [], faults: [] } : await readFolder(topologies)
    return new Catalog({ options, stored, placed, files }, begin)
  }

  private constructor(
    { options, stored, placed, files }: { options: CatalogOptions; stored: JsonFile<Stored>; placed: JsonFile<Placed>; files: Files },
    begin: (library: Library) => Runtime,
  ) {
    this.#options = options
    this.#stored = stored
    this.#placed = placed
    this.#files = files
    const library = this.#compiled()
    for (const { origin, reason } of library.faults) options.warn(`${origin} is left out: ${reason}`)
    this.runtime = begin(library)
    this.#loadAgain()
    this.runtime.registerSink({
      name: 'Catalog',
      onEvent: ({ entity_type }) => (entity_type === 'EXECUTION' ? this.keepPlaced() : undefined),
    })
  }

  /** Loads a topology, and keeps that it is. Rejects as `Runtime.load` throws, and with `storage` when it is loaded but not kept. */
  async load(name: string, { force = false }: { force?: boolean } = {}): Promise<Topology> {
    // What stood on the one before may be on its way to the card.
    if (!this.runtime.environments.live) await this.#placed.settled()
    const standing = this.#placedNow({ force })
    const topology = this.runtime.load(name, { force })
    this.#placeAll(standing)
    await this.keepPlaced()
    return topology
  }

  async unload({ force = false }: { force?: boolean } = {}): Promise<void> {
    const standing = this.#placedNow({ force })
    this.runtime.unload({ force })
    await this.keepPlaced(() => standing)
  }

  /** Loads the topology that a run was on when the service ended, where another or none was loaded and nothing is open on it. */
  loadFor({ topology, run_mode }: { topology: string; run_mode: RunMode }): void {
    const { environments, library } = this.runtime
    const isOpen = this.runtime.executions().some(({ isOver, environment }) => !isOver && environment.mode !== 'PURE_SIM')
    if (run_mode === 'PURE_SIM' || isOpen || environments.topology?.name === topology || !library.topologies.has(topology)) return
    const standing = this.#placedNow()
    this.runtime.load(topology, { force: true })
    this.#placeAll(standing)
  }

  /**
   * Reads the files anew. What this resolves with takes them over, against the bench as it is then; it throws `conflict` while runs are open
   * on the loaded topology, if that or one of its devices has changed. Nothing has changed then. Call `keepPlaced` afterwards.
   */
  async read(): Promise<(devices: ReadonlySet<string>) => Library> {
    const { topologies } = this.#options
    const files = topologies === undefined ? this.#files : await readFolder(topologies)
    return (devices) => {
      const before = this.#files
      this.#files = files
      try {
        const library = this.#compiled()
        this.#takeOver(library, devices)
        return library
      } catch (error) {
        this.#files = before
        throw error
      }
    }
  }

  /** As read last, against the bench as it is now. */
  compileAnew(): Library {
    const library = this.#compiled()
    this.runtime.library = library
    return library
  }

  /** The names of the positions with `handover` of all topologies, each once. */
  get handovers(): string[] {
    const all = [...this.runtime.library.topologies.values()].flatMap(({ document }) => Object.entries(document.positions))
    return [...new Set(all.flatMap(([name, { handover }]) => (handover ? [name] : [])))].sort()
  }

  sourceOf(name: string): WorkflowSource {
    if (this.#files.sources.some((source) => nameIn(source) === name)) return 'file'
    return this.#stored.content.workflows.some((document) => document.name === name) ? 'api' : 'example'
  }

  /** Checks a workflow and keeps it. Rejects with `invalid`, naming the place; `conflict` for the name of one that is not from the API. */
  async put(name: string, document: { name: string; topology: string }): Promise<{ workflow: Workflow; isNew: boolean }> {
    const { library } = this.runtime
    if (document.name !== name)
      throw new LabError('invalid', `the body is workflow ${document.name}, and the address is that of ${name}; say the same in both`)
    this.#mustNotBeFixed(name)
    mustBeKnown('topology', document.topology, library.topologies.keys(), 'the body: topology')
    const workflow = compileWorkflow(document, library.topologies.get(document.topology)!, 'the body', 'json')
    let isNew = true
    await this.#stored.change(({ workflows }) => {
      const others = workflows.filter((other) => other.name !== name)
      isNew = others.length === workflows.length
      if (others.length >= mostStored) throw new LabError('conflict', `there are ${mostStored} workflows already; delete one first`)
      // What is stored is frozen, and what was sent is still somebody's.
      return { workflows: [...others, structuredClone(document)] }
    })
    this.compileAnew()
    return { workflow, isNew }
  }

  /** Rejects with `not_found`; `conflict` for one that is not from the API, and while a run of it is open. */
  async delete(name: string): Promise<void> {
    this.#mustNotBeFixed(name)
    if (this.sourceOf(name) !== 'api') this.runtime.workflow(name)
    const open = this.runtime.executions().find(({ isOver, workflow }) => !isOver && workflow.name === name)
    if (open) throw new LabError('conflict', `execution ${open.execution_id} of ${name} is open; stop it before the workflow is deleted`)
    await this.#stored.change(({ workflows }) => ({ workflows: workflows.filter((other) => other.name !== name) }))
    this.compileAnew()
  }

  /**
   * Keeps the name of the loaded topology and its LIVE labware that no thread moves, with their places; while no topology is loaded, the labware that
   * was kept before. `edit` changes that list before it is written. Rejects with `storage`.
   */
  async keepPlaced(edit = (standing: Placed['labware']) => standing): Promise<void> {
    await this.#placed.change((content) => {
      const topology = this.runtime.environments.topology?.name ?? null
      const labware = edit(this.#placedNow())
      return JSON.stringify(content) === JSON.stringify({ topology, labware }) ? content : { topology, labware }
    })
  }

  /** All labware there is. While no topology is loaded, what stood on the last one stands where it stood. */
  labware(): Whereabouts[] {
    const { runtime } = this
    const remembered = runtime.environments.live ? [] : this.#placed.content.labware
    return [...runtime.labware().map(whereaboutsOf), ...remembered.map(({ seat: position, ...its }) => rememberedAt(its, position))]
  }

  /**
   * Takes an operator's word for where a labware is, and keeps it; answers its name. The runs whose threads had the labware know it too, also those
   * that have ended: none puts the labware back after a restart. Rejects with `not_found`, `conflict`, `storage`.
   */
  async relocate(labware_id: string, { position }: { position: string | null }): Promise<string> {
    const piece = this.labware().find((one) => one.labware_id === labware_id)
    if (!piece) throw new LabError('not_found', `there is no labware ${JSON.stringify(labware_id)}; /api/labware shows what there is`)
    const isThere = this.runtime.labware().some(({ labware }) => labware.labware_id === labware_id)
    if (!isThere && position !== null)
      throw new LabError('conflict', `no topology is loaded, so that nobody knows of ${position}; load the one that has it first`)
    if (isThere) this.runtime.relocate(labware_id, { position })
    const kept = this.keepPlaced((standing) => standing.filter((one) => isThere || one.labware_id !== labware_id))
    await Promise.all([kept, this.runtime.persisted()])
    return piece.name
  }

  /** Records the labware that a run leaves standing which does not go on; on the card when this resolves. Returns the labware that somebody has to look for. */
  async strandLabware(threads: readonly ThreadOnBench[]): Promise<Lost[]> {
    const { live } = this.runtime.environments
    const lost = live ? strandLabware(live, threads) : leftInGrippers(threads)
    await this.keepPlaced((standing) => (live ? standing : withStranded(standing, threads)))
    return lost
  }

  async close(): Promise<void> {
    await Promise.all([this.#stored.settled(), this.#placed.settled()])
  }

  #compiled(): Library {
    const { bench, shipped } = this.#options
    const stored = this.#stored.content.workflows.map(
      (input): Source => ({ origin: storedOrigin, form: 'json', input: structuredClone(input) }),
    )
    const library = compileLibrary([...this.#files.sources, ...stored, ...shipped], bench)
    const mine = shipped.map(({ origin }) => origin)
    return { ...library, faults: [...this.#files.faults, ...library.faults.filter(({ origin }) => !mine.includes(origin))] }
  }

  #takeOver(library: Library, devices: ReadonlySet<string>): void {
    const { topology } = this.runtime.environments
    const fresh = topology && library.topologies.get(topology.name)
    const isTouched = topology && [...devices].some((device_id) => hasDevice(topology, device_id))
    const isSame = !topology || (fresh && !isTouched && JSON.stringify(fresh.document) === JSON.stringify(topology.document))
    if (isSame) this.runtime.library = library
    else {
      // Refused while runs are open on it.
      const standing = this.#placedNow()
      this.runtime.unload()
      this.runtime.library = library
      if (fresh) this.runtime.load(fresh.name)
      if (fresh) this.#placeAll(standing)
    }
  }

  #mustNotBeFixed(name: string): void {
    const source = this.#files.sources.find((source) => nameIn(source) === name)
    if (source) throw new LabError('conflict', `workflow ${name} is from ${source.origin}; change it there, and reload`)
    if (this.#options.shipped.some((source) => nameIn(source) === name)) {
      throw new LabError('conflict', `workflow ${name} comes with the program; give yours another name`)
    }
  }

  #loadAgain(): void {
    const { topology, labware } = this.#placed.content
    if (topology === null) return
    if (!this.runtime.library.topologies.has(topology)) {
      this.#options.warn(`topology ${topology} was loaded, and is not there any more; load another`)
      return
    }
    this.runtime.load(topology)
    this.#placeAll(labware)
  }

  /** Takes up the labware that stood around, also on another topology, as far as it has the places. */
  #placeAll(labware: Placed['labware']): void {
    for (const { seat: position, ...its } of labware) this.#place(its, position)
  }

  /** Labware that cannot be there is known all the same: somebody has to say where it is. */
  #place({ held_by, ...its }: Omit<PlacedLabware, 'seat'>, position: string | null): void {
    const { live } = this.runtime.environments
    live?.labware.set(its.labware_id, { ...its, state: 'ENDED', held_by: held_by ?? null })
    if (position === null) return
    try {
      live?.scheduler.put(its.labware_id, position, null)
      if (its.placing !== undefined && live?.scheduler.graph.positions.has(its.placing)) live.scheduler.keep(its.labware_id, its.placing)
    } catch (error) {
      this.#options.lost(cannotBe(its.name, { position, why: messageOf(error) }))
    }
  }

  /** Returns the labware that no thread moves; by force also that of threads, which are aborted. */
  #placedNow({ force = false } = {}): Placed['labware'] {
    const { live } = this.runtime.environments
    if (!live) return this.#placed.content.labware
    const { scheduler, labware } = live
    const cutOff = new Map(force ? this.runtime.labware().map(({ labware, thread }) => [labware.labware_id, thread]) : [])
    return [...labware.values()].flatMap((one) => {
      const thread = cutOff.get(one.labware_id)
      const { state, held_by, ...its } = { ...one, ...(thread && mayBe(thread.state)) }
      const isMoved = scheduler.whose(its.labware_id) !== null || (state !== 'ENDED' && scheduler.whereIs(its.labware_id) === undefined)
      if (isMoved && !force) return []
      const held = held_by === null ? {} : { held_by }
      return { seat: scheduler.whereIs(its.labware_id) ?? null, ...its, ...held }
    })
  }
}

/** Without a topology nobody can say what cannot be there: that is said when one is loaded. */
function withStranded(standing: Placed['labware'], threads: readonly ThreadOnBench[]): Placed['labware'] {
  const known = new Map(standing.map((one) => [one.labware_id, one]))
  for (const thread of threads) {
    const { state: _, held_by, ...its } = thread.labware
    if (thread.seat !== null && !(isOver(thread) && known.has(its.labware_id)))
      known.set(its.labware_id, { ...its, seat: thread.seat, ...(held_by === null ? {} : { held_by }) })
    else if (isOver(thread) && thread.seat === null) known.delete(its.labware_id)
  }
  return [...known.values()]
}

function nameIn({ input }: Source): unknown {
  return typeof input === 'object' && input !== null && 'threads' in input && 'name' in input ? input.name : undefined
}
