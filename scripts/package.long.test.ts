// The packages are whole: every file is there, the same commit gives the same bytes, and the tarball runs where nothing else is.

import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const top = fileURLToPath(new URL('../..', import.meta.url))
const { version } = JSON.parse(readFileSync(`${top}/package.json`, 'utf8')) as { version: string }
const debs = ['amd64', 'arm64', 'armhf'].map((arch) => `benchd_${version}_${arch}.deb`)
const ofLab = `benchd-lab_${version}_all.deb`
const tarball = `benchd-${version}.tgz`

test('npm run package makes four Debian packages and a tarball, the same bytes each time, and the tarball runs the demo', async (t) => {
  const folder = t.testdir({ all: {}, again: {}, empty: { 'package.json': '{}' } })
  const call = (command: string, ...words: string[]) => execFileSync(command, words, { cwd: top, encoding: 'utf8', stdio: 'pipe' })

  call('scripts/package', '--all', '--out', `${folder}/all`)
  t.same(readdirSync(`${folder}/all`).sort(), ['SHA256SUMS', tarball, ofLab, ...debs].sort())
  const sums = readFileSync(`${folder}/all/SHA256SUMS`, 'utf8').trim().split('\n')
  t.same(
    sums.map((line) => line.split(/ +/)[1]),
    [...debs, ofLab, tarball],
  )
  execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: `${folder}/all`, stdio: 'pipe' })

  const again = call('scripts/package', '--out', `${folder}/again`).trim().split('/').at(-1)!
  call('scripts/package-lab', '--out', `${folder}/again`)
  call('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', `${folder}/again`)
  for (const file of [again, ofLab, tarball])
    t.ok(readFileSync(`${folder}/all/${file}`).equals(readFileSync(`${folder}/again/${file}`)), file)

  execFileSync('dpkg-deb', ['-x', `${folder}/all/${debs[0]}`, `${folder}/laid-out`])
  const doc = `${folder}/laid-out/usr/share/doc/benchd`
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
    if (!url) continue
    t.equal((await fetch(`${url}/docs`)).status, 200)
    return
  }
  t.fail('the demo has ended')
})
