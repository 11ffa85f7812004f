// Judges the metadata of an RO-Crate by the MUSTs of its specification 1.2 for a crate with files ("attached"). The project of RO-Crate publishes no JSON schema of
// its base specification, so the schema here is written from its chapters Metadata Document, Root Data Entity, and Data Entities.

import * as v from 'valibot'
import { readText } from '../kit/files.ts'
import { namesBelow } from '../kit/new_folder.ts'

const specification = 'https://w3id.org/ro/crate/1.2'

/** A URI reference: no blanks, no other sign that must be escaped. */
const Id = v.pipe(v.string(), v.regex(/^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2}|\P{ASCII})+$/u))
/** A reference to another entity: in flattened JSON-LD, its id and nothing else. */
const Reference = v.strictObject({ '@id': Id })
const Plain = v.union([v.string(), v.number(), v.boolean(), Reference])
const Types = v.union([v.string(), v.array(v.string())])
const iso8601 = /^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?)?)?$/
const Iso8601 = v.pipe(v.string(), v.regex(iso8601))

const Entity = v.objectWithRest(
  { '@id': Id, '@type': Types, startTime: v.optional(Iso8601), endTime: v.optional(Iso8601) },
  v.union([Plain, v.array(Plain)]),
)
type Entity = Readonly<Record<string, unknown>>

const Document = v.strictObject({ '@context': v.literal(`${specification}/context`), '@graph': v.array(Entity) })

const Descriptor = v.looseObject({
  '@id': v.literal('ro-crate-metadata.json'),
  '@type': v.literal('CreativeWork'),
  about: Reference,
  conformsTo: v.strictObject({ '@id': v.literal(specification) }),
})

const Root = v.looseObject({
  '@id': v.literal('./'),
  '@type': Types,
  name: v.string(),
  description: v.string(),
  datePublished: Iso8601,
  license: v.union([v.string(), Reference]),
})

/** Lists in words what in a folder is not as the specification wants it; empty for a good crate. */
export async function crateFaults(folder: string): Promise<string[]> {
  const text = await readText(`${folder}/ro-crate-metadata.json`)
  const read = v.safeParse(Document, JSON.parse(text))
  if (!read.success) return read.issues.map(({ path, message }) => `${path?.map(({ key }) => String(key)).join('.')}: ${message}`)
  const graph: Entity[] = read.output['@graph']
  const byId = new Map(graph.map((entity) => [entity['@id'] as string, entity]))
  const faults = byId.size === graph.length ? [] : ['two entities have the same @id']
  const descriptor = byId.get('ro-crate-metadata.json')
  const root = byId.get((descriptor?.about as Entity | undefined)?.['@id'] as string)
  if (!v.is(Descriptor, descriptor)) faults.push('the metadata descriptor is wrong')
  if (!v.is(Root, root) || !typesOf(root).includes('Dataset')) faults.push('the root data entity is wrong')
  const names = await namesBelow(folder)
  const parts = new Set(referencesIn(root?.hasPart))
  for (const entity of graph.filter((one) => typesOf(one).includes('File'))) {
    const id = String(entity['@id'])
    if (!names.includes(decodeURIComponent(id))) faults.push(`${id} is no file of the folder`)
    if (!parts.has(id)) faults.push(`${id} is not a part of the root`)
  }
  // The next one is a SHOULD of the specification, but nobody could follow such a reference.
  const isKnown = (id: string) => byId.has(id) || id.startsWith('http')
  for (const entity of graph)
    for (const id of Object.values(entity).flatMap(referencesIn))
      if (!isKnown(id)) faults.push(`${entity['@id']} refers to ${id}, which is not described`)
  return faults
}

function typesOf(entity: Entity | undefined): string[] {
  return [entity?.['@type']].flat().filter((type) => typeof type === 'string')
}

function referencesIn(value: unknown): string[] {
  return [value].flat().flatMap((one) => (v.is(Reference, one) ? [one['@id']] : []))
}
