// Export and import of teachpoints; the changes of an import are shown first.

import { useSignal } from '@preact/signals'
import type { Teachpoint } from '../../clients/ts/benchd.ts'
import { Act, UploadFile } from '../parts.tsx'
import { ask, download } from '../store.tsx'
import { type Compared, compared, pointsIn } from '../teachpoint_file.ts'

type FilesProps = { robot: string; points: readonly Teachpoint[]; onStored: () => Promise<void> }

export function Files({ robot, points, onStored }: FilesProps) {
  const found = useSignal<Compared | undefined>(undefined)
  const trouble = useSignal('')
  const read = async (file: File) => {
    try {
      found.value = compared(pointsIn(await file.text(), robot), points)
      trouble.value = ''
    } catch (error) {
      found.value = undefined
      trouble.value = `${file.name}: ${error instanceof Error ? error.message : error}`
    }
  }
  const store = async () => {
    const body = { device_id: robot, teachpoints: found.value!.points, overwrite: true }
    if (await ask('importTeachpoints', { body })) {
      found.value = undefined
      await onStored()
    }
  }
  return (
    <>
      <Act
        label="Export"
        free
        why={points.length === 0 ? 'There are no teachpoints.' : undefined}
        onPress={() => download('exportTeachpoints', { path: { device_id: robot } }, `${robot}-teachpoints.json`)}
      />
      <UploadFile label="Import" name="File of teachpoints" onFile={read} />
      {trouble.value && (
        <p class="trouble long" role="alert">
          {trouble.value}
        </p>
      )}
      {found.value && <Preview its={found.value} onStore={store} onLeave={() => (found.value = undefined)} />}
    </>
  )
}

function Preview({ its: { created, changed, same }, onStore, onLeave }: { its: Compared; onStore: () => unknown; onLeave: () => void }) {
  const why = created.length + changed.length === 0 ? 'Nothing would change.' : undefined
  return (
    <section class="forecast" aria-label="Changes by the import">
      <p>
        {created.length} new, {changed.length} changed, {same} as they are.
      </p>
      <ul class="list">
        {created.map((name) => (
          <li key={name}>
            <span>
              <strong>{name}</strong> is new
            </span>
          </li>
        ))}
        {changed.map(({ name, words }) => (
          <li key={name}>
            <span>
              <strong>{name}</strong> {words}
            </span>
          </li>
        ))}
      </ul>
      <div class="row">
        <Act label={`Import ${created.length + changed.length}`} kind="main" why={why} onPress={onStore} />
        <button type="button" class="plain" onClick={onLeave}>
          Cancel
        </button>
      </div>
    </section>
  )
}
