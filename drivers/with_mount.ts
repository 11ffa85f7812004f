// The base of devices and simulators. It keeps the constructor's argument as `at`, so that field initializers can use it.

export class WithMount<At> {
  /** For a device: its line or board, clock and settings. For a simulator: the instrument's end of the line. */
  protected readonly at: At

  constructor(at: At) {
    this.at = at
  }
}
