import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { configSchema } from './config_schema.ts'
import { type Schema, settingsGuide } from './settings_guide.ts'

const guide = settingsGuide((await configSchema()) as Schema)
const rows = guide.split('\n').filter((line) => line.startsWith('| `'))

test('the reference of the settings is as the schema is', (t) => {
  t.equal(readFileSync(new URL('../../systemd/settings.md', import.meta.url), 'utf8'), guide, 'npm run generate')
  t.end()
})

test('each setting has a meaning, and none of them twice in a table', (t) => {
  t.ok(rows.length > 100)
  t.same(
    rows.filter((row) => /\| *\|$/.test(row)),
    [],
  )
  const [general = ''] = guide.split('## Settings of each driver')
  const names = [...general.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name)
  t.same(names, [...new Set(names)])
  t.end()
})

test('values, defaults and choices are told', (t) => {
  const row = (name: string) => rows.find((line) => line.startsWith(`| \`${name}\` |`))
  t.match(row('listen.port'), '| whole number, 0 to 65535 | `8520` | Port to listen on')
  t.match(row('devices[].transport.kind'), '| `serial`, `tcp`, `pins`, `bridge`, `simulated` |')
  t.match(row('notify[].url'), '| text |')
  t.match(row('notify[].url.file'), '| text |')
  t.match(guide, /### `bioshake`\n\n.*\n.*\n\| `settings\.model` \| `3000`, .* \| `"3000-T elm"` \|/)
  t.notMatch(guide, /### `a4s`/, 'which has no settings')
  t.end()
})
