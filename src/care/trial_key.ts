// The key with which a bench signs the files of trials. It shows that a file is unchanged, and nothing more.

import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Signature } from '../conformance/trial_file.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'

const Key = v.strictObject({ private_key: v.nullable(v.string()) })

/** Signs a digest with the key of the bench, which is made at the first use. Rejects with `storage` if it cannot be kept. */
export async function signedDigest(data_dir: string, sha256: string, report: Report): Promise<Signature> {
  const path = join(data_dir, 'trial_key.json')
  const file = await JsonFile.open({ path, format: 1, schema: Key, empty: { private_key: null }, report, secret: true })
  const pem = file.content.private_key ?? (await made(file))
  const key = createPrivateKey(pem)
  const public_key = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  return { algorithm: 'Ed25519', public_key, value: sign(null, Buffer.from(sha256), key).toString('base64') }
}

async function made(file: JsonFile<v.InferOutput<typeof Key>>): Promise<string> {
  const private_key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  // Another request may have made it meanwhile.
  const content = await file.change((now) => (now.private_key === null ? { private_key } : now))
  return content.private_key!
}
