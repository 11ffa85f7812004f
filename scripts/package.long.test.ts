// The packages are whole: every file is there, the same commit gives the same bytes, and the tarball runs where nothing else is.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const top = fileURLToPath(new URL('../..', import.meta.url))
const { version } = JSON.parse(readFileSync(`${top}/package.json`, 'utf8')) as { version: string }
const debs = ['amd64', 'arm64', 'armhf'].map((arch) => `benchd_${version}_${arch}.deb`)
const ofLab = `benchd-lab_${version}_all.deb`
const tarball = `benchd-${version}.tgz`
const sbom = `benchd-${version}.cdx.json`
/** The npm packages that check an SBOM against the published schema. */
const validator = ['@cyclonedx/cyclonedx-library@10.3.0', 'ajv@8.20.0', 'ajv-formats@3.0.1', 'ajv-formats-draft2019@1.6.1']

test('npm run package makes four Debian packages and a tarball, the same bytes in another clone, and the tarball runs the demo', async (t) => {
  const folder = t.testdir({ all: {}, empty: { 'package.json': '{}' }, tools: { 'package.json': '{}' } })
  const call = (command: string, ...words: string[]) => execFileSync(command, words, { cwd: top, encoding: 'utf8', stdio: 'pipe' })

  call('scripts/package', '--all', '--out', `${folder}/all`)
  t.same(readdirSync(`${folder}/all`).sort(), ['SHA256SUMS', tarball, sbom, ofLab, ...debs].sort())
  const sums = readFileSync(`${folder}/all/SHA256SUMS`, 'utf8').trim().split('\n')
  t.same(
    sums.map((line) => line.split(/ +/)[1]),
    [...debs, ofLab, tarball, sbom],
  )
  execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: `${folder}/all`, stdio: 'pipe' })

  // A clone at another path, with packages of its own, in which nothing is compiled yet for arm64, and made by somebody with stricter rights.
  // The clone makes only the package for arm64, because compiling and compressing take minutes for each processor.
  const clone = `${folder}/clone of another`
  call('git', 'clone', '--quiet', '--no-hardlinks', top, clone)
  execFileSync('sh', [
    '-c',
    'umask 077 && cp -R "$0/dist" "$1/" && cp -R "$0/node_modules" "$1/" && rm -rf "$1"/node_modules/.cache/benchd/native-arm64-*',
    top,
    clone,
  ])
  execFileSync('scripts/package', ['--all', '--arch', 'arm64', '--out', 'packages'], {
    cwd: clone,
    stdio: 'pipe',
    env: { ...process.env, npm_config_prefer_offline: 'true' },
  })
  t.equal(execFileSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' }), '', 'no file in the tree is left over')
  for (const file of [debs[1]!, ofLab, tarball])
    t.ok(readFileSync(`${folder}/all/${file}`).equals(readFileSync(`${clone}/packages/${file}`)), `${file} has the same bytes`)
  t.ok(existsSync(`${clone}/packages/${sbom}`))
  rmSync(clone, { recursive: true })

  const laidOut = new Map([...debs, ofLab, tarball].map((file) => [file, unpacked(`${folder}/all/${file}`, `${folder}/laid-out/${file}`)]))
  for (const [file, lib] of laidOut) everyPackageHasItsLicence(t, file, lib)
  modulesAreThere(t, laidOut)
  await sbomIsRight(t, `${folder}/all/${sbom}`, laidOut)

  const doc = `${folder}/laid-out/${debs[0]}/usr/share/doc/benchd`
  const guides = readdirSync(doc, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'))
  t.ok(guides.includes('src/workflow/README.md'))
  for (const guide of guides)
    for (const [, link = ''] of readFileSync(join(doc, guide), 'utf8').matchAll(/\]\((?!https?:)([^)#]+\.md)[)#]/g))
      t.ok(existsSync(join(doc, dirname(guide), link)), `${guide} leads to ${link}`)

  const { PATH = '', npm_config_cache } = process.env
  const env = { PATH, HOME: `${folder}/empty`, CI: 'true', ...(npm_config_cache && { npm_config_cache }) }
  // npx takes a path that begins with a slash for a program, and looks for one with a dot from the folder of the next package.json on.
  copyFileSync(`${folder}/all/${tarball}`, `${folder}/empty/${tarball}`)
  const demo = spawn('npx', ['--yes', `./${tarball}`, 'demo', '--port', '0'], {
    cwd: env.HOME,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  t.teardown(() => process.kill(-demo.pid!, 'SIGKILL'))
  for await (const line of createInterface({ input: demo.stdout })) {
    const [, url] = /^ +API +(http:\/\/[\d.:]+)/.exec(line) ?? []
    if (url) t.equal((await fetch(`${url}/docs`)).status, 200)
    const [, typed] = /^ +(.*benchd.*) runs simulate/.exec(line) ?? []
    if (typed === undefined) continue
    t.equal(typed, `npx ./${tarball}`, 'commands are named as they work')
    const { stdout } = spawnSync('sh', ['-c', `${typed} version`], { cwd: env.HOME, env, encoding: 'utf8' })
    t.equal(stdout, `${version}\n`)
    return
  }
  t.fail('the demo has ended')
})

/** Lays a package or the tarball out, and returns the folder that has its node_modules and its bundle. */
function unpacked(file: string, folder: string): string {
  mkdirSync(folder, { recursive: true })
  if (file.endsWith('.deb')) execFileSync('dpkg-deb', ['-x', file, folder])
  else execFileSync('tar', ['-xzf', file, '-C', folder])
  return `${folder}/${file.endsWith('.deb') ? 'usr/lib/benchd' : 'package'}`
}

function filesBelow(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
}

/** The folders of npm packages below one, found by their package.json: others lie deeper in a package. */
function packagesBelow(lib: string): string[] {
  const files = filesBelow(`${lib}/node_modules`).map((path) => `node_modules/${path}`)
  return files.filter((path) => /node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(path)).map(dirname)
}

function everyPackageHasItsLicence(t: Test, file: string, lib: string): void {
  for (const folder of packagesBelow(lib)) {
    const licence = readdirSync(`${lib}/${folder}`).find((name) => /^(licen[cs]e|copying)/i.test(name))
    const text = licence ? readFileSync(`${lib}/${folder}/${licence}`, 'utf8') : ''
    if (text.length < 200) t.fail(`${file}: ${folder} has no licence`)
  }
  for (const bundle of ['dist/bundle', 'dist/web'].filter((path) => existsSync(`${lib}/${path}`))) {
    const titles = readFileSync(`${lib}/${bundle}/licences.txt`, 'utf8').match(/^\S+ \d+\.\d+\.\d+\S*$/gm)
    t.same(
      titles,
      bundledIn(lib, bundle).map(({ name, version }) => `${name} ${version}`),
      `${file}: ${bundle}`,
    )
  }
}

type Bundled = { name: string; version: string }
function bundledIn(lib: string, bundle: string): Bundled[] {
  const file = `${lib}/${bundle}/bundled.json`
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Bundled[]) : []
}

/** The modules of epoll and i2c-bus for each Node, and that those for this processor load in the Node that runs this. */
function modulesAreThere(t: Test, laidOut: Map<string, string>): void {
  for (const [index, [arch, abis]] of [
    ['x64', [115, 127, 137, 147]],
    ['arm64', [115, 127, 137, 147]],
    ['arm', [115]],
  ].entries() as unknown as [number, [string, number[]]][]) {
    const lib = laidOut.get(debs[index]!)!
    const wanted = abis.flatMap((abi) =>
      ['epoll/lib/binding/X/epoll.node', 'i2c-bus/lib/binding/X/i2c.node'].map((path) => path.replace('X', `node-v${abi}-linux-${arch}`)),
    )
    t.same(
      filesBelow(`${lib}/node_modules`)
        .filter((path) => /^(epoll|i2c-bus).*\.node$/.test(path))
        .sort(),
      wanted.sort(),
      debs[index]!,
    )
    if (process.arch === arch)
      execFileSync(process.execPath, ['-e', 'require("epoll"); require("i2c-bus"); require("serialport")'], { cwd: lib })
  }
}

/** Valid by the schema; of each file it names all npm packages and modules, and nothing else. */
async function sbomIsRight(t: Test, file: string, laidOut: Map<string, string>): Promise<void> {
  type Bom = { components: { 'bom-ref': string; type: string; purl?: string }[]; dependencies: { ref: string; dependsOn?: string[] }[] }
  const text = readFileSync(file, 'utf8')
  const bom = JSON.parse(text) as Bom
  for (const [name, lib] of laidOut) {
    const inModules = packagesBelow(lib).map((folder) => JSON.parse(readFileSync(`${lib}/${folder}/package.json`, 'utf8')) as Bundled)
    const packages = [...inModules, ...['dist/bundle', 'dist/web'].flatMap((bundle) => bundledIn(lib, bundle))]
    const modules = filesBelow(`${lib}/node_modules`).filter((path) => path.endsWith('.node'))
    const wanted = [...packages.map(({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`), ...modules]
    t.same(bom.dependencies.find(({ ref }) => ref === name)?.dependsOn, [...new Set(wanted)].sort(), `the SBOM lists what ${name} holds`)
  }
  const shipped = new Set(bom.dependencies.flatMap(({ dependsOn = [] }) => dependsOn))
  t.same(
    bom.components.map((one) => one['bom-ref']).filter((ref) => !shipped.has(ref)),
    [],
    'nothing is listed that does not ship',
  )

  const tools = join(dirname(dirname(file)), 'tools')
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', tools, ...validator], { stdio: 'pipe' })
  const check = `
    const { Spec, Validation } = require('@cyclonedx/cyclonedx-library')
    new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(require('fs').readFileSync(0, 'utf8')).then((error) => console.log(JSON.stringify(error)))`
  const validate = (input: string) => execFileSync(process.execPath, ['-e', check], { cwd: tools, input, encoding: 'utf8' }).trim()
  t.equal(validate(text), 'null', 'the SBOM is valid')
  t.not(validate(text.replace('"library"', '"book"')), 'null', 'the validator finds a fault')
}
