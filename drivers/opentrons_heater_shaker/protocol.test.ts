import { test } from 'tap'
import { answers, encode, errorInWords, errorOf, numberOf, wordOf } from './protocol.ts'

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
  t.equal(errorOf('ERR126:plate lock:not closed OK'), 126)
  t.equal(errorOf('ERR003:unhandled gcode'), 3)
  t.equal(errorOf('M3 OK'), undefined)
  t.equal(errorInWords(126), 'ERR126 (the latch is not closed)')
  t.equal(errorInWords(104), 'ERR104 (the motor or its driver failed)')
  t.equal(errorInWords(3), 'ERR003 (it does not know this command)')
  t.equal(errorInWords(999), 'ERR999 (not in our table)')
  t.end()
})
