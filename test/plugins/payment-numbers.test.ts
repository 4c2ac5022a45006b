import fc from 'fast-check'
import t from 'tap'
import type { TokenType } from '#sdk'
import { plugin } from '../../plugins/payment-numbers/index.ts'
import { createTokenTypes } from '../../src/vault/token-types.ts'
import { contributionOf } from '../contract/plugin-contract.ts'

const types: readonly TokenType[] = (await contributionOf(plugin)).tokenTypes ?? []
const compiled = createTokenTypes(() => new Map(types.map((type) => [type.name, type])))
const accepts = (type: string, data: string) => 'data' in (compiled.get(type)?.accept(data) ?? {})

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(''))

/** The digit in 0–9 that completes a number, of which there is exactly one. */
const completions = (type: string, body: string) =>
  [...'0123456789'].filter((digit) => accepts(type, body + digit))

for (const [type, body] of [
  ['card_number', digits(12, 18)],
  ['us_bank_routing_number', digits(8, 8)],
] as const)
  t.test(`${type}: exactly one check digit completes a number, and one wrong digit is found`, async (t) => {
    fc.assert(
      fc.property(body, fc.nat(), fc.integer({ min: 1, max: 9 }), (text, position, shift) => {
        const [check, ...others] = completions(type, text)
        if (check === undefined || others.length > 0) return false
        const number = text + check
        const at = position % number.length
        const wrong = String((Number(number[at]) + shift) % 10)
        return !accepts(type, number.slice(0, at) + wrong + number.slice(at + 1))
      }),
      { numRuns: 200 },
    )
    t.pass()
  })

t.test('leading zeros are part of a number', async (t) => {
  const type = compiled.get('us_bank_account_number')
  t.strictSame(type?.accept('000123'), { data: '000123' })
})

t.test('cards are found by their last four digits, bank accounts are not', async (t) => {
  t.same(compiled.get('card_number')?.searchIndexes, ['{{ data | last4 }}'])
  t.same(compiled.get('us_bank_account_number')?.searchIndexes, [])
})
