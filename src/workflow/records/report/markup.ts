// Makes HTML in which every text is escaped: nothing that a person, a device or a bridge wrote becomes markup.

import { withEscapes } from '../../../kit/invisible.ts'

/** HTML that was made here. Any other value in a template is text, and escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Markup | string | number | null | undefined | readonly Part[]

/** Tags a template of HTML. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  let text = strings[0]!
  for (let i = 0; i < parts.length; i++) text += textOf(parts[i]) + strings[i + 1]!
  return new Markup(text)
}

function textOf(part: Part): string {
  if (part === null || part === undefined) return ''
  if (part instanceof Markup) return part.text
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return part.map(textOf).join('')
}

const special = /[&<>"']/g
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
/** Most texts are plain, and need no look at each character. */
const plain = /^[\w .,:;()+\-/°→–]*$/

function escaped(text: string): string {
  return plain.test(text) ? text : withEscapes(text).replace(special, (found) => entities[found]!)
}

/** Shortens a text for a cell of a table. */
export function shortened(text: string, longest = 300): string {
  const letters = text.length > longest ? [...text.slice(0, longest + 1)] : []
  return letters.length > 0 ? `${letters.slice(0, -1).join('')}…` : text
}

/** Keeps a short text of a cell on one line. */
export function whole(text: string): Markup {
  return html`<span class="whole">${text}</span>`
}

export type Cell = Markup | string | number | null

/** Makes a table with a head, which a printer repeats on each page. */
export function tableHead(caption: string, columns: readonly string[]): Markup {
  return html`<table><caption>${caption}</caption><thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>
`
}

export const tableEnd = new Markup('</tbody></table>\n')

export function tableRow(cells: readonly Cell[]): Markup {
  return html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`
}

export function tableOf(caption: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): Markup {
  return html`${tableHead(caption, columns)}${rows.map(tableRow)}${tableEnd}`
}
