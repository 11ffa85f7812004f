// The screen Lab: a line for each bench, which fails by itself and links to the bench's page.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Operations } from '../../clients/ts/benchd.ts'
import { Empty } from '../parts.tsx'
import { bench } from '../store.tsx'
import { duration } from '../words.ts'

type Lab = Operations['getLab']['answer']
type Bench = Lab['benches'][number]

/** The polling interval; benches announce themselves every ten seconds. */
const look_ms = 5000

const tones = { here: 'good', silent: 'bad', unknown: 'calm' } as const

export function LabScreen() {
  const lab = useSignal<Lab | undefined>(undefined)
  useEffect(() => {
    const read = async () => {
      lab.value = (await bench.value?.call('getLab').catch(() => undefined)) ?? lab.value
    }
    void read()
    const timer = setInterval(() => void read(), look_ms)
    return () => clearInterval(timer)
  }, [])
  const { link, benches = [] } = lab.value ?? {}
  return (
    <section aria-label="Lab">
      <h2>{link ? `Lab ${link.lab}` : 'Lab'}</h2>
      {lab.value && !link && (
        <Empty>
          This bench belongs to no lab: its configuration has no "fleet". The guide "Many benches" in the documents says how to add it.
        </Empty>
      )}
      {link && (
        <p class={`state ${link.failure ? 'bad' : 'good'}`}>
          {link.failure ??
            `${link.name} is connected; ${link.waiting ? `${link.waiting} events wait to be sent.` : 'all its events are sent.'}`}
        </p>
      )}
      <ul class="list" aria-label="Benches">
        {benches.map((one) => (
          <Line key={one.name} one={one} isOwn={one.name === link?.name} />
        ))}
      </ul>
    </section>
  )
}

function Line({ one, isOwn }: { one: Bench; isOwn: boolean }) {
  const { name, state, heard_s, url, version, health, devices, incidents, positions } = one
  const heard = heard_s === null ? 'no message since this bench began to listen' : `heard ${duration(heard_s)} ago`
  const counts = Object.entries(devices).map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`)
  return (
    <li>
      <span>
        <strong>
          {isOwn ? (
            `${name} (this bench)`
          ) : (
            <a href={url} rel="noreferrer">
              {name}
            </a>
          )}
        </strong>{' '}
        <span class={`state ${tones[state]}`}>{state}</span>{' '}
        <small>
          {heard}; {health}, {counts.length ? counts.join(', ') : 'no devices'}, {incidents} open{' '}
          {incidents === 1 ? 'incident' : 'incidents'}, benchd {version}
          {positions.length > 0 && `; labware is handed over at ${positions.join(', ')}`}
        </small>
      </span>
    </li>
  )
}
