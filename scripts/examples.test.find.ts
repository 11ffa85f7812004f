// The examples that the guides print: each fenced block in a language that can be run, as the things that a reader types or saves.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `text` is a command, with its lines joined, or a whole program. */
export type Example = { language: 'sh' | 'python' | 'ts'; text: string }

const runnable = ['sh', 'python', 'ts']
/** Other words for the same languages: a block with such a word would be passed over. */
const otherNames = ['bash', 'shell', 'console', 'py', 'typescript', 'js', 'javascript']

const pages = new Set(['README.md', 'STORAGES.md'])

/** Returns the paths of all guides below a folder. */
export function guidesIn(top: string, folder = ''): string[] {
  return readdirSync(join(top, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^(node_modules|dist|\..*)$/.test(entry.name) ? [] : guidesIn(top, path)
    return pages.has(entry.name) ? [path] : []
  })
}

/** The fenced blocks of a text, and the last cells of tables that hold nothing but a command: those of the guide to the commands. */
const found = /^```(\w+)\n(.*?)^```|^\|[^\n]*\| `((?:sudo )?benchd [^`\n]+|source [^`\n]+)` \|$/gms

/** Returns the examples of a guide in their order. Throws where a block has another word for a language. */
export function examplesIn(path: string): Example[] {
  return [...readFileSync(path, 'utf8').matchAll(found)].flatMap(([, language = 'sh', text = '', cell]) => {
    if (cell !== undefined) return [{ language: 'sh', text: cell.replaceAll('\\|', '|') }]
    if (otherNames.includes(language)) throw new Error(`${path}: a block is marked ${language}; mark it ${runnable.join(', ')}`)
    if (!runnable.includes(language)) return []
    const texts = language === 'sh' ? commandsOf(text) : [text]
    return texts.map((one) => ({ language, text: one }) as Example)
  })
}

function commandsOf(block: string): string[] {
  return block
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
}
