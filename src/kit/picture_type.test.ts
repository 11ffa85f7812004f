// The kinds of pictures.

import { test } from 'tap'
import { pictureTypeOf } from './picture_type.ts'

test('the first bytes tell the kind of a picture, and anything else is none', (t) => {
  const kinds: Record<string, string | undefined> = {
    '\xff\xd8\xff\xe0': 'image/jpeg',
    '\xff\xd8': undefined,
    '\x89PNG\r\n\x1a\nrest': 'image/png',
    '\x89PNG\n\x1a\n': undefined,
    'RIFF\x01\x02\x03\x04WEBPVP8 ': 'image/webp',
    'RIFF\x01\x02\x03\x04WAVEfmt ': undefined,
    'LIST\x01\x02\x03\x04WEBPVP8 ': undefined,
    GIF89a: undefined,
    '': undefined,
  }
  for (const [begin, kind] of Object.entries(kinds)) t.equal(pictureTypeOf(Buffer.from(begin, 'latin1')), kind, JSON.stringify(begin))
  t.end()
})
