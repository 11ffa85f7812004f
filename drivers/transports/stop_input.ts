// A contact on a pin that stops everything: a second way to press stop, and like the first no safety function.

import { messageOf } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Hardware } from './board.ts'
import type { Pin } from './pin.ts'

/** Wire it so that a cut wire is active: a contact to ground that opens when pressed, `active_low` false. */
export type StopInputPlace = { bcm: number; active_low: boolean }

export type StopInput = {
  /** Why it would not be noticed now; undefined when it would. */
  readonly trouble: string | undefined
  close(): Promise<void>
}

type Told = {
  /** It is active: at the start too. */
  pressed(): void
  /** It cannot be read; told once until it can. */
  failed(reason: string): void
}

const again_ms = 2000

/** Opens the pin, and opens it anew for as long as it cannot be had. */
export function stopInput({ bcm, active_low }: StopInputPlace, hardware: Pick<Hardware, 'openPin'>, clock: Clock, told: Told): StopInput {
  let pin: Pin | undefined
  let trouble: string | undefined
  let closed = false
  let cancel = () => {}

  const fail = (reason: string) => {
    if (closed) return
    if (trouble === undefined) told.failed(reason)
    trouble = reason
    cancel = clock.after(again_ms, () => void open())
  }
  const open = async () => {
    try {
      const opened = await hardware.openPin({ bcm }, { mode: 'in', active_low, pull: 'up' }, fail)
      if (closed) return opened.close()
      pin = opened
      opened.onEdge((active) => active && told.pressed())
      if (await opened.read()) told.pressed()
      trouble = undefined
    } catch (error) {
      fail(messageOf(error))
    }
  }
  void open()

  return {
    get trouble() {
      return trouble
    },
    async close() {
      closed = true
      cancel()
      await pin?.close()
    },
  }
}
