import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { blockIn, dialect, lidIn, signature } from './protocol.ts'

test('a frame answers the code that it repeats, or in GEN1 the code whose values it has', (t) => {
  const plain = 'T:95.000 C:94.800 H:12 Total_H:30 At_target?:1 ok'
  const coded = 'M105 T:95.00 C:94.80 H:12.50 Total_H:30.00 At_target?:1 OK'
  for (const frame of [plain, coded]) {
    t.ok(dialect.answers(frame, 'M105'))
    for (const code of ['M141', 'M104 S95', 'M119', 'M115']) t.notOk(dialect.answers(frame, code), code)
  }
  t.ok(dialect.answers('T:none C:22.000 ok', 'M141'))
  t.notOk(dialect.answers('T:none C:22.000 ok', 'M105'))
  t.ok(dialect.answers('ok', 'M104 S95 H30'))
  t.ok(dialect.answers('M104 OK', 'M104 S95 H30'))
  t.notOk(dialect.answers('ok', 'M119'))
  t.notOk(dialect.answers('serial:TDV20 model:temp_deck_v20 version:v2 ok', 'M115'))
  t.end()
})

test('the values of the block are numbers, or none without a target', (t) => {
  const coded = { temperature: 94.8, target: 95, hold: 12.5, total: 30, isWhole: false }
  t.same(blockIn('M105 T:95.00 C:94.80 H:12.50 Total_H:30.00 At_target?:1 OK'), coded)
  t.same(blockIn('T:95.000 C:94.800 H:12 Total_H:30 At_target?:1 ok'), { ...coded, hold: 12, isWhole: true })
  t.match(blockIn('M105 T:none C:22.00 H:none Total_H:none At_target?:0 OK'), { target: null, hold: null, total: null })
  t.throws(() => blockIn('M105 T:nan C:22.00 H:none Total_H:none At_target?:0 OK'), { code: 'device_failed' })
  t.same(lidIn('M119 Lid:closed Seal:in_between OK'), { status: 'closed', isSealMoving: true })
  t.same(lidIn('Lid:in_between ok'), { status: 'in_between', isSealMoving: false })
  t.throws(() => lidIn('Lid:max ok'), { code: 'device_failed' })
  t.end()
})

test('errors come before OK, and by themselves or as an answer', (t) => {
  const errors = dialect.errorsIn
  t.same(errors('ERR507:lid:Lid must be opened OK'), { numbers: [507], isUnasked: false })
  t.same(errors('async ERR224:Lid thermistor overtemp OK'), { numbers: [224], isUnasked: true })
  t.same(errors('Error:System too hot. Error:Plate temperature is not uniform. T1: 106.2000\tT2: 99.1000\t'), {
    numbers: [9001, 9003],
    isUnasked: true,
  })
  t.same(errors('Error:Cannot set temperature when system is in error ok'), { numbers: [9005], isUnasked: false })
  t.same(errors('ERROR:BUSY ok'), { numbers: [9006], isUnasked: false })
  t.equal(errors('M105 T:none C:22.00 H:none Total_H:none At_target?:0 OK'), undefined)
  t.ok(dialect.isRemark?.('WARNING:Lid Open'))
  t.end()
})

test('each error of the firmware has words', (t) => {
  t.equal(inWords(errorTable, [201]), 'ERR201 (the thermistor heat sink is disconnected)')
  t.equal(inWords(errorTable, [224]), 'ERR224 (the thermistor lid is too hot)')
  t.equal(
    inWords(errorTable, [9002]),
    '"Found an invalid thermistor value." (a thermistor shows an impossible value, and everything stays off until the power is cycled)',
  )
  const ranges = [
    [1, 5],
    [201, 224],
    [301, 303],
    [401, 408],
    [501, 509],
  ] as const
  for (const [from, to] of ranges) for (let code = from; code <= to; code++) t.notMatch(inWords(errorTable, [code]), /not known/)
  t.end()
})

test('the error without an end of line is a frame of its own', (t) => {
  const endless = 'ERR509:lid:Lid status does not match expected open/closed status'
  t.same(dialect.framer(Buffer.from(`${endless}M18 OK\n`)), { used: endless.length, frame: endless })
  t.same(dialect.framer(Buffer.from(endless)), { used: endless.length, frame: endless })
  t.same(
    dialect.framer(Buffer.from(`${endless} OK\n`)),
    { used: endless.length + 4, frame: `${endless} OK` },
    'a firmware that has mended it',
  )
  t.end()
})

test('no other module has the signature', (t) => {
  for (const its of ['M119 Lid:closed Seal:engaged OK', 'Lid:closed']) t.match(its, signature)
  for (const other of ['M241 STATUS:IDLE_OPEN OK', 'ERR003:unhandled gcode OK', 'serial:x model:temp_deck_v20 version:y'])
    t.notMatch(other, signature)
  t.end()
})
