// The camera of this computer, which reads a barcode.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

type Detector = { detect(from: HTMLVideoElement): Promise<readonly { rawValue: string }[]> }

const betweenLooks_ms = 200

/** The button that reads a barcode with the camera of this computer. Nothing is sent before a button is pressed. */
export function Camera({ onRead }: { onRead: (barcode: string) => void }) {
  const isOpen = useSignal(false)
  const trouble = useSignal('')
  const video = useRef<HTMLVideoElement>(null)
  useEffect(() => {
    if (!isOpen.value) return undefined
    const closed = new AbortController()
    trouble.value = ''
    read(video.current!, closed.signal).then(
      (barcode) => {
        if (barcode !== undefined) onRead(barcode)
        isOpen.value = false
      },
      (error: Error) => {
        trouble.value = `The camera cannot be used: ${error.message}`
        isOpen.value = false
      },
    )
    return () => closed.abort()
  }, [isOpen.value])
  return (
    <>
      <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        {isOpen.value ? 'Close the camera' : 'Scan with the camera'}
      </button>
      {isOpen.value && <video ref={video} class="scan" muted playsInline aria-label="Camera" />}
      {trouble.value && <span class="hint">{trouble.value}</span>}
    </>
  )
}

/** Resolves with the first barcode that the camera sees; undefined once the signal is aborted. Rejects if there is no camera, or it is not allowed. */
async function read(video: HTMLVideoElement, signal: AbortSignal): Promise<string | undefined> {
  const { BarcodeDetector } = globalThis as unknown as { BarcodeDetector: new () => Detector }
  const detector = new BarcodeDetector()
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
  try {
    video.srcObject = stream
    await video.play()
    while (!signal.aborted) {
      const [found] = await detector.detect(video)
      if (found) return found.rawValue
      await new Promise((resolve) => setTimeout(resolve, betweenLooks_ms))
    }
    return undefined
  } finally {
    for (const track of stream.getTracks()) track.stop()
  }
}
