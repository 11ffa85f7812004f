// Each test may rely on what before_tests.mjs does before it.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { test } from 'tap'

test('the folder of a test is there until its teardowns are over', async (t) => {
  let wasThere = false
  await t.test('a test with a folder', async (t) => {
    const folder = t.testdir({})
    t.teardown(() => {
      wasThere = existsSync(folder)
    })
  })
  t.ok(wasThere)
})

test('children of tests do not follow what is loaded', async (t) => {
  t.equal(process.env.NODE_OPTIONS, undefined)
})

test('what a killed child of a test leaves among the temporary files goes with the test', async (t) => {
  const top = t.testdir({ tmp: {} })
  const file = `${top}/leaves.mjs`
  const child = "require('node:fs').mkdtempSync(require('node:os').tmpdir() + '/left-'); process.kill(process.pid, 'SIGKILL')"
  const lines = [
    "import { execFileSync } from 'node:child_process'",
    "import { readdirSync } from 'node:fs'",
    "import { tmpdir } from 'node:os'",
    `try { execFileSync(process.execPath, ['-e', ${JSON.stringify(child)}]) } catch ({ signal }) { console.log(signal, readdirSync(tmpdir())) }`,
  ]
  writeFileSync(file, lines.join('\n'))
  const env = { ...process.env, TMPDIR: `${top}/tmp` }
  const { stdout } = spawnSync(process.execPath, ['--import=./scripts/before_tests.mjs', file], { encoding: 'utf8', env })
  t.match(stdout, /SIGKILL \[ 'left-/)
  t.same(readdirSync(`${top}/tmp`), [])
})

test('an error that nobody catches fails the file', async (t) => {
  const tap = import.meta.resolve('tap')
  for (const thrown of ["setTimeout(() => { throw new Error('lost') })", "void Promise.reject(new Error('lost'))"]) {
    const file = `${t.testdir({})}/lost.mjs`
    writeFileSync(
      file,
      `import { test } from '${tap}'\ntest('it waits', async () => { ${thrown}; await new Promise((end) => setTimeout(end, 50)) })\n`,
    )
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import=./scripts/before_tests.mjs', file], { encoding: 'utf8' })
    t.not(status, 0, thrown)
    t.match(stdout + stderr, /lost/)
  }
})
