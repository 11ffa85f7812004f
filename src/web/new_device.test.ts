import { test } from 'tap'
import { boxAt, commandFor, freeId, instrumentAt } from './new_device.ts'

test('the command quotes for the shell, and keeps a model of digits a text', (t) => {
  const transport = { kind: 'serial', path: '/dev/serial/by-id/usb-A-if00' } as const
  t.equal(
    commandFor({ device_id: 'shaker-1', driver: 'bioshake', name: "Ann's; rm", transport, settings: { model: '3000' } }, 'benchd'),
    `sudo benchd devices add shaker-1 --driver bioshake --port /dev/serial/by-id/usb-A-if00 --name 'Ann'\\''s; rm' --set 'model="3000"'`,
  )
  t.equal(commandFor({ device_id: 'hands', driver: 'person' }, 'npx benchd'), 'npx benchd devices add hands --driver person')
  t.match(
    commandFor({ device_id: 'a', driver: 'a4s', transport: { kind: 'tcp', host: '::1', port: 4001 } }, 'benchd'),
    "--port 'tcp://[::1]:4001'",
  )
  t.end()
})

test('an instrument on the network is named by its host, with the port where that is another one', (t) => {
  t.same(instrumentAt(' 192.168.127.60 '), { kind: 'tcp', host: '192.168.127.60' })
  t.same(instrumentAt('tcp://spin.lab:2000'), { kind: 'tcp', host: 'spin.lab', port: 2000 })
  t.same(instrumentAt('[fe80::1]'), { kind: 'tcp', host: 'fe80::1' })
  t.equal(instrumentAt('two words'), undefined)
  t.equal(instrumentAt(''), undefined)
  const transport = { kind: 'tcp', host: '192.168.127.60' } as const
  t.match(commandFor({ device_id: 'spin-1', driver: 'microspin', transport }, 'benchd'), '--port tcp://192.168.127.60')
  t.end()
})

test('a box is named by its host and port, and a free id is found', (t) => {
  t.same(boxAt(' box.lab:4001 '), { kind: 'tcp', host: 'box.lab', port: 4001 })
  t.same(boxAt('[fe80::1]:4001'), { kind: 'tcp', host: 'fe80::1', port: 4001 })
  t.equal(boxAt('box.lab'), undefined)
  t.equal(freeId('heater_shaker', ['heater-shaker-1']), 'heater-shaker-2')
  t.end()
})
