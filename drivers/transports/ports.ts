// The serial ports of this computer with their adapters, read from the kernel without a byte to any instrument.

import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/** The port and its adapter; the identity's members are null for a port on the board. */
export type SerialPort = {
  /** The kernel's name of the port, which may be another one after a restart. */
  path: string
  by_id: string | null
  by_path: string | null
  vendor_id: string | null
  product_id: string | null
  manufacturer: string | null
  product: string | null
  serial_number: string | null
}

/** The folders in which the kernel and udev list the ports. */
const usual = { dev: '/dev', sys: '/sys/class/tty' }

/** Lists the ports by path, without ports of the board that have no chip. */
export async function serialPorts({ dev, sys }: { dev: string; sys: string } = usual): Promise<SerialPort[]> {
  const [names, byId, byPath] = await Promise.all([namesIn(sys), linksIn(`${dev}/serial/by-id`), linksIn(`${dev}/serial/by-path`)])
  const found = await Promise.all(names.map((name) => portOf(name, { dev, sys })))
  return found
    .flatMap((port) => port ?? [])
    .map((port) => ({ ...port, by_id: byId.get(port.path) ?? null, by_path: byPath.get(port.path) ?? null }))
    .sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }))
}

/** Whether two ports have adapters with the same identity, or one adapter. */
export function isTwin(one: SerialPort, other: SerialPort): boolean {
  const { vendor_id, product_id, serial_number } = one
  return one !== other && other.vendor_id === vendor_id && other.product_id === product_id && other.serial_number === serial_number
}

/** Whether two twins are ports of one adapter, whose sockets differ only in the number of the interface. */
export function areOnOneAdapter(one: SerialPort, other: SerialPort): boolean {
  const socketOf = ({ by_path }: SerialPort) => by_path?.replace(/:\d+\.\d+(-port\d+)?$/, '')
  return one.by_path !== null && socketOf(one) === socketOf(other)
}

/** Resolves a path to its present port; the path itself if there is none. */
export async function portBehind(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

async function portOf(name: string, { dev, sys }: { dev: string; sys: string }): Promise<SerialPort | undefined> {
  if (!/^tty(USB|ACM|AMA|S)\d+$/.test(name)) return undefined
  const device = await realpath(join(sys, name, 'device')).catch(() => undefined)
  // A port of the board without a chip behind it has the type 0 (PORT_UNKNOWN of the kernel).
  if (!device || (await textOf(join(sys, name, 'type'))) === '0') return undefined
  const usb = await usbOf(device)
  const fromUsb = (file: string) => (usb === undefined ? null : textOf(join(usb, file)))
  return {
    path: join(dev, name),
    by_id: null,
    by_path: null,
    vendor_id: await fromUsb('idVendor'),
    product_id: await fromUsb('idProduct'),
    manufacturer: await fromUsb('manufacturer'),
    product: await fromUsb('product'),
    serial_number: await fromUsb('serial'),
  }
}

/** Finds the folder of the USB device above that of a port. */
async function usbOf(device: string): Promise<string | undefined> {
  for (let folder = device; basename(folder) !== 'devices' && folder !== '/'; folder = dirname(folder)) {
    if ((await textOf(join(folder, 'idVendor'))) !== null) return folder
  }
  return undefined
}

/** Lists the link of each port. Of two links it takes the one without the USB version, which Debian 12 has; Debian 13 has both. */
async function linksIn(folder: string): Promise<Map<string, string>> {
  const names = await namesIn(folder)
  const isByVersion = (name: string) => /-usbv\d+-/.test(name)
  const links = [...names.filter(isByVersion), ...names.filter((name) => !isByVersion(name))].map(async (name) => {
    const path = join(folder, name)
    return [resolve(folder, await readlink(path)), path] as const
  })
  const found = await Promise.allSettled(links)
  return new Map(found.flatMap((link) => (link.status === 'fulfilled' ? [link.value] : [])))
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort()
}

async function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => null,
  )
}
