// The packages that a bundle or a folder holds, and their licences, each of which asks to go along with its code.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes beside a bundle which packages these outputs of rolldown hold, for the SBOM, and one text of all their licences. */
export function writeLicences(folder, outputs) {
  const modules = outputs.flatMap(({ moduleIds = [] }) => moduleIds)
  const folders = modules.map((id) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]).filter(Boolean)
  const packages = [...new Set(folders)].sort()
  writeFileSync(join(folder, 'licences.txt'), packages.map((folder) => `${titleOf(folder)}\n\n${licenceOf(folder).trim()}\n`).join('\n'))
  writeFileSync(join(folder, 'bundled.json'), `${JSON.stringify(packages.map(packageIn), undefined, 2)}\n`)
}

/** Returns name, version and licence of the package in a folder. */
export function packageIn(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, version, license }
}

/** Returns the folders of all packages in the node_modules of a folder, and in theirs. */
export function packagesBelow(folder) {
  const names = (folder) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => !name.startsWith('.'))
          .sort()
      : []
  const found = names(join(folder, 'node_modules')).flatMap((name) => {
    const its = join(folder, 'node_modules', name)
    return name.startsWith('@') ? names(its).map((inScope) => join(its, inScope)) : [its]
  })
  return found.flatMap((one) => [one, ...packagesBelow(one)])
}

/** Returns the file with the licence of the package in a folder, undefined where there is none. */
export function licenceFile(folder) {
  return readdirSync(folder).find((name) => /^(licen[cs]e|copying)/i.test(name))
}

/** Returns the text of a licence: the package's own file, or the part of its README. Throws where neither has one. */
export function licenceOf(folder) {
  const file = licenceFile(folder)
  if (file) return readFileSync(join(folder, file), 'utf8')
  const readme = readdirSync(folder).find((name) => /^readme/i.test(name))
  const [text] = /^#+ *licen[cs]e[\s\S]*/im.exec(readme ? readFileSync(join(folder, readme), 'utf8') : '') ?? []
  if (text && /permission is hereby granted|redistribution and use/i.test(text)) return text
  throw new Error(`${titleOf(folder)} has no text of its licence, neither in a file nor in its README`)
}

function titleOf(folder) {
  const { name, version } = packageIn(folder)
  return `${name} ${version}`
}
