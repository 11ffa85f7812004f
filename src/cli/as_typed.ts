// Commands that a text names, as they are typed where this program runs.

import { installation } from '../kit/installation.ts'
import { words } from './commands.ts'

const named = new RegExp(`(?<!npx |Usage: |\\ba |another |[\\w/.-])benchd (?=(?:help|${words.join('|')})\\b)`, 'g')
let typed: string | undefined

/** `npx benchd …` instead of `benchd …` in a clone that nobody has linked. A text that is JSON stays as it is. */
export function asTyped(text: string): string {
  if (text.startsWith('{') || text.startsWith('[') || !text.includes('benchd ')) return text
  typed ??= installation().command
  return typed === 'benchd' ? text : text.replace(named, `${typed} `)
}
