import type { Example } from '#sdk'

const NONCE = 'H8vW3kYpQz5rTnXc7bMd2sLfJg9eUa4C'

export const create: readonly Example[] = [
  {
    summary: 'A session that may do nothing yet',
    input: {},
    output: {
      session_key: 'key_sess_2YhKp8RwXc5vNt3bQz7mJd',
      nonce: NONCE,
      expires_at: '2026-03-01T12:03:00.000+00:00',
    },
  },
]

export const authorize: readonly Example[] = [
  {
    summary: 'Reading one container, masked',
    input: {
      nonce: NONCE,
      permissions: ['token:create'],
      rules: [
        {
          description: 'What this customer has stored',
          priority: 1,
          conditions: [{ attribute: 'container', operator: 'starts_with', value: '/customers/42/' }],
          transform: 'mask',
          permissions: ['token:read'],
        },
      ],
      expires_at: '2026-03-01T18:00:00Z',
    },
    output: {},
  },
  {
    summary: 'Neither permissions nor rules',
    input: { nonce: NONCE },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: {
        permissions: ['must not be empty when there are no rules: name at least one permission or rule'],
      },
    },
  },
]

const ID = '6b0f3f0a-2a0e-4f0e-9a53-1f2d7c1d9b60'

export const list: readonly Example[] = [
  {
    summary: 'Newest first',
    input: { size: 2 },
    output: {
      pagination: { page_size: 2 },
      data: [
        {
          id: ID,
          application_id: '9d1c0f0e-8b1a-4c55-9a39-02f7d6c0a2f4',
          state: 'pending',
          created_at: '2026-03-01T12:00:00.000+00:00',
          expires_at: '2026-03-01T12:03:00.000+00:00',
        },
      ],
    },
  },
]

export const remove: readonly Example[] = [
  { summary: 'Its key stops working at once', input: { id: ID }, output: {} },
]
