// The block with the serial ports of the computer and their instruments.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Operations } from '../../clients/ts/benchd.ts'
import { Block, Empty, useAnswer } from '../parts.tsx'
import { mayAdminister } from '../store.tsx'

type Port = Operations['listPorts']['answer']['ports'][number]

const look_ms = 1000

export function Ports() {
  const found = useAnswer('listPorts')
  const identifying = useSignal(false)
  const identified = useSignal('')
  const ports = found.value?.ports ?? []
  const isHere = useRef(true)
  useEffect(
    () => () => {
      isHere.current = false
    },
    [],
  )
  const identify = async () => {
    const before = found.value?.ports ?? []
    identifying.value = true
    identified.value = 'Now unplug the adapter, or plug it in.'
    while (identifying.value && isHere.current) {
      await new Promise((resolve) => setTimeout(resolve, look_ms))
      await found.read()
      const changed = changedPort(before, found.value?.ports ?? [])
      if (!changed) continue
      identified.value = `The port is ${changed.by_id ?? changed.path}${changed.device_id ? `, the port of ${changed.device_id}` : ', which no device uses'}.`
      identifying.value = false
    }
  }
  return (
    <Block title="Ports">
      <div class="row">
        <button
          type="button"
          class="plain"
          onClick={() => {
            if (identifying.value) identified.value = ''
            if (identifying.value) identifying.value = false
            else void identify()
          }}
        >
          {identifying.value ? 'Cancel' : 'Identify'}
        </button>
        {mayAdminister.value && (
          <a class="button plain" href="#/bench/add">
            Add a device
          </a>
        )}
        <p role="status">{identified.value}</p>
      </div>
      {ports.length === 0 ? (
        <Empty>No serial port was found. Plug in an adapter and open this screen again.</Empty>
      ) : (
        <ul class="list">
          {ports.map(({ path, by_id, product, device_id }) => (
            <li key={path}>
              <span>
                <strong>{path}</strong> {product} {device_id ? `is ${device_id}` : 'is used by no device'}
              </span>
              {by_id && <small>{by_id}</small>}
            </li>
          ))}
        </ul>
      )}
    </Block>
  )
}

/** Finds the port that is in only one of the lists. */
function changedPort(before: readonly Port[], after: readonly Port[]): Port | undefined {
  const missing = (from: readonly Port[], others: readonly Port[]) => from.find(({ path }) => others.every((other) => other.path !== path))
  return missing(before, after) ?? missing(after, before)
}
