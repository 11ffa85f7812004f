#!/usr/bin/env bash
# ro-crate loses JSON-LD value objects (`@value` with a language or a type) between load and save.
#
# One would guess: a text with a language, `{"@value": "Guten Tag", "@language": "de"}`, is a literal of JSON-LD, and stays as it is when a crate
#   is loaded and saved.
# What happens: the saved crate has a reference in its place, `{"@id": "entity-1"}`, and no entity of that name. The text and its language are
#   gone, and nothing is reported. A `Date` that a program sets becomes such a reference too.
# Consequence: a program writes texts and dates as plain strings, and compares a crate with what it has loaded before it saves.
# Versions: ro-crate 3.7.2, Node.js 20.20. Source: seen by running this; value objects: https://www.w3.org/TR/json-ld11/#value-objects
# Output seen:
#   loaded: {"@value":"Guten Tag","@language":"de"}
#   saved:  {"@id":"entity-1"}, and entity-1 is not in the graph
#   a Date: {"@id":"entity-2"}, and entity-2 is not in the graph
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ro-crate@3.7.2
cat >trial.mjs <<'JS'
import { ROCrate } from 'ro-crate'

const description = { '@value': 'Guten Tag', '@language': 'de' }
const about = { '@id': './' }
const crate = new ROCrate({
  '@context': 'https://w3id.org/ro/crate/1.1/context',
  '@graph': [
    { '@id': 'ro-crate-metadata.json', '@type': 'CreativeWork', conformsTo: { '@id': 'https://w3id.org/ro/crate/1.1' }, about },
    { ...about, '@type': 'Dataset', name: 'a crate', datePublished: '2026-11-28', description },
  ],
})
crate.rootDataset.dateModified = new Date(0)
const graph = JSON.parse(JSON.stringify(crate))['@graph']
const root = graph.find((entity) => entity['@id'] === './')
const isThere = (value) => graph.some((entity) => entity['@id'] === value['@id'])
const told = (value) => `${JSON.stringify(value)}, and ${value['@id']} is ${isThere(value) ? '' : 'not '}in the graph`
const [text, date] = [root.description, root.dateModified].flat()
console.log(`loaded: ${JSON.stringify(description)}`)
console.log(`saved:  ${told(text)}`)
console.log(`a Date: ${told(date)}`)
process.exitCode = [text, date].every((value) => value['@id'] && !value['@value'] && !isThere(value)) ? 0 : 1
JS
node trial.mjs
