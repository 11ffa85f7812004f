// The base of devices and simulators. It keeps what an instance was made with, so that a field can be made from it where it is declared.

export class WithMount<At> {
  /** The line or the board, the clock and the settings of a device; the instrument's end of the line for a simulator. */
  protected readonly at: At

  constructor(at: At) {
    this.at = at
  }
}
