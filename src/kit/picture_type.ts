// The kind of a picture, by its first bytes.

export const pictureTypes = ['image/jpeg', 'image/png', 'image/webp'] as const
export type PictureType = (typeof pictureTypes)[number]

/** Whether the first bytes, as text of Latin-1, are those of a kind of picture; in a WebP, four bytes of length stand between its words. */
const begins: Record<PictureType, (text: string) => boolean> = {
  'image/jpeg': (text) => text.startsWith('\xff\xd8\xff'),
  'image/png': (text) => text.startsWith('\x89PNG\r\n\x1a\n'),
  'image/webp': (text) => text.startsWith('RIFF') && text.startsWith('WEBP', 8),
}

/** Returns the media type of a picture, whatever its name or its sender says; undefined for other bytes. */
export function pictureTypeOf(bytes: Uint8Array): PictureType | undefined {
  const begin = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return pictureTypes.find((type) => begins[type](begin))
}
