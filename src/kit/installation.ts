// The way in which benchd was installed, and the commands that repair or update it.

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Installation = {
  /** How its commands are typed: in a clone, or with npx and a tarball, `benchd` is not on the PATH unless a user has linked it. */
  command: string
  /** The Debian package, `scripts/install.sh`, npm, or a clone in which it was built. */
  by: 'package' | 'install.sh' | 'npm' | 'sources'
  /** Returns the command that makes a certificate, and replaces one with its file names. */
  makeCert(instead_of?: { cert: string; key: string }): string
  /** The script that makes a certificate. */
  cert_script: string
  /** How to reinstall if files are missing or damaged. */
  again: string
  /** How to install another version. */
  newer: string
  /** Returns how to repair a native package that does not load. */
  rebuild(native: string): string
}

const top = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
/** The packages that `build-native` compiles; others are shipped compiled. */
const compiledHere = ['epoll', 'i2c-bus']

/** Describes the installation in `folder`, by default the one that runs. The packager writes `installed` into its `package.json`. */
export function installation(folder = top): Installation {
  const { installed } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
    installed?: { by: 'package' | 'install.sh'; folder: string }
  }
  if (installed) return laidOut(installed)
  const npx = runByNpx(folder)
  const by = folder.includes('/node_modules/') ? 'npm' : 'sources'
  const again = by === 'npm' ? 'install it again: npm install --global benchd-….tgz' : `${withHeaders()}npm ci, in ${folder}`
  const here = by === 'sources' && !isOnPath() ? 'npx benchd' : 'benchd'
  return {
    command: npx ? `npx ${npx.tarball}` : here,
    by,
    makeCert: (instead_of) => `${folder}/scripts/make-cert.sh${replacing(instead_of)}`,
    cert_script: `${folder}/scripts/make-cert.sh`,
    again: npx ? `remove ${npx.kept_in}, then call npx again` : `${again}; it may want a compiler (build-essential, python3)`,
    newer: by === 'npm' ? 'npm install --global benchd-….tgz' : `npm ci && npm run build, in newer sources than those in ${folder}`,
    rebuild: (native) => `${withHeaders()}npm rebuild ${native}, in ${folder}; it wants a compiler (build-essential, python3)`,
  }
}

let known: Installation['command'] | undefined

/** Returns how commands are typed on this computer. `benchd` if its own files are missing, so that errors can still be printed. */
export function commandHere(): Installation['command'] {
  try {
    known ??= installation().command
  } catch {
    known = 'benchd'
  }
  return known
}

/** Whether `benchd` is on the user's PATH, without the folders that npm adds for its scripts. */
function isOnPath(): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder && !folder.includes('node_modules'))
  return folders.some((folder) => existsSync(join(folder, 'benchd')))
}

/** Returns the tarball as it was typed after `npx`, and npx's folder of its installation. */
function runByNpx(folder: string): { tarball: string; kept_in: string } | undefined {
  const kept_in = /^.*\/_npx\/[^/]+/.exec(folder)?.[0]
  if (!kept_in || !existsSync(`${kept_in}/package.json`)) return undefined
  const { _npx, dependencies = {} } = JSON.parse(readFileSync(`${kept_in}/package.json`, 'utf8')) as {
    _npx?: { packages?: string[] }
    dependencies?: Record<string, string>
  }
  // npm before 11 stores only the relative path from its folder to the file.
  const installed = Object.values(dependencies).find((value) => /^file:.*\.tgz$/.test(value))
  const tarball = _npx?.packages?.find((name) => name.endsWith('.tgz')) ?? (installed && asPath(join(kept_in, installed.slice(5))))
  return tarball === undefined ? undefined : { tarball: quoted(tarball), kept_in }
}

/** Returns the path from the working folder, with a leading dot, by which `npx` recognizes a file. */
function asPath(file: string): string {
  const path = relative(process.cwd(), file)
  return /^\.\.?\//.test(path) ? path : `./${path}`
}

/** Quotes a word for a shell where that is needed. */
export function quoted(word: string): string {
  return /^[\w./+:@~=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Returns the setting with which npm uses the headers beside Node instead of downloading them. */
function withHeaders(): string {
  const prefix = dirname(dirname(realpathSync(process.execPath)))
  return existsSync(`${prefix}/include/node/node_version.h`) ? `npm_config_nodedir=${prefix} ` : ''
}

function laidOut({ by, folder }: { by: 'package' | 'install.sh'; folder: string }): Installation {
  const again =
    by === 'package' ? 'sudo apt install --reinstall ./benchd_….deb, from the file it came in' : 'sudo scripts/install.sh, in the sources'
  return {
    command: 'benchd',
    by,
    makeCert: (instead_of) => `sudo ${folder}/make-cert.sh${replacing(instead_of)}`,
    cert_script: `${folder}/make-cert.sh`,
    again,
    newer: by === 'package' ? 'sudo benchd update benchd_….deb' : 'sudo scripts/install.sh, in the newer sources',
    rebuild: (native) =>
      compiledHere.includes(native)
        ? `sudo apt install g++ libnode-dev (NodeSource's nodejs has the headers itself), then: sudo ${folder}/build-native`
        : again,
  }
}

function replacing(tls: { cert: string; key: string } | undefined): string {
  if (!tls) return ''
  const folder = dirname(tls.cert)
  const isOurs = tls.cert === join(folder, 'cert.pem') && tls.key === join(folder, 'key.pem')
  return isOurs ? ` --force ${folder}` : ' FOLDER (name what it makes in listen.tls)'
}
