import { test } from 'tap'
import { heatTo, nextAnswer, sealFor } from './protocol.ts'

test('a temperature is three digits after the point', (t) => {
  t.same([20, 175, 235].map(heatTo), ['ST 0.020', 'ST 0.175', 'ST 0.235'])
  t.end()
})

test('a time is tenths after the point, with two digits at least', (t) => {
  t.same([0.5, 1.2, 12].map(sealFor), ['SS 0.05', 'SS 0.12', 'SS 0.120'])
  t.end()
})

test('an answer is AK, or NK with or without a reason', (t) => {
  const read = (text: string) => nextAnswer(Buffer.from(text))
  t.same(read('STAK\r'), { used: 5, frame: { verb: 'ST', ok: true, reason: '' } })
  t.same(read('CCNK\r'), { used: 5, frame: { verb: 'CC', ok: false, reason: '' } })
  t.same(read('STNK(Out of Range)\r\r')?.frame, { verb: 'ST', ok: false, reason: 'Out of Range' })
  t.end()
})

test('what is no answer is skipped, and what is not whole is waited for', (t) => {
  t.same(nextAnswer(Buffer.from('\rST 0.175\r')), { used: 1 })
  t.same(nextAnswer(Buffer.from('ST 0.175\rSTAK\r')), { used: 9 })
  t.equal(nextAnswer(Buffer.from('STA')), undefined)
  t.end()
})
