import t from 'tap'
import { checkExamples, checkRejections, evaluate } from './table.ts'

const luhn = (number: string): boolean =>
  [...number]
    .reverse()
    .map((digit, at) => Number(digit) * (at % 2 === 0 ? 1 : 2))
    .reduce((sum, digit) => sum + (digit > 9 ? digit - 9 : digit), 0) %
    10 ===
  0

const PATTERNS: readonly (readonly [data: string | number, filters: string, pattern: RegExp])[] = [
  ['123-45-6789', '| alias_preserve_format', /^\d{3}-\d{2}-\d{4}$/],
  ['4242424242424242', '| alias_preserve_format: 6, 4', /^424242\d{6}4242$/],
  ['4242424242424242', '| alias_preserve_format: 6', /^424242\d{10}$/],
  ['4242424242424242', "| alias_preserve_format: '0', '4'", /^\d{12}4242$/],
  ['Abc 12.É', '| alias_preserve_format', /^[A-Z][a-z][a-z] \d\d\.[A-Z]$/],
  [5551234567, '| alias_preserve_format', /^\d{10}$/],
  ['jo@example.org', '| alias_preserve_length', /^[a-z0-9]{14}$/],
  ['abc-1', '| alias_preserve_format: 3, 2', /^[a-z]{3}-\d$/],
  ['ABC12345DEF67890', '| alias_preserve_length: 3, 5', /^ABC[a-z0-9]{8}67890$/],
  ['3622720627165567', '| alias_card', /^\d{16}$/],
  ['3622-7206-2716-5567', '| alias_card', /^\d{4}-\d{4}-\d{4}-\d{4}$/],
  ['3622 7206 2716 5567', "| alias_card: 'true', 'true'", /^3622 7206 \d{4} 5567$/],
  ['3622720627165567', "| alias_card: 'true', 'false'", /^36227206\d{8}$/],
  ['3622720627165567', "| alias_card: 'false', 'true'", /^\d{12}5567$/],
  ['378282246310005', "| alias_card: 'true', 'true'", /^378282\d{5}0005$/],
]

for (const [data, filters, pattern] of PATTERNS)
  t.test(`${data} ${filters} gives an alias like ${pattern.source}, never the value`, async (t) => {
    for (let round = 0; round < 50; round++) {
      const alias = evaluate(data, filters)
      t.match(alias, pattern)
      t.not(alias, String(data))
    }
  })

t.test('a card alias that reveals nothing passes the Luhn check', async (t) => {
  for (let round = 0; round < 100; round++)
    for (const number of ['4242424242424242', '378282246310005', '4222222222222'])
      t.ok(luhn(String(evaluate(number, '| alias_card'))))
})

t.test('aliases differ each time', async (t) => {
  const drawn = new Set(
    Array.from({ length: 50 }, () => evaluate('4242424242424242', '| alias_preserve_format')),
  )
  t.ok(drawn.size > 45)
})

t.test('an alias of one digit is a different digit', async (t) => {
  for (let round = 0; round < 100; round++) t.not(evaluate('7', '| alias_preserve_format'), '7')
})

checkExamples([
  ['---', '| alias_preserve_format', '---'],
  [null, '| alias_preserve_format', null],
  [null, '| alias_preserve_length', null],
  [null, '| alias_card', null],
])

checkRejections([
  ['4242', '| alias_card'],
  ['4242x42424242', '| alias_card'],
  ['4242424242', "| alias_card: 'true', 'true'"],
  ['4'.repeat(401), '| alias_preserve_length'],
  [{ a: 1 }, '| alias_preserve_format'],
])
