// The printed example that answers tasks of a person, as a program that carries a whole run.

import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { handsAtWork } from '../../testing/hands.ts'
import { Bench } from './benchd.ts'

test('the example of the guide answers each task of a run', async (t) => {
  const { url, key, status } = await handsAtWork(t)
  const guide = readFileSync(new URL('../../../../src/clients/README.md', import.meta.url), 'utf8')
  const [, example = ''] = /^(const \{ steps \} = .*?)^```/ms.exec(guide) ?? []
  // The example has no types, so that it is JavaScript as it stands.
  const answer = new Function('bench', 'console', `return (async () => {${example}})()`)
  const shown: string[] = []
  const bench = new Bench({ url, key })
  while ((await status()) === 'IN_PROGRESS') await answer(bench, { log: (...words: string[]) => shown.push(words.slice(1).join(' ')) })
  t.same(shown, ['plate pad_1 shaker_in', 'plate shaker_in sealer_in', 'plate sealer_in pad_1'])
  t.equal(await status(), 'COMPLETED')
})
