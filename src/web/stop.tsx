// STOP ALL, and the outcome of the stop. The button is always there, and always sends a stop.

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
        // Prevents the click that would follow.
        event.preventDefault()
        if (!event.repeat) stopAll()
      }}
      // A click without a pointer, as by a screen reader.
      onClick={({ detail }) => detail === 0 && stopAll()}
    >
      STOP ALL
    </button>
  )
}

/** Shows the outcome of this page's stop; without one, the stopped devices. */
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

/** Enables the buttons of the page again, and moves nothing. It has to be held, so that a touch meant for STOP ALL does not press it. */
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

/** Shows on every screen who stopped which devices and when, until they are initialized. */
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
