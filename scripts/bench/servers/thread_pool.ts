// Every thread of libuv's pool at work.

import { pbkdf2 } from 'node:crypto'

/** For as long as it `goesOn`. */
export function fillPool(goesOn: () => boolean): void {
  const compute = () => {
    if (goesOn()) pbkdf2('x', 'y', 100_000, 64, 'sha512', compute)
  }
  for (let thread = 0; thread < 4; thread++) compute()
}
