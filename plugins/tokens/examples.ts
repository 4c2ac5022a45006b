import type { Example } from '#sdk'

const CARD_ID = '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124'
const EMAIL_ID = 'customer-42-email'
const BANK_ID = '1c8e5a3f-4d7b-4260-9f1e-b8d6c4a2e073'

const owned = {
  tenant_id: 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01',
  created_by: 'f1b7a3c2-6d84-4e9b-8f05-2a1c9d3e7b64',
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const maskedCard = { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 }

const cardData = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }

const card = {
  id: CARD_ID,
  type: 'card',
  data: maskedCard,
  mask: {
    number: '{{ data.number | reveal_last: 4 }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
  metadata: { order: '1001' },
  fingerprint: 'CC2XvyoohnqecEq4r3FtXv6MdCx4TbaW1UUTdCCN5MNL',
  fingerprint_expression: '{{ data.number }}',
  containers: ['/pci/high/'],
  privacy: { classification: 'pci', impact_level: 'high', restriction_policy: 'mask' },
  ...owned,
}

const email = {
  id: EMAIL_ID,
  type: 'token',
  data: 'aXX@example.com',
  mask: "{{ data | reveal: 1, 12, 'X' }}",
  metadata: { customer: '42' },
  search_indexes: ['{{ data }}'],
  fingerprint: '5kY8fBvQ3wN1xRz7TtLmJc2pHs9dGu4eA6iKo8rVqXbZ',
  fingerprint_expression: '{{ data }}',
  containers: ['/customers/42/'],
  privacy: { classification: 'general', impact_level: 'high', restriction_policy: 'redact' },
  expires_at: '2030-01-31T12:00:00.000+00:00',
  ...owned,
}

const bank = {
  id: BANK_ID,
  type: 'bank',
  data: { routing_number: '021000021', account_number: 'XXXXXX7890' },
  mask: {
    routing_number: '{{ data.routing_number }}',
    account_number: '{{ data.account_number | reveal: 0, 4 }}',
  },
  metadata: { usage: 'refunds' },
  fingerprint: '8nTdWq2RbYk5sLx1JvHz7PcFm4GeUa9oXi3KyB6tNrQw',
  fingerprint_expression: '{{ data.account_number }}|{{ data.routing_number }}',
  containers: ['/bank/high/'],
  privacy: { classification: 'bank', impact_level: 'high', restriction_policy: 'mask' },
  ...owned,
}

const pageOf = (items: readonly object[]) => ({
  pagination: { total_items: items.length, page_number: 1, page_size: 20, total_pages: 1 },
  data: items,
})

const cursorPageOf = (items: readonly object[]) => ({
  pagination: { page_size: 20 },
  data: items,
})

export const create: readonly Example[] = [
  {
    summary: 'A card',
    input: { type: 'card', data: cardData, metadata: { order: '1001' } },
    output: card,
  },
  {
    summary: 'Plain data with an id, a mask, a search index and an end',
    input: {
      id: EMAIL_ID,
      type: 'token',
      data: 'ada@example.com',
      mask: "{{ data | reveal: 1, 12, 'X' }}",
      metadata: { customer: '42' },
      search_indexes: ['{{ data }}'],
      fingerprint_expression: '{{ data }}',
      containers: ['/customers/42/'],
      expires_at: '2030-01-31T12:00:00Z',
    },
    output: email,
  },
  {
    summary: 'A card number with a slip',
    input: { type: 'card', data: { number: '4242424242424241' } },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { 'data.number': ['must pass the Luhn check'] },
    },
  },
]

export const get: readonly Example[] = [
  { summary: 'A card, masked', input: { id: CARD_ID }, output: card },
  {
    summary: 'No such token',
    input: { id: 'no-such-token' },
    error: { code: 'token_not_found', detail: 'The token "no-such-token" does not exist. Check the id.' },
  },
]

export const update: readonly Example[] = [
  {
    summary: 'Another expiry, one more metadata entry',
    input: { id: CARD_ID, data: { expiration_year: 2033 }, metadata: { renewed: 'yes' } },
    output: {
      ...card,
      data: { ...maskedCard, expiration_year: 2033 },
      metadata: { order: '1001', renewed: 'yes' },
      modified_by: owned.created_by,
      modified_at: '2026-03-02T09:30:00.000+00:00',
    },
  },
]

export const remove: readonly Example[] = [{ summary: 'For good', input: { id: CARD_ID }, output: {} }]

export const list: readonly Example[] = [
  {
    summary: 'Tokens of one customer, by metadata',
    input: { type: ['token'], metadata: { customer: '42' }, page: 1, size: 20 },
    output: pageOf([email]),
  },
]

