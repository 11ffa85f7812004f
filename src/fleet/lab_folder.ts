// The folder from which a lab's broker is set up: its configuration, its certificate, and a key for each client. `lab.json` says what is in it,
// and everything but the secret keys can be made from it again.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'
import type { FleetConfig } from '../config/fleet.ts'
import { LabError, messageOf } from '../errors.ts'
import { Whole } from '../kit/described.ts'
import { createSynced } from '../kit/durable.ts'
import { readText } from '../kit/files.ts'
import { exists } from '../kit/folder.ts'
import { installation } from '../kit/installation.ts'
import { indented } from '../kit/json.ts'
import { Id } from '../kit/name.ts'
import { judged } from '../kit/schema.ts'
import { eventStream, eventSubject } from './outbox.ts'
import { benchBucket } from './presence.ts'
import { newKey, type Place } from './wire.ts'

const PublicKey = v.pipe(v.string(), v.regex(/^U[A-Z2-7]{55}$/, 'it must be the public part of a key'))

const LabFile = v.strictObject({
  format: v.literal(1),
  name: Id,
  /** The broker, as the benches reach it. */
  host: v.pipe(v.string(), v.nonEmpty()),
  port: Whole(1, 65535),
  /** The folder of its streams. */
  store: v.pipe(v.string(), v.nonEmpty()),
  benches: v.record(Id, PublicKey),
  /** Clients that are no benches. */
  others: v.strictObject({ reader: PublicKey, admin: PublicKey }),
})
type LabFile = v.InferOutput<typeof LabFile>

const labFile = 'lab.json'
const brokerFile = 'nats.conf'
const certificateFile = 'tls/cert.pem'
const keyFile = (name: string) => `keys/${name}.seed`

/** Reads the folder. Rejects with `not_found` or `config`. */
export async function readLab(folder: string): Promise<LabFile> {
  const path = join(folder, labFile)
  if (!exists(path))
    throw new LabError('not_found', `${folder} is no folder of a lab; make one: benchd lab init ${folder} --name floor-2 --bench NAME`)
  let content: unknown
  try {
    content = JSON.parse(await readText(path))
  } catch (error) {
    throw new LabError('config', `${path} is no JSON; put a copy of it in its place`, { cause: error })
  }
  const file = judged(LabFile, content)
  if ('output' in file) return file.output
  throw new LabError('config', `${path}: ${file.mistakes.join('; ')}`)
}

/** Makes the certificate of the broker for its name, unless there is one. Rejects with `config`. */
export async function makeCertificate(folder: string, host: string): Promise<void> {
  if (exists(join(folder, certificateFile))) return
  const { cert_script } = installation()
  try {
    await promisify(execFile)(cert_script, [join(folder, 'tls')], { env: { ...process.env, BENCHD_CERT_NAMES: host } })
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim()
    throw new LabError('config', `the certificate of the broker was not made: ${said || messageOf(error)}`, { cause: error })
  }
}

type NewLab = { name: string; host: string; port: number; store: string }

/**
 * Makes a lab, or adds benches to an existing one; existing keys stay. Returns the new benches. Rejects with `storage`, and
 * with `invalid` for names that are not allowed.
 */
export async function makeLab(
  folder: string,
  benches: readonly string[],
  wanted: NewLab | undefined,
): Promise<{ lab: LabFile; added: string[] }> {
  const before = wanted ? undefined : await readLab(folder)
  const wrong = benches.find((name) => ['reader', 'admin'].includes(name) || !v.is(Id, name))
  if (wrong !== undefined)
    throw new LabError(
      'invalid',
      `a bench cannot be called ${JSON.stringify(wrong)}; take letters, digits, - and _, but not reader or admin`,
    )
  const taken = Object.keys(before?.benches ?? {})
  const added = benches.filter((name) => !taken.includes(name))
  const others = before?.others ?? { reader: await writtenKey(folder, 'reader'), admin: await writtenKey(folder, 'admin') }
  const lab: LabFile = { format: 1, ...(before ?? wanted!), others, benches: { ...before?.benches } }
  for (const name of added) lab.benches[name] = await writtenKey(folder, name)
  const write = (name: string, text: string) => createSynced(join(folder, name), text, { mode: name === brokerFile ? 0o644 : 0o600 })
  await write(labFile, indented(lab))
  await write(brokerFile, brokerConfig(lab, folder))
  for (const name of added) await write(`benches/${name}.json`, indented({ fleet: fleetOf(lab, name) }))
  return { lab, added }
}

/** Returns the address and the credentials of a client of the folder. */
export function placeIn(folder: string, lab: LabFile, client: 'reader' | 'admin'): Place {
  return { servers: [addressOf(lab)], name: client, credentials: join(folder, keyFile(client)), ca: join(folder, certificateFile) }
}

/** Returns the `fleet` setting of a bench, for a key and a certificate that are copied into its folder. */
function fleetOf(lab: LabFile, name: string): FleetConfig {
  const its = '/etc/benchd/fleet'
  return { servers: [addressOf(lab)], lab: lab.name, name, credentials: `${its}/${name}.seed`, ca: `${its}/cert.pem` }
}

function addressOf({ host, port }: LabFile): string {
  return `tls://${host}:${port}`
}

async function writtenKey(folder: string, name: string): Promise<string> {
  const { secret, public_key } = newKey()
  await createSynced(join(folder, keyFile(name)), `${secret}\n`, { mode: 0o600, isNew: true })
  return public_key
}

/** Writes the configuration of the NATS server: TLS only, and the least rights for each client. */
function brokerConfig({ name, port, store, benches, others }: LabFile, folder: string): string {
  const users = [
    ...Object.entries(benches).map(([bench, nkey]) => user(bench, nkey, mayBench(name, bench))),
    user('reader', others.reader, mayReader),
    user('admin', others.admin, ['>']),
  ]
  return `# The broker of the lab ${name}, written by benchd lab init; a next one writes it anew.
server_name: ${JSON.stringify(name)}
listen: "0.0.0.0:${port}"
jetstream { store_dir: ${JSON.stringify(store)} }
tls {
  cert_file: ${JSON.stringify(join(folder, 'tls/cert.pem'))}
  key_file: ${JSON.stringify(join(folder, 'tls/key.pem'))}
  # A handshake may take so many seconds, as on computers that are busy: all benches come back at once after a power cut.
  timeout: 10
}
authorization {
  users = [
${users.join('\n')}
  ]
}
`
}

function user(name: string, nkey: string, publish: readonly string[]): string {
  const subscribe = name === 'admin' ? ['>'] : [`_INBOX_${name}.>`, `$KV.${benchBucket}.*`]
  return `    # ${name}
    { nkey: ${nkey}, permissions: { publish: ${JSON.stringify(publish)}, subscribe: ${JSON.stringify(subscribe)} } }`
}

function mayBench(lab: string, bench: string): string[] {
  const subject = eventSubject(lab, bench)
  return [subject, `$JS.API.DIRECT.GET.${eventStream}.${subject}`, `$KV.${benchBucket}.${bench}`, ...mayReadBenches]
}

const mayReadBenches = [`$JS.API.STREAM.INFO.KV_${benchBucket}`, `$JS.API.DIRECT.GET.KV_${benchBucket}.$KV.${benchBucket}.*`]
const mayReader = [
  ...mayReadBenches,
  `$JS.API.STREAM.INFO.${eventStream}`,
  `$JS.API.DIRECT.GET.${eventStream}`,
  `$JS.API.CONSUMER.*.${eventStream}`,
  `$JS.API.CONSUMER.*.${eventStream}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${eventStream}.>`,
]
