import { test } from 'tap'
import { isClamp, isError, isState, parametersOf, parseState, signature } from './protocol.ts'

test('the parameters of a run have three and four digits', (t) => {
  t.equal(parametersOf({ speed: 1500, duration: 45 }), '*02,045,1500*')
  t.equal(parametersOf({ speed: 500, duration: 999 }), '*02,999,0500*')
  t.end()
})

test('each state is at rest, in a run, at its end or busy, and other words are an error', (t) => {
  for (const [line, phase] of [
    ['Standby', 'rest'],
    ['Run Complete', 'rest'],
    ['Running Sample', 'run'],
    ['Locking', 'run'],
    ['Mixing', 'run'],
    ['Unlocking', 'ending'],
    ['Initializing', 'busy'],
    ['Lid Open', 'error'],
  ] as const)
    t.same(parseState(line), { phase, words: line })
  for (const line of ['Clamp Open', 'Parameters Set', 'Initialize Complete', 'Initialized', 'Home Complete', '*01*', '\xd0\xfe', '12'])
    t.notOk(isState(line) || isError(line), line)
  t.same(['Clamp Open', 'Clamp Closed', 'Clamp', 'Standby'].map(isClamp), [true, true, false, false])
  t.same(
    [signature.test('Standby\r'), signature.test('Mixing'), signature.test('Standby 1'), signature.test('*01*')],
    [true, true, false, false],
  )
  t.end()
})
