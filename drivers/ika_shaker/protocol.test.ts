import { test } from 'tap'
import { echoes, encode, isText, readValue } from './protocol.ts'

test('a command ends in CR and LF', (t) => {
  t.equal(Buffer.from(encode('OUT_SP_4 500')).toString('hex'), '4f55545f53505f34203530300d0a')
  t.end()
})

test('a reading counts for the channel that it names, and for no other', (t) => {
  t.equal(readValue('500.0 4', 4), 500)
  t.equal(readValue('25.3 2', 2), 25.3)
  t.equal(readValue('-3.5  2', 2), -3.5)
  t.equal(readValue('25.3 2', 4), undefined)
  t.equal(readValue('500.0', 4), undefined)
  t.equal(readValue('IN_PV_4', 4), undefined)
  t.end()
})

test('a name is neither a reading nor a command that comes back', (t) => {
  for (const name of ['MATRIX ORBITAL', 'KS 4000 ic control', 'V1.02.003']) t.ok(isText(name), name)
  for (const other of ['500.0 4', '60', 'START_4', 'OUT_SP_4 500', 'RESET', 'x', '\xff\xfe\xfd']) t.notOk(isText(other), other)
  t.end()
})

test('the value of the watchdog comes back alone or behind its command, and is no reading', (t) => {
  for (const echo of ['60', '60.0', 'OUT_WD1@60']) t.ok(echoes(echo, 60), echo)
  for (const other of ['60.0 4', '20', 'OUT_WD1@', 'MATRIX ORBITAL']) t.notOk(echoes(other, 60), other)
  t.end()
})
