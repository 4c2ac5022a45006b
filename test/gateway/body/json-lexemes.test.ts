import t from 'tap'
import { plainEnd, textOf } from '../../../src/gateway/body/json-lexemes.ts'

/** `text` as it lies in memory `offset` bytes behind a word's beginning. */
const placed = (text: string, offset: number): Buffer => {
  const length = Buffer.byteLength(text, 'latin1')
  const bytes = Buffer.from(new ArrayBuffer(offset + length + 8), offset, length)
  bytes.write(text, 'latin1')
  return bytes
}

t.test('a string is skipped up to the first significant byte, wherever it is', async (t) => {
  const wrong: string[] = []
  for (const stop of ['"', '\\', '{', '\0', '\n', '\x1f', ''])
    for (const other of [
      'x',
      '\x20',
      '\x21',
      '\x23',
      '\x5b',
      '\x7a',
      '\x7c',
      '\x7f',
      '\x80',
      '\xa2',
      '\xfb',
      '\xff',
    ])
      for (let offset = 0; offset < 4; offset++)
        for (let from = 0; from < 6; from++)
          for (let before = 0; before < 14; before++) {
            const text = '{'.repeat(from) + other.repeat(before) + stop + (stop === '' ? '' : other.repeat(5))
            const end = plainEnd(textOf(placed(text, offset), 0, true), from)
            if (end !== from + before) wrong.push(JSON.stringify({ text, offset, from, end }))
          }
  t.strictSame(wrong, [])
})

t.test('nothing beyond the part is read', async (t) => {
  const all = placed('x'.repeat(40), 0)
  for (let length = 0; length < 12; length++)
    for (let offset = 0; offset < 4; offset++)
      t.equal(plainEnd(textOf(all.subarray(offset, offset + length), 0, true), 0), length)
})
