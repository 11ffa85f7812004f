// How benchd came onto this computer, and so what to call where something of it is missing, broken or to be newer.

import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Installation = {
  /** How its commands are typed: in a clone, or where npx runs a tarball, nothing puts `benchd` on the PATH unless somebody linked it. */
  command: string
  /** The package of the computer, `scripts/install.sh`, npm, or nobody: it runs where it was built. */
  by: 'package' | 'install.sh' | 'npm' | 'sources'
  /** The command that makes a certificate, in the place of one that is there if that has the names it gives. */
  makeCert(instead_of?: { cert: string; key: string }): string
  /** The script that makes a certificate. */
  cert_script: string
  /** Says what to do where files of the installation are missing or broken. */
  again: string
  /** Says what to do to have another version. */
  newer: string
  /** Says what to do where a package with native code of that name does not load. */
  rebuild(native: string): string
}

const top = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
/** `build-native` compiles these; others come compiled. */
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

/** Says how commands are typed on this computer; looked up once. `benchd` where its own files are missing, so that an error can still be printed. */
export function commandHere(): Installation['command'] {
  try {
    known ??= installation().command
  } catch {
    known = 'benchd'
  }
  return known
}

/** Folders that npm adds for its own scripts are not on the PATH of the person who types. */
function isOnPath(): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder && !folder.includes('node_modules'))
  return folders.some((folder) => existsSync(join(folder, 'benchd')))
}

/** Returns the tarball as it was typed after `npx`, and the folder where npx keeps what it installed of it. */
function runByNpx(folder: string): { tarball: string; kept_in: string } | undefined {
  const kept_in = /^.*\/_npx\/[^/]+/.exec(folder)?.[0]
  if (!kept_in || !existsSync(`${kept_in}/package.json`)) return undefined
  const { _npx, dependencies = {} } = JSON.parse(readFileSync(`${kept_in}/package.json`, 'utf8')) as {
    _npx?: { packages?: string[] }
    dependencies?: Record<string, string>
  }
  // npm before 11 notes only the way from its folder to the file.
  const installed = Object.values(dependencies).find((value) => /^file:.*\.tgz$/.test(value))
  const tarball = _npx?.packages?.find((name) => name.endsWith('.tgz')) ?? (installed && asPath(join(kept_in, installed.slice(5))))
  return tarball === undefined ? undefined : { tarball: quoted(tarball), kept_in }
}

/** Returns the path from the working folder, which `npx` takes for a file because it begins with a dot. */
function asPath(file: string): string {
  const path = relative(process.cwd(), file)
  return /^\.\.?\//.test(path) ? path : `./${path}`
}

function quoted(word: string): string {
  return /^[\w./+:@~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Returns the setting by which npm finds the headers beside Node. Without it npm fetches headers from nodejs.org. */
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
