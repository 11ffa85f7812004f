// The first name of the person at this browser, which goes with each change. Nobody checks it, and it may stay empty.

import { signal } from '@preact/signals'
import { plainName } from './words.ts'

const place = 'benchd.operator'

/** The name; empty for a person who gave none, null where nobody was asked yet. */
export const operator = signal(stored())

function stored(): string | null {
  const name = localStorage.getItem(place)
  return name === null ? null : plainName(name)
}

export function saveOperator(typed: string): void {
  operator.value = plainName(typed)
  localStorage.setItem(place, operator.value)
}

// Another tab of this browser has saved the name.
addEventListener('storage', ({ key }) => {
  if (key === place) operator.value = stored()
})
