// A pseudo-terminal: a serial port whose other end is this process. It needs no native code, only Debian's `script`.

import { type ChildProcess, spawn } from 'node:child_process'
import { lstatSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { LabError, messageOf } from '../../src/errors.ts'

export interface Pty {
  /** The path of the terminal for other programs: the requested link, else `/dev/pts/…`. */
  readonly path: string
  /** Registers the only listener of bytes from the other program. */
  onBytes(listen: (bytes: Uint8Array) => void): void
  /** Writes to the other program. Unread bytes are kept up to a bound. */
  write(bytes: Uint8Array): void
  /** Closes the terminal, which looks like unplugging to the other program. */
  close(): Promise<void>
}

/** The most unread bytes, besides the 4 KiB of the terminal itself. */
const mostUnread = 64 * 1024

/** `script` holds the other end; `cat` holds this one until the pipe at 3 ends, which happens even if this process is killed. */
const command = 'tty; stty raw -echo; echo READY; exec cat <&3 >/dev/null'

/** Opens a terminal, with a symbolic link at `link`, which replaces an existing one. */
export async function openPty(options: { link?: string } = {}): Promise<Pty> {
  const { link } = options
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    env: { ...process.env, SHELL: '/bin/sh' },
  })
  const input = child.stdin as Writable
  let listener: (bytes: Uint8Array) => void = () => {}
  const device = await firstWords(child)
  child.stdout?.on('data', (bytes: Buffer) => listener(bytes))
  const close = async () => {
    if (link) removeLink(device, link)
    await end(child)
  }
  try {
    if (link) putLink(device, link)
  } catch (error) {
    await close()
    throw error
  }
  return {
    path: link ?? device,
    onBytes(listen) {
      listener = listen
    },
    write(bytes) {
      if (input.writable && input.writableLength < mostUnread) input.write(bytes)
    },
    close,
  }
}

/** Resolves with the name of the device when it is ready. */
function firstWords(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) =>
      reject(
        new LabError('config', `no pseudo-terminal can be made: ${reason}; see that \`script\`, of the package bsdutils, is installed`),
      )
    let said = ''
    const listen = (bytes: Buffer) => {
      said += bytes.toString('latin1')
      const ready = /^(\/dev\/\S+)\s+READY\n/.exec(said)
      if (!ready) return
      child.stdout?.off('data', listen)
      resolve(ready[1]!)
    }
    child.stdout?.on('data', listen)
    child.once('error', (error) => fail(messageOf(error)))
    child.once('close', (code) => fail(`script ended with ${code}`))
    // Bytes to a closed terminal are lost, as on a wire.
    for (const pipe of child.stdio) pipe?.on('error', () => undefined)
  })
}

/** Resolves when the terminal is gone. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  for (const pipe of child.stdio) pipe?.destroy()
  await gone
}

function putLink(device: string, link: string): void {
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === false) {
    throw new LabError('config', `${link} is there and is no symbolic link; name another path for the link`)
  }
  const draft = `${link}.${process.pid}`
  symlinkSync(device, draft)
  renameSync(draft, link)
}

/** Removes the link, unless another program has replaced it. */
function removeLink(device: string, link: string): void {
  try {
    if (readlinkSync(link) === device) unlinkSync(link)
  } catch {
    // The path is gone, or is not a link.
  }
}
