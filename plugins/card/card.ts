import { isObject, type Json, type TokenType } from '#sdk'

/**
 * Plain JSON Schema, since `type: [...]` keeps the error of each member its own. Null means absent; members that a card
 * does not have are dropped by `normalize` (unknown members of a request are ignored, completions §1).
 */
const CardData = {
  type: 'object',
  required: ['number'],
  properties: {
    number: { type: 'string', pattern: '^[0-9]{12,19}$' },
    expiration_month: { type: ['integer', 'null'], minimum: 1, maximum: 12 },
    expiration_year: { type: ['integer', 'null'], minimum: 1000, maximum: 9999 },
    cvc: { type: ['string', 'integer', 'null'], pattern: '^[0-9]{3,4}$', minimum: 100, maximum: 9999 },
  },
} as const

const MEMBERS = ['number', 'expiration_month', 'expiration_year', 'cvc'] as const

/** The members of a card that are set, in one order, the cvc as a string. */
const normalize = (data: Json): Json => {
  if (!isObject(data)) return data
  const card: Record<string, Json> = {}
  for (const member of MEMBERS) {
    const value = data[member] as Json | undefined
    if (value === undefined || value === null) continue
    card[member] = member === 'cvc' ? String(value) : value
  }
  return card
}

/** The token type `card`, whose cvc is removed `cvcSeconds` after creation. */
export const card = (cvcSeconds: number): TokenType => ({
  name: 'card',
  title: 'Card',
  data: CardData,
  normalize,
  checks: [{ check: 'luhn', at: '/number' }],
  container: '/pci/high/',
  mask: {
    number: '{{ data.number | reveal_last: 4 }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
  fingerprint: '{{ data.number }}',
  searchIndexes: ['{{ data.number | last4 }}'],
  ephemeral: [{ at: '/cvc', seconds: cvcSeconds }],
  examples: [
    { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
    { number: '378282246310005' },
  ],
})
