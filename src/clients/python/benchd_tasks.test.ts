// The printed example that answers tasks of a person, as a program that carries a whole run.

import { readFileSync } from 'node:fs'
import { handsAtWork } from '../../testing/hands.ts'
import { python, withPython } from '../../testing/python.ts'

withPython('the example of the guide answers each task of a run', async (t) => {
  const { url, key, run, status } = await handsAtWork(t)
  const guide = readFileSync(new URL('../../../../src/clients/README.md', import.meta.url), 'utf8')
  const [, example = ''] = /^```python\nfrom benchd import Bench\n\nbench = Bench\.from_env\(\)\n(for step.*?)^```/ms.exec(guide) ?? []
  const program = `while bench.request("GET", "${run}")["ended_at"] is None:\n${example.replace(/^/gm, '    ')}\n`
  const { ended, line } = python(t, { url, key }, program)
  for (const [from, to] of ['pad_1 shaker_in', 'shaker_in sealer_in', 'sealer_in pad_1'].map((way) => way.split(' ')))
    t.equal(await line(), `Take plate from ${from} to ${to} plate ${from} ${to}`)
  t.match(await ended, { code: 0, stderr: '' })
  t.equal(await status(), 'COMPLETED')
})
