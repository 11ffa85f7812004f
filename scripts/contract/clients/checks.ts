// The checks of a generated client on the demo. Each client implements the functions of `Client`.

import assert from 'node:assert/strict'

export type Client = {
  devices(): Promise<{ device_id: string; is_initialized: boolean }[]>
  initialize(device_id: string): Promise<{ success: boolean }>
  lockPlate(device_id: string): Promise<{ success: boolean }>
  shake(device_id: string, body: { speed: number; duration: number }): Promise<{ success: boolean }>
  submit(workflow: string): Promise<{ execution_id: string }>
  /** All events so far, oldest first; waits for the first for a while. */
  events(): Promise<{ event_name: string; execution_id: string; timestamp: number }[]>
  /** An answer that is an error: its status and the `detail` of its body. */
  unknownDevice(device_id: string): Promise<{ status: number; detail: string | undefined }>
}

/** Where the demo is, as scripts/contract/clients.ts tells it. */
export const url = process.env.BENCHD_URL ?? ''
export const api_key = process.env.BENCHD_API_KEY ?? ''

/** Returns the content of an answer. Throws the `detail` of an error answer. */
export function answered<T>({ data, error }: { data?: T; error?: { detail: string } }): T {
  if (data === undefined) throw new Error(error?.detail ?? 'the answer has no content')
  return data
}

/** The result of an operation that was waited for: 200, not the 202 of `Prefer: respond-async`. */
export function ended(answer: { success: boolean } | { operation_id: string }): { success: boolean } {
  if ('success' in answer) return answer
  throw new Error(`operation ${answer.operation_id} was not waited for`)
}

/** Prints a line for each check, and `N passed, N failed`. */
export async function check(client: Client): Promise<void> {
  let passed = 0
  let failed = 0
  for (const [name, run] of Object.entries(checks)) {
    try {
      await run(client)
      passed += 1
      console.log(`ok - ${name}`)
    } catch (error) {
      failed += 1
      console.log(`NOT OK - ${name}: ${error instanceof Error ? error.message : JSON.stringify(error)}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
}

const checks: Record<string, (client: Client) => Promise<void>> = {
  async 'the devices are listed'({ devices }) {
    const ids = (await devices()).map(({ device_id }) => device_id)
    assert.ok(ids.includes('shaker-1') && ids.includes('sealer-1'), ids.join(' '))
  },

  async 'a device is initialized and shakes'({ devices, initialize, lockPlate, shake }) {
    assert.equal((await initialize('shaker-1')).success, true)
    assert.equal((await lockPlate('shaker-1')).success, true)
    assert.equal((await shake('shaker-1', { speed: 500, duration: 2 })).success, true)
    assert.equal((await devices()).find(({ device_id }) => device_id === 'shaker-1')?.is_initialized, true)
  },

  async 'a workflow is submitted, and its events are read'({ submit, events }) {
    const { execution_id } = await submit('seal-and-spin')
    const all = await events()
    assert.ok(
      all.some((event) => event.execution_id === execution_id),
      all.map(({ event_name }) => event_name).join(' '),
    )
    assert.ok(all.every(({ timestamp }) => timestamp > 0))
  },

  async 'an error is answered as the contract says'({ unknownDevice }) {
    const { status, detail } = await unknownDevice('no-such-device')
    assert.equal(status, 404)
    assert.match(detail ?? '', /there is no device "no-such-device"/)
  },
}
