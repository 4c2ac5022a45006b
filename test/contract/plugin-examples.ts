import type { Json } from '#sdk'

/** Required behavior of a token type for some data. */
export interface TokenTypeExamples {
  /** Accepted; `stored`, `masked`, `indexes` are what becomes of it. `masked` undefined: the type has no mask. */
  readonly valid: readonly {
    readonly data: Json
    readonly stored?: Json
    readonly masked: Json | undefined
    readonly indexes?: readonly string[]
  }[]
  /** Rejected, with an issue at the pointer. */
  readonly invalid: readonly { readonly data: Json; readonly at: string }[]
  /** Groups of data that have one fingerprint; no two groups share one. */
  readonly fingerprints: readonly (readonly Json[])[]
}

const number = '4242424242424242'
const bank = { routing_number: '021000021', account_number: '1234567890' }

/** Test numbers of card networks and public checksummed examples; no person's data. */
export const examples: Readonly<Record<string, TokenTypeExamples>> = {
  token: {
    valid: [
      { data: 'a secret', masked: undefined },
      { data: { deep: [1, true, null, 'x'] }, masked: undefined },
      { data: 42, masked: undefined },
      { data: false, masked: undefined },
      { data: null, masked: undefined },
    ],
    invalid: [],
    fingerprints: [['a'], ['b'], [{ a: 1 }], [{ a: '1' }]],
  },
  card: {
    valid: [
      {
        data: { number, expiration_month: 12, expiration_year: 2030, cvc: '123' },
        masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 },
        indexes: ['4242'],
      },
      {
        data: { number, expiration_month: 1, expiration_year: 2001, cvc: 1234 },
        stored: { number, expiration_month: 1, expiration_year: 2001, cvc: '1234' },
        masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 1, expiration_year: 2001 },
        indexes: ['4242'],
      },
      {
        data: {
          number: '378282246310005',
          expiration_month: 6,
          expiration_year: 2029,
          cvc: null,
          other: 'x',
        },
        stored: { number: '378282246310005', expiration_month: 6, expiration_year: 2029 },
        masked: { number: 'XXXXXXXXXXX0005', expiration_month: 6, expiration_year: 2029 },
        indexes: ['0005'],
      },
    ],
    invalid: [
      { data: number, at: '' },
      { data: null, at: '' },
      { data: [], at: '' },
      { data: {}, at: '/number' },
      { data: { number: '4242424242424241' }, at: '/number' },
      { data: { number: '4242 4242 4242 4242' }, at: '/number' },
      { data: { number: 4242424242424242 }, at: '/number' },
      { data: { number: '424242' }, at: '/number' },
      { data: { number: `${number}\n` }, at: '/number' },
      { data: { number, expiration_month: 0 }, at: '/expiration_month' },
      { data: { number, expiration_month: 13 }, at: '/expiration_month' },
      { data: { number, expiration_month: '12' }, at: '/expiration_month' },
      { data: { number, expiration_year: 30 }, at: '/expiration_year' },
      { data: { number, cvc: '12' }, at: '/cvc' },
      { data: { number, cvc: '12345' }, at: '/cvc' },
      { data: { number, cvc: 12345 }, at: '/cvc' },
      { data: { number, cvc: 'abc' }, at: '/cvc' },
      { data: { number, cvc: true }, at: '/cvc' },
    ],
    fingerprints: [
      [{ number }, { number, expiration_year: 2030, cvc: '123' }],
      [{ number: '5555555555554444' }],
    ],
  },
  bank: {
    valid: [
      { data: bank, masked: { routing_number: '021000021', account_number: 'XXXXXX7890' } },
      {
        data: { ...bank, account_number: '12345678901234567' },
        masked: { routing_number: '021000021', account_number: 'XXXXXXXXXXXXX4567' },
      },
      {
        data: { ...bank, account_number: '1234' },
        masked: { routing_number: '021000021', account_number: 'XXXX' },
      },
    ],
    invalid: [
      { data: 'bank', at: '' },
      { data: { account_number: '1' }, at: '/routing_number' },
      { data: { routing_number: '021000021' }, at: '/account_number' },
      { data: { ...bank, routing_number: '021000022' }, at: '/routing_number' },
      { data: { ...bank, routing_number: '21000021' }, at: '/routing_number' },
      { data: { ...bank, routing_number: 21000021 }, at: '/routing_number' },
      { data: { ...bank, account_number: '' }, at: '/account_number' },
      { data: { ...bank, account_number: '123456789012345678' }, at: '/account_number' },
      { data: { ...bank, account_number: '12-34' }, at: '/account_number' },
    ],
    fingerprints: [
      [bank],
      [{ ...bank, account_number: '1234567891' }],
      [{ ...bank, routing_number: '011401533' }],
    ],
  },
  card_number: {
    valid: [
      { data: number, masked: 'XXXXXXXXXXXX4242', indexes: ['4242'] },
      { data: '4222222222222', masked: 'XXXXXXXXX2222', indexes: ['2222'] },
    ],
    invalid: [
      { data: '4242424242424241', at: '' },
      { data: '424242424242', at: '' },
      { data: 4242424242424242, at: '' },
      { data: { number }, at: '' },
      { data: '42424242424242424242', at: '' },
    ],
    fingerprints: [[number], ['5555555555554444']],
  },
  us_bank_account_number: {
    valid: [
      { data: '1234567890', masked: 'XXXXXX7890' },
      { data: '123', masked: 'XXX' },
      { data: '1234', masked: 'XXXX' },
    ],
    invalid: [
      { data: '12', at: '' },
      { data: '123456789012345678', at: '' },
      { data: '12a4', at: '' },
    ],
    fingerprints: [['1234567890'], ['01234567890']],
  },
  us_bank_routing_number: {
    valid: [{ data: '021000021', masked: 'XXXXX0021' }],
    invalid: [
      { data: '021000022', at: '' },
      { data: '02100002', at: '' },
    ],
    fingerprints: [['021000021'], ['011401533']],
  },
  social_security_number: {
    valid: [
      { data: '123-45-6789', masked: 'XXX-XX-6789', indexes: ['123-45-6789', '123456789', '6789'] },
      { data: '123456789', masked: 'XXXXX6789', indexes: ['123456789', '123456789', '6789'] },
    ],
    invalid: [
      { data: '12345678', at: '' },
      { data: '1234567890', at: '' },
      { data: '123-45-678a', at: '' },
      { data: 123456789, at: '' },
    ],
    fingerprints: [['123-45-6789', '123456789'], ['123456780']],
  },
  employer_id_number: {
    valid: [
      { data: '12-3456789', masked: 'XX-XXX6789', indexes: ['12-3456789', '123456789', '6789'] },
      { data: '123456789', masked: 'XXXXX6789', indexes: ['123456789', '123456789', '6789'] },
    ],
    invalid: [
      { data: '12-345678', at: '' },
      { data: '12 3456789', at: '' },
    ],
    fingerprints: [['12-3456789', '123456789'], ['123456780']],
  },
}
