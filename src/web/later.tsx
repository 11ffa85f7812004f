// Screens in files of their own, which are fetched once.

import { type Signal, signal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect } from 'preact/hooks'
import { loadedMore } from './more_part.tsx'
import { Empty } from './parts.tsx'

/** A file of screens; `failed` where it could not be fetched. */
export type Later<Module> = { readonly loaded: Signal<Module | 'failed' | undefined>; fetch(): void }

export function later<Module>(load: () => Promise<Module>): Later<Module> {
  const loaded: Later<Module>['loaded'] = signal(undefined)
  let isAsked = false
  const fetch = () => {
    if (isAsked) return
    isAsked = true
    load().then(
      (found) => {
        loaded.value = found
      },
      () => {
        loaded.value = 'failed'
      },
    )
  }
  return { loaded, fetch }
}

/** The style sheets that were asked for, by address: two files of screens may share one. */
const styles = new Map<string, Promise<unknown>>()

/** A file of screens with a style sheet. The screens are shown without the sheet where it cannot be fetched. */
export function laterWithStyle<Module>(href: string, load: () => Promise<Module>): Later<Module> {
  return later(async () => {
    const style = styles.get(href) ?? appended(href)
    styles.set(href, style)
    const [screens] = await Promise.all([load(), style])
    return screens
  })
}

/** Appends a style sheet to the document. Resolves when the sheet is there, or cannot be fetched. */
function appended(href: string): Promise<unknown> {
  return new Promise((resolve) => {
    document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href, onload: resolve, onerror: resolve }))
  })
}

/** The screens that are fetched together after the first paint. */
export const more = later(async () => {
  const screens = await import('./screens/more.tsx')
  loadedMore.value = screens
  return screens
})

type LaterProps<Module> = { of: Later<Module>; show: (screens: Module) => ComponentChild }

/** Shows a screen of a file, which is fetched now unless it was before. */
export function LaterScreen<Module>({ of, show }: LaterProps<Module>) {
  useEffect(of.fetch, [of])
  const { value } = of.loaded
  if (value === undefined) return <Empty>Loading this screen …</Empty>
  if (value === 'failed') return <Empty>This screen could not be loaded. Reload the page.</Empty>
  return <>{show(value)}</>
}
