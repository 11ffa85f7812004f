// The difference between two documents of the same name, by what they mean: defaults are filled in, and comments and the order of members do not count.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { workflowDocument } from './plans/compile.ts'
import { DocumentChange, documentChanges, lineChanges } from './plans/document_diff.ts'
import { TopologyDocument } from './plans/topology_schema.ts'
import type { KeptDocument, Versioned } from './version.ts'
import type { Versions } from './versions.ts'

export const Difference = v.strictObject({
  is_same: described(v.boolean(), 'Whether both mean the same'),
  changes: described(v.array(DocumentChange), 'The differences, place by place'),
  text_changes: described(
    v.array(v.string()),
    'Of TypeScript files, the lines that differ: `-12: …` of the first, `+12: …` of the second; and the imported files that differ',
  ),
})
type Difference = v.InferOutput<typeof Difference>

/** The most lines of files that are listed. */
const mostLines = 1000

export function differenceOf(of: Versioned, before: KeptDocument, after: KeptDocument): Difference {
  const meant = [meaning(of, before.document), meaning(of, after.document)]
  // A document that does not fit the schema of this version is compared as it is, and so is the other then.
  const [had, has] = meant.includes(undefined) ? [before.document, after.document] : meant
  const changes = documentChanges(had, has)
  const text_changes = [...lines(before, after), ...imports(before, after)].slice(0, mostLines)
  return { is_same: changes.length === 0 && text_changes.length === 0, changes, text_changes }
}

type Sides = { from?: number | undefined; to?: number | undefined }

/** Says how two versions differ; without numbers the newest and the one before. Rejects with `not_found`, and `conflict` where there is only one. */
export async function differenceOfVersions(versions: Versions, of: Versioned, name: string, { from, to }: Sides) {
  const all = versions.list(of, name).map(({ version }) => version)
  const later = to ?? all[0]
  const earlier = from ?? all.find((version) => version < (later ?? 0))
  if (later === undefined || earlier === undefined)
    throw new LabError(
      'conflict',
      `${of} ${name} has ${all.length === 0 ? 'no version' : 'no earlier version'}; there is nothing to compare`,
    )
  const [before, after] = await Promise.all([earlier, later].map((version) => versions.read(of, name, version)))
  return { from: earlier, to: later, ...differenceOf(of, before!.kept, after!.kept) }
}

/** Returns the document with its defaults; undefined if it is not valid now. */
function meaning(of: Versioned, document: object): object | undefined {
  const { $schema: _, ...rest } = document as { $schema?: unknown }
  if (of === 'topology') {
    const checked = v.safeParse(TopologyDocument, rest, { abortEarly: true })
    return checked.success ? checked.output : undefined
  }
  try {
    return workflowDocument(rest, 'the workflow', 'json')
  } catch {
    return undefined
  }
}

function lines({ text: before }: KeptDocument, { text: after }: KeptDocument): string[] {
  return before === undefined || after === undefined ? [] : lineChanges(before, after)
}

function imports({ helpers: before = {} }: KeptDocument, { helpers: after = {} }: KeptDocument): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    if (before[name] === after[name]) return []
    const how = before[name] === undefined ? 'is new' : after[name] === undefined ? 'is no longer imported' : 'has changed'
    return [`the imported file ${name} ${how}; its text is not kept`]
  })
}
