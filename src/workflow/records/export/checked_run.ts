// Checks the folder of an exported run against its list of files, without the service.

import { LabError } from '../../../errors.ts'
import { rowsOfRecord } from '../../../events/run_record_reader.ts'
import { readText } from '../../../kit/files.ts'
import { exists } from '../../../kit/folder.ts'
import { hashedFile, namesBelow } from '../../../kit/new_folder.ts'
import { listName, manifestName, metadataName, recordName } from './exported_run.ts'

/** `sha256` is that of the list, with which all files are fixed. */
export type Checked = {
  sha256: string
  files: number
  changed: string[]
  missing: string[]
  extra: string[]
  /** Sentences about the list and the metadata, which do not agree or cannot be read. */
  metadata: string[]
  /** `damaged`: lines that are not as the bench wrote them. `damaged_before`: how many of them were so before the export, as its manifest says. */
  record: { rows: number; damaged: number; damaged_before: number }
}

/** Throws `not_found` for a folder that is no exported run. */
export async function checkFolder(folder: string): Promise<Checked> {
  const list = exists(`${folder}/${listName}`) ? await hashedFile(folder, listName) : undefined
  if (!list) throw new LabError('not_found', `${folder} has no ${listName}, so it is no exported run`)
  const { listed, wrong } = listedIn(await readText(`${folder}/${listName}`))
  const names = new Set(await namesBelow(folder))
  names.delete(listName)
  const checked: Checked = {
    sha256: list.sha256,
    files: listed.size,
    changed: [],
    missing: [],
    extra: [],
    metadata: wrong,
    record: { rows: 0, damaged: 0, damaged_before: 0 },
  }
  for (const [name, sha256] of listed) {
    if (!names.has(name)) checked.missing.push(name)
    else if ((await hashedFile(folder, name))?.sha256 !== sha256) checked.changed.push(name)
  }
  checked.extra = [...names].filter((name) => !listed.has(name))
  if (names.has(metadataName)) checked.metadata.push(...metadataFaults(await readText(`${folder}/${metadataName}`), listed))
  if (names.has(recordName))
    for await (const { rows, damaged } of rowsOfRecord(`${folder}/${recordName}`)) {
      checked.record.rows += rows.length
      checked.record.damaged += damaged
    }
  if (names.has(manifestName)) checked.record.damaged_before = damagedIn(await readText(`${folder}/${manifestName}`))
  return checked
}

/** Whether everything is as it was exported. */
export function isWhole({ changed, missing, extra, metadata, record }: Checked): boolean {
  return [changed, missing, extra, metadata].every((list) => list.length === 0) && damagedAfter(record) === 0
}

/** Returns a sentence for each thing that is not as it was exported. */
export function faultsOf({ changed, missing, extra, metadata, record }: Checked): string[] {
  return [
    ...changed.map((name) => `${name} was changed after the export`),
    ...missing.map((name) => `${name} is missing`),
    ...extra.map((name) => `${name} was not in the export`),
    ...metadata,
    ...(damagedAfter(record) > 0
      ? [`${recordName}: ${counted(damagedAfter(record))} damaged after the export; ${record.rows} are as the bench wrote them`]
      : []),
  ]
}

/** Returns a sentence for each thing that was wrong when the run was exported, and is no fault of the folder. */
export function earlierFaultsOf({ record }: Checked): string[] {
  const count = Math.min(record.damaged, record.damaged_before)
  return count > 0 ? [`${recordName}: ${counted(count)} damaged on the bench before the export`] : []
}

function counted(lines: number): string {
  return lines === 1 ? '1 line was' : `${lines} lines were`
}

function damagedAfter({ damaged, damaged_before }: Checked['record']): number {
  return Math.max(0, damaged - damaged_before)
}

/** Returns the number of damaged lines of the record in a manifest; 0 if it does not say. */
function damagedIn(text: string): number {
  try {
    const { damaged } = JSON.parse(text) as { damaged?: unknown }
    return typeof damaged === 'number' && damaged > 0 ? damaged : 0
  } catch {
    return 0
  }
}

/** Parses the list: a SHA-256, two blanks and a name a line. `wrong` has a sentence for each other line. */
function listedIn(text: string): { listed: Map<string, string>; wrong: string[] } {
  const listed = new Map<string, string>()
  const wrong: string[] = []
  for (const [i, line] of text.split('\n').entries()) {
    const [, sha256, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? []
    if (sha256 !== undefined && name !== undefined) listed.set(name, sha256)
    else if (line !== '') wrong.push(`${listName}: line ${i + 1} is not a SHA-256 and a name`)
  }
  return { listed, wrong }
}

function metadataFaults(text: string, listed: ReadonlyMap<string, string>): string[] {
  const entities = entitiesIn(text)
  if (!entities) return [`${metadataName} is not the metadata of an RO-Crate`]
  return entities.flatMap(({ '@id': id, '@type': type, sha256 }) => {
    if (type !== 'File' || sha256 === listed.get(String(id))) return []
    return [`${metadataName} says another SHA-256 of ${id} than ${listName}`]
  })
}

function entitiesIn(text: string): Record<string, unknown>[] | undefined {
  try {
    const { '@graph': graph } = JSON.parse(text) as { '@graph'?: unknown }
    return Array.isArray(graph) ? graph.filter((one) => typeof one === 'object' && one !== null) : undefined
  } catch {
    return undefined
  }
}
