import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { serialPorts } from './ports.ts'

/** A computer as the kernel shows it: an adapter that tells who it is, one that does not, a port of the board, and one with nothing behind it. */
function computer(t: Test): { dev: string; sys: string; top: string } {
  const top = t.testdir()
  const write = (path: string, content: string) => {
    mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true })
    writeFileSync(path, content)
  }
  const link = (path: string, to: string) => {
    mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true })
    symlinkSync(to, path)
  }
  const usb = `${top}/sys/devices/usb1/1-1`
  write(`${usb}/idVendor`, '0403\n')
  write(`${usb}/idProduct`, '6001\n')
  write(`${usb}/manufacturer`, 'FTDI\n')
  write(`${usb}/product`, 'FT232R USB UART\n')
  write(`${usb}/serial`, 'A50285BI\n')
  for (const [name, device] of [
    ['ttyUSB10', `${usb}/1-1:1.0/ttyUSB10`],
    ['ttyUSB2', `${top}/sys/devices/usb1/1-2/1-2:1.0/ttyUSB2`],
    ['ttyAMA0', `${top}/sys/devices/platform/serial`],
    ['ttyS0', `${top}/sys/devices/platform/serial8250`],
  ] as const) {
    mkdirSync(device, { recursive: true })
    link(`${top}/sys/class/tty/${name}/device`, device)
    write(`${top}/sys/class/tty/${name}/type`, name === 'ttyS0' ? '0\n' : '2\n')
    write(`${top}/dev/${name}`, '')
  }
  mkdirSync(`${top}/sys/class/tty/console`)
  write(`${top}/sys/devices/usb1/1-2/idVendor`, '1a86\n')
  link(`${top}/dev/serial/by-id/usb-FTDI_A50285BI-if00-port0`, '../../ttyUSB10')
  link(`${top}/dev/serial/by-path/pci-usb-0:1`, '../../ttyUSB10')
  link(`${top}/dev/serial/by-id/usb-left-behind`, '../../ttyUSB99')
  return { dev: `${top}/dev`, sys: `${top}/sys/class/tty`, top }
}

test('the ports are told with their lasting names and what the adapter says of itself', async (t) => {
  const { dev, sys } = computer(t)
  const ports = await serialPorts({ dev, sys })
  t.same(
    ports.map(({ path }) => path.slice(dev.length + 1)),
    ['ttyAMA0', 'ttyUSB2', 'ttyUSB10'],
  )
  t.same(ports[2], {
    path: `${dev}/ttyUSB10`,
    by_id: `${dev}/serial/by-id/usb-FTDI_A50285BI-if00-port0`,
    by_path: `${dev}/serial/by-path/pci-usb-0:1`,
    vendor_id: '0403',
    product_id: '6001',
    manufacturer: 'FTDI',
    product: 'FT232R USB UART',
    serial_number: 'A50285BI',
  })
  t.match(ports[1], { by_id: null, vendor_id: '1a86', product_id: null, serial_number: null })
  t.match(ports[0], { by_id: null, vendor_id: null })
})

test('of the two names of a USB socket on Debian 13 the one that Debian 12 has too is told', async (t) => {
  const { dev, sys } = computer(t)
  const socket = (name: string) => `${dev}/serial/by-path/platform-fd500000.pcie-pci-0000:01:00.0-${name}-0:1.3:1.0-port0`
  for (const name of ['usb', 'usbv2']) symlinkSync('../../ttyUSB2', socket(name))
  symlinkSync('../../ttyAMA0', socket('usbv3'))
  const ports = await serialPorts({ dev, sys })
  t.same(
    ports.map(({ by_path }) => by_path),
    [socket('usbv3'), socket('usb'), `${dev}/serial/by-path/pci-usb-0:1`],
  )
})

test('where there is nothing there is none, and the ports of this computer can be listed', async (t) => {
  const top = t.testdir()
  t.same(await serialPorts({ dev: `${top}/dev`, sys: `${top}/sys` }), [])
  t.ok(Array.isArray(await serialPorts()))
})
