// The routes of the doctor, the configuration in force, and the support bundle.

import * as v from 'valibot'
import { levels } from '../care/doctor/finding.ts'
import type { Config } from '../config.ts'
import { Signature } from '../conformance/trial_file.ts'
import { described } from '../kit/described.ts'
import type { Log } from '../kit/log.ts'
import { json, type Route, routesOf } from './contract.ts'
import { apiVersion } from './version.ts'

type Rooms = { config: Config; log: Log; places: { data_dir: string; config_path: string | undefined } }

const route = routesOf<Rooms>('system')

const Finding = v.strictObject({
  check: v.string(),
  level: v.picklist(levels),
  finding: v.string(),
  fix: v.optional(described(v.string(), 'The remedy, in a sentence')),
})

export const selfCareRoutes: Route<Rooms>[] = [
  route('GET', '/api/system/doctor', {
    operation_id: 'examineSystem',
    summary: 'Check this computer, with what to do about each thing that is not well',
    description:
      'As `benchd doctor`, with the rights of the service. Changes nothing and moves nothing. Two requests at a time share one examination.',
    scope: 'admin',
    success: {
      description: 'The findings, in the order of the checks',
      schema: v.strictObject({ findings: v.array(Finding), failed: v.number(), warnings: v.number() }),
    },
    async handle({ rooms, ask }) {
      const findings = await examined(rooms, ask)
      const count = (level: string) => findings.filter((one) => one.level === level).length
      return json({ findings, failed: count('FAIL'), warnings: count('WARN') })
    },
  }),
  route('GET', '/api/system/config', {
    operation_id: 'getConfig',
    summary: 'Get the configuration in force, with every default, and without secrets',
    description: 'The file may say otherwise until a reload: `GET /api/system/changes` tells.',
    scope: 'admin',
    success: { description: 'The members of the configuration file', schema: v.record(v.string(), v.unknown()) },
    async handle({ rooms }) {
      const { hiddenSecrets } = await import('../care/bundle.ts')
      return json(hiddenSecrets(rooms.config) as object)
    },
  }),
  route('GET', '/api/system/bundle', {
    operation_id: 'fetchBundle',
    summary: 'Fetch what helps others to help, without any secret, as a .tar.gz',
    description:
      'As `benchd bundle`, but for the log of the computer: configuration, findings of the doctor, health, devices, runs, incidents, the newest events, and the wire logs of faulted devices. A README in it says what is there.',
    scope: 'admin',
    success: { description: 'The archive', media_type: 'application/gzip', headers: ['Content-Disposition'] },
    async handle({ ask }) {
      const { bundleName, packedBundle } = await import('../care/bundle.ts')
      const { adminPieces, gathered, servicePieces } = await import('../care/service_pieces.ts')
      const at = new Date()
      const missing = [{ name: 'journal.txt', why: 'run benchd bundle at the computer of the service for its log' }]
      const bundle = await gathered([...adminPieces(ask), ...(await servicePieces(ask))], missing)
      const headers = {
        'Content-Type': 'application/gzip',
        'Content-Disposition': `attachment; filename="${bundleName(at)}"`,
        'Cache-Control': 'no-store',
        'X-API-Version': apiVersion,
      }
      return new Response(await packedBundle(bundle, at), { headers })
    },
  }),
  route('POST', '/api/system/trials/signature', {
    operation_id: 'signTrial',
    summary: 'Sign the file of a trial with the key of the bench',
    description:
      'For `benchd devices certify`. The signature shows that a file is unchanged, and nothing more. The key is made at the first use, and stays in the data folder.',
    scope: 'operate',
    body: v.strictObject({ sha256: described(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), 'SHA-256 of the trial, in hex') }),
    success: { description: 'The signature of the digest as text, and the key that checks it', schema: Signature },
    errors: [400, 503],
    async handle({ rooms: { places, log }, body }) {
      const { signedDigest } = await import('../care/trial_key.ts')
      return json(await signedDigest(places.data_dir, body().sha256, ({ message }) => log.error(message)))
    },
  }),
]

/** Resolves with the body of a GET. */
type Get = (path: string) => Promise<string>
type Findings = v.InferOutput<typeof Finding>[]

/** Keyed by bench: the doctor's examination under way, which simultaneous requests share. */
const underWay = new WeakMap<Rooms['places'], Promise<Findings>>()

function examined({ places }: Rooms, ask: Get): Promise<Findings> {
  const known = underWay.get(places)
  if (known) return known
  const examination = examine(places, ask).finally(() => underWay.delete(places))
  underWay.set(places, examination)
  return examination
}

async function examine({ data_dir, config_path }: Rooms['places'], ask: Get): Promise<Findings> {
  const doctor = await import('../care/doctor/doctor.ts')
  const get = async <Answer>(path: string) => JSON.parse(await ask(path)) as Answer
  return (await doctor.examine({ config_path, data_dir, service: { is: 'answering', get } })) as Findings
}
