// A field for a barcode: typed, scanned by a scanner that types, also while the field has no focus, or read by the camera.

import type { Signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { MorePart } from './more_part.tsx'
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
      {canDetect() && <MorePart show={({ Camera }) => <Camera onRead={(barcode) => (of.value = barcode)} />} />}
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

function canDetect(): boolean {
  return 'BarcodeDetector' in globalThis && navigator.mediaDevices !== undefined
}
