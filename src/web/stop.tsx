// STOP ALL, and beside it what became of the stop. The button is always there, and always sends a stop.

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { atWork, noStopWords, stopSentence, triesWords } from './stop_words.ts'
import { continueAfterStop, keyWanted, link, now, route, state, stopAll, stopKey, stopped, withdrawStop } from './store.tsx'
import { clockTime, stopText } from './words.ts'

export function StopButton() {
  return (
    <button
      type="button"
      class="stop"
      onPointerDown={stopAll}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        // Otherwise a click follows.
        event.preventDefault()
        if (!event.repeat) stopAll()
      }}
      // A screen reader clicks without a pointer.
      onClick={({ detail }) => detail === 0 && stopAll()}
    >
      STOP ALL
    </button>
  )
}

/** Says what became of the stop of this page; without one, which devices are stopped. */
export function StopNotes() {
  const cannot = noStopWords(stopKey.value !== '', keyWanted.value !== undefined)
  return (
    <>
      {cannot && (
        <p class="stop-note bad" role="status">
          {cannot}
        </p>
      )}
      {stopped.value ? <StopNote /> : <StoppedDevices />}
    </>
  )
}

function StopNote() {
  const stop = stopped.value!
  const { phase, answer, at } = stop
  const time = clockTime(at / 1000, now.value / 1000)
  const working = link.value === 'lost' ? 'The connection is lost: devices may move again.' : atWork(Object.values(state.value.device))
  const isBad = phase === 'repeated' || phase === 'asks' || (phase === 'answered' && (!answer?.isConfirmed || working !== ''))
  return (
    <div class={isBad ? 'stop-note bad' : 'stop-note'}>
      <p>
        <span role="alert">{stopSentence(stop, time)}</span>
        {phase === 'repeated' && ` ${triesWords(stop, time)}`}
        {phase === 'answered' && working && <span role="status"> {working}</span>}
      </p>
      {phase === 'asks' && (
        <button type="button" class="danger" onClick={stopAll}>
          Stop all
        </button>
      )}
      {(phase === 'repeated' || phase === 'asks') && (
        <button type="button" onClick={withdrawStop}>
          Withdraw
        </button>
      )}
      {phase === 'answered' && <Continue />}
    </div>
  )
}

const hold_ms = 1000

/** Gives the page its buttons back; nothing moves by it. It is held, so that no touch meant for STOP ALL presses it. */
function Continue() {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const holding = useSignal(false)
  const begin = () => {
    if (holding.value) return
    holding.value = true
    const shown = stopped.value!
    timer.current = setTimeout(() => continueAfterStop(shown), hold_ms)
  }
  const end = () => {
    holding.value = false
    clearTimeout(timer.current)
  }
  return (
    <button
      type="button"
      class={holding.value ? 'hold holding' : 'hold'}
      onPointerDown={begin}
      onPointerUp={end}
      onPointerLeave={end}
      onPointerCancel={end}
      onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && begin()}
      onKeyUp={end}
      onBlur={end}
    >
      Hold to continue
    </button>
  )
}

/** Says who stopped what, and last when, on every screen, until the devices are initialized. */
function StoppedDevices() {
  const all = Object.values(state.value.device).filter(({ stopped }) => stopped !== null)
  if (all.length === 0 || !state.value.ready || keyWanted.value !== undefined) return null
  const last = all.map(({ stopped }) => stopped!.again ?? stopped!).reduce((one, other) => (other.at > one.at ? other : one))
  const shown = all.length > 4 ? `${all.length} devices` : all.map(({ device_id }) => device_id).join(', ')
  return (
    <p class="stop-note" role="status">
      <span>
        <span aria-hidden="true">■ </span>
        {shown} stopped{stopText(last, now.value / 1000)}. Initialize when it is safe.
      </span>
      {(route.value[0] || 'bench') !== 'bench' && <a href="#/bench">Show</a>}
    </p>
  )
}
