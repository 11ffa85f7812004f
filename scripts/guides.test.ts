// The README stays short, and every link in the guides leads somewhere.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { table } from '../src/cli/commands.ts'
import { commandsGuide } from './commands_guide.ts'

const top = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(top, path), 'utf8')
const guides = [
  'README.md',
  'systemd/README.md',
  'drivers/README.md',
  'src/clients/python/PYLABROBOT.md',
  'src/clients/recipes/README.md',
  'src/workflow/SAMPLES.md',
  'src/workflow/STORAGES.md',
  'scripts/bench/README.md',
  'scripts/guest/README.md',
].concat(['', 'cli/', 'clients/', 'fleet/', 'http/', 'workflow/', 'workflow/records/'].map((room) => `src/${room}README.md`))

test('the README has at most 726 words besides the table of drivers, which grows with them', (t) => {
  const text = read('README.md').replace(/<!-- drivers -->[\s\S]*<!-- \/drivers -->/, '')
  const words = text.split(/\s+/).filter(Boolean).length
  t.ok(words <= 726, `${words} words`)
  t.end()
})

test('every link of a guide leads to a file, and to a heading that is there', (t) => {
  for (const guide of guides) {
    for (const [, target = ''] of read(guide).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [file, heading] = target.split('#')
      const path = file ? join(dirname(guide), file) : guide
      t.ok(existsSync(join(top, path)), `${guide}: ${target}`)
      if (heading) t.ok(headingsOf(read(path)).includes(heading), `${guide}: ${target}`)
    }
  }
  t.end()
})

test('the guide to the commands is that of their table', async (t) => {
  t.ok(read('src/cli/README.md') === commandsGuide(await table()), 'the guide is not in step with the table; run npm run generate')
})

/** As GitHub names them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
