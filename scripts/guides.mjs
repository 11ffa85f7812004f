// Makes pages of the guides, so that they can be read on a bench that has no way to the internet.
//
//   scripts/guides.mjs [DIST]     DIST: dist/
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Marked } from 'marked'

const top = fileURLToPath(new URL('..', import.meta.url))
const dist = resolve(process.argv[2] ?? join(top, 'dist'))

/** By the name of the page: the guide, and its title in the list. src/http/pages.ts serves pages of these names. */
const guides = {
  care: ['systemd/README.md', 'Install and care'],
  settings: ['systemd/settings.md', 'Settings'],
  workflows: ['src/workflow/README.md', 'Workflows'],
  samples: ['src/workflow/SAMPLES.md', 'Samples'],
  storages: ['src/workflow/STORAGES.md', 'Storages'],
  records: ['src/workflow/records/README.md', 'Show what was done'],
  commands: ['src/cli/README.md', 'Commands'],
  api: ['src/http/README.md', 'The API'],
  clients: ['src/clients/README.md', 'Clients'],
  plugins: ['src/plugins/README.md', 'Plug-ins'],
  drivers: ['drivers/README.md', 'Drivers'],
  pylabrobot: ['src/clients/python/PYLABROBOT.md', "PyLabRobot's devices"],
  lab: ['src/fleet/README.md', 'Many benches'],
  mqtt: ['src/mqtt/README.md', 'MQTT and Home Assistant'],
  mcp: ['src/mcp/README.md', 'MCP'],
}
const pageOf = Object.fromEntries(Object.entries(guides).map(([name, [path]]) => [path, name]))

mkdirSync(join(dist, 'web/guides'), { recursive: true })
for (const [name, [path, title]] of Object.entries(guides)) {
  writeFileSync(join(dist, 'web/guides', `${name}.html`), page(name, title, readFileSync(join(top, path), 'utf8'), path))
}

function page(name, title, text, path) {
  const headings = []
  const marked = new Marked({ renderer: rendererOf(path, headings) })
  const content = marked.parse(text)
  const others = Object.entries(guides).map(
    ([other, [, its]]) => `<li><a href="${other}"${other === name ? ' aria-current="page"' : ''}>${its}</a></li>`,
  )
  const inside = headings.filter(({ depth }) => depth === 2).map(({ id, html }) => `<li><a href="#${id}">${html}</a></li>`)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>benchd: ${title}</title>
    <link rel="icon" href="../../icon.svg">
    <link rel="stylesheet" href="../../style.css">
    <link rel="stylesheet" href="../docs.css">
  </head>
  <body>
    <nav aria-label="Guides">
      <p><a href="../../">← Bench</a> · <a href="../../docs">API reference</a></p>
      <ul>${others.join('')}</ul>
      <ul>${inside.join('')}</ul>
    </nav>
    <main class="guide">
${content}
    </main>
  </body>
</html>
`
}

/** Headings get the ids that the guides' links name; links that lead to no page of the bench become text. */
function rendererOf(path, headings) {
  return {
    heading({ tokens, depth, text }) {
      const html = this.parser.parseInline(tokens)
      const id = text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
      headings.push({ id, html: html.replaceAll(/<\/?a[^>]*>/g, ''), depth })
      return `<h${depth} id="${id}">${html}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const html = this.parser.parseInline(tokens)
      const to = addressOf(path, href)
      return to === undefined ? html : `<a href="${to}">${html}</a>`
    },
    table(token) {
      const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
      const body = token.rows.map((cells) => row(cells, 'td')).join('\n')
      return `<div class="wide"><table><thead>${row(token.header, 'th')}</thead><tbody>\n${body}\n</tbody></table></div>\n`
    },
    html: () => '',
    image: () => '',
  }
}

function addressOf(path, href) {
  if (/^(https?:|#)/.test(href)) return href
  const [file, heading] = href.split('#')
  const name = pageOf[normalize(join(dirname(path), file))]
  return name && `${name}${heading ? `#${heading}` : ''}`
}
