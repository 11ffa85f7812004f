// For tests with a virtual clock. Disk operations take real time, and no virtual timeout must pass meanwhile.

import { EventEmitter, once } from 'node:events'
import fs, { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { devNull } from 'node:os'
import { VirtualClock } from '../kit/clock.ts'

type Call = (...given: unknown[]) => unknown

let underWay = 0
/** Emits `idle` when no disk operation is in progress. */
const disk = new EventEmitter().setMaxListeners(0)
const handle = await open(devNull)
for (const owner of [fs, Object.getPrototypeOf(handle)] as Record<string, unknown>[]) {
  for (const name of Object.getOwnPropertyNames(owner)) {
    const call = Object.getOwnPropertyDescriptor(owner, name)?.value
    if (typeof call === 'function' && name !== 'constructor') owner[name] = counted(call as Call)
  }
}
syncBuiltinESMExports()
await handle.close()

/** Returns a clock that stands still while this process reads or writes a file. */
export function diskClock(): VirtualClock {
  return new VirtualClock(async () => {
    await twoTurns()
    while (underWay > 0) {
      await once(disk, 'idle')
      await twoTurns()
    }
  })
}

async function twoTurns(): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}

function counted(call: Call): Call {
  return function (this: unknown, ...given) {
    const result = call.apply(this, given)
    if (result instanceof Promise) {
      underWay++
      const over = () => {
        if (--underWay === 0) disk.emit('idle')
      }
      result.then(countClose).then(over, over)
    }
    return result
  }
}

/** Counts `close`, which each file handle has as its own member, not from its prototype. */
function countClose(result: unknown): void {
  if (!(result instanceof handle.constructor)) return
  const opened = result as FileHandle
  opened.close = counted(opened.close as Call) as FileHandle['close']
}
