import { test } from 'tap'
import { clockFace, parseState } from './protocol.ts'

test('the line of all parameters is read, with blanks and zeros or without', (t) => {
  const state = { timer_s: 3723, id: 7, mode: 'shaking', target: 250, measured: 248, error: '0' }
  t.same(parseState('01:02:03, 7, 1, 250, 248, 0,'), state)
  t.same(parseState('01:02:03,0007,1,0250,0248,0'), state)
  t.match(parseState('00:00:00, 1, 99, 250, 0, E05,'), { mode: 'error', error: 'E05' })
  t.match(parseState('00:00:00,1,0,20,0,,'), { mode: 'idle', error: '' })
  t.match(parseState('00:00:00,1,2,20,0,0,'), { mode: 'paused' })
  t.match(parseState('00:00:00,1,3,20,0,0,'), { mode: 'unknown' })
  t.end()
})

test('nothing else is taken for it', (t) => {
  const others = [
    'OK',
    '250',
    '00:00:30',
    'PARAM 0',
    '00:00:30, 7, 1, 250',
    '01:02:03, 7, 1, 250, 248',
    '2, 7, 1, 250, 248, 0,',
    '\xff\xfe',
  ]
  for (const other of others) t.equal(parseState(other), undefined, other)
  t.end()
})

test('seconds are told as on its display', (t) => {
  t.equal(clockFace(1), '00:00:01')
  t.equal(clockFace(3723), '01:02:03')
  t.equal(clockFace(359_999), '99:59:59')
  t.end()
})
