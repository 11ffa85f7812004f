// Where the program of a bridge is found: systemd's socket for a command, where the service starts no program, and programs that listen.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Test, test } from 'tap'
import { inMemory } from '../../src/devices/descriptions.ts'
import { attachedBridge, type BridgePlace } from './attach.ts'

const described = { protocol: 1, type: 'reader', model: 'Example 96', operations: {} }

/** A program that listens, and answers each question by its description. */
async function listening(t: Test, place: string | number): Promise<Server> {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy())
    createInterface({ input: socket }).on('line', (line) => {
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: described })}\n`)
    })
  })
  server.listen(place)
  t.teardown(() => server.close())
  await once(server, 'listening')
  return server
}

function folderOf(t: Test): string {
  // The path of a socket is short.
  const folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

function bridgeAt(t: Test, transport: BridgePlace, sockets?: string) {
  const settings = { halt: 'message', halt_s: 5, move_timeout_s: 60, uninterruptible: false } as const
  const bridge = attachedBridge(
    { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport, settings },
    inMemory(undefined),
    sockets,
  )
  t.teardown(() => bridge.link.close())
  return bridge
}

test('under systemd a command is not started here: its socket is connected to, and advice names its unit', async (t) => {
  const sockets = folderOf(t)
  const { device, link } = bridgeAt(t, { command: ['/nowhere/reader'] }, sockets)
  await t.rejects(link.open(), {
    code: 'disconnected',
    message: /cannot be reached: connect ENOENT .*; let systemd run it: sudo systemctl enable --now benchd-bridge@reader-1\.socket$/,
  })
  await listening(t, `${sockets}/reader-1.sock`)
  await link.open()
  t.match(await device.identify(), { model: 'Example 96' })
  t.equal(link.advice, 'see: journalctl -u benchd-bridge@reader-1')
})

test('a program that listens is asked on its Unix socket, or on a port', async (t) => {
  const path = `${folderOf(t)}/reader.sock`
  await listening(t, path)
  const { port } = (await listening(t, 0)).address() as AddressInfo
  for (const place of [{ socket: path }, { host: '127.0.0.1', port }]) {
    const { device, link } = bridgeAt(t, place)
    await link.open()
    t.match(await device.identify(), { model: 'Example 96' })
  }
  await t.rejects(bridgeAt(t, { socket: `${path}.none` }).link.open(), {
    message: /cannot be reached: .*; see that the program runs there$/,
  })
})

test('a program that goes away is a lost line, which can be opened again', async (t) => {
  const path = `${folderOf(t)}/reader.sock`
  const server = await listening(t, path)
  const { device, link } = bridgeAt(t, { socket: path })
  const connected = once(server, 'connection')
  await link.open()
  const [socket] = (await connected) as [Socket]
  const lost = new Promise<string>((resolve) => link.onLost(resolve))
  socket.end()
  t.match(await lost, /reader\.sock was disconnected \(it closed the connection\)/)
  await t.rejects(device.identify(), { code: 'disconnected' })
  await link.open()
  t.match(await device.identify(), { model: 'Example 96' })
})
