// The certificate of the service and its key, read and held against each other.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { LabError, messageOf } from '../errors.ts'
import { readError } from '../kit/durable.ts'
import { installation } from '../kit/installation.ts'

type Paths = { cert: string; key: string }
export type Certificate = { cert: string; key: string; fingerprint: string; valid_to: string }

/** The certificate and its key, as text, with what people compare it by and when it ends. Throws `config`. */
export async function readTls(paths: Paths): Promise<Certificate> {
  const read = async (path: string) => {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      throw readError(`listen.tls: ${path}`, error, 'config')
    }
  }
  const pair = { cert: await read(paths.cert), key: await read(paths.key) }
  return { ...pair, ...mustFit(pair, paths) }
}

function mustFit({ cert, key }: Paths, paths: Paths): { fingerprint: string; valid_to: string } {
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('it is not of this key')
    // OpenSSL says only here which certificates and keys it takes for too weak.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
    return { fingerprint: certificate.fingerprint256, valid_to: certificate.validTo }
  } catch (error) {
    const sentence = `listen.tls: ${paths.cert} and its key are not right: ${messageOf(error)}; make new ones: ${installation().makeCert(paths)}`
    throw new LabError('config', sentence, { cause: error })
  }
}
