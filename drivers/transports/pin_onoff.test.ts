import type { Gpio } from 'onoff'
import { test } from 'tap'
import { onoffPin } from './pin_onoff.ts'

test('an input whose edges are not reported any more is lost, once', (t) => {
  let call: (error: Error | null, value: 0 | 1) => void = () => {}
  const gpio = {
    readSync: () => 1,
    watch(listen: typeof call) {
      call = listen
    },
  } as unknown as Gpio
  const lost: string[] = []
  const seen: boolean[] = []
  onoffPin(gpio, { mode: 'in', active_low: false }, (reason) => lost.push(reason)).onEdge((active) => seen.push(active))
  call(null, 1)
  call(new Error('EIO'), 0)
  call(new Error('EIO'), 0)
  t.same(seen, [true])
  t.same(lost, ['its edges are not reported any more: EIO'])
  t.end()
})

test('an edge at which the pin cannot be read does not end the process, and the next read of the pin rejects', async (t) => {
  const gpio = {
    readSync() {
      throw new Error('EREMOTEIO: remote I/O error, read')
    },
  } as unknown as Gpio
  const pin = onoffPin(gpio, { mode: 'in', active_low: false }, () => {})
  // So the package asks at an edge.
  t.doesNotThrow(() => gpio.readSync())
  await t.rejects(pin.read(), /EREMOTEIO/)
})