export const listByCursor: readonly Example[] = [
  {
    summary: 'Tokens of one container',
    input: { container: ['/customers/42/'], size: 20 },
    output: cursorPageOf([email]),
  },
  {
    summary: 'A page that others follow',
    input: { type: ['card', 'token'], size: 1 },
    output: {
      pagination: {
        page_size: 1,
        next: 'eyJ2IjoxLCJhZnRlciI6WzE3NzIzNjY0MDAwMDAsMl19',
      },
      data: [],
    },
  },
]

export const search: readonly Example[] = [
  {
    summary: 'By what the data are, and metadata',
    input: { query: 'data:ada@example.com AND metadata.customer:42', page: 1, size: 20 },
    output: pageOf([email]),
  },
  {
    summary: 'A field that cannot be searched',
    input: { query: 'colour:red' },
    error: {
      code: 'invalid',
      detail: 'The search query is not supported; see "errors".',
      errors: {
        query: [
          'a field must be one of id, type, data, fingerprint, container, metadata.<key>, created_by, created_at, modified_by, modified_at, expires_at',
        ],
      },
    },
  },
]

export const searchByCursor: readonly Example[] = [
  {
    summary: 'Within a container',
    input: { query: 'container:/customers/42/ AND type:token', size: 20 },
    output: cursorPageOf([email]),
  },
]

const { metadata: _order, mask: _mask, ...withoutBoth } = card
const { metadata: _usage, mask: _bankMask, ...plainBank } = bank

/** Another token of the same card: equal numbers have one fingerprint. */
const secondCard = { ...withoutBoth, id: 'd06e4b8a-1c97-4f52-b3a0-8f7d2e5c9641' }

export const tokenize: readonly Example[] = [
  {
    summary: 'One card',
    input: { body: { type: 'card', data: cardData, metadata: { order: '1001' } } },
    output: { result: { ...secondCard, metadata: { order: '1001' }, mask: maskedCard } },
  },
  {
    summary: 'Strings, a card and a bank account, mixed at any depth',
    input: {
      body: {
        first_name: 'Ada',
        phones: ['+1-555-010-4242', '+1-555-010-4243'],
        payment: {
          card: { type: 'card', data: cardData },
          refunds: { type: 'bank', data: { routing_number: '021000021', account_number: '1234567890' } },
        },
      },
    },
    output: {
      result: {
        first_name: '4b7e2d90-c1f5-4a38-8d6b-e0a9f3c57214',
        phones: ['a60c8f3e-7d12-4b59-93e4-5c8b1f2d0a76', '0d5f9b42-e8a3-4c17-b60d-92f7c4e1a385'],
        payment: {
          card: { ...secondCard, id: '93c1e7a5-2f6b-4d80-8e39-b7d5a0f4c162' },
          refunds: { ...plainBank, id: '58f0a2c6-9e4d-4b73-a1c8-6d3e7b5f9204' },
        },
      },
    },
  },
]

export const detokenize: readonly Example[] = [
  {
    summary: 'A whole value, a part of one, and text around one',
    input: {
      body: {
        card: `{{ ${CARD_ID} }}`,
        expires: `{{ ${CARD_ID} | json: '$.expiration_year' | to_string }}`,
        note: `To {{ ${EMAIL_ID} }}`,
      },
    },
    output: { result: { card: cardData, expires: '2030', note: 'To ada@example.com' } },
  },
  {
    summary: 'An unknown token',
    input: { body: { card: '{{ no-such-token }}' } },
    error: {
      code: 'invalid_expression',
      detail: 'An expression names a token that does not exist or has expired. Check its token ids.',
      errors: { '/card': ['token not found'] },
    },
  },
]

export const associate: readonly Example[] = [
  { summary: 'A card of a customer', input: { parent_id: EMAIL_ID, child_id: CARD_ID }, output: {} },
]

export const dissociate: readonly Example[] = [
  { summary: 'Both tokens stay', input: { parent_id: EMAIL_ID, child_id: CARD_ID }, output: {} },
]

export const createChild: readonly Example[] = [
  {
    summary: 'A bank account of a customer',
    input: {
      parent_id: EMAIL_ID,
      type: 'bank',
      data: { routing_number: '021000021', account_number: '1234567890' },
      metadata: { usage: 'refunds' },
    },
    output: bank,
  },
]

export const listChildren: readonly Example[] = [
  {
    summary: 'Bank accounts of a customer',
    input: { parent_id: EMAIL_ID, type: ['bank'] },
    output: pageOf([bank]),
  },
]

export const listParents: readonly Example[] = [
  {
    summary: 'Customers of a bank account',
    input: { child_id: BANK_ID },
    output: pageOf([email]),
  },
]
