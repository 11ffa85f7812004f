// The cameras on the screen Bench. A bench without cameras fetches no code for them.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useAnswer } from './parts.tsx'

const tiles = signal<typeof import('./camera_tiles.tsx') | undefined>(undefined)

export function Cameras() {
  const answer = useAnswer('listCameras')
  const { cameras = [] } = answer.value ?? {}
  useEffect(() => {
    if (cameras.length === 0 || tiles.value) return
    import('./camera_tiles.tsx').then(
      (module) => {
        tiles.value = module
      },
      // The next visit of the screen tries again.
      () => undefined,
    )
  }, [cameras.length])
  const { CameraTile } = tiles.value ?? {}
  if (cameras.length === 0 || !CameraTile) return null
  return (
    <section class="cameras" aria-label="Cameras">
      {cameras.map(({ name, at_incidents }) => (
        <CameraTile key={name} name={name} hasKept={at_incidents} />
      ))}
    </section>
  )
}
