// The file of a trial: what a person saw of an instrument under its driver, step by step, with the bytes on the wire. Its signature shows that it is unchanged, and
// nothing more.

import { createHash, createPublicKey, verify } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { readText } from '../kit/files.ts'
import { parseJson } from '../kit/json.ts'
import { checked } from '../kit/schema.ts'

const Text = v.nullable(v.string())
const Direction = v.picklist(['to_device', 'to_host'])

export const Frame = v.strictObject({ at: v.number(), direction: Direction, hex: v.pipe(v.string(), v.regex(/^([0-9a-f]{2})*$/)) })
export type Frame = v.InferOutput<typeof Frame>

const results = ['pass', 'fail', 'deviation', 'skipped'] as const

const Step = v.strictObject({
  name: v.string(),
  operation: v.optional(Text, null),
  params: v.optional(v.record(v.string(), v.unknown()), {}),
  result: v.picklist(results),
  /** The answer of the bench, or the sentence of a refusal. */
  said: v.optional(Text, null),
  /** The words of the person. */
  note: v.optional(Text, null),
  seconds: v.number(),
  /** The forms of frames that the instrument sent, and its simulator does not. */
  unlike_simulator: v.optional(v.array(v.string()), []),
})
export type Step = v.InferOutput<typeof Step>

const Trial = v.strictObject({
  format: v.literal(1),
  kind: v.literal('trial'),
  simulated: v.boolean(),
  device: v.strictObject({ type: v.string(), driver: v.string(), driver_source: v.string(), settings: v.record(v.string(), v.unknown()) }),
  instrument: v.strictObject({ model: Text, serial_number: Text, firmware_version: Text }),
  benchd: v.string(),
  began: v.string(),
  ended: v.string(),
  /** The step at which a person ended the trial; null if all steps were done. */
  ended_at: Text,
  steps: v.array(Step),
  wire: v.array(Frame),
})
export type Trial = v.InferOutput<typeof Trial>

export const Signature = v.strictObject({
  algorithm: v.literal('Ed25519'),
  /** SPKI, PEM. */
  public_key: v.string(),
  value: v.string(),
})
export type Signature = v.InferOutput<typeof Signature>

export const TrialFile = v.strictObject({ trial: Trial, signature: Signature })
export type TrialFile = v.InferOutput<typeof TrialFile>

/** Returns the SHA-256 that is signed. */
export function digestOf(trial: Trial): string {
  return createHash('sha256').update(JSON.stringify(trial)).digest('hex')
}

/** Whether the file is as it was signed. */
export function isUnchanged({ trial, signature }: TrialFile): boolean {
  try {
    return verify(null, Buffer.from(digestOf(trial)), createPublicKey(signature.public_key), Buffer.from(signature.value, 'base64'))
  } catch {
    return false
  }
}

/** Reads the file of a trial. Throws `invalid` for another file; does not look at the signature. */
export async function readTrial(path: string): Promise<TrialFile> {
  const input = parseJson(await readText(path), path)
  const file = checked(TrialFile, input, path)
  // The digest is that of the members as they are written, not of the defaults that were put in.
  return { ...file, trial: (input as TrialFile).trial }
}

/** Throws `invalid` for a file that was changed since it was signed. */
export function mustBeUnchanged(file: TrialFile, path: string): void {
  if (!isUnchanged(file)) throw new LabError('invalid', `${path} was changed since it was signed; take the file as it was written`)
}

/** Words which instruments a driver was tried on, from the files of its trials that count; '' without such. */
export function triedOn(files: readonly TrialFile[]): string {
  const counted = files.filter((file) => isUnchanged(file) && !file.trial.simulated && file.trial.ended_at === null)
  if (counted.length === 0) return ''
  const instruments = new Set(counted.map(({ trial: { instrument }, signature }) => instrument.serial_number ?? signature.public_key))
  const firmware = [...new Set(counted.flatMap(({ trial }) => trial.instrument.firmware_version ?? []))].sort()
  return `${instruments.size} ${instruments.size === 1 ? 'instrument' : 'instruments'}${firmware.length > 0 ? `, firmware ${firmware.join(', ')}` : ''}`
}
