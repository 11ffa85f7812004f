// The documents of which versions are kept: uploaded workflows, and the workflows and topologies of the topologies folder. Of those that come with the
// program a version is kept when a run begins on them.

import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { sortedMembers } from '../kit/sorted_members.ts'
import { asText } from './plans/compile.ts'
import type { Library, Source } from './plans/library.ts'
import type { Workflow } from './plans/plan.ts'
import type { Topology } from './plans/topology.ts'
import type { Runtime } from './runtime.ts'
import type { Document, Versioned, Source as VersionSource } from './version.ts'

/** The sources of a library, in the order in which the first of a name wins. */
export type Sources = { files: readonly Source[]; stored: readonly Source[]; shipped: readonly Source[] }

/** Returns the hash of a topology, as `compile.ts` makes that of a workflow. */
export function topologyHash({ document }: Pick<Topology, 'document'>): string {
  return createHash('sha256').update(JSON.stringify(document, sortedMembers)).digest('hex')
}

/** Yields the documents in force, also of uploaded workflows that do not fit the bench now; without the examples. */
export function* documentsIn(library: Library, sources: Sources): Generator<Document> {
  for (const topology of library.topologies.values()) yield* ofLibrary('topology', topology, topologyHash(topology), sources)
  for (const workflow of library.workflows.values()) yield* ofLibrary('workflow', workflow, workflow.hash, sources)
  for (const source of sources.stored) {
    const name = nameIn(source)
    if (name !== undefined && !library.workflows.has(name)) yield documentOf('workflow', { name, hash: undefined, source, from: 'api' })
  }
}

function* ofLibrary(of: Versioned, { name }: { name: string }, hash: string, sources: Sources): Generator<Document> {
  const found = sourceOf(of, name, sources)
  if (found && found.from !== 'example') yield documentOf(of, { name, hash, ...found })
}

/** Returns the documents of a workflow and its topology, also if they come with the program. */
export function documentsBehind({ name, hash, topology }: Workflow, sources: Sources): Document[] {
  const both = [
    ['topology', topology.name, topologyHash(topology)],
    ['workflow', name, hash],
  ] as const
  return both.flatMap(([of, name, hash]) => {
    const found = sourceOf(of, name, sources)
    return found ? [documentOf(of, { name, hash, ...found })] : []
  })
}

/** Returns the document in force; undefined without one. */
export function presentDocument(of: Versioned, name: string, sources: Sources): Document | undefined {
  const found = sourceOf(of, name, sources)
  return found && documentOf(of, { name, hash: undefined, ...found })
}

type Found = { source: Source; from: VersionSource }

/** Finds the source of a name; the first wins. */
export function sourceOf(of: Versioned, name: string, { files, stored, shipped }: Sources): Found | undefined {
  const member = of === 'workflow' ? 'threads' : 'positions'
  const lists: [VersionSource, readonly Source[]][] = [
    ['file', files],
    ['api', stored],
    ['example', shipped],
  ]
  for (const [from, sources] of lists) {
    const source = sources.find(({ input }) => typeof input === 'object' && input !== null && member in input && nameIn({ input }) === name)
    if (source) return { source, from }
  }
  return undefined
}

function documentOf(of: Versioned, { name, hash, source, from }: Found & { name: string; hash: string | undefined }): Document {
  const { origin, form, input, code } = source
  return {
    ...{ of, name, form, hash, source: from, ...code, ...(from === 'file' && { file: basename(origin) }) },
    // Copied when it is used: most documents are those of their newest versions.
    get document() {
      return JSON.parse(JSON.stringify(input, form === 'json' ? undefined : asText))
    },
  }
}

/** Lists the versions that records and open runs name. */
export function* namedBy({
  records,
  runs,
}: Pick<Runtime, 'records' | 'runs'>): Generator<{ of: Versioned; name: string; version: number }> {
  const rows = [
    ...records.executions(),
    ...runs.open().map(({ workflow, record }) => ({ workflow_name: workflow.name, topology: workflow.topology.name, ...record.versions })),
  ]
  for (const { workflow_name, topology, workflow_version, topology_version } of rows) {
    if (typeof workflow_version === 'number') yield { of: 'workflow', name: workflow_name, version: workflow_version }
    if (typeof topology_version === 'number') yield { of: 'topology', name: topology, version: topology_version }
  }
}

function nameIn({ input }: Pick<Source, 'input'>): string | undefined {
  const { name } = Object(input) as { name?: unknown }
  return typeof name === 'string' ? name : undefined
}
