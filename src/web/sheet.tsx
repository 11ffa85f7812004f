// A sheet at the bottom of the window, over the screen and under STOP ALL, which stays in reach: a form, or a list of buttons.

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

type SheetProps = { title: string; onClose: () => void; children: ComponentChildren }

/** Takes the focus when it opens, and gives it back when it is closed, also by Escape. */
export function Sheet({ title, onClose, children }: SheetProps) {
  const its = useRef<HTMLDialogElement>(null)
  const titleId = `sheet-${title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}`
  // At once: a person who is quick has pressed something in the sheet before an effect would run.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    const sheet = its.current
    const first = (selector: string) => sheet?.querySelector<HTMLElement>(selector)
    ;(first('input, select') ?? first('.sheet-body button'))?.focus({ preventScroll: true })
    const close = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    addEventListener('keydown', close)
    return () => {
      removeEventListener('keydown', close)
      // Not from a person who has gone on elsewhere.
      const { activeElement: at, body } = document
      if (at === body || sheet?.contains(at)) before?.focus()
    }
  }, [])
  return (
    <dialog open class="sheet" ref={its} aria-labelledby={titleId}>
      <header>
        <h3 id={titleId}>{title}</h3>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      <div class="sheet-body">{children}</div>
    </dialog>
  )
}
