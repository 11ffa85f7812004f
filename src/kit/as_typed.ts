// Names commands in texts for people as they are typed on this computer. All that is printed, logged, or sent to somebody goes through here.

import { commandHere } from './installation.ts'

let named: RegExp | undefined

/** Sets the first words of all commands: `benchd` is taken for the program only before one of them. */
export function nameCommands(words: readonly string[]): void {
  named = new RegExp(`(?<!npx |Usage: |\\ba |another |-g |[\\w/.-])benchd (?=(?:help|${words.join('|')})(?![\\w-]))`, 'g')
}

/** Writes `npx benchd …` instead of `benchd …` in a clone that nobody has linked. Returns JSON as it is. */
export function asTyped(text: string): string {
  if (!named || text.startsWith('{') || text.startsWith('[') || !text.includes('benchd ')) return text
  const typed = commandHere()
  return typed === 'benchd' ? text : text.replace(named, () => `${typed} `)
}
