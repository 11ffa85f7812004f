#!/usr/bin/env bash
# One tool whose schema has a date makes `tools/list` of an MCP server fail for every tool.
#
# One would guess: `registerTool` refuses a schema that JSON Schema cannot express, or `tools/list` leaves that member untyped.
# What happens: `registerTool` takes the schema, and each later `tools/list` is answered with an error, so that a client sees no tool at all. The
#   other tools still work for a client that calls them by name.
# Consequence: a test asks a server for `tools/list` once. Schemas use `z.iso.datetime()` in place of `z.date()`.
# Versions: @modelcontextprotocol/sdk 1.32.2, zod 4.6.7, Node.js 20.20. Source: seen by running this; that zod refuses dates in JSON Schema is in
#   its documentation (https://zod.dev/json-schema, "Unrepresentable types").
# Output seen:
#   call by name: pong
#   tools/list:   McpError -32603 "MCP error -32603: Date cannot be represented in JSON Schema"
#   with iso.datetime: ping, remind
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 zod@4.6.7
cat >trial.mjs <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import * as z from 'zod'

async function connected(at) {
  const server = new McpServer({ name: 'server', version: '1.0.0' })
  const answer = (text) => async () => ({ content: [{ type: 'text', text }] })
  server.registerTool('ping', { description: 'Answers pong', inputSchema: {} }, answer('pong'))
  server.registerTool('remind', { description: 'Reminds at a time', inputSchema: { at } }, answer('noted'))
  const client = new Client({ name: 'client', version: '1.0.0' })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(one), client.connect(other)])
  return client
}

const client = await connected(z.date())
const { content } = await client.callTool({ name: 'ping', arguments: {} })
console.log(`call by name: ${content[0].text}`)
const failure = await client.listTools().then(() => undefined, (error) => error)
console.log(`tools/list:   ${failure ? `${failure.name} ${failure.code} "${failure.message}"` : 'answered'}`)
const good = await connected(z.iso.datetime())
const names = (await good.listTools()).tools.map(({ name }) => name)
console.log(`with iso.datetime: ${names.join(', ')}`)
process.exitCode = content[0].text === 'pong' && failure?.code === -32603 && names.length === 2 ? 0 : 1
JS
node trial.mjs
