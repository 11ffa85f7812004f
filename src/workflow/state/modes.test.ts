import { test } from 'tap'
import { modeWords as wordsOfClients } from '../../clients/ts/api.ts'
import { modeText, modeWords, runModes } from './modes.ts'

test('each mode has words, and those of the page are the same', (t) => {
  t.same(Object.keys(modeWords), runModes)
  t.same(wordsOfClients, modeWords)
  t.equal(modeText('PURE_SIM'), 'Plan only')
  t.equal(modeText('toString'), 'toString', 'a mode of a later version stays as it is')
  t.end()
})
