// A short sound when a person is needed. The browser remembers whether it is switched off.

import { signal } from '@preact/signals'

const place = 'benchd.sound'

export const sound = signal(localStorage.getItem(place) !== 'off')

export function switchSound(isOn: boolean): void {
  sound.value = isOn
  localStorage.setItem(place, isOn ? 'on' : 'off')
  if (isOn) ring()
}

let audio: AudioContext | undefined

/** Plays two tones. A browser plays nothing before the first press on the page. */
export function ring(): void {
  if (!sound.value) return
  audio ??= new AudioContext()
  const { currentTime, destination } = audio
  for (const [i, hertz] of [660, 880].entries()) {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()]
    const from = currentTime + i * 0.18
    tone.frequency.value = hertz
    volume.gain.setValueAtTime(0.15, from)
    volume.gain.exponentialRampToValueAtTime(0.001, from + 0.3)
    tone.connect(volume).connect(destination)
    tone.start(from)
    tone.stop(from + 0.3)
  }
}
