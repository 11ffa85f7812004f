// The licences of the packages that a bundle holds: each asks to go along with its code.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns one text of the licences of all packages from which these chunks of rolldown were made. */
export function licences(chunks) {
  const modules = chunks.flatMap(({ moduleIds = [] }) => moduleIds)
  const folders = modules.map((id) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]).filter(Boolean)
  return [...new Set(folders)].sort().map(licence).join('\n')
}

function licence(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path))
  if (!file) throw new Error(`${name} has no file with its licence`)
  return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
