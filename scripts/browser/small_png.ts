// Makes a picture of a screen smaller: its colours become a palette of 256 at most, which nobody sees and the file does.

import { crc32, deflateSync, inflateSync } from 'node:zlib'

type Picture = { width: number; height: number; rgb: Buffer }

/** Takes and answers the bytes of a PNG of 8 bits a channel, as a browser writes it. */
export function smallPng(png: Buffer): Buffer {
  return withPalette(decoded(png))
}

function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  const chunks = []
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) })
    at += length + 12
  }
  return chunks
}

function decoded(png: Buffer): Picture {
  const chunks = chunksOf(png)
  const head = chunks[0]!.data
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9] === 6 ? 4 : 3]
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)))
  const stride = width * channels
  const lines = Buffer.alloc(height * stride)
  const rgb = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : lines[y * stride + x - channels]!
      const up = y === 0 ? 0 : lines[(y - 1) * stride + x]!
      const corner = y === 0 || x < channels ? 0 : lines[(y - 1) * stride + x - channels]!
      lines[y * stride + x] = raw[y * (stride + 1) + 1 + x]! + predicted(filter, left, up, corner)
    }
    for (let x = 0; x < width; x++) lines.copy(rgb, (y * width + x) * 3, y * stride + x * channels, y * stride + x * channels + 3)
  }
  return { width, height, rgb }
}

/** As PNG defines its five filters. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** The colours that are there most often stay as they are; each of the others becomes the one of them that is nearest. */
function withPalette({ width, height, rgb }: Picture): Buffer {
  const counts = new Map<number, number>()
  for (let at = 0; at < rgb.length; at += 3) counts.set(rgb.readUIntBE(at, 3), (counts.get(rgb.readUIntBE(at, 3)) ?? 0) + 1)
  const colours = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour)
  const palette = colours.slice(0, 256)
  const numbers = new Map(colours.map((colour, i) => [colour, i < palette.length ? i : nearest(palette, colour)]))
  const lines = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = numbers.get(rgb.readUIntBE((y * width + x) * 3, 3))!
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(lines, { level: 9, memLevel: 9 })
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function nearest(palette: readonly number[], colour: number): number {
  const distances = palette.map((other) => channels(other).reduce((sum, value, i) => sum + (value - channels(colour)[i]!) ** 2, 0))
  return distances.indexOf(Math.min(...distances))
}

function channels(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255]
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, sum])
}
