// The metadata of an exported run, as RO-Crate 1.2 wants it: flat JSON-LD, in which each entity stands once and refers to others by their ids.

import type { HashedFile } from '../../../kit/new_folder.ts'
import type { ZonedTime } from '../report/time.ts'
import type { Row } from './crate_tables.ts'

/** The specification to which the export conforms, and the context in which its names are read. */
const specification = 'https://w3id.org/ro/crate/1.2'

export type CrateFile = HashedFile & { description: string; media_type: string }

export type Crate = {
  execution: Row
  /** The rows of the record about the submissions and the devices. */
  submissions: readonly Row[]
  devices: readonly Row[]
  files: readonly CrateFile[]
  time: ZonedTime
  /** The version of benchd that exports, and when: Unix time, s. */
  version: string
  exported_at: number
}

type Entity = { '@id': string; '@type': string; [name: string]: unknown }

/** Returns the content of `ro-crate-metadata.json`. */
export function crateMetadata(crate: Crate): { '@context': string; '@graph': Entity[] } {
  const agents = agentsOf(crate)
  const devices = devicesOf(crate)
  const software = softwareOf(crate)
  const graph = [
    descriptor,
    rootOf(crate),
    ...crate.files.map(fileOf),
    runOf(crate, { agents, devices, software }),
    ...agents,
    ...devices,
    ...software,
  ]
  return { '@context': `${specification}/context`, '@graph': graph }
}

const refer = ({ '@id': id }: Pick<Entity, '@id'>) => ({ '@id': id })

const descriptor: Entity = {
  '@id': 'ro-crate-metadata.json',
  '@type': 'CreativeWork',
  about: { '@id': './' },
  conformsTo: { '@id': specification },
}

function rootOf({ execution, submissions, files, time, exported_at }: Crate): Entity {
  const { workflow_name, execution_id, run_mode, status, started_at } = execution
  const tags = submissions.flatMap(({ tags, project }) => [...(Array.isArray(tags) ? tags : []), ...(project ? [project] : [])])
  return {
    '@id': './',
    '@type': 'Dataset',
    name: `Run ${String(execution_id).slice(0, 8)} of ${workflow_name}, ${time.iso(started_at as number).slice(0, 10)}`,
    description: `The record of a ${run_mode} run of the workflow ${workflow_name} on a laboratory bench, which is ${status}: what was done when, with what, by whom, and what was measured. report.html says it for people.`,
    datePublished: new Date(exported_at * 1000).toISOString(),
    license: 'No licence was chosen. Ask the laboratory of this run before you use it.',
    identifier: String(execution_id),
    ...(tags.length > 0 && { keywords: [...new Set(tags)].map(String).join(', ') }),
    hasPart: files.map(({ name }) => ({ '@id': name })),
    mentions: { '@id': '#run' },
  }
}

function fileOf({ name, description, media_type, bytes, sha256 }: CrateFile): Entity {
  const about = { name: name.split('/').at(-1), description, encodingFormat: media_type, contentSize: String(bytes), sha256 }
  return { '@id': name, '@type': 'File', ...about }
}

type Involved = { agents: readonly Entity[]; devices: readonly Entity[]; software: readonly Entity[] }

const actionStatus: Readonly<Record<string, string>> = { COMPLETED: 'CompletedActionStatus', IN_PROGRESS: 'ActiveActionStatus' }

function runOf({ execution, files, time }: Crate, { agents, devices, software }: Involved): Entity {
  const { execution_id, workflow_name, status, reason, started_at, ended_at } = execution
  const isThere = (name: string) => files.some((file) => file.name === name)
  return {
    '@id': '#run',
    '@type': 'CreateAction',
    name: `Run ${execution_id} of ${workflow_name}`,
    startTime: time.iso(started_at as number),
    ...(typeof ended_at === 'number' && { endTime: time.iso(ended_at) }),
    actionStatus: { '@id': `http://schema.org/${actionStatus[String(status)] ?? 'FailedActionStatus'}` },
    ...(typeof reason === 'string' && { error: reason }),
    ...(agents.length > 0 && { agent: agents.map(refer) }),
    instrument: [...software, ...devices].map(refer),
    object: ['workflow.json', 'topology.json'].filter(isThere).map((name) => ({ '@id': name })),
    result: files.filter(({ name }) => !['workflow.json', 'topology.json'].includes(name)).map(({ name }) => ({ '@id': name })),
  }
}

/** The operator is a person. An API key is neither a person nor an organization, and RO-Crate has no type for it: it is a thing whose description says what is known. */
function agentsOf({ submissions }: Crate): Entity[] {
  const operators = namesIn(submissions, 'operator_id').map((name) => ({
    '@id': `#operator-${encodeURIComponent(name)}`,
    '@type': 'Person',
    name,
  }))
  const keys = namesIn(submissions, 'by').map((name) => ({
    '@id': `#key-${encodeURIComponent(name)}`,
    '@type': 'Thing',
    name,
    description: `The API key ${name}, with which the run was submitted. Whether a person or a program used it is not recorded.`,
  }))
  return [...keys, ...operators]
}

function namesIn(rows: readonly Row[], member: string): string[] {
  const names = rows.map((row) => row[member]).filter((name) => typeof name === 'string' && name !== '')
  return [...new Set(names as string[])]
}

/** A device whose identity changed stands here as it was first; the record has each. */
function devicesOf({ devices }: Crate): Entity[] {
  const first = new Map<string, Row>()
  for (const device of devices) if (!first.has(String(device.device_id))) first.set(String(device.device_id), device)
  return [...first].map(([id, { type, driver, model, serial, firmware, is_simulated }]) => ({
    '@id': `#device-${encodeURIComponent(id)}`,
    '@type': 'IndividualProduct',
    name: id,
    description: [type, `driver ${driver}`, firmware && `firmware ${firmware}`, is_simulated && 'simulated'].filter(Boolean).join(', '),
    ...(typeof model === 'string' && { model }),
    ...(typeof serial === 'string' && { serialNumber: serial }),
  }))
}

/** The versions of benchd under which the run was submitted, and the one that exports. */
function softwareOf({ submissions, version }: Crate): Entity[] {
  const versions = [...submissions.map(({ benchd }) => benchd).filter((one) => typeof one === 'string'), version]
  return [...new Set(versions as string[])].map((version) => ({
    '@id': `#benchd-${encodeURIComponent(version)}`,
    '@type': 'SoftwareApplication',
    name: 'benchd',
    version,
  }))
}
