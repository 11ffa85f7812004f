// A version of a workflow or topology: what is known of it, its line in `versions.jsonl`, and the document in its file.

import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { Author } from '../kit/author.ts'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import { sortedMembers } from '../kit/sorted_members.ts'

export type Versioned = 'workflow' | 'topology'

/** The origin of a document: a file of the topologies folder, the API, or the program itself. */
export const workflowSources = ['file', 'api', 'example'] as const
export type Source = (typeof workflowSources)[number]

const By = v.nullable(v.string())
const Deletion = v.strictObject({
  at: described(v.number(), 'Unix time', 's'),
  by: described(By, 'The name of the key; null where it is not known'),
  operator: v.optional(described(v.string(), 'The name that the person gave as X-Operator. Nobody has checked it')),
})

export const VersionInfo = v.strictObject({
  version: described(v.number(), 'Counts the versions of this name: 1, 2, 3, …'),
  hash: described(v.string(), 'SHA-256 of the document with its defaults; `workflow_hash` of its runs'),
  at: described(v.number(), 'When it came, Unix time', 's'),
  source: described(v.picklist(workflowSources), 'A file of the topologies folder, the API, or an example of the program'),
  by: described(By, 'The name of the key; null for a file, an example, and where it is not known'),
  operator: v.optional(described(v.string(), 'The name that the person gave as X-Operator. Nobody has checked it')),
  note: v.optional(described(v.string(), 'The words of the author about it')),
  restored_from: v.optional(described(v.number(), 'The version whose document was put again')),
  form: v.picklist(['json', 'typescript']),
  file: v.optional(described(v.string(), 'The name of its file in the topologies folder')),
  bytes: described(v.number(), 'Of the document'),
  deleted: v.optional(described(Deletion, 'When it was deleted after this version')),
})
export type VersionInfo = v.InferOutput<typeof VersionInfo>

const { deleted: _, bytes, ...info } = VersionInfo.entries
const Key = { of: v.picklist(['workflow', 'topology']), name: Id }
export const Line = v.variant('kind', [
  /** `content` is the hash by which equal contents are known, and `document` names the file. */
  v.strictObject({ kind: v.literal('version'), ...Key, ...info, bytes, content: v.string(), document: v.string() }),
  v.strictObject({ kind: v.literal('deleted'), ...Key, ...Deletion.entries }),
  v.strictObject({ kind: v.literal('pruned'), ...Key, versions: v.array(v.number()) }),
])
export type Line = v.InferOutput<typeof Line>
export type Entry = Omit<Extract<Line, { kind: 'version' }>, 'kind' | 'of' | 'name'> & { deleted?: v.InferOutput<typeof Deletion> }
export type History = { of: Versioned; name: string; entries: Entry[] }

/** A document as it is kept: that of a TypeScript file has the text of the file, and code as text. `helpers` has the SHA-256 of the files that it imports. */
export const Kept = v.strictObject({
  document: v.record(v.string(), v.unknown()),
  text: v.optional(v.string()),
  helpers: v.optional(v.record(v.string(), v.string())),
})
export type KeptDocument = v.InferOutput<typeof Kept>

/** A document to keep, with what is known of it. */
export type Document = KeptDocument & {
  of: Versioned
  name: string
  form: VersionInfo['form']
  /** SHA-256 of the compiled document; undefined where it cannot be compiled now. */
  hash: string | undefined
  source: Source
  file?: string | undefined
}
/** The author of a version and the author's words. */
export type Authorship = Author & { note?: string | undefined; restored_from?: number | undefined }

export function infoOf({ content: _content, document: _document, ...info }: Entry): VersionInfo {
  return info
}

export function fileOf({ document, text, helpers }: KeptDocument): { text: string; name: string } {
  const json = `${JSON.stringify({ document, ...(text !== undefined && { text }), ...(helpers && { helpers }) })}\n`
  return { text: json, name: sha256(json) }
}

/** Hashes what a document says, independent of the order of its members; of a file its text and the files that it imports. */
export function contentOf({ document, text, helpers = {} }: KeptDocument): string {
  return sha256(JSON.stringify(text === undefined ? document : { text, helpers }, sortedMembers))
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
