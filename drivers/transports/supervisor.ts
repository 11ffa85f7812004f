// The program of a bridge in a process of its own, which systemd starts when the service connects to the socket of the bridge. The process copies what
// passes between the service and the program, and ends with the connection; its unit then kills all that the program has started.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { LabError, messageOf } from '../../src/errors.ts'
import { commandsOfBridges } from '../bridge/commands.ts'
import { programLine } from './program_line.ts'

/** systemd hands its first socket over as this descriptor. */
const firstSocket = 3
/** Bytes that the service has not taken yet. */
const mostWaiting = 8 * 1024 * 1024

/**
 * Waits for the service on a socket that listens, and runs the program for as long as the connection lasts. `command` is only called then, so that
 * a command that cannot be read is reported to the service, and systemd does not try it again and again.
 */
export async function supervise(command: () => Promise<readonly string[]>, listening: { fd: number } | string = { fd: firstSocket }) {
  const socket = await firstConnection(listening)
  // The service reads of an end in order in the notification, and of any other end by the connection that is closed.
  const left = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)))
  socket.on('error', () => undefined)
  const ended = await Promise.race([left, runFor(socket, command)])
  if (ended !== undefined) {
    socket.end(ended)
    await left
  }
}

/** Takes one connection alone: the next one starts the unit again, once all that this one has started is gone. */
async function firstConnection(listening: { fd: number } | string): Promise<Socket> {
  const server = createServer().listen(listening)
  const [socket] = (await once(server, 'connection')) as [Socket]
  server.close()
  return socket
}

/** Resolves with what is to be said to the service last, when the program has ended. */
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
        // A program that reads nothing any more is lost, and the line has reported that by then.
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

/** Says so where the kernel has killed something in this control group for want of memory. */
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
 * Reads the command of a bridge from the configuration that is standard input. That is done by another process, which `reader` begins and which
 * ends at once: the configuration can hold secrets, and the program may look into the memory of the processes of its user.
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
  // From here on nothing can reopen the configuration by way of this process.
  closeSync(0)
  openSync('/dev/null', 'r')
  if (child.exitCode !== 0) throw new LabError('config', words.trim() || 'its command cannot be read from the configuration')
  return JSON.parse(out) as string[]
}

/** The command of a bridge, from the configuration that is standard input. Throws `config`. */
export function commandInInput(device_id: string): readonly string[] {
  const command = commandsOfBridges(readFileSync(0, 'utf8'), 'the configuration').get(device_id)
  if (!command) throw new LabError('config', `the configuration has no command for a bridge ${device_id}`)
  return command
}
