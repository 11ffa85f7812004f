import { test } from 'tap'
import { thisComputer } from './hardware.ts'
import { openI2cPort } from './i2c_bus.ts'
import type { PinBackend, Probe } from './pin.ts'

const use = { mode: 'in', active_low: false } as const

test('where no pins can be had it is said of each way why', async (t) => {
  const probe = async (): Promise<Probe[]> => [
    { name: 'onoff', reason: 'there is no /sys/class/gpio in this kernel' },
    { name: 'gpiod', reason: 'the tools of gpiod are not installed (`sudo apt install gpiod`)' },
  ]
  await t.rejects(
    thisComputer(probe).openPin({ bcm: 17 }, use, () => {}),
    {
      code: 'disconnected',
      message: /no GPIO pins here; onoff: there is no \/sys\/class\/gpio in this kernel; gpiod: the tools/,
    },
  )
})

test('the first way that there is gives the pins, and is looked for until there is one', async (t) => {
  const opened: string[] = []
  const backend: PinBackend = {
    name: 'gpiod',
    open: async (place) => {
      opened.push(JSON.stringify(place))
      throw new Error('enough')
    },
  }
  const answers: Probe[][] = [
    [{ name: 'onoff', reason: 'none' }],
    [
      { name: 'onoff', reason: 'none' },
      { name: 'gpiod', backend },
    ],
  ]
  const { openPin } = thisComputer(async () => answers.shift() ?? [])
  await t.rejects(
    openPin({ bcm: 1 }, use, () => {}),
    { code: 'disconnected' },
  )
  for (const bcm of [2, 3])
    await t.rejects(
      openPin({ bcm }, use, () => {}),
      { message: 'enough' },
    )
  t.same(opened, ['{"bcm":2}', '{"bcm":3}'])
})

test('a bus is one bus, whoever asks for it', (t) => {
  const { bus } = thisComputer(async () => [])
  t.equal(bus(1), bus(1))
  t.not(bus(1), bus(2))
  t.end()
})

test('a bus that is not there is refused when it is opened, and not when it is used', async (t) => {
  await t.rejects(openI2cPort(250), { code: 'disconnected', message: /\/dev\/i2c-250; switch the bus on|i2c-bus does not load/ })
})
