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

test('each setting has a meaning of its own, and not that of the setting above it', (t) => {
  const row = (name: string) => rows.find((line) => line.startsWith(`| \`${name}\` |`))
  t.match(row('stop_input.bcm'), /A contact on a GPIO pin[^.]*\. Broadcom number/)
  t.match(row('settings.pins.enable.bcm'), /Output: the relay in series with the motor\. Broadcom number/)
  for (const pin of ['stop_input', 'settings.pins.enable']) t.match(row(`${pin}.line`), '| Number of the line on the chip |')
  const meanings = rows.map((line) => line.split(' | ').map((cell) => cell.replace(/^\| `|`$| \|$/g, '')))
  const parent = (path: string) => path.split('.').slice(0, -1).join('.')
  const twice = meanings.filter(([path = '', , , meaning]) =>
    meanings.some(
      ([other = '', , , same]) => other !== path && parent(other) === parent(path) && parent(path) !== 'settings' && same === meaning,
    ),
  )
  t.same(twice, [])
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
