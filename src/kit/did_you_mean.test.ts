import { test } from 'tap'
import { nearest } from './did_you_mean.ts'

test('a word is guessed that differs by a few letters, or is the only one that begins alike', (t) => {
  for (const [word, known, meant] of [
    ['sped', ['speed', 'mode'], 'speed'],
    ['LIVE', ['live'], 'live'],
    ['variables', ['var', 'mode'], 'var'],
    ['arm', ['arm-1', 'shaker-1'], 'arm-1'],
    ['arm', ['arm-1', 'arm-2'], undefined],
    ['ar', ['arm-1'], undefined],
    ['jump', ['shake', 'stop'], undefined],
    ['anything', [], undefined],
    ['a', ['x', 'y'], undefined],
    ['X', ['x', 'y'], 'x'],
  ] as const)
    t.equal(nearest(word, known), meant, word)
  t.end()
})
