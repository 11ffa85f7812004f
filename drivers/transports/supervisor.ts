// Runs the program of a bridge in a process that systemd starts when the service connects to the socket of the bridge. The process copies the
// bytes between the service and the program, and ends with the connection; its unit then kills the program's child processes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { LabError, messageOf } from '../../src/errors.ts'
import { commandsOfBridges } from '../bridge/commands.ts'
import { programLine } from './program_line.ts'

/** The descriptor of the first socket from systemd. */
const firstSocket = 3
/** The most bytes that wait for the service. */
const mostWaiting = 8 * 1024 * 1024

/**
 * Waits for the service on a listening socket, and runs the program for as long as the connection lasts. `command` is called only then, so that
 * an unreadable command is reported to the service, and systemd does not restart the unit again and again.
 */
export async function supervise(command: () => Promise<readonly string[]>, listening: { fd: number } | string = { fd: firstSocket }) {
  const socket = await firstConnection(listening)
  // An orderly end is reported in a notification; any other end closes the connection.
  const left = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)))
  socket.on('error', () => undefined)
  const ended = await Promise.race([left, runFor(socket, command)])
  if (ended !== undefined) {
    socket.end(ended)
    await left
  }
}

/** Accepts one connection. The next one starts the unit again, after all processes of this one have ended. */
async function firstConnection(listening: { fd: number } | string): Promise<Socket> {
  const server = createServer().listen(listening)
  const [socket] = (await once(server, 'connection')) as [Socket]
  server.close()
  return socket
}

/** Resolves with the last message to the service, when the program has ended. */
async function runFor(socket: Socket, command: () => Promise<readonly string[]>): Promise<string> {
  let said = '\n'
  const reason = await new Promise<string>((resolve) => {
    const begin = async () => {
      const program = programLine(await command(), { words: process.stderr })
      program.onLost((why) => void withMemory(why).then(resolve))
      program.onBytes((bytes) => {
        said = String.fromCharCode(bytes.at(-1)!)
        socket.write(bytes)
        if (socket.writableLength > mostWaiting) socket.destroy()
      })
      await program.open()
      socket.on('data', (bytes: Buffer) => {
        // The line reports a program that no longer reads as lost.
        if (program.state === 'open') tryTo(() => program.write(bytes))
      })
    }
    begin().catch((error) => resolve(messageOf(error)))
  })
  const message = { jsonrpc: '2.0', method: 'ended', params: { reason } }
  return `${said === '\n' ? '' : '\n'}${JSON.stringify(message)}\n`
}

function tryTo(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (!(error instanceof LabError)) throw error
  }
}

/** Adds to the reason if the kernel has killed a process of this control group for lack of memory. */
async function withMemory(why: string): Promise<string> {
  try {
    const group = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1]
    const events = await readFile(`/sys/fs/cgroup${group}/memory.events`, 'utf8')
    return /^oom_kill 0$/m.test(events) ? why : `${why}, because it needs more memory than the MemoryMax of its unit`
  } catch {
    return why
  }
}

/**
 * Reads the command of a bridge from the configuration on standard input. A short-lived process, started by `reader`, does that, because
 * the configuration can hold secrets, and the program may read the memory of its user's processes.
 */
export async function commandFromInput(reader: readonly [file: string, ...args: string[]]): Promise<readonly string[]> {
  const [file, ...args] = reader
  const child = spawn(file, args, { stdio: ['inherit', 'pipe', 'pipe'] })
  let [out, words] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words += text
  })
  await once(child, 'close')
  // From here on nothing can reopen the configuration through this process.
  closeSync(0)
  openSync('/dev/null', 'r')
  if (child.exitCode !== 0) throw new LabError('config', words.trim() || 'its command cannot be read from the configuration')
  return JSON.parse(out) as string[]
}

/** Reads the command of a bridge from the configuration on standard input. Throws `config`. */
export function commandInInput(device_id: string): readonly string[] {
  const command = commandsOfBridges(readFileSync(0, 'utf8'), 'the configuration').get(device_id)
  if (!command) throw new LabError('config', `the configuration has no command for a bridge ${device_id}`)
  return command
}
