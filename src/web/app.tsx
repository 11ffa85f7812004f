// The frame of every screen: navigation, *Needs you*, and STOP ALL, always at the same place.

import { useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { KeyForm } from './key_form.tsx'
import { type Later, LaterScreen, laterWithStyle, more } from './later.tsx'
import { AskName } from './name_form.tsx'
import { NeedCard } from './need_card.tsx'
import { Empty, ShowAll } from './parts.tsx'
import { BenchScreen } from './screens/bench.tsx'
import { SolvedLines } from './solved_lines.tsx'
import { StopButton, StopNotes } from './stop.tsx'
import {
  bench,
  connect,
  forgetKey,
  isAllSimulated,
  keyWanted,
  link,
  lostAt,
  needs,
  notice,
  route,
  scope,
  state,
  ticks,
  timeScale,
} from './store.tsx'

type Show = (id: string | undefined) => ComponentChild

const device = laterWithStyle('device.css', () => import('./screens/device.tsx'))
const run = laterWithStyle('run.css', () => import('./screens/run.tsx'))
const newRun = laterWithStyle('run.css', () => import('./screens/new_run.tsx'))
const deck = laterWithStyle('deck.css', () => import('./screens/deck.tsx'))

/** Makes a screen of a file that is fetched later. */
function of<Module>(file: Later<Module>, show: (screens: Module, id: string | undefined) => ComponentChild): Show {
  return (id) => <LaterScreen of={file} show={(screens) => show(screens, id)} />
}

/** The screens by their part of the address, with their titles. */
const screens = new Map<string, { word: string; show: Show }>([
  ['bench', { word: 'Bench', show: () => <BenchScreen /> }],
  ['runs', { word: 'Runs', show: of(run, ({ RunsPart }, id) => <RunsPart id={id} />) }],
  ['deck', { word: 'Deck', show: of(deck, ({ DeckScreen }) => <DeckScreen />) }],
  ['teach', { word: 'Teach', show: of(more, ({ TeachScreen }) => <TeachScreen />) }],
  ['events', { word: 'Events', show: of(more, ({ EventsScreen }) => <EventsScreen />) }],
  ['system', { word: 'System', show: of(more, ({ SystemScreen }) => <SystemScreen onForget={forgetKey} />) }],
])

/** The screens below another one. */
const below = new Map<string, { under: string; show: Show }>([
  ['runs/new', { under: 'runs', show: of(newRun, ({ NewRunScreen }) => <NewRunScreen />) }],
  ['lab', { under: 'system', show: of(more, ({ LabScreen }) => <LabScreen />) }],
  ['devices', { under: 'bench', show: of(device, ({ DeviceScreen }, id) => <DeviceScreen key={id} device_id={id ?? ''} />) }],
  ['workflows', { under: 'runs', show: of(more, ({ VersionsScreen }, id) => <VersionsScreen key={id} of="workflow" name={id ?? ''} />) }],
  ['topologies', { under: 'deck', show: of(more, ({ VersionsScreen }, id) => <VersionsScreen key={id} of="topology" name={id ?? ''} />) }],
  ['system/who', { under: 'system', show: of(more, ({ WhoScreen }) => <WhoScreen />) }],
  ['bench/add', { under: 'bench', show: of(more, ({ AddDeviceScreen }) => <AddDeviceScreen />) }],
])

export function App() {
  const [screen = '', id] = route.value
  const shown = (below.get(`${screen}/${id}`) ?? below.get(screen))?.under ?? (screen || 'bench')
  const count = needs.value.length
  useEffect(more.fetch, [])
  useEffect(() => {
    document.title = `${count ? `(${count}) ` : ''}benchd`
  }, [count])
  const isOld = link.value === 'lost'
  return (
    <div class={isOld ? 'page old' : 'page'}>
      <div class="top">
        <header>
          <h1 class="unseen">benchd</h1>
          <nav aria-label="Screens">
            {[...screens].map(([name, { word }]) => (
              <a key={name} href={`#/${name}`} aria-current={shown === name ? 'page' : undefined}>
                {word}
              </a>
            ))}
          </nav>
          <Link />
          <StopButton />
        </header>
        <StopNotes />
      </div>
      {scope.value === 'read' && bench.value && keyWanted.value === undefined && (
        <p class="notice">This key can only read. STOP ALL works; the other buttons need a key of scope operate.</p>
      )}
      {scope.value !== 'read' && bench.value && keyWanted.value === undefined && <AskName />}
      <main>
        {keyWanted.value === undefined ? (
          <>
            <Needs />
            <Screen screen={screen} id={id} />
          </>
        ) : (
          <KeyForm why={keyWanted.value} connect={connect} />
        )}
      </main>
      <Said />
    </div>
  )
}

/** How long a success is shown, ms: it covers what is below it. */
const shown_ms = 10_000

/** Shows the outcome of the last press, a refusal until Escape, wherever the page is scrolled. The element always exists, because a screen reader announces only changes in an existing element. */
function Said() {
  const bar = useRef<HTMLDivElement>(null)
  useEffect(() => uncover(bar.current), [notice.value])
  useEffect(() => {
    const close = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') notice.value = undefined
    }
    addEventListener('keydown', close)
    return () => removeEventListener('keydown', close)
  }, [])
  const said = notice.value
  useEffect(() => {
    if (!said || said.bad) return
    const timer = setTimeout(() => (notice.value = undefined), shown_ms)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <div class="said" role="status" ref={bar}>
      {notice.value && (
        <p class={notice.value.bad ? 'notice bad' : 'notice'}>
          <span class="long">{notice.value.text}</span>
          <button type="button" class="quiet" aria-label="Close this message" onClick={() => (notice.value = undefined)}>
            ✕
          </button>
        </p>
      )}
    </div>
  )
}

/**
 * Scrolls the focused control, and the filled button of a form, out from under the notice, which lies over the end of the window. Cards stay where they are:
 * a finger on its way to one must not meet another.
 */
function uncover(bar: HTMLElement | null): void {
  // The buttons at the end of a form, which stay in view, stand above the notice.
  document.documentElement.style.setProperty('--said', `${bar?.clientHeight ?? 0}px`)
  if (!bar || bar.clientHeight === 0) return
  const { top } = bar.getBoundingClientRect()
  const next = [...document.querySelectorAll('main button.main:not(article *), main :focus')].map((its) => its.getBoundingClientRect())
  const covered = next.filter((its) => its.top < innerHeight && its.bottom > top && its.height > 0)
  if (covered.length > 0) scrollBy(0, Math.max(...covered.map(({ bottom }) => bottom)) - top + 8)
}

function Screen({ screen, id }: { screen: string; id: string | undefined }) {
  if (!state.value.ready)
    return (
      <Empty>
        {link.value === 'lost' ? 'The service does not answer. The page tries again by itself.' : 'Loading the state of the bench …'}
      </Empty>
    )
  return (below.get(`${screen}/${id}`) ?? below.get(screen) ?? screens.get(screen) ?? screens.get('bench')!).show(id)
}

function Link() {
  const age = Math.round((ticks.value - lostAt.value) / 1000)
  const words = { connecting: 'connecting', live: 'live', lost: `no connection for ${Math.max(0, age)} s` }
  return (
    <p class="link" data-link={link.value} role="status">
      {words[link.value]}
      {isAllSimulated.value && (
        <span
          title={`Every device is simulated: nothing on this bench is real. Its time runs ${timeScale.value} times as fast as real time.`}
        >
          {timeScale.value === 1 ? ' · simulated' : ` · simulated ${timeScale.value}×`}
        </span>
      )}
    </p>
  )
}

function Needs() {
  const all = needs.value
  const [screen, id, task] = route.value
  const step_id = screen === 'runs' && id !== 'new' ? task : undefined
  const isOver = step_id !== undefined && state.value.ready && !(step_id in state.value.step)
  return (
    <>
      <p class="unseen" role="status">
        {all.length > 0 && `Needs you: ${all.map(({ title, text, task }) => (task ? text : title)).join('; ')}`}
      </p>
      {isOver && <p class="notice">The task of this link waits no longer: it was answered, or its time is over.</p>}
      {all.length > 0 && <NeedCards all={all} />}
      <SolvedLines />
    </>
  )
}

const mostTasks = 20

function NeedCards({ all }: { all: typeof needs.value }) {
  const showsAll = useSignal(false)
  // The tasks are first, and the worst of the rest is always shown.
  const tasks = all.filter(({ task }) => task).length
  const few = showsAll.value ? all : all.slice(0, Math.max(3, Math.min(tasks, mostTasks) + 1))
  return (
    <section class="needs" aria-label="Needs you">
      <h2>Needs you {all.length > 1 && <small>{all.length}</small>}</h2>
      {few.map((need) => (
        <NeedCard key={need.id} need={need} />
      ))}
      <ShowAll of={showsAll} rest={all.length - few.length} />
    </section>
  )
}
