import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { isMotorFailure } from './protocol.ts'

test('an error is worded, and a failure of the motor is known', (t) => {
  t.ok(isMotorFailure('ERR111:main motor:unable to move OK'))
  t.notOk(isMotorFailure('ERR126:main motor:plate lock not closed (required) OK'))
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
