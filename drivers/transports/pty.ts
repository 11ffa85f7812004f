// A pseudo-terminal: a serial port whose far end is this process. Needs no native code, only Debian's `script`.

import { type ChildProcess, spawn } from 'node:child_process'
import { lstatSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { LabError, messageOf } from '../../src/errors.ts'

export interface Pty {
  /** The path at which others open the terminal: the link if one was asked for, else `/dev/pts/…`. */
  readonly path: string
  /** Registers the one listener of the bytes that a program on the other side writes. */
  onBytes(listen: (bytes: Uint8Array) => void): void
  /** To whoever has it open. What nobody fetches is kept, up to a bound. */
  write(bytes: Uint8Array): void
  /** Closes the terminal: for a process that has it open it is as if it were unplugged. */
  close(): Promise<void>
}

/** A terminal keeps itself 4 KiB; if more than this waits in front of it, nobody is reading. */
const mostUnread = 64 * 1024

/** `script` holds the far end; `cat` holds the near one until the pipe at 3 ends, which it does even if this process is killed. */
const command = 'tty; stty raw -echo; echo READY; exec cat <&3 >/dev/null'

/** Makes one, and a symbolic link to it where `link` says; a link that is there is replaced. */
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

/** The name of the device, once it is ready. */
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
    // Written to a terminal that is gone: lost, as on a wire.
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

/** Leaves alone what somebody else has put there. */
function removeLink(device: string, link: string): void {
  try {
    if (readlinkSync(link) === device) unlinkSync(link)
  } catch {
    // The path is gone, or is no link.
  }
}
