// How a report looks, on a screen and on A4, and the policy that lets nothing run in it.

import { createHash } from 'node:crypto'

export const style = `
@page { size: A4; margin: 14mm 12mm 16mm; @bottom-right { content: "Page " counter(page) " of " counter(pages); font: 8pt sans-serif } }
:root { color-scheme: light }
body { font: 10pt/1.35 system-ui, "Liberation Sans", Arial, sans-serif; color: #111; background: #fff; max-width: 190mm; margin: 0 auto; padding: 4mm }
h1 { font-size: 16pt; margin: 0 0 2mm; overflow-wrap: anywhere }
h2 { font-size: 12.5pt; margin: 7mm 0 2mm; border-bottom: 1px solid #777; break-after: avoid }
table { border-collapse: collapse; width: 100%; margin: 0 0 4mm; font-size: 8.5pt }
caption { text-align: left; font-weight: bold; padding: 1mm 0; break-after: avoid; overflow-wrap: anywhere }
th, td { border: 1px solid #999; padding: 0.6mm 1.2mm; text-align: left; vertical-align: top; overflow-wrap: anywhere }
th { background: #eee; overflow-wrap: normal }
.whole { white-space: nowrap }
thead { display: table-header-group }
tr, figure, li, .signature { break-inside: avoid }
figure { margin: 0 0 3mm }
figcaption { font-weight: bold; font-size: 9pt }
svg { max-width: 100%; vertical-align: middle; font-family: system-ui, "Liberation Sans", Arial, sans-serif }
figure svg { width: 100%; height: auto; display: block }
.legend, .lead { break-after: avoid }
.legend { list-style: none; padding: 0; margin: 0 0 2mm; display: flex; flex-wrap: wrap; gap: 1mm 5mm; font-size: 8.5pt }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.6mm 4mm; margin: 0 0 3mm }
.facts dt { font-weight: bold }
.facts dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap }
.result { border: 1.5px solid #111; padding: 2mm 3mm; margin: 2mm 0 4mm }
.signature { display: grid; grid-template-columns: 28mm 1fr 1fr 40mm; gap: 6mm; margin: 10mm 0 0 }
.line { border-top: 1px solid #111; font-size: 8pt; padding-top: 1mm }
@media print { body { padding: 0; max-width: none } th { print-color-adjust: exact; -webkit-print-color-adjust: exact } }
`

const hash = createHash('sha256').update(style).digest('base64')

/** The policy of the report itself, also when it is opened as a file: no script, no request, this style only. */
export const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`

/** The policy of the answer with a report. */
export const answerPolicy = `${policy}; frame-ancestors 'none'; sandbox`
