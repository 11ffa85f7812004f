// The part of `onoff` 6 that is used here. The types of the package are missing where npm could not compile it, and the project builds there
// too.

declare module 'onoff' {
  export class Gpio {
    constructor(gpio: number, direction: 'in' | 'out' | 'high' | 'low', edge?: 'none' | 'both', options?: { activeLow?: boolean })
    readSync(): 0 | 1
    writeSync(value: 0 | 1): void
    watch(callback: (error: Error | null | undefined, value: 0 | 1) => void): void
    unwatch(callback: (error: Error | null | undefined, value: 0 | 1) => void): void
    unwatchAll(): void
    direction(): 'in' | 'out' | 'high' | 'low'
    setDirection(direction: 'in' | 'out' | 'high' | 'low'): void
    activeLow(): boolean
    setActiveLow(invert: boolean): void
    unexport(): void
  }
}
