// The frame of every screen: where one is, what waits for a person, and the stop, always at the same place.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { keyDialog } from './key_dialog.tsx'
import { Empty, NeedCard } from './parts.tsx'
import { BenchScreen } from './screens/bench.tsx'
import { DeckScreen } from './screens/deck.tsx'
import { EventsScreen } from './screens/events.tsx'
import { NewRunScreen } from './screens/new_run.tsx'
import { RunScreen } from './screens/run.tsx'
import { RunsScreen } from './screens/runs.tsx'
import { SystemScreen } from './screens/system.tsx'
import { TeachScreen } from './screens/teach.tsx'
import {
  connect,
  forgetKey,
  isAllSimulated,
  keyWanted,
  link,
  lostAt,
  needs,
  notice,
  now,
  route,
  state,
  stopAll,
  stopped,
  ticks,
  timeScale,
} from './store.tsx'
import { clockTime } from './words.ts'

const screens = { bench: 'Bench', runs: 'Runs', deck: 'Deck', teach: 'Teach', events: 'Events', system: 'System' } as const

export function App() {
  const [screen = '', id] = route.value
  const count = needs.value.length
  useEffect(() => {
    document.title = `${count ? `(${count}) ` : ''}benchd`
  }, [count])
  const isOld = link.value === 'lost'
  return (
    <div class={isOld ? 'page old' : 'page'}>
      <header>
        <h1 class="unseen">benchd</h1>
        <nav aria-label="Screens">
          {Object.entries(screens).map(([name, word]) => (
            <a key={name} href={`#/${name}`} aria-current={(screen || 'bench') === name ? 'page' : undefined}>
              {word}
            </a>
          ))}
        </nav>
        <Link />
        <Stop />
      </header>
      {stopped.value ? <StopNote /> : <StoppedDevices />}
      {notice.value && (
        <p class={notice.value.bad ? 'notice bad' : 'notice'} role="status">
          <span class="long">{notice.value.text}</span>
          <button type="button" class="quiet" aria-label="Close this message" onClick={() => (notice.value = undefined)}>
            ✕
          </button>
        </p>
      )}
      <main>
        {keyWanted.value === undefined ? (
          <>
            <Needs />
            <Screen screen={screen} id={id} />
          </>
        ) : (
          <KeyDialog why={keyWanted.value} />
        )}
      </main>
    </div>
  )
}

function Screen({ screen, id }: { screen: string; id: string | undefined }) {
  if (!state.value.ready)
    return (
      <Empty>
        {link.value === 'lost' ? 'The service does not answer. The page tries again by itself.' : 'The page reads the state of the bench.'}
      </Empty>
    )
  switch (screen) {
    case 'runs':
      if (id === 'new') return <NewRunScreen />
      return id ? <RunScreen key={id} execution_id={id} /> : <RunsScreen />
    case 'deck':
      return <DeckScreen />
    case 'teach':
      return <TeachScreen />
    case 'events':
      return <EventsScreen />
    case 'system':
      return <SystemScreen onForget={forgetKey} />
    default:
      return <BenchScreen />
  }
}

function Link() {
  const age = Math.round((ticks.value - lostAt.value) / 1000)
  const words = { connecting: 'connecting', live: 'live', lost: `no connection for ${Math.max(0, age)} s` }
  return (
    <p class="link" data-link={link.value} role="status">
      {words[link.value]}
      {isAllSimulated.value && (
        <span title={`Every device is simulated: nothing on this bench is real. ${timeScale.value} of its seconds go by in one.`}>
          {timeScale.value === 1 ? ' · simulated' : ` · simulated ${timeScale.value}×`}
        </span>
      )}
    </p>
  )
}

function Stop() {
  if (stopped.value && stopped.value.confirmed !== undefined) return <Hold />
  return (
    <button
      type="button"
      class="stop"
      onPointerDown={stopAll}
      onKeyDown={(event) => {
        if ((event.key === 'Enter' || event.key === ' ') && !event.repeat) stopAll()
      }}
    >
      STOP ALL
    </button>
  )
}

const hold_ms = 1000

/** Gives the page its buttons back; nothing moves by it. */
function Hold() {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const holding = useSignal(false)
  const begin = () => {
    if (holding.value) return
    holding.value = true
    timer.current = setTimeout(() => {
      stopped.value = undefined
    }, hold_ms)
  }
  const end = () => {
    holding.value = false
    clearTimeout(timer.current)
  }
  return (
    <button
      type="button"
      class={holding.value ? 'stop hold holding' : 'stop hold'}
      onPointerDown={begin}
      onPointerUp={end}
      onPointerLeave={end}
      onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && begin()}
      onKeyUp={end}
      onBlur={end}
    >
      Hold to continue
    </button>
  )
}

