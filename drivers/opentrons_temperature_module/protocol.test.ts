import { test } from 'tap'
import { dialect, modelName, signature } from './protocol.ts'

test('a frame answers the code whose values it has, and ok alone answers commands', (t) => {
  t.ok(dialect.answers('T:none C:22.000 ok', 'M105'))
  t.ok(dialect.answers('T:60.000 C:-3.100 ok', 'M105'))
  t.notOk(dialect.answers('ok', 'M105'))
  t.notOk(dialect.answers('T:nan C:22.000 ok', 'M105'))
  t.ok(dialect.answers('ok', 'M104 S60'))
  t.notOk(dialect.answers('T:none C:22.000 ok', 'M18'))
  t.ok(dialect.answers('serial:TDV03P20 model:temp_deck_v20 version:v2.0.1 ok', 'M115'))
  t.notOk(dialect.answers('serial:TCV02 model:v02 version:v1.1.0 ok', 'M115'))
  t.end()
})

test('the model tells the generation', (t) => {
  t.equal(modelName('temp_deck_v1.1'), 'Temperature Module GEN1 (temp_deck_v1.1)')
  t.equal(modelName('temp_deck_v3.0'), 'Temperature Module GEN1 (temp_deck_v3.0)')
  t.equal(modelName('temp_deck_v21'), 'Temperature Module GEN2 (temp_deck_v21)')
  t.end()
})

test('no other module has the signature', (t) => {
  t.match('serial:TDV20 model:temp_deck_v20 version:v2.0.1', signature)
  for (const other of ['serial:TC model:v02 version:v1.1.0', 'serial:MD model:mag_deck_v20 version:2.0.0', 'M115 FW:v1 HW:x SerialNo:y OK'])
    t.notMatch(other, signature)
  t.end()
})

test('the report of an overheated module is an error that answers nothing', (t) => {
  t.same(dialect.errorsIn('Temperature module overheated! Deactivating.'), { numbers: [1], isUnasked: true })
  t.equal(dialect.errorsIn('T:none C:22.000 ok'), undefined)
  t.ok(dialect.isRemark?.('Target temperature too low, setting to TEMPERATURE_MIN degrees'))
  t.end()
})
