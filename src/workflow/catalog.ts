// The catalog: the topologies and workflows there are, and which topology is loaded; over a restart too.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Author, nobody } from '../kit/author.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Id } from '../kit/name.ts'
import type { Bench } from './plans/bench.ts'
import { compileWorkflow } from './plans/compile.ts'
import { compileLibrary, type Library, readFolder, type Source } from './plans/library.ts'
import { mustBeKnown } from './plans/mistakes.ts'
import type { Workflow } from './plans/plan.ts'
import { untaught, unusablePoints } from './plans/refusal.ts'
import { hasDevice, type Topology } from './plans/topology.ts'
import { type Lost, leftInGrippers, strandLabware } from './recovery/stranded_labware.ts'
import type { Runtime } from './runtime.ts'
import { type Standing, StandingLabware, standingLabwareOf } from './standing_labware.ts'
import type { RunMode } from './state/modes.ts'
import type { RunVersions, ThreadOnBench } from './state/run.ts'
import type { Authorship, Versioned, Document as VersionedDocument, Source as WorkflowSource } from './version.ts'
import { documentsBehind, documentsIn, namedBy, presentDocument, type Sources, sourceOf, topologyHash } from './version_sources.ts'
import { Versions } from './versions.ts'
import { rememberedAt, type Whereabouts, whereaboutsOf } from './whereabouts.ts'

type CatalogOptions = {
  data_dir: string
  /** The folder of `*.json` and `*.ts` files. Without it there are only the shipped workflows and those that came over the API. */
  topologies: string | undefined
  /** The workflows and topologies that come with the program, without those that do not fit the bench. */
  shipped: readonly Source[]
  bench: Bench
  report: Report
  warn(message: string): void
  /** The part of the state that says what stands on the bench; undefined where no run was open. */
  saved?: ReadonlyMap<string, unknown> | undefined
}

const Document = v.looseObject({ name: Id })
const Stored = v.strictObject({ workflows: v.array(Document) })
type Stored = v.InferOutput<typeof Stored>
type Document = v.InferOutput<typeof Document>
/** `workflow` is undefined where it was deleted. */
type Changed = { name: string; workflow: Workflow | undefined; stored(): void }

/** The labware that stands while no run is open: a copy for people and backups, which is read where the state of runs says nothing of it. */
const AtRest = v.strictObject({ topology: v.nullable(Id), labware: v.array(StandingLabware) })

/** Makes the runtime on what there is; `store` writes `labware.json`. */
type Begin = (library: Library, store: (standing: Standing) => Promise<unknown>) => Runtime
type Files = Awaited<ReturnType<typeof readFolder>>
type Parts = { options: CatalogOptions; stored: JsonFile<Stored>; atRest: JsonFile<Standing>; versions: Versions; files: Files }

const storedOrigin = 'workflows.json'
const mostStored = 500
/** The most characters of JSON of all uploaded workflows: each change writes the whole file, which is in memory several times. */
const mostOfAll = 4 * 1024 * 1024

export class Catalog {
  readonly runtime: Runtime
  readonly versions: Versions
  readonly #options: CatalogOptions
  readonly #stored: JsonFile<Stored>
  readonly #atRest: JsonFile<Standing>
  #files: Files
  /** The content of the store when the library was compiled. */
  #compiledOf: Stored | undefined

  /** `begin` makes the runtime on what there is; the topology that was loaded last is loaded again. */
  static async open(options: CatalogOptions, begin: Begin): Promise<Catalog> {
    const { data_dir, topologies, report } = options
    const file = { format: 1, report }
    const stored = await JsonFile.open({ ...file, path: `${data_dir}/workflows.json`, schema: Stored, empty: { workflows: [] } })
    const empty = { topology: null, labware: [] }
    const atRest = await JsonFile.open({ ...file, path: `${data_dir}/labware.json`, schema: AtRest, empty })
    const files = topologies === undefined ? { sources: [], faults: [] } : await readFolder(topologies)
    let opened: Catalog | undefined
    const versions = await Versions.open({ folder: data_dir, report, named: () => (opened ? namedBy(opened.runtime) : []) })
    const catalog = new Catalog({ options, stored, atRest, versions, files }, begin)
    opened = catalog
    await catalog.keepVersions()
    return catalog
  }

