// Parts of the first screen that are in the file of the other screens: each is shown once that file is fetched.

import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { Position, Standing } from './deck_state.ts'
import type { Task } from './need.ts'

type Part<Props> = (props: Props) => VNode | null
type Carried = NonNullable<Task['carries']> & { why: string | undefined }

/** The parts that `screens/more.tsx` exports, so that this file need not import it. */
export type MoreParts = {
  Camera: Part<{ onRead: (barcode: string) => void }>
  Cannot: Part<Carried & { onAnswer: (reason: string) => unknown }>
  Elsewhere: Part<Carried & { onAnswer: (position: string) => unknown }>
  LastWords: Part<{ device_id: string }>
  OpenRuns: Part<object>
  SomebodyMovedIt: Part<{ its: Standing; positions: readonly Position[] }>
  Values: Part<{ operation_id: string }>
}

/** The file of the other screens; undefined until it is fetched. */
export const loadedMore: Signal<MoreParts | undefined> = signal(undefined)

/** Shows a part that is in the file of the other screens; nothing until it is there. */
export function MorePart({ show }: { show: (parts: MoreParts) => VNode }) {
  return loadedMore.value ? show(loadedMore.value) : null
}
