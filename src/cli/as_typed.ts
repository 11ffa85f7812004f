// Commands that a text names, as they are typed where this program runs.

import { commandHere } from '../kit/installation.ts'

let named: RegExp | undefined
let typed: string | undefined

/** What a command can begin with: only before these words `benchd` is a command. */
export function nameCommands(words: readonly string[]): void {
  named = new RegExp(`(?<!npx |Usage: |\\ba |another |[\\w/.-])benchd (?=(?:help|${words.join('|')})\\b)`, 'g')
}

/** `npx benchd …` instead of `benchd …` in a clone that nobody has linked. A text that is JSON stays as it is. */
export function asTyped(text: string): string {
  if (!named || text.startsWith('{') || text.startsWith('[') || !text.includes('benchd ')) return text
  typed ??= commandHere()
  return typed === 'benchd' ? text : text.replace(named, `${typed} `)
}
