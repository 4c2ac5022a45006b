import t from 'tap'
import { parseInstant } from '../../src/vault/expiry.ts'

const INSTANTS: readonly (readonly [text: string, utc: string])[] = [
  ['2030-08-26T19:23:57Z', '2030-08-26T19:23:57.000Z'],
  ['2030-08-26T19:23:57.123456+00:00', '2030-08-26T19:23:57.123Z'],
  ['2030-08-26T19:23:57-07:00', '2030-08-27T02:23:57.000Z'],
  ['2030-08-26T19:23:57+0530', '2030-08-26T13:53:57.000Z'],
  ['2030-08-26T19:23:57', '2030-08-26T19:23:57.000Z'],
  ['2030-08-26 19:23', '2030-08-26T19:23:00.000Z'],
  ['2030-08-26', '2030-08-26T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['8/26/2030 7:23:57 PM -07:00', '2030-08-27T02:23:57.000Z'],
  ['8/26/2030 12:00:00 AM', '2030-08-26T00:00:00.000Z'],
  ['8/26/2030 12:00:00 PM +00:00', '2030-08-26T12:00:00.000Z'],
  ['08/26/2030 19:23:57', '2030-08-26T19:23:57.000Z'],
  ['9/27/2030', '2030-09-27T00:00:00.000Z'],
]

for (const [text, utc] of INSTANTS)
  t.test(`"${text}" is ${utc}`, async (t) => {
    t.equal(parseInstant(text)?.from, Date.parse(utc))
  })

const REJECTED = [
  '',
  'tomorrow',
  '2030',
  '2030-13-01',
  '2030-02-30',
  '2029-02-29',
  '2030-1-1',
  '2030-01-01T24:00:00Z',
  '2030-01-01T10:60:00Z',
  '2030-01-01T10:00:00+25:00',
  '2030-01-01T10:00:00Zjunk',
  '13/1/2030',
  '2/30/2030',
  '8/26/2030 13:00:00 PM',
  '8/26/2030 0:00:00 AM',
  '1893456000',
  `2030-01-01${' '.repeat(100)}`,
]

for (const text of REJECTED)
  t.test(`"${text.slice(0, 40)}" is not a date`, async (t) => {
    t.equal(parseInstant(text), undefined)
  })

t.test('a date without time lasts a day, a time a millisecond', async (t) => {
  const day = parseInstant('2030-09-27')
  t.equal((day?.until ?? 0) - (day?.from ?? 0), 86_400_000)
  const time = parseInstant('2030-09-27T10:00:00Z')
  t.equal((time?.until ?? 0) - (time?.from ?? 0), 1)
})
