#!/usr/bin/env node
// Writes the SBOM (CycloneDX 1.6) of what is handed out: which npm packages and compiled modules each file holds. It looks into the files
// themselves. `npm sbom` would describe node_modules, with all that only the build needs.
//
//   scripts/sbom.mjs FOLDER     FOLDER has the packages and the tarball; prints the path. $SOURCE_DATE_EPOCH is its time
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageIn, packagesBelow } from './licences.mjs'

const [folder] = process.argv.slice(2)
const top = fileURLToPath(new URL('..', import.meta.url))
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { version, license } = read(join(top, 'package.json'))
/** The checksum of each package as npm fetched it, from the lock. */
const checksums = new Map(
  Object.entries(read(join(top, 'package-lock.json')).packages).map(([path, { version, integrity }]) => [
    `${path.replace(/.*node_modules\//, '')}@${version}`,
    integrity,
  ]),
)
const self = `benchd@${version}`
/** By their references. */
const components = new Map()
const dependencies = []

const names = readdirSync(folder).filter((name) => name.includes(`_${version}_`) || name === `benchd-${version}.tgz`)
for (const name of names.sort()) {
  const work = mkdtempSync(join(tmpdir(), 'benchd-sbom-'))
  try {
    if (name.endsWith('.deb')) execFileSync('dpkg-deb', ['-x', join(folder, name), work])
    else execFileSync('tar', ['-xzf', join(folder, name), '-C', work])
    const lib = name.endsWith('.deb') ? join(work, 'usr/lib/benchd') : join(work, 'package')
    add({ 'bom-ref': name, type: 'file', name, hashes: [sha256(join(folder, name))] })
    dependencies.push({ ref: name, dependsOn: [...new Set([...packagesIn(lib), ...modulesIn(lib)])].sort() })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const file = join(folder, `benchd-${version}.cdx.json`)
const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString(),
    component: { 'bom-ref': self, type: 'application', name: 'benchd', version, licenses: licensesOf(license) },
  },
  components: [...components.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  dependencies: [{ ref: self, dependsOn: names }, ...dependencies],
}
writeFileSync(file, `${JSON.stringify(bom, undefined, 2)}\n`)
console.log(file)

/** The npm packages that lie there, and those in the bundles; their references. */
function packagesIn(lib) {
  const bundled = ['dist/bundle', 'dist/web'].map((path) => join(lib, path, 'bundled.json')).filter((path) => existsSync(path))
  return [...packagesBelow(lib).map(packageIn), ...bundled.flatMap(read)].map(({ name, version, license }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const [group, inGroup] = name.startsWith('@') ? name.split('/') : [undefined, name]
    const integrity = checksums.get(`${name}@${version}`)
    return add({
      'bom-ref': purl,
      type: 'library',
      ...(group && { group }),
      name: inGroup,
      version,
      ...(integrity?.startsWith('sha512-') && {
        hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }],
      }),
      licenses: licensesOf(license),
      purl,
    })
  })
}

/** The compiled modules. */
function modulesIn(lib) {
  const files = existsSync(join(lib, 'node_modules')) ? readdirSync(join(lib, 'node_modules'), { recursive: true }) : []
  return files
    .filter((path) => path.endsWith('.node'))
    .map((path) =>
      add({
        'bom-ref': path,
        type: 'file',
        name: basename(path),
        description: `node_modules/${path}`,
        hashes: [sha256(join(lib, 'node_modules', path))],
      }),
    )
}

function add(component) {
  components.set(component['bom-ref'], component)
  return component['bom-ref']
}

function licensesOf(license) {
  return [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }]
}

function sha256(path) {
  return { alg: 'SHA-256', content: createHash('sha256').update(readFileSync(path)).digest('hex') }
}
