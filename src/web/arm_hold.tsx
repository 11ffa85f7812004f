// The hold of this page on an arm: a jog or a free drive, of which there is one at a time.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { BenchError, type Capabilities, type DeviceInfo } from '../clients/ts/benchd.ts'
import { Hold } from './hold.ts'
import { bench, refusal } from './store.tsx'
import { sentence } from './words.ts'

type Operation = Capabilities['operations'][number]

/** An operation that this page holds, or has held last. `isOver` when no request is on its way any more. */
export type Held = {
  operation: Operation
  params: Record<string, unknown>
  operation_id?: string
  isLetGo: boolean
  isOver: boolean
  error?: unknown
}

export type Begin = (operation: Operation, params?: Record<string, unknown>) => void

/** Returns the hold of the arm, with the functions that begin and end it. It ends with the page, with its screen, and when buttons are disabled. */
export function useHold(device_id: string): { held: Held | undefined; begin: Begin; release: () => void } {
  const held = useSignal<Held | undefined>(undefined)
  const hold = useRef<Hold>(undefined)
  const release = () => {
    hold.current?.release()
    if (held.value?.isOver === false) held.value = { ...held.value, isLetGo: true }
  }
  const begin: Begin = (operation, params = {}) => {
    if (held.value?.isOver === false) return
    const set = (change: Partial<Held>) => {
      held.value = { ...held.value!, ...change }
    }
    held.value = { operation, params, isLetGo: false, isOver: false }
    const its = bench.value!
    hold.current = new Hold({
      clock: {
        after(ms, call) {
          const timer = setTimeout(call, ms)
          return () => clearTimeout(timer)
        },
      },
      requests: {
        begin: async (signal) => {
          const body = { operation: operation.name, params }
          return (await its.call('performOperation', { path: { device_id }, body, respondAsync: true, signal })).operation_id
        },
        renew: (operation_id, signal) => its.call('renewOperation', { path: { operation_id }, signal }),
        end: (operation_id, signal) => its.call('endOperation', { path: { operation_id }, signal, keepalive: true }),
      },
      every_ms: Math.min(1000, (operation.renewed_within_ms! * 2) / 3),
      onBegun: (operation_id) => set({ operation_id }),
      onOver: (error) => set({ isOver: true, error }),
    })
  }
  const isRefused = refusal.value !== undefined
  useEffect(() => {
    if (isRefused) release()
  }, [isRefused])
  useEffect(() => {
    const hide = () => document.hidden && release()
    document.addEventListener('visibilitychange', hide)
    addEventListener('pagehide', release)
    return () => {
      document.removeEventListener('visibilitychange', hide)
      removeEventListener('pagehide', release)
      release()
    }
  }, [device_id])
  return { held: held.value, begin, release }
}

const byHand = new Set(['jog', 'free_drive', 'go_to'])

/** Says what came of the last hold, or of the last movement that a person began. */
export function endWords(held: Held | undefined, { device_id, last_operation: last }: DeviceInfo): string {
  const isRecorded = last !== null && (held?.error === undefined || last.operation_id === held.operation_id)
  if (isRecorded && byHand.has(last.operation)) return sentence((last.result?.message ?? last.detail ?? '').replace(`${device_id}: `, ''))
  if (held?.error instanceof BenchError) return sentence(held.error.message)
  return held?.error === undefined ? `${device_id} stands.` : `The service does not answer. ${device_id} ends the movement by itself.`
}
