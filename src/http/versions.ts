// The routes of the versions of workflows and topologies.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { type Versioned, VersionInfo } from '../workflow/version.ts'
import { Difference, differenceOf, differenceOfVersions } from '../workflow/version_diff.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'
import { Numeral } from './numeral.ts'
import { summaryOf, VersionNote, WorkflowSummary } from './workflows.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('workflows')

const longest = 1024 * 1024
const VersionNumber = Numeral(/^[1-9]\d{0,8}$/, 'it must be the number of a version: 1, 2, 3, …')
const WholeVersion = v.strictObject({
  ...VersionInfo.entries,
  document: described(v.record(v.string(), v.unknown()), 'As it came; code as its source text'),
  text: described(v.nullable(v.string()), 'The text of its TypeScript file; null for JSON'),
  helpers: described(v.record(v.string(), v.string()), 'The files that it imports, with their SHA-256; their texts are not kept'),
})

const Compared = v.strictObject({
  name: v.string(),
  from: described(v.nullable(v.number()), 'A version; null for the present document'),
  to: described(v.nullable(v.number()), 'A version; null for the document of the request'),
  ...Difference.entries,
})

const words = {
  workflow: { path: '/api/workflows/:workflow_name', param: 'workflow_name', id: 'Workflow' },
  topology: { path: '/api/topologies/:topology_name', param: 'topology_name', id: 'Topology' },
} as const

type Asked = { rooms: Rooms; param(name: string): string }

export const versionRoutes: Route<Rooms>[] = [...routesFor('workflow'), ...routesFor('topology'), restoreWorkflow(), restoreTopology()]

function routesFor(of: Versioned): Route<Rooms>[] {
  const { path, id } = words[of]
  return [
    route('GET', `${path}/versions`, {
      operation_id: `list${id}Versions`,
      summary: `List the versions of a ${of}, also of one that was deleted`,
      description:
        'The newest first: the newest hundred, and each that a record or an open run names. An example of the program has versions once a run of it began.',
      scope: 'read',
      success: { description: 'The versions', schema: v.strictObject({ name: v.string(), versions: v.array(VersionInfo) }) },
      errors: [404],
      handle(asked) {
        const name = nameIn(of, asked)
        return json({ name, versions: asked.rooms.runs.catalog.versions.list(of, name) })
      },
    }),
    route('GET', `${path}/versions/:version`, {
      operation_id: `get${id}Version`,
      summary: `Get a version of a ${of} with its document`,
      scope: 'read',
      success: { description: 'The version', schema: WholeVersion },
      errors: [400, 404],
      async handle(asked) {
        const { info, kept } = await asked.rooms.runs.catalog.versions.read(of, nameIn(of, asked), numberIn(asked))
        return json({ ...info, document: kept.document, text: kept.text ?? null, helpers: kept.helpers ?? {} })
      },
    }),
    route('GET', `${path}/diff`, {
      operation_id: `compare${id}Versions`,
      summary: `Say in words how two versions of a ${of} differ`,
      description:
        'By what the documents mean: the order of members, comments and defaults that are written out do not count, and lists are compared by their items.',
      scope: 'read',
      query: v.object({
        from: v.optional(described(VersionNumber, 'The earlier version; by default the one before `to`')),
        to: v.optional(described(VersionNumber, 'The later version; by default the newest')),
      }),
      success: { description: 'The differences', schema: Compared },
      errors: [400, 404, 409],
      async handle(asked) {
        const name = nameIn(of, asked)
        const { versions } = asked.rooms.runs.catalog
        return json({ name, ...(await differenceOfVersions(versions, of, name, asked.query())) })
      },
    }),
    route('POST', `${path}/diff`, {
      operation_id: `compare${id}Document`,
      summary: `Say in words how a document differs from the present one of a ${of}, before it is put`,
      scope: 'read',
      is_unrecorded: true,
      body: described(v.record(v.string(), v.unknown()), `A ${of} in its JSON form. It is only compared, and not checked`),
      body_limit: longest,
      success: { description: 'The differences', schema: Compared },
      errors: [400, 404],
      handle(asked) {
        const name = nameIn(of, asked)
        const present = asked.rooms.runs.catalog.present(of, name)
        if (!present) throw new LabError('not_found', `there is no ${of} ${name} now; put it, or compare two of its versions`)
        return json({ name, from: null, to: null, ...differenceOf(of, present, { document: asked.body() }) })
      },
    }),
  ]
}

function restoreWorkflow(): Route<Rooms> {
  return route('POST', `${words.workflow.path}/versions/:version/restore`, {
    operation_id: 'restoreWorkflowVersion',
    summary: 'Put the document of a version again, as a new version',
    description:
      'Also of a workflow that was deleted. It is checked as an upload: a version that no longer fits its topology is refused, with the place. A file of the topologies folder is changed there.',
    scope: 'admin',
    body: v.strictObject({ note: v.optional(VersionNote) }),
    body_may_be_empty: true,
    success: { description: 'The workflow as it is now', schema: WorkflowSummary },
    errors: [400, 404, 409, 503],
    async handle(asked) {
      const { note } = asked.body()
      const author = { ...authorOf(asked.c), ...(note !== undefined && { note }) }
      const { workflow } = await asked.rooms.runs.catalog.restoreVersion(nameIn('workflow', asked), numberIn(asked), author)
      return json(summaryOf(asked.rooms, workflow))
    },
  })
}

function restoreTopology(): Route<Rooms> {
  return route('POST', `${words.topology.path}/versions/:version/restore`, {
    operation_id: 'restoreTopologyVersion',
    summary: 'Say which file to change to go back to a version of a topology',
    description:
      'A topology comes from a file of the topologies folder, which the service does not write: the answer is always a conflict that names the file.',
    scope: 'admin',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'Never answered', schema: v.strictObject({}) },
    errors: [400, 404, 409],
    async handle(asked): Promise<Response> {
      asked.body()
      const [name, version] = [nameIn('topology', asked), numberIn(asked)]
      const { catalog } = asked.rooms.runs
      await catalog.versions.read('topology', name, version)
      const file = catalog.present('topology', name)?.file
      const where =
        file === undefined
          ? `topology ${name} comes with the program`
          : `topology ${name} is from the file ${file} of the topologies folder, which the service does not write`
      const what = `copy the document of /api/topologies/${name}/versions/${version} into ${file ?? 'a file of the topologies folder, under another name'}, and reload (POST /api/system/reload)`
      throw new LabError('conflict', `${where}: ${what}`)
    },
  })
}

/** Returns the name in the path. Throws `not_found` if there is nothing of that name, and never was. */
function nameIn(of: Versioned, { rooms, param }: Asked): string {
  const name = param(words[of].param)
  const { library } = rooms.runs.runtime
  const known: ReadonlyMap<string, unknown> = of === 'workflow' ? library.workflows : library.topologies
  if (known.has(name) || rooms.runs.catalog.versions.has(of, name)) return name
  throw new LabError(
    'not_found',
    `there is no ${of} ${JSON.stringify(name)}, and no version of one${didYouMeanAmong(name, [...known.keys()])}`,
  )
}

function numberIn({ param }: Asked): number {
  const checked = v.safeParse(VersionNumber, param('version'))
  if (checked.success) return checked.output
  throw new LabError('invalid', `version ${param('version').slice(0, 32)}: ${checked.issues[0].message}`)
}
