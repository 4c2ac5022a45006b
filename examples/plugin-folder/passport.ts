import { isObject, type Json, type Static, type TokenType, Type } from 'sidevault/sdk'

const Passport = Type.Object({
  /** Issuing country (ISO 3166-1 alpha-3). */
  country: Type.String({ pattern: '^[A-Za-z]{3}$' }),
  number: Type.String({ pattern: '^ *([A-Za-z0-9] *){6,9}$' }),
  expires: Type.String({ format: 'date' }),
  /** Card access number, which opens the chip. Never disclosed. */
  can: Type.Optional(Type.String({ pattern: '^[0-9]{6}$' })),
})

type Passport = Static<typeof Passport>

export const isPassport = (data: Json): data is Passport => isObject(data) && typeof data.expires === 'string'

export const passport: TokenType = {
  name: 'passport',
  title: 'Passport',
  data: Passport,
  normalize: (data) => {
    if (!isPassport(data)) return data
    return {
      ...data,
      country: data.country.toUpperCase(),
      number: data.number.replaceAll(' ', '').toUpperCase(),
    }
  },
  check: (data) =>
    isPassport(data) && data.number.startsWith('0000')
      ? [{ at: '/number', message: 'must not be the number of a specimen' }]
      : [],
  writeOnly: ['/can'],
  container: '/identity/high/',
  mask: { country: '{{ data.country }}', number: '{{ data.number | reveal_last: 3 }}' },
  fingerprint: '{{ data.country }}{{ data.number }}',
  searchIndexes: ['{{ data.number }}'],
}
