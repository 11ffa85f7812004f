// A connection to a program or a box, and the ways in which it ends.

import { connect, type NetConnectOpts, type Socket } from 'node:net'
import type { Clock } from '../../src/kit/clock.ts'
import { patient } from '../../src/kit/patient.ts'

const connecting_ms = 3000

/** Rejects with the error of the socket, and with `ETIMEDOUT` after three seconds. */
export function connected(place: NetConnectOpts, clock: Clock): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(place)
    const fail = (error: Error) => {
      cancel()
      socket.destroy()
      reject(error)
    }
    const late = Object.assign(new Error(`no connection within ${connecting_ms / 1000} s`), { code: 'ETIMEDOUT' })
    const cancel = patient(clock).after(connecting_ms, () => fail(late))
    socket.once('error', fail)
    socket.once('connect', () => {
      cancel()
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

/** Calls with what is said of each sign that the connection has ended: the first may be before this returns. */
export function onEnd(socket: Socket, who: string, call: (said: string) => void): void {
  socket.on('end', () => call(`${who} closed the connection`))
  socket.on('error', ({ message }) => call(message))
  socket.on('close', () => call('the connection was closed'))
  if (socket.destroyed) call('the connection was closed')
}