function StopNote() {
  const { at, said, confirmed } = stopped.value!
  return (
    <p class={confirmed === false ? 'stop-note bad' : 'stop-note'} role="alert">
      {clockTime(at / 1000)} {said}
    </p>
  )
}

/** Who stopped what and when, on every screen, until the devices are initialized. */
function StoppedDevices() {
  const all = Object.values(state.value.device).filter(({ stopped }) => stopped !== null)
  const [first] = all
  if (!first?.stopped || !state.value.ready || keyWanted.value !== undefined) return null
  const { by, at } = first.stopped
  const shown = all.length > 4 ? `${all.length} devices` : all.map(({ device_id }) => device_id).join(', ')
  return (
    <p class="stop-note" role="status">
      <span>
        <span aria-hidden="true">■ </span>
        {shown} stopped{by && ` by ${by}`}, {clockTime(at, now.value / 1000)}. Initialize when it is safe.
      </span>
      {(route.value[0] || 'bench') !== 'bench' && <a href="#/bench">Show</a>}
    </p>
  )
}

function Needs() {
  const all = needs.value
  const showsAll = useSignal(false)
  if (all.length === 0) return null
  const few = showsAll.value ? all : all.slice(0, 3)
  return (
    <section class="needs" aria-label="Needs you">
      <h2>Needs you {all.length > 1 && <small>{all.length}</small>}</h2>
      {few.map((need) => (
        <NeedCard key={need.id} need={need} />
      ))}
      {all.length > few.length && (
        <button type="button" class="quiet" onClick={() => (showsAll.value = true)}>
          Show {all.length - few.length} more
        </button>
      )}
    </section>
  )
}

function KeyDialog({ why }: { why: string }) {
<<<<<<< HEAD
  const trouble = useSignal(why)
  const key = useSignal('')
  return (
    <form
      class="key-dialog"
      aria-label="Connect to the bench"
      onSubmit={async (event) => {
        event.preventDefault()
        trouble.value = await connect(key.value.trim())
      }}
    >
      <h2>Connect to the bench</h2>
      <label for="api-key">API key</label>
      <input
        id="api-key"
        type="password"
        autocomplete="off"
        spellcheck={false}
        placeholder="bk_…"
        value={key.value}
        onInput={(event) => (key.value = event.currentTarget.value)}
      />
      <p class="trouble" role="alert">
        {trouble}
      </p>
      <div class="row">
        <button type="submit" class="main">
          Connect
        </button>
        <AskForAccess />
      </div>
      <p class="hint">
        The key is kept in this browser. Make one at the bench with <code>benchd key create --name browser --scope operate</code>. On a new
        bench <code>sudo benchd init</code> makes the first key.
      </p>
    </form>
  )
}

/** Asks for a key that an admin approves, and shows the code by which they know this browser. */
function AskForAccess() {
  const said = useSignal('')
  const waits = useSignal(false)
  const begin = async () => {
    waits.value = true
    try {
      const answer = await fetch('api/keys/requests', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ app_name: `browser on ${navigator.platform || 'a computer'}`.slice(0, 60), scope: 'operate' }),
      })
      const body = (await answer.json()) as { request_id: string; request_secret: string; code: string; detail?: string }
      if (!answer.ok) throw new Error(body.detail)
      said.value = `Code ${body.code}: have it approved at the bench (System), or with: benchd key approve ${body.code}`
      await fetched(body)
    } catch (error) {
      said.value = error instanceof Error && error.message ? error.message : 'The service does not answer; try again.'
    } finally {
      waits.value = false
    }
  }
  const fetched = async ({ request_id, request_secret }: { request_id: string; request_secret: string }) => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 1500))
      const answer = await fetch(`api/keys/requests/${request_id}`, { headers: { 'X-Request-Secret': request_secret } })
      const body = (await answer.json()) as { api_key?: string; detail?: string }
      if (body.api_key) return void (await connect(body.api_key))
      if (!answer.ok) throw new Error('The request was denied, or nobody decided within ten minutes. Ask again.')
    }
  }
  return (
    <>
      <button type="button" class="plain" disabled={waits.value} onClick={begin}>
        Ask for access
      </button>
      <p class="hint" role="status">
        {said}
      </p>
    </>
  )
=======
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    place.current?.replaceChildren(keyDialog({ why, connect }))
  }, [why])
  return <div ref={place} />
>>>>>>> 227614b (The page decides about late calls, faults and held threads in one place, teaches with the arm, and shows who stopped what; the API tells doctor, bundle, configuration and pose, and takes If-State)
}
