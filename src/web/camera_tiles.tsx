// The tile of a camera on the screen Bench, which shows the present picture while it is open and the page is visible.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { BenchError, type Operations } from '../clients/ts/benchd.ts'
import { useAnswer } from './parts.tsx'
import { bench, now, ticks } from './store.tsx'
import { clockTime, duration, sentence } from './words.ts'

type Incident = Operations['listIncidents']['answer']['incidents'][number]

const look_ms = 1000
/** The age from which a picture is called old. */
const old_ms = 3000
const openPlace = 'benchd.cameras'

export function CameraTile({ name, hasKept }: { name: string; hasKept: boolean }) {
  const isOpen = useSignal(localStorage.getItem(`${openPlace}.${name}`) === 'open')
  return (
    <details
      class="card camera"
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open
        localStorage.setItem(`${openPlace}.${name}`, isOpen.value ? 'open' : 'shut')
      }}
    >
      <summary>Camera {name}</summary>
      {isOpen.value && <Present name={name} />}
      {isOpen.value && hasKept && <Kept name={name} />}
    </details>
  )
}

/** The present picture. A hidden tab asks for none. */
function Present({ name }: { name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const taken = useSignal<number | undefined>(undefined)
  const failure = useSignal('')
  useEffect(() => {
    let isHere = true
    let timer: ReturnType<typeof setTimeout>
    const look = async () => {
      if (!document.hidden) {
        failure.value = await drawn(canvas, () => bench.value!.download('getPicture', { path: { camera: name } }))
        if (failure.value === '') taken.value = performance.now()
      }
      if (isHere) timer = setTimeout(look, look_ms)
    }
    void look()
    return () => {
      isHere = false
      clearTimeout(timer)
    }
  }, [name])
  const age = taken.value === undefined ? undefined : Math.max(0, ticks.value - taken.value)
  return (
    <>
      <canvas ref={canvas} role="img" aria-label={`Picture of the camera ${name}`} hidden={age === undefined} />
      <p class={failure.value ? 'fault long' : 'hint'}>
        {failure.value || (age === undefined ? 'Waiting for the first picture …' : age > old_ms ? '' : 'The picture is of now.')}
        {age !== undefined && age > old_ms && ` The picture is ${duration(age / 1000)} old.`}
      </p>
    </>
  )
}

/** The newest incidents of which the camera has kept a picture; one of them is shown. */
function Kept({ name }: { name: string }) {
  const answer = useAnswer('listIncidents', { query: { limit: 100 } })
  const shown = useSignal<string | undefined>(undefined)
  const kept = (answer.value?.incidents ?? []).filter(({ pictures }) => pictures.includes(name)).slice(0, mostShown)
  if (kept.length === 0) return null
  return (
    <details>
      <summary>Pictures kept with incidents</summary>
      <ul class="list">
        {kept.map((incident) => (
          <li key={incident.incident_id}>
            <span>
              {sentence(incident.message)} <small>{clockTime(incident.timestamp, now.value / 1000)}</small>
            </span>
            <button
              type="button"
              class="plain"
              aria-expanded={shown.value === incident.incident_id}
              onClick={() => (shown.value = shown.value === incident.incident_id ? undefined : incident.incident_id)}
            >
              Picture
            </button>
            {shown.value === incident.incident_id && <KeptPicture incident={incident} name={name} />}
          </li>
        ))}
      </ul>
    </details>
  )
}

const mostShown = 10

function KeptPicture({ incident: { incident_id }, name }: { incident: Incident; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const failure = useSignal('')
  useEffect(() => {
    const get = () => bench.value!.download('getIncidentPicture', { path: { incident_id, camera: name } })
    void drawn(canvas, get).then((why) => {
      failure.value = why
    })
  }, [incident_id])
  return (
    <>
      <canvas ref={canvas} role="img" aria-label={`Picture of the camera ${name} at the incident`} />
      {failure.value && <p class="fault">{failure.value}</p>}
    </>
  )
}

/**
 * Draws a picture on a canvas, because the request needs the key, which an `img` does not send, and the page's policy allows no other source. Resolves with the
 * sentence of a failure; empty if there was none.
 */
async function drawn(canvas: { current: HTMLCanvasElement | null }, get: () => Promise<{ content: Blob }>): Promise<string> {
  try {
    const picture = await createImageBitmap((await get()).content)
    const its = canvas.current
    if (its) {
      Object.assign(its, { width: picture.width, height: picture.height })
      its.getContext('2d')?.drawImage(picture, 0, 0)
    }
    picture.close()
    return ''
  } catch (error) {
    if (error instanceof BenchError) return sentence(error.message)
    return error instanceof DOMException ? 'The picture is damaged.' : 'The service does not answer.'
  }
}
