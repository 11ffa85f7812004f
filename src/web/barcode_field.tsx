// A field for a barcode: typed, scanned by a scanner that types, also while the field has no focus, or read by the camera.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { fieldFor, type ScanField, Wedge } from './wedge.ts'

type FieldProps = {
  label: string
  of: Signal<string>
  /** The barcode that is wanted; undefined for any. */
  wants?: string | undefined
  /** Whether the field takes the focus when it appears, unless something else on the page has it. */
  takesFocus?: boolean
}

export function BarcodeField({ label, of, wants, takesFocus = false }: FieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (takesFocus && document.activeElement === document.body) field.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => scansGoTo({ wants, take: (barcode) => (of.value = barcode) }), [wants])
  return (
    <>
      <input
        ref={field}
        aria-label={label}
        placeholder="Barcode"
        autocomplete="off"
        spellcheck={false}
        value={of.value}
        onInput={(event) => (of.value = event.currentTarget.value)}
      />
      {canDetect() && <Camera onRead={(barcode) => (of.value = barcode)} />}
    </>
  )
}

const fields: ScanField[] = []
const wedge = new Wedge()

/** Adds a field for scans while nothing else takes the keystrokes. The returned function removes it. */
function scansGoTo(field: ScanField): () => void {
  if (fields.length === 0) addEventListener('keydown', listen, true)
  fields.push(field)
  return () => {
    fields.splice(fields.indexOf(field), 1)
    if (fields.length === 0) removeEventListener('keydown', listen, true)
  }
}

function listen(event: KeyboardEvent): void {
  const { key, target, timeStamp, ctrlKey, altKey, metaKey } = event
  const isElsewhere = target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
  if (isElsewhere || ctrlKey || altKey || metaKey) return
  // A button with the focus must not be pressed by the keys of a scan.
  if (wedge.isTyping(timeStamp) && (key === ' ' || key === 'Enter')) event.preventDefault()
  const barcode = wedge.key(key, timeStamp)
  if (barcode !== undefined) fieldFor(barcode, fields)?.take(barcode)
}

type Detector = { detect(from: HTMLVideoElement): Promise<readonly { rawValue: string }[]> }

function canDetect(): boolean {
  return 'BarcodeDetector' in globalThis && navigator.mediaDevices !== undefined
}

const betweenLooks_ms = 200

/** Reads a barcode with the camera of this computer. Nothing is sent before a button is pressed. */
function Camera({ onRead }: { onRead: (barcode: string) => void }) {
  const isOpen = useSignal(false)
  const trouble = useSignal('')
  const video = useRef<HTMLVideoElement>(null)
  useEffect(() => {
    if (!isOpen.value) return undefined
    const closed = new AbortController()
    trouble.value = ''
    read(video.current!, closed.signal).then(
      (barcode) => {
        if (barcode !== undefined) onRead(barcode)
        isOpen.value = false
      },
      (error: Error) => {
        trouble.value = `The camera cannot be used: ${error.message}`
        isOpen.value = false
      },
    )
    return () => closed.abort()
  }, [isOpen.value])
  return (
    <>
      <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        {isOpen.value ? 'Close the camera' : 'Scan with the camera'}
      </button>
      {isOpen.value && <video ref={video} class="scan" muted playsInline aria-label="Camera" />}
      {trouble.value && <span class="hint">{trouble.value}</span>}
    </>
  )
}

/** Resolves with the first barcode that the camera sees; undefined once the signal is aborted. Rejects if there is no camera, or it is not allowed. */
async function read(video: HTMLVideoElement, signal: AbortSignal): Promise<string | undefined> {
  const { BarcodeDetector } = globalThis as unknown as { BarcodeDetector: new () => Detector }
  const detector = new BarcodeDetector()
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
  try {
    video.srcObject = stream
    await video.play()
    while (!signal.aborted) {
      const [found] = await detector.detect(video)
      if (found) return found.rawValue
      await new Promise((resolve) => setTimeout(resolve, betweenLooks_ms))
    }
    return undefined
  } finally {
    for (const track of stream.getTracks()) track.stop()
  }
}
