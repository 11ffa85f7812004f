// The note and the photo that people keep of a device.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Act, Block, Empty, useAnswer } from '../parts.tsx'
import { ask, bench, notice, now, refusal } from '../store.tsx'
import { authorText, clockTime } from '../words.ts'

/** The longer side of a photo that is stored, in pixels, and the qualities that are tried until it is small enough. */
const longest_px = 1600
const qualities = [0.85, 0.7, 0.5, 0.3]
const most_bytes = 1024 * 1024

export function NoteAndPhoto({ device_id }: { device_id: string }) {
  const path = { device_id }
  const kept = useAnswer('getDeviceNote', { path }, [device_id])
  const typed = useSignal<string | undefined>(undefined)
  const { note = null, photo = null } = kept.value ?? {}
  const change = async (asked: Promise<unknown>) => {
    if ((await asked) !== undefined) typed.value = undefined
    await kept.read()
  }
  return (
    <Block title="Note and photo">
      {typed.value === undefined ? (
        <>
          {note ? (
            <p class="long note">
              {note.text}{' '}
              <small>
                {authorText(note.by, note.operator)}, {clockTime(note.at, now.value / 1000)}
              </small>
            </p>
          ) : (
            <Empty>There is no note about this device.</Empty>
          )}
          <div class="row">
            <Act label={note ? 'Edit the note' : 'Write a note'} onPress={() => (typed.value = note?.text ?? '')} />
            {note && (
              <Act
                label="Delete the note"
                twice="Delete the note: press again"
                kind="quiet"
                onPress={() => change(ask('deleteDeviceNote', { path }))}
              />
            )}
          </div>
        </>
      ) : (
        <NoteForm typed={typed} onSave={(text) => change(ask('putDeviceNote', { path, body: { text } }, { quiet: true }))} />
      )}
      {photo && <Picture key={photo.sha256} device_id={device_id} />}
      <div class="row">
        {refusal.value === undefined && (
          <label class="button plain">
            {photo ? 'Replace the photo' : 'Upload a photo'}
            <input
              type="file"
              class="unseen"
              accept="image/*"
              aria-label={photo ? 'Replace the photo' : 'Upload a photo'}
              onChange={async ({ currentTarget }) => {
                const file = currentTarget.files?.[0]
                const body = file && (await smaller(file))
                currentTarget.value = ''
                if (body) await change(ask('putDevicePhoto', { path, body }, { quiet: true }))
              }}
            />
          </label>
        )}
        {photo && (
          <Act
            label="Delete the photo"
            twice="Delete the photo: press again"
            kind="quiet"
            onPress={() => change(ask('deleteDevicePhoto', { path }))}
          />
        )}
      </div>
    </Block>
  )
}

function NoteForm({ typed, onSave }: { typed: Signal<string | undefined>; onSave: (text: string) => unknown }) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const text = typed.value?.trim() ?? ''
  return (
    <>
      <label for="device-note">Note</label>
      <textarea
        id="device-note"
        ref={field}
        maxLength={4000}
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
      <div class="row">
        <Act label="Save" kind="main" why={text === '' ? 'The note is empty.' : undefined} onPress={() => onSave(text)} />
        <button type="button" class="quiet" onClick={() => (typed.value = undefined)}>
          Cancel
        </button>
      </div>
    </>
  )
}

/** The photo on a canvas: it is fetched with the key, and an image of the page can only come from an address. */
function Picture({ device_id }: { device_id: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const isUnreadable = useSignal(false)
  useEffect(() => {
    const draw = async () => {
      const { content } = await bench.value!.download('fetchDevicePhoto', { path: { device_id } })
      const picture = await createImageBitmap(content)
      if (!canvas.current) return
      Object.assign(canvas.current, { width: picture.width, height: picture.height })
      canvas.current.getContext('2d')?.drawImage(picture, 0, 0)
    }
    draw().catch(() => {
      isUnreadable.value = true
    })
  }, [])
  if (isUnreadable.value) return <Empty>This browser cannot show the photo.</Empty>
  return <canvas class="photo" ref={canvas} role="img" aria-label={`Photo of ${device_id}`} />
}

/** Makes a JPEG of at most 1 MiB, without the place and the time that a phone writes into its photos. Resolves with undefined for what is no picture. */
async function smaller(file: File): Promise<Blob | undefined> {
  const picture = await createImageBitmap(file).catch(() => undefined)
  if (!picture) {
    notice.value = { text: `${file.name} is no picture that this browser can read.`, bad: true }
    return undefined
  }
  const scale = Math.min(1, longest_px / Math.max(picture.width, picture.height))
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) })
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  for (const quality of qualities) {
    const made = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality))
    if (made && made.size <= most_bytes) return made
  }
  notice.value = { text: `${file.name} is too large for a photo of a device.`, bad: true }
  return undefined
}
