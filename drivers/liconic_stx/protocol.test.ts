import { test } from 'tap'
import { isOpened, parseFlag, parseMemory, readFlag, readMemory, refusalOf, signature, writeMemory } from './protocol.ts'

test('flags and data memories are asked for and written by number', (t) => {
  t.same(
    [readFlag('ready'), readFlag('station'), readMemory('level'), readMemory('temperature')],
    ['RD 1915', 'RD 1813', 'RD DM5', 'RD DM982'],
  )
  t.same([writeMemory('rack', 2), writeMemory('temperature_target', 370)], ['WR DM0 00002', 'WR DM890 00370'])
  t.end()
})

test('each answer has a form of its own', (t) => {
  t.same([parseFlag('1'), parseFlag('0')], [true, false])
  t.same([parseMemory('00370'), parseMemory('-0050'), parseMemory('-00050')], [370, undefined, -50])
  t.same([refusalOf('E0'), refusalOf('E5')], [0, 5])
  for (const other of ['00001', 'OK', 'CC', 'E1', '', '2']) t.equal(parseFlag(other), undefined, other)
  for (const other of ['1', '0001', '000001', 'OK', 'E1']) t.equal(parseMemory(other), undefined, other)
  for (const other of ['E6', 'E', 'e1', 'OK', 'E11']) t.equal(refusalOf(other), undefined, other)
  t.ok(isOpened('CC'))
  t.match('CC\r\n', signature)
  t.notMatch('E1\r\nCR\r\n', signature)
  t.end()
})
