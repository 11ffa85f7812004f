// The screen Bench: a card for each device.

import { useEffect } from 'preact/hooks'
import { Cameras } from '../cameras.tsx'
import { init } from '../command_here.tsx'
import { DeviceCard } from '../device_card.tsx'
import { MorePart } from '../more_part.tsx'
import { uninitialized } from '../needs.ts'
import { opened, useCapabilities } from '../operations.tsx'
import { Act, devicesMayMove } from '../parts.tsx'
import { ask, ifState, mayAdminister, refusal, state } from '../store.tsx'

export function BenchScreen() {
  useCapabilities()
  useEffect(
    () => () => {
      opened.value = undefined
    },
    [],
  )
  const all = Object.values(state.value.device)
  if (all.length === 0)
    return (
      <section class="first-steps" aria-label="First steps">
        <h2>No device is configured yet</h2>
        <ol>
          <li>Plug the instruments into the computer of the bench.</li>
          {mayAdminister.value && (
            <li>
              <a class="button main" href="#/bench/add">
                Add a device
              </a>
            </li>
          )}
          <li>
            {mayAdminister.value ? 'Or type' : 'Type'} there: <code>{init}</code> It asks what is on each port and who carries labware, and
            writes the configuration.
          </li>
          <li>Come back to this page: it shows the devices.</li>
        </ol>
      </section>
    )
  return (
    <>
      <InitializeAll />
      <MorePart show={({ OpenRuns }) => <OpenRuns />} />
      <section class="cards" aria-label="Devices">
        {all.map((device) => (
          <DeviceCard key={device.device_id} device={device} />
        ))}
      </section>
      <Cameras />
    </>
  )
}

/** Initializes several devices one after the other until one fails. A stop makes the present one fail, so that nothing moves after it. */
function InitializeAll() {
  const all = uninitialized(state.value)
  const initialize = async () => {
    for (const device of all) {
      const asked = { path: { device_id: device.device_id }, body: {}, ...ifState(device) }
      const answer = await ask('initializeDevice', asked, { quiet: true })
      if (!answer?.success || refusal.value) return
    }
  }
  if (all.length < 2) return null
  return (
    <div class="row actions">
      <Act label="Initialize all" twice={devicesMayMove} kind="main" onPress={initialize} />
      <span class="hint">{all.length} devices, one after the other, until one fails.</span>
    </div>
  )
}
