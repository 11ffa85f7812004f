import { useEffect, useRef } from 'preact/hooks'
import { type KeyDialog, keyDialog } from './key_dialog.tsx'

/** The dialog for the key, as a part of a page. */
export function KeyForm(its: KeyDialog) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    place.current?.replaceChildren(keyDialog(its))
  }, [its.why])
  return <div ref={place} />
}
