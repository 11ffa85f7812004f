// Finds the file of a plug-in: by its path, by its name in the folder of plug-ins, or as an npm package.

import { dirname, isAbsolute, join, resolve } from 'node:path'
import { LabError } from '../errors.ts'
import { readText } from '../kit/disk.ts'
import { isFile } from '../kit/folder.ts'
import { importedPaths } from '../kit/modules.ts'
import { mustBeTrusted } from '../kit/trusted_folder.ts'

const extensions = ['.ts', '.js', '.mjs']
const isPath = (module: string) => /^\.{0,2}\//.test(module) || extensions.some((extension) => module.endsWith(extension))

type Entry = { name: string; module?: string | undefined }

/**
 * Resolves with the path of the file of a plug-in, which may be run with all files that it imports by relative paths. `config_path` is the configuration, beside which the folder `plugins` lies. Rejects with `config` if there is
 * none, or if other users could change it.
 */
export async function placeOf({ name, module }: Entry, config_path: string | undefined): Promise<string> {
  const path = await found({ name, module }, config_path === undefined ? undefined : dirname(config_path))
  await mustBeTrusted(path)
  // Their code runs with the same rights.
  for (const imported of await importedPaths(path)) await mustBeTrusted(imported)
  return path
}

async function found({ name, module }: Entry, folder: string | undefined): Promise<string> {
  if (module !== undefined && isAbsolute(module)) return existing([module])
  if (folder === undefined)
    throw new LabError('config', `the plug-in ${name} has no absolute path, and there is no configuration file whose folder it could be in`)
  if (module === undefined) return existing(extensions.map((extension) => join(folder, 'plugins', `${name}${extension}`)))
  if (isPath(module)) return existing([resolve(folder, module)])
  return packageFile(module, join(folder, 'plugins'))
}

function existing(paths: readonly string[]): string {
  const path = paths.find(isFile)
  if (path) return path
  throw new LabError('config', `there is no file ${paths.join(' nor ')}; put it there, or name another in "module"`)
}

/** Resolves with the file of an npm package that is installed in the folder or above it. */
async function packageFile(name: string, folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    const top = join(at, 'node_modules', name)
    if (isFile(join(top, 'package.json'))) return entryOf(top)
    if (at === dirname(at)) break
  }
  const install = `sudo npm install --ignore-scripts --prefix ${folder} ${name}`
  throw new LabError('config', `there is no npm package ${name} in ${folder}; install it: ${install}`)
}

/** Resolves with the file that `import` of a package loads. */
async function entryOf(top: string): Promise<string> {
  const { exports, main } = JSON.parse(await readText(join(top, 'package.json'))) as { exports?: unknown; main?: string }
  const root = Object(exports)['.'] ?? exports
  const paths = [conditional(root), main, 'index.js'].flatMap((path) => (typeof path === 'string' ? [join(top, path)] : []))
  return existing(paths)
}

function conditional(target: unknown): unknown {
  if (typeof target !== 'object' || target === null) return target
  for (const [condition, value] of Object.entries(target)) if (['node', 'import', 'default'].includes(condition)) return conditional(value)
  return undefined
}
