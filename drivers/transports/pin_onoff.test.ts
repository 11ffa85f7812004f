import type { Gpio } from 'onoff'
import { test } from 'tap'
import { onoffPin } from './pin_onoff.ts'

test('an input whose edges are not reported any more is lost, once', (t) => {
  let call: (error: Error | null, value: 0 | 1) => void = () => {}
  const gpio = {
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
