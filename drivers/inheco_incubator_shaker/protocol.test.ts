import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { framer, isDigit, isDone, isTenths, isText, request } from './protocol.ts'

const next = framer(2)

function found(hex: string) {
  return next(Buffer.from(hex, 'hex'))
}

test('a request has its length, the address, the length of its text, the text and a checksum', (t) => {
  t.equal(Buffer.from(request('RTS', { dip: 2, unit: 0 })).toString('hex'), '0932c654303052545346')
  t.equal(Buffer.from(request('AOD', { dip: 2, unit: 0 })).toString('hex'), '0932c6543030414f4439')
  t.equal(
    Buffer.from(request('SSP20,20,100,100,90', { dip: 0, unit: 1 })).toString('hex'),
    '1930d654303153535032302c32302c3130302c3130302c3930d6',
  )
  t.end()
})

test('a reply is put together from its blocks', (t) => {
  t.same(found('b231b22060'), { used: 5, frame: { error: 0, data: '1' } })
  t.same(found('b22060'), { used: 3, frame: { error: 0, data: '' } })
  t.same(found('b22d3132b22060'), { used: 7, frame: { error: 0, data: '-12' } }, 'a minus looks like an error, but no 60 follows')
  t.same(found('b2b22d60'), { used: 4, frame: { error: 13, data: '' } })
  t.same(found('b256302e302073696db2756c61746564b22060'), { used: 19, frame: { error: 0, data: 'V0.0 simulated' } })
  t.end()
})

test('what comes before a reply is skipped, what is not whole is waited for, and another address is none', (t) => {
  t.same(found('0102b22060'), { used: 2 })
  t.same(found('b231b220'), undefined)
  t.same(found('b331b32060'), { used: 5 })
  t.same(found(`b2${'31'.repeat(100)}`), { used: 1 }, 'no reply is that long')
  t.end()
})

test('a state, a temperature, a text and an acknowledgement are told apart', (t) => {
  const kinds = [isDigit, isTenths, isText, isDone]
  const kindsOf = (data: string) => kinds.filter((is) => is({ error: 0, data }))
  t.same(kindsOf('1'), [isDigit])
  t.same(kindsOf('372'), [isTenths])
  t.same(kindsOf('-12'), [isTenths])
  t.same(kindsOf('V1.02'), [isText])
  t.same(kindsOf(''), [isDone])
  t.end()
})

test('errors have words', (t) => {
  t.equal(inWords(errorTable, [13]), 'error 13 (the drawer is not closed)')
  t.equal(inWords(errorTable, [5]), 'error 5 (its meaning is not known to benchd)')
  t.end()
})
