// A moment on the page, and who did something.

import { authorText, clockTime, zonedTime } from './words.ts'

/** A moment in the zone of this computer. The tooltip has the day, the zone and its name. `at` and `now` in Unix seconds. */
export function Time({ at, now }: { at: number; now?: number | undefined }) {
  const date = new Date(at * 1000)
  return (
    <time dateTime={Number.isNaN(date.getTime()) ? undefined : date.toISOString()} title={zonedTime(at)}>
      {clockTime(at, now)}
    </time>
  )
}

/** The key of an author, and the name that the person gave. */
export function Author({ by, operator }: { by: string | null | undefined; operator?: string | undefined }) {
  return <strong title={operator && 'Nobody has checked the name.'}>{authorText(by, operator)}</strong>
}