  private constructor({ options, stored, atRest, versions, files }: Parts, begin: Begin) {
    this.#options = options
    this.versions = versions
    this.#stored = stored
    this.#atRest = atRest
    this.#files = files
    const library = this.#compiled()
    for (const { origin, reason } of library.faults) options.warn(`${origin} is left out: ${reason}`)
    this.runtime = begin(library, (standing) => this.#store(standing))
    this.#loadAgain()
  }

  /**
   * Loads a topology, and keeps that it is. Rejects as `Runtime.load` throws, with `invalid` for one whose points its transporters cannot use, and
   * with `storage` when it is loaded but not kept.
   */
  async load(name: string, forced: { force?: boolean; author?: Author } = {}): Promise<Topology> {
    const wanted = this.runtime.library.topologies.get(name)
    const obstacles = wanted ? unusablePoints(wanted, this.#options.bench) : []
    if (obstacles.length > 0) throw new LabError('invalid', `topology ${name} is not loaded: ${obstacles.join('; ')}`)
    const topology = this.runtime.load(name, forced)
    await this.runtime.standing.persisted()
    return topology
  }

  /** Returns which teachpoints runs on the topology still need, in sentences. */
  untaught(topology: Topology): string[] {
    return untaught(topology, this.#options.bench)
  }

  async unload(forced: { force?: boolean; author?: Author } = {}): Promise<void> {
    this.runtime.unload(forced)
    await this.runtime.standing.persisted()
  }

  /**
   * Reads the files anew. What this resolves with takes them over, against the bench as it is then; it throws `conflict` while runs are open
   * on the loaded topology, if that or one of its devices has changed. Nothing has changed then. Call `standing.persisted` afterwards.
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

  /** Checks the documents that were read last against the present bench. */
  compileAnew(): Library {
    const library = this.#compiled()
    this.runtime.library = library
    return library
  }

  /** Compiles all anew after the program behind a device has described other operations, as a reload does. Logs what no longer fits. */
  described(): void {
    const before = new Set(this.runtime.library.faults.map(({ reason }) => reason))
    for (const { origin, reason } of this.compileAnew().faults)
      if (!before.has(reason)) this.#options.warn(`${origin} is left out: ${reason}`)
  }

  /** The names of the positions with `handover` of all topologies, each once. */
  get handovers(): string[] {
    const all = [...this.runtime.library.topologies.values()].flatMap(({ document }) => Object.entries(document.positions))
    return [...new Set(all.flatMap(([name, { handover }]) => (handover ? [name] : [])))].sort()
  }

  sourceOf(name: string): WorkflowSource {
    return sourceOf('workflow', name, this.#sources())?.from ?? 'example'
  }

  /** Returns the document in force of a workflow or topology; undefined without one. */
  present(of: Versioned, name: string): VersionedDocument | undefined {
    return presentDocument(of, name, this.#sources())
  }

  /**
   * Makes versions of the documents in force that differ from the newest versions of their names, as after a reload or an edit by hand. A disk that refuses
   * is reported.
   */
  async keepVersions(): Promise<void> {
    const sources = this.#sources()
    await this.versions.takeAll(documentsIn(this.runtime.library, sources))
    const gone = this.versions.namesFrom('workflow', 'api').filter((name) => !sourceOf('workflow', name, sources))
    for (const name of gone) await this.versions.deleted('workflow', name, nobody)
  }

  /** Returns the versions of a workflow and its topology in force; null where none is kept. Keeps those of examples, unless the run is simulated by the clock alone. */
  async versionsOf(workflow: Workflow, run_mode: RunMode): Promise<RunVersions> {
    if (run_mode !== 'PURE_SIM') await this.versions.takeAll(documentsBehind(workflow, this.#sources()))
    const { name, hash, topology } = workflow
    return {
      workflow_version: this.versions.find('workflow', name, hash) ?? null,
      topology_version: this.versions.find('topology', topology.name, topologyHash(topology)) ?? null,
    }
  }

  /**
   * Checks a workflow and keeps it, as a new version if it differs. Rejects with `invalid`, naming the place; `conflict` for the name of one that is not from
   * the API. `origin` names the document in messages.
   */
  async put(
    name: string,
    document: { name: string; topology: string },
    author: Authorship = nobody,
    origin = 'the body',
  ): Promise<{ workflow: Workflow; isNew: boolean }> {
    const { library } = this.runtime
    if (document.name !== name)
      throw new LabError('invalid', `${origin} is workflow ${document.name}, and the address is that of ${name}; say the same in both`)
    this.#mustNotBeFixed(name)
    mustBeKnown('topology', document.topology, library.topologies.keys(), `${origin}: topology`)
    const workflow = compileWorkflow(document, library.topologies.get(document.topology)!, origin, 'json')
    // The store freezes its content, and the caller still owns the document.
    const own = structuredClone(document)
    const kept = { of: 'workflow', name, form: 'json', hash: workflow.hash, source: 'api', document: own } as const
    const version = await this.versions.prepare(kept, author)
    let [isNew, done] = [true, Promise.resolve()]
    try {
      const change = (workflows: readonly Document[]) => {
        const others = workflows.filter((other) => other.name !== name)
        isNew = others.length === workflows.length
        mustHaveRoom(others, own)
        return [...others, own]
      }
      const stored = () => {
        done = version.keep()
      }
      await this.#change(change, { name, workflow, stored }, library)
    } catch (error) {
      version.drop()
      throw error
    }
    await done
    return { workflow, isNew }
  }

  /** Puts the document of a version again. Rejects as `put`, and with `conflict` for a TypeScript file, whose text a person copies. */
  async restoreVersion(name: string, version: number, author: Authorship): Promise<{ workflow: Workflow }> {
    const { info, kept } = await this.versions.read('workflow', name, version)
    if (info.form === 'typescript') {
      const what = `version ${version} of workflow ${name} is TypeScript, which the API does not take`
      throw new LabError('conflict', `${what}: copy its text into ${info.file ?? 'a file'} of the topologies folder, and reload`)
    }
    const document = kept.document as { name: string; topology: string }
    return this.put(name, document, { note: `version ${version} again`, ...author, restored_from: version }, `version ${version}`)
  }

  /** Rejects with `not_found`; `conflict` for one that is not from the API, and while a run of it is open. */
  async delete(name: string, author: Author = nobody): Promise<void> {
    this.#mustNotBeFixed(name)
    if (this.sourceOf(name) !== 'api') this.runtime.workflow(name)
    const open = this.runtime.runs.all().find(({ isOver, workflow }) => !isOver && workflow.name === name)
    if (open) throw new LabError('conflict', `execution ${open.execution_id} of ${name} is open; stop it before the workflow is deleted`)
    const others = (workflows: readonly Document[]) => workflows.filter((other) => other.name !== name)
    await this.#change(others, { name, workflow: undefined, stored() {} }, this.runtime.library)
    await this.versions.deleted('workflow', name, author)
  }

  /**
   * Stores a change of one workflow. Only that one is compiled: a shelf takes seconds, in which no stop would go out. All are compiled anew where the
   * file was changed by somebody else, where the topologies are others than `before`, and where a workflow of the file is left out, which may be this one.
   */
  async #change(
    change: (workflows: readonly Document[]) => Document[],
    { name, workflow, stored: then }: Changed,
    before: Library,
  ): Promise<void> {
    let isOurs = false
    const stored = await this.#stored.change((stored) => {
      isOurs = stored === this.#compiledOf
      return { workflows: change(stored.workflows) }
    })
    then()
    const { library } = this.runtime
    if (!isOurs || library.topologies !== before.topologies || library.faults.some(({ origin }) => origin === storedOrigin)) {
      this.compileAnew()
      return
    }
    const others = [...library.workflows].filter(([other]) => other !== name)
    const shipped = new Set(others.flatMap(([other]) => (this.sourceOf(other) === 'example' ? [other] : [])))
    const changed: [string, Workflow][] = workflow ? [[name, workflow]] : []
    const ordered = [...others.filter(([other]) => !shipped.has(other)), ...changed, ...others.filter(([other]) => shipped.has(other))]
    this.runtime.library = { ...library, workflows: new Map(ordered) }
    this.#compiledOf = stored
  }

  /** All labware there is. While no topology is loaded, what stood on the last one stands where it stood. */
  labware(): Whereabouts[] {
    const { runtime } = this
    const remembered = runtime.standing.rememberedOn('LIVE').map(({ seat: position, ...its }) => rememberedAt(its, position))
    return [...runtime.labware().map(whereaboutsOf), ...remembered]
  }

  /** Takes the word of the author for where a labware is, and keeps it; returns its name. Rejects with `not_found`, `conflict`, `storage`. */
  async relocate(labware_id: string, { position }: { position: string | null }, author?: Author): Promise<string> {
    const piece = this.labware().find((one) => one.labware_id === labware_id)
    if (!piece) throw new LabError('not_found', `there is no labware ${JSON.stringify(labware_id)}; /api/labware shows what there is`)
    const isThere = this.runtime.labware().some(({ labware }) => labware.labware_id === labware_id)
    if (!isThere && position !== null)
      throw new LabError('conflict', `no topology is loaded, so that nobody knows of ${position}; load the one that has it first`)
    if (isThere) this.runtime.relocate(labware_id, { position }, author)
    else this.runtime.standing.forget(labware_id)
    await this.runtime.standing.persisted()
    return piece.name
  }

  /** Leaves the labware of threads that no run moves any more where it stood. Returns the labware that somebody has to look for. */
  strandLabware(threads: readonly ThreadOnBench[], mode: RunMode = 'LIVE'): Lost[] {
    const { environments, standing } = this.runtime
    const deck = environments.shared().find((environment) => environment.mode === mode)
    if (deck) return strandLabware(deck, threads)
    // Without a deck nobody can say what cannot be there: that is said when there is one.
    const known = new Set(standing.rememberedOn(mode).map(({ labware_id }) => labware_id))
    const left = threads.filter(({ seat, labware }) => seat !== null && !known.has(labware.labware_id))
    standing.remember(
      left.map(({ labware, seat }) => standingLabwareOf(labware, seat)),
      mode,
    )
    return leftInGrippers(left)
  }

  async close(): Promise<void> {
    await Promise.all([this.#stored.settled(), this.#atRest.settled(), this.versions.close()])
  }

  #sources(): Sources {
    return { files: this.#files.sources, stored: this.#storedSources(), shipped: this.#options.shipped }
  }

  #storedSources(): Source[] {
    return this.#stored.content.workflows.map((input): Source => ({ origin: storedOrigin, form: 'json', input }))
  }

  #compiled(): Library {
    const { bench, shipped } = this.#options
    this.#compiledOf = this.#stored.content
    const stored = this.#storedSources().map((source): Source => ({ ...source, input: structuredClone(source.input) }))
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
      this.runtime.unload()
      this.runtime.library = library
      if (fresh) this.runtime.load(fresh.name)
    }
  }

  #mustNotBeFixed(name: string): void {
    const { files, shipped } = this.#sources()
    const file = sourceOf('workflow', name, { files, stored: [], shipped: [] })?.source
    if (file) throw new LabError('conflict', `workflow ${name} is from ${file.origin}; change it there, and reload`)
    if (sourceOf('workflow', name, { files: [], stored: [], shipped })) {
      throw new LabError('conflict', `workflow ${name} comes with the program; give yours another name`)
    }
  }

  #loadAgain(): void {
    const { topology: name, labware } = this.#atRest.content
    const atRest: [string, unknown][] = [['topology', name], ...labware.map((one): [string, unknown] => [`LIVE ${one.labware_id}`, one])]
    const topology = this.runtime.standing.recall(this.#options.saved ?? new Map(atRest))
    if (topology === null) return
    if (!this.runtime.library.topologies.has(topology)) {
      this.#options.warn(`topology ${topology} was loaded, and is not there any more; load another`)
      return
    }
    this.runtime.load(topology)
  }

  #store(standing: Standing): Promise<unknown> {
    return this.#atRest.change((content) => (JSON.stringify(content) === JSON.stringify(standing) ? content : standing))
  }
}

/** Throws `conflict` when a workflow is one too many, or too large for those that are there. */
function mustHaveRoom(others: readonly Document[], document: Document): void {
  if (others.length >= mostStored) throw new LabError('conflict', `there are ${mostStored} workflows already; delete one first`)
  const length = others.reduce((sum, other) => sum + lengthOf(other), lengthOf(document))
  if (length <= mostOfAll) return
  const sentence = `all workflows that came over the API would be larger than ${mostOfAll / 1024 / 1024} MiB together; delete some first, or put them into the topologies folder`
  throw new LabError('conflict', sentence)
}

/** The compiled workflows of stored documents, which are frozen. */
const lengths = new WeakMap<Document, number>()

function lengthOf(document: Document): number {
  const length = lengths.get(document) ?? JSON.stringify(document).length
  if (Object.isFrozen(document)) lengths.set(document, length)
  return length
}
