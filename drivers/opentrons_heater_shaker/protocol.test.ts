import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { answers, encode, errorOf, numberOf, wordOf } from './protocol.ts'

test('a code ends in LF', (t) => {
  t.equal(Buffer.from(encode('M3 S500')).toString('hex'), '4d3320533530300a')
  t.end()
})

test('an answer bears its code and ends in OK', (t) => {
  t.ok(answers('M3 OK', 'M3 S500'))
  t.ok(answers('M123 C:500 T:500 OK', 'M123'))
  t.notOk(answers('M105 C:25.00 T:None OK', 'M104 S37'))
  t.notOk(answers('M123 C:500 T:500', 'M123'))
  t.notOk(answers('M241 STATUS:IDLE_OPEN OK', 'M24'))
  t.end()
})

test('values are found by their keys', (t) => {
  const version = 'M115 FW:v1.0.5 HW:A SerialNo:HSV01 OK'
  t.equal(wordOf(version, 'SerialNo'), 'HSV01')
  t.equal(wordOf(version, 'X'), undefined)
  t.equal(numberOf('M105 C:25.00 T:None OK', 'C'), 25)
  t.equal(numberOf('M105 C:25.00 T:None OK', 'T'), undefined)
  t.end()
})

test('an error is known with an OK at its end and without', (t) => {
  t.same(errorOf('ERR126:main motor:plate lock not closed (required) OK'), { number: 126, isUnasked: false })
  t.same(errorOf('ERR003:unhandled gcode'), { number: 3, isUnasked: false })
  t.same(errorOf('async ERR203:heater:thermistor a overtemp OK'), { number: 203, isUnasked: true })
  t.same(errorOf('async ERR111:main motor:unable to move'), { number: 111, isUnasked: true })
  t.equal(errorOf('M3 OK'), undefined)
  t.equal(inWords(errorTable, [126]), 'ERR126 (the latch is not closed)')
  t.equal(inWords(errorTable, [104]), 'ERR104 (the motor or its driver failed)')
  t.equal(inWords(errorTable, [3]), 'ERR003 (it does not know this command)')
  t.equal(inWords(errorTable, [208]), 'ERR208 (the thermistor of the board is shorted)')
  t.equal(inWords(errorTable, [209]), 'ERR209 (the board is too hot)')
  t.equal(inWords(errorTable, [210]), 'ERR210 (the thermistor of the board is disconnected)')
  t.equal(inWords(errorTable, [214]), 'ERR214 (the heat pad is shorted)')
  for (const number of [127, 128, 213, 215, 216, 305]) t.notMatch(inWords(errorTable, [number]), /not known/)
  t.equal(inWords(errorTable, [999]), 'ERR999 (its meaning is not known to benchd)')
  t.end()
})
