// The library of all topologies and workflows. A mistake in one does not affect the others.

import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { namesIn, readText } from '../../kit/files.ts'
import { parseJsonWithComments } from '../../kit/json.ts'
import { importedFiles, loadModule } from '../../kit/modules.ts'
import type { Bench } from './bench.ts'
import { compileDocument, workflowDocument } from './compile.ts'
import { mustBeKnown, wrong } from './mistakes.ts'
import type { Workflow } from './plan.ts'
import { compileTopology, type Topology } from './topology.ts'

/** A document that was read and not checked yet. Of a TypeScript file `code` has the text, and the SHA-256 of the files that it imports. */
export type Source = { origin: string; form: Workflow['form']; input: unknown; code?: Code }
type Code = { text: string; helpers: Record<string, string> }
/** A document that is not in the library, with the reason. */
type Fault = { origin: string; reason: string }

export type Library = {
  topologies: ReadonlyMap<string, Topology>
  workflows: ReadonlyMap<string, Workflow>
  faults: readonly Fault[]
}

/** Reads `*.json` and `*.ts` of a folder, without subfolders. Modules are executed, so write access to the folder means code execution as the service. */
export async function readFolder(folder: string): Promise<{ sources: Source[]; faults: Fault[] }> {
  const sources: Source[] = []
  const faults: Fault[] = []
  for (const name of await readable(folder, faults)) {
    const origin = join(folder, name)
    const form = name.endsWith('.json') ? 'json' : 'typescript'
    await collect(faults, origin, async () => {
      const input = await readers[form](origin)
      const code = form === 'json' ? {} : { code: { text: await readText(origin), helpers: await importedFiles(origin) } }
      sources.push({ origin, form, input, ...code })
    })
  }
  return { sources, faults }
}

async function readable(folder: string, faults: Fault[]): Promise<string[]> {
  const found = await collect(faults, folder, () => namesIn(folder))
  return (found ?? []).filter((name) => /^[^.].*\.(json|ts)$/.test(name) && !name.endsWith('.d.ts'))
}

const readers: Readonly<Record<Workflow['form'], (path: string) => Promise<unknown>>> = {
  json: async (path) => parseJsonWithComments(await readText(path), path),
  typescript: async (path) => {
    const input = await loadModule(path)
    if (input === undefined) throw wrong(path, 'it has no default export; a file that others import belongs in a folder beneath')
    return input
  },
}

/** Compiles the sources. Of two with the same name the first wins. */
export function compileLibrary(sources: readonly Source[], bench: Bench): Library {
  const topologies = new Map<string, Topology>()
  const workflows = new Map<string, Workflow>()
  const faults: Fault[] = []
  // The devices are looked at once, as they are now.
  const present = { ...bench }
  const each = (kind: Kind, add: (source: Source) => void) => {
    for (const source of sources.filter((source) => kindOf(source) === kind)) collectNow(faults, source.origin, () => add(source))
  }
  each('neither', ({ origin }) => {
    throw wrong(origin, 'it has neither positions, as a topology has, nor threads, as a workflow has')
  })
  each('topology', ({ input, origin }) => put(topologies, compileTopology(input, present, origin), 'topology'))
  each('workflow', (source) => put(workflows, workflowFrom(source, topologies), 'workflow'))
  return { topologies, workflows, faults }
}

/** Compiles a workflow for the topology that it names. Throws `invalid`, naming the place. */
function workflowFrom({ input, origin, form }: Source, topologies: ReadonlyMap<string, Topology>): Workflow {
  const document = workflowDocument(input, origin, form)
  mustBeKnown('topology', document.topology, topologies.keys(), `${origin}: topology`)
  return compileDocument(document, topologies.get(document.topology)!, form)
}

type Kind = 'topology' | 'workflow' | 'neither'

function kindOf({ input }: Source): Kind {
  if (typeof input !== 'object' || input === null) return 'neither'
  if ('positions' in input) return 'topology'
  return 'threads' in input ? 'workflow' : 'neither'
}

function put<Item extends { name: string }>(items: Map<string, Item>, item: Item, kind: string): void {
  if (items.has(item.name)) throw wrong(`${kind} ${item.name}`, `there is one of this name already; give this one another`)
  items.set(item.name, item)
}

async function collect<Value>(faults: Fault[], origin: string, work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work()
  } catch (error) {
    faults.push({ origin, reason: messageOf(error) })
    return undefined
  }
}

function collectNow(faults: Fault[], origin: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    faults.push({ origin, reason: messageOf(error) })
  }
}
