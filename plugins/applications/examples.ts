import type { Example } from '#sdk'

const ID = 'd7c8b0f2-53a1-4c57-9a0e-6e1f4b2c8d90'
const WEB_ID = 'e2b94d17-60c8-4f3a-8a75-1d9c3b5e7f20'
const PAYOUTS_ID = '7c4e1d90-8b2a-4f65-9c3d-2a6f0e5b8d17'
const KEY_ID = '5b1f6f1e-0c1d-4c37-8b59-0f6d2a7c3e41'
const MANAGEMENT_ID = '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812'

const rules = [
  {
    description: 'The fraud check sees cards',
    priority: 1,
    container: '/pci/high/',
    transform: 'reveal',
    permissions: ['token:read'],
  },
]

const application = {
  id: ID,
  tenant_id: 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01',
  name: 'Checkout',
  type: 'private',
  permissions: ['token:create', 'token:use'],
  rules,
  created_by: MANAGEMENT_ID,
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const web = {
  id: WEB_ID,
  tenant_id: application.tenant_id,
  name: 'Web shop',
  type: 'public',
  permissions: ['token:create'],
  rules: [],
  created_by: MANAGEMENT_ID,
  created_at: application.created_at,
}

const modified = { modified_by: MANAGEMENT_ID, modified_at: '2026-03-02T09:30:00.000+00:00' }

const pageOf = (items: readonly object[]) => ({
  pagination: { total_items: items.length, page_number: 1, page_size: 20, total_pages: 1 },
  data: items,
})

export const create: readonly Example[] = [
  {
    summary: 'A private application with an access rule',
    input: { name: 'Checkout', type: 'private', permissions: ['token:create', 'token:use'], rules },
    output: { ...application, key: 'key_7NwVkhYEeYbRRVwR3QhT9z' },
  },
  {
    summary: 'An application whose tokens go to one provider only',
    input: {
      name: 'Payouts',
      type: 'private',
      permissions: ['token:use'],
      destinations: [{ host: 'API.example.com', path: '/v1/**' }],
    },
    output: {
      ...application,
      id: PAYOUTS_ID,
      name: 'Payouts',
      permissions: ['token:use'],
      rules: [],
      destinations: [{ host: 'api.example.com', ports: [443], path: '/v1/**' }],
      key: 'key_2LmRk7XcQvYd9eTz5WgNp4',
    },
  },
  {
    summary: 'A public application',
    input: { name: 'Web shop', type: 'public', permissions: ['token:create'] },
    output: { ...web, key: 'key_3HsLc8NzVqWm5tXy2RbKf7' },
  },
  {
    summary: 'A permission that its type may not hold',
    input: { name: 'Web', type: 'public', permissions: ['token:read'] },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: {
        permissions: [
          '"token:read" is not allowed for public applications; see GET /permissions?application_type=public',
        ],
      },
    },
  },
]

export const list: readonly Example[] = [
  {
    summary: 'Private applications',
    input: { type: ['private'] },
    output: pageOf([application]),
  },
  { summary: 'By name', input: { name: 'web*' }, output: pageOf([web]) },
]

export const getByKey: readonly Example[] = [
  { summary: 'Who the key belongs to', input: {}, output: application },
]

export const get: readonly Example[] = [{ summary: 'By its id', input: { id: ID }, output: application }]

export const update: readonly Example[] = [
  {
    summary: 'Another name, no rules',
    input: { id: ID, name: 'Checkout EU', permissions: ['token:create', 'token:use'] },
    output: { ...application, name: 'Checkout EU', rules: [], ...modified },
  },
]

export const remove: readonly Example[] = [{ summary: 'With its keys', input: { id: ID }, output: {} }]

export const regenerate: readonly Example[] = [
  {
    summary: 'A new key in place of the old one',
    input: { id: WEB_ID },
    output: { ...web, ...modified, key: 'key_4Tq8mCz2WJxLbn6sKfU1Hd' },
  },
  {
    summary: 'Of several keys',
    input: { id: ID },
    error: {
      code: 'unprocessable',
      detail: `Application "${ID}" has 2 keys, so the one to replace is unclear. Create and delete keys at /applications/${ID}/keys.`,
    },
  },
]

const key = {
  id: KEY_ID,
  version: '2',
  created_by: MANAGEMENT_ID,
  created_at: '2026-03-02T09:30:00.000+00:00',
}

export const createKey: readonly Example[] = [
  {
    summary: 'A second key, to change over to',
    input: { application_id: ID },
    output: { ...key, key: 'key_9RdXvA3yPgMe5uZk7JcB2t', application_id: ID },
  },
]

export const listKeys: readonly Example[] = [
  { summary: 'Keys of an application', input: { application_id: ID }, output: { keys: [key] } },
]

export const getKey: readonly Example[] = [
  { summary: 'By its id', input: { application_id: ID, id: KEY_ID }, output: key },
]

export const removeKey: readonly Example[] = [
  { summary: 'It stops working at once', input: { application_id: ID, id: KEY_ID }, output: {} },
]

export const permissions: readonly Example[] = [
  {
    summary: 'What public applications may hold',
    input: { application_type: 'public' },
    output: {
      permissions: [
        { type: 'token:create', description: 'Create tokens', application_types: ['public', 'private'] },
      ],
    },
  },
]

const TOKEN_ID = '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124'
const [rule] = rules

export const access: readonly Example[] = [
  {
    summary: 'An application by its rule, and a proxy that acts as it',
    input: { id: TOKEN_ID },
    output: pageOf([
      {
        application: { id: ID, name: 'Checkout', type: 'private' },
        permission: 'token:read',
        disclosure: 'reveal',
        rule: {
          description: rule?.description,
          priority: rule?.priority,
          container: rule?.container,
          transform: rule?.transform,
        },
      },
      {
        application: { id: ID, name: 'Checkout', type: 'private' },
        permission: 'token:use',
        disclosure: 'reveal',
        rule: null,
        through: { type: 'proxy', id: '2f9b7d51-8c3e-4a60-b1d4-e7a5c9f30286', name: 'Payments' },
      },
    ]),
  },
]

export const diff: readonly Example[] = [
  {
    summary: 'Rules that show less',
    input: { application: { id: ID }, rules: [{ ...rule, transform: 'mask' }] },
    output: {
      data: [
        {
          container: '/pci/high/',
          permission: 'token:read',
          from: 'reveal',
          to: 'mask',
          tokens: 1,
          exact: true,
        },
      ],
    },
  },
]
