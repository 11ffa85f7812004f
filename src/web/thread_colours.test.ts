import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { threadColour, threadColours } from './thread_colours.ts'

const style = readFileSync(new URL('../../../src/web/style.css', import.meta.url), 'utf8')

/** The colour of a name in `style.css`: 0 in light, 1 in dark. */
function named(name: string, scheme: number): string {
  const found = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(style)
  return found![scheme + 1]!
}

/** The relative luminance of WCAG 2. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light! + 0.05) / (dark! + 0.05)
}

test('the colours of threads are read under the letters of bars, and told from what lies behind them', (t) => {
  for (const colours of threadColours)
    for (const [scheme, colour] of colours.entries()) {
      t.ok(contrast(colour, named('on-accent', scheme)) >= 4.5, `${colour} under a label`)
      for (const ground of ['card', 'paper'])
        t.ok(contrast(colour, named(ground, scheme)) >= 4.5, `${colour} on --${ground}, where it may be the colour of letters`)
    }
  t.end()
})

test('equal names of threads have equal colours, and names that count up have different ones', (t) => {
  t.equal(threadColour('plate-1'), threadColour('plate-1'))
  t.match(threadColour('plate-1'), /^light-dark\(#\w{6}, #\w{6}\)$/)
  const eight = Array.from({ length: 8 }, (_, i) => threadColour(`plate-${i + 1}`))
  t.equal(new Set(eight).size, threadColours.length)
  t.match(threadColour(''), /^light-dark/)
  t.end()
})
