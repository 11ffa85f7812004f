import { chmodSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { namedPorts, portWarning, whyNotOpen } from './port_path.ts'

const adapter = 'usb-FTDI_FT232R_A50285BI-if00-port0'

function folderOf(t: Test, device: string): string {
  return t.testdir({ [adapter]: t.fixture('symlink', device) })
}

test('a numbered port gives a warning with the name that lasts', async (t) => {
  const folder = folderOf(t, '/dev/ttyUSB0')
  t.equal(
    await portWarning('/dev/ttyUSB0', folder),
    `/dev/ttyUSB0 can be another instrument after a restart; use ${folder}/${adapter}, which stays the same`,
  )
})

test('a numbered port without a lasting name gives a warning that says where to look', async (t) => {
  t.match(await portWarning('/dev/ttyACM1', folderOf(t, '/dev/ttyUSB0')), /\/dev\/serial\/by-path/)
  t.match(await portWarning('/dev/ttyUSB7', '/no/such/folder'), /\/dev\/serial\/by-path/)
})

test('a name that lasts gives no warning', async (t) => {
  for (const path of [`/dev/serial/by-id/${adapter}`, '/dev/serial0', '/dev/ttyAMA0', '/dev/pts/3']) {
    t.equal(await portWarning(path), undefined, path)
  }
})

test('relative links, as udev makes them, are followed', async (t) => {
  const folder = folderOf(t, '../tty7')
  t.same(await namedPorts(folder), [{ path: `${folder}/${adapter}`, device: `${folder.slice(0, folder.lastIndexOf('/'))}/tty7` }])
})

test('whoever names a port that is not there is told which are', async (t) => {
  const folder = folderOf(t, '/dev/ttyUSB0')
  const error = await whyNotOpen('/dev/ttyUSB3', new Error('Error: No such file or directory, cannot open /dev/ttyUSB3'), folder)
  t.equal(error.code, 'disconnected')
  t.match(error.message, 'there is no /dev/ttyUSB3')
  t.match(error.message, `plugged in are ${folder}/${adapter}`)
})

test('whoever may not open a port is told which group may', async (t) => {
  const file = `${t.testdir()}/port`
  writeFileSync(file, '')
  chmodSync(file, 0o660)
  const error = await whyNotOpen(file, new Error('Error: Permission denied, cannot open it'))
  t.match(error.message, /add it to the group \S+ \(`sudo adduser \S+ \S+`\)/)
})

test('what nobody has foreseen is told in the words of the system', async (t) => {
  const error = await whyNotOpen('/dev/ttyS7', new Error('Error: Input/output error, cannot open /dev/ttyS7'))
  t.equal(error.message, '/dev/ttyS7 cannot be opened as a serial port: Error: Input/output error, cannot open /dev/ttyS7')
})
