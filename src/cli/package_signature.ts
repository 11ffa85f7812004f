// Verifies the signature beside a package with the administrator's key, which lies where only root may write. The
// programs minisign and gpg do the verification.

import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { copyOf, isOfOthers } from '../kit/copied_file.ts'
import { exists, makePrivateFolder } from '../kit/folder.ts'
import { readBytes } from '../kit/host_files.ts'
import { CliError } from './exit.ts'
import { forTerminal } from './table.ts'

/** The path of the administrator's key. */
export const publicKeyPath = '/etc/benchd/update.pub'

type Files = { key: string; signature: string; file: string; folder: string }
type Kind = {
  program: string
  debianPackage: string
  isKey(key: string): boolean
  endings: readonly string[]
  verify(files: Files): Promise<void>
}

const longestSignature = 64 * 1024

const kinds: readonly Kind[] = [
  {
    program: 'minisign',
    debianPackage: 'minisign',
    isKey: (key) => /^(untrusted comment:.*\r?\n)?RW[A-Za-z0-9+/]{54}\s*$/.test(key),
    endings: ['.minisig'],
    async verify({ key, signature, file }) {
      await run('minisign', ['-Vq', '-p', key, '-x', signature, '-m', file])
    },
  },
  {
    program: 'gpg',
    debianPackage: 'gnupg',
    isKey: (key) => key.includes('-----BEGIN PGP PUBLIC KEY BLOCK-----') || /^[\x98\x99\xc6]/.test(key),
    endings: ['.asc', '.sig', '.gpg'],
    async verify({ key, signature, file, folder }) {
      // A separate keyring, so that no other key counts.
      const home = join(folder, 'gnupg')
      await makePrivateFolder(home)
      const words = ['--homedir', home, '--batch', '--no-tty', '--status-fd', '1']
      await run('gpg', [...words, '--import', key])
      const { stdout } = await run('gpg', [...words, '--verify', signature, file])
      // gpgv also accepts an expired signature or key.
      if (!/^\[GNUPG:\] GOODSIG /m.test(stdout)) throw new Error(/^\[GNUPG:\] (\w+SIG .*)$/m.exec(stdout)?.[1] ?? 'no good signature')
    },
  },
]

/**
 * Verifies `copy`, a copy of the package `original` in the private `folder`, with the signature beside the original. Returns the
 * result for people; undefined without a key. Rejects with `failed` without a signature by that key, and with
 * `config` for an invalid key, or one that others than root can write.
 */
export async function signatureOf(original: string, copy: string, folder: string, keyPath: string): Promise<string | undefined> {
  const key = await keyIn(keyPath)
  if (key === undefined) return undefined
  const kind = kinds.find(({ isKey }) => isKey(key.toString('latin1')))
  if (!kind)
    throw new CliError('config', `${keyPath} is no public key of minisign or gpg; put the maker's key there, or take the file away`)
  const { signature, path } = await signatureBeside(original, kind, keyPath, folder)
  try {
    await kind.verify({ key: keyPath, signature: path, file: copy, folder })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new CliError('failed', `${keyPath} is a key of ${kind.program}, which is not installed: sudo apt install ${kind.debianPackage}`)
    throw new CliError(
      'failed',
      `${signature} is no signature of ${original} by the key in ${keyPath}, so it was not installed; take both again from whoever made them (${kind.program}: ${whyOf(error)})`,
      { cause: error },
    )
  }
  return `${signature} is a signature of it by the key in ${keyPath}`
}

const run = promisify(execFile)

/** Reads the key; undefined if there is none. */
async function keyIn(path: string): Promise<Buffer | undefined> {
  if (!exists(path)) return undefined
  if (await isOfOthers(path))
    throw new CliError('config', `${path} could have been put there by others: sudo chown root: ${path}; sudo chmod 644 ${path}`)
  return readBytes(path).catch((error) => {
    throw new CliError('config', error.message, { cause: error })
  })
}

async function signatureBeside(original: string, { program, endings }: Kind, keyPath: string, folder: string) {
  const signature = endings.map((ending) => original + ending).find(exists)
  if (signature === undefined) {
    const names = endings.map((ending) => basename(original) + ending).join(' or ')
    throw new CliError('failed', `${original} was not installed: ${keyPath} wants a signature by ${program}, ${names}, beside it`)
  }
  const path = join(folder, basename(signature))
  await copyOf(signature, path, longestSignature)
  return { signature, path }
}

function whyOf(error: unknown): string {
  const { stderr = '', message } = error as { stderr?: string; message: string }
  return forTerminal((stderr.trim() || message).split('\n').at(-1) ?? '')
}
