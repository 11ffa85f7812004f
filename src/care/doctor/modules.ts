// The packages with native code, which may be missing, built for another processor, or fail to load.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { HostFiles } from '../../kit/host_files.ts'
import { whyNotLoaded } from '../../kit/native_module.ts'
import { type Finding, finder } from './finding.ts'
import { onSerialPort, type Patient, realDevices } from './patient.ts'

/** `native` is the package that contains the native code. */
const packages = [
  { name: 'serialport', native: '@serialport/bindings-cpp', gives: 'serial ports' },
  { name: 'onoff', native: 'epoll', gives: 'GPIO by way of sysfs' },
  { name: 'i2c-bus', native: 'i2c-bus', gives: 'I2C' },
] as const
type Package = (typeof packages)[number]

/** Architecture of a file of machine code: its class (32 or 64 bits) and its machine, as in elf(5), by Node's names. */
const machines: Record<string, readonly [number, number]> = { x64: [2, 62], arm64: [2, 183], arm: [1, 40], ia32: [1, 3], riscv64: [2, 243] }

export async function modules(patient: Patient): Promise<Finding[]> {
  const { ok } = finder('modules')
  const states = await Promise.all(packages.map(async (one) => ({ one, trouble: await troubleWith(one, patient) })))
  const well = states.filter(({ trouble }) => !trouble).map(({ one }) => one.name)
  const bad = states.flatMap(({ one, trouble }) => (trouble ? [judged(one, trouble, patient)] : []))
  return [...(well.length ? [ok(`${well.join(', ')} ${well.length > 1 ? 'load' : 'loads'}`)] : []), ...bad]
}

type Trouble = { words: string; fix: string }

/** Makes the finding. A missing onoff is less serious, because gpiod can provide pins too. */
function judged({ name, gives }: Package, { words, fix }: Trouble, patient: Patient): Finding {
  const { fail, skip } = finder('modules')
  const isNeeded = name === 'serialport' ? onSerialPort(patient).length > 0 : name === 'i2c-bus' && realDevices(patient).some(isOnBus)
  return isNeeded
    ? fail(`${name} (${gives}): ${words}`, fix)
    : skip(`${name} (${gives}): ${words}; no device of the configuration needs it`, fix)
}

function isOnBus({ transport, settings }: ReturnType<typeof realDevices>[number]): boolean {
  const { i2c = {} } = settings as { i2c?: object }
  return transport.kind === 'pins' && (Object.keys(i2c).length > 0 || JSON.stringify(settings).includes('"expander"'))
}

/** Returns why the package does not load; undefined if it does. For another computer it examines only the files. */
export async function whyItDoesNotLoad(name: Package['name'], patient: Patient): Promise<string | undefined> {
  const trouble = await troubleWith(packages.find((one) => one.name === name)!, patient)
  return trouble?.words
}

/** Returns the problem and its remedy; undefined if the package loads. */
async function troubleWith({ name, native }: Package, { modules: folders, is_this, installation }: Patient): Promise<Trouble | undefined> {
  const folder = await folderOf(folders, native)
  if (!folder || !(await folderOf(folders, name)))
    return {
      words: 'it is not installed',
      fix: installation.again,
    }
  const files = await codeIn(folder, is_this)
  if (!files.length) {
    const here = is_this ? `Node ${process.version} on` : 'this computer:'
    return { words: `it was not built for ${here} ${process.platform} ${process.arch}`, fix: installation.rebuild(native) }
  }
  const made = await machineOf(files[0]!)
  const wanted = machines[process.arch]
  if (made && wanted && made.join() !== wanted.join()) {
    return { words: `it was built for another processor (${nameOf(made)}, this is ${process.arch})`, fix: installation.rebuild(native) }
  }
  return is_this ? loading(folder, installation.rebuild(native)) : undefined
}

async function loading(folder: string, fix: string): Promise<Trouble | undefined> {
  try {
    createRequire(join(folder, 'package.json'))(folder)
    return undefined
  } catch (error) {
    return { words: whyNotLoaded(error), fix }
  }
}

async function folderOf(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) {
    if (await new HostFiles().has(join(folder, name, 'package.json'))) return join(folder, name)
  }
  return undefined
}

/** Lists the native modules in the order of loading: one that was built here first. For another computer modules for any Node count, as its Node is unknown. */
async function codeIn(folder: string, is_this: boolean): Promise<string[]> {
  const target = `${process.platform}-${process.arch}`
  const byAbi = is_this ? [`node-v${process.versions.modules}-${target}`] : await new HostFiles().names(join(folder, 'lib/binding'))
  const places = [
    join(folder, 'build/Release'),
    ...byAbi.map((name) => join(folder, 'lib/binding', name)),
    join(folder, `prebuilds/${target}`),
  ]
  const found = await Promise.all(places.map(async (place) => (await new HostFiles().names(place)).map((name) => join(place, name))))
  return found.flat().filter((path) => path.endsWith('.node'))
}

/** Reads the architecture of an ELF file; undefined for other files. */
async function machineOf(path: string): Promise<readonly [number, number] | undefined> {
  const head = await new HostFiles().head(path, 20)
  if (head.length < 20 || head.readUInt32BE(0) !== 0x7f454c46) return undefined
  return [head[4]!, head[5] === 2 ? head.readUInt16BE(18) : head.readUInt16LE(18)]
}

function nameOf(machine: readonly [number, number]): string {
  return Object.entries(machines).find(([, known]) => known.join() === machine.join())?.[0] ?? `machine ${machine[1]}`
}
