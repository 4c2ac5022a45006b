import type { Example } from '#sdk'

const FORMULA_ID = '8d3f1a6c-5b27-4e90-a4c8-1f6e9b2d7053'
const REACTOR_ID = 'c5a9e2d7-3f1b-4868-95d0-7b4c8e6f1a39'
const MANAGEMENT_ID = '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812'
const TENANT_ID = 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01'
const APPLICATION_ID = 'd7c8b0f2-53a1-4c57-9a0e-6e1f4b2c8d90'

const REQUEST_ID = '4f7b2c90-8a1e-4d36-b5f0-2e9c6d8a1b47'
const CALLBACK_KEY = '7Hq2mVdZk9RtYcXw3bNfJ6sPgL8eUa4DxKyT5rMh1Cv'
const RECEIPT_ID = 'b8d1e6f3-2a7c-4095-9e4b-c3f5a7d90e28'

const created = { created_by: MANAGEMENT_ID, created_at: '2026-03-01T12:00:00.000+00:00' }
const modified = { modified_by: MANAGEMENT_ID, modified_at: '2026-03-02T09:30:00.000+00:00' }

const pageOf = (items: readonly object[]) => ({
  pagination: { total_items: items.length, page_number: 1, page_size: 20, total_pages: 1 },
  data: items,
})

const sent = {
  name: 'Charge a card',
  description: 'Charges a card and stores the receipt as a token',
  type: 'private',
  icon: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  code: `module.exports = async ({ args, configuration }) => ({
  raw: { amount: args.amount, merchant: configuration.merchant_id },
  tokenize: { receipt: args.customer.name },
})`,
  configuration: [
    { name: 'merchant_id', description: 'Given by the processor', type: 'string' },
    { name: 'live', type: 'boolean' },
  ],
  request_parameters: [
    { name: 'amount', description: 'In cents', type: 'number' },
    { name: 'customer.name', type: 'string', optional: true },
  ],
}

const formula = {
  ...sent,
  id: FORMULA_ID,
  status: 'verified',
  request_parameters: [
    { name: 'amount', description: 'In cents', type: 'number', optional: false },
    { name: 'customer.name', type: 'string', optional: true },
  ],
  ...created,
}

export const createFormula: readonly Example[] = [
  { summary: 'With configuration and request parameters', input: sent, output: formula },
  {
    summary: 'A type that there is not',
    input: { ...sent, configuration: [{ name: 'merchant_id', type: 'text' }] },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { 'configuration[0].type': ['must be one of "string", "boolean", "number"'] },
    },
  },
]

export const listFormulas: readonly Example[] = [
  { summary: 'By name', input: { name: '*card*', page: 1, size: 20 }, output: pageOf([formula]) },
]

export const getFormula: readonly Example[] = [
  { summary: 'By its id', input: { id: FORMULA_ID }, output: formula },
]

export const updateFormula: readonly Example[] = [
  {
    summary: 'Another name',
    input: { ...sent, id: FORMULA_ID, name: 'Charge' },
    output: { ...formula, name: 'Charge', ...modified },
  },
]

export const removeFormula: readonly Example[] = [
  { summary: 'One that no reactor is of', input: { id: FORMULA_ID }, output: {} },
]

const configuration = { merchant_id: 'm-1001', live: false }

const reactor = {
  id: REACTOR_ID,
  tenant_id: TENANT_ID,
  name: 'Charge at the shop',
  formula,
  configuration,
  callback_key: CALLBACK_KEY,
  application: {
    id: APPLICATION_ID,
    tenant_id: TENANT_ID,
    name: 'Checkout',
    type: 'private',
    permissions: ['token:create', 'token:use'],
    ...created,
  },
  ...created,
}

export const create: readonly Example[] = [
  {
    summary: 'Of a formula, with its configuration',
    input: {
      name: 'Charge at the shop',
      formula: { id: FORMULA_ID },
      configuration,
      application: { id: APPLICATION_ID },
    },
    output: reactor,
  },
]

export const list: readonly Example[] = [
  { summary: 'By id', input: { id: [REACTOR_ID] }, output: pageOf([reactor]) },
]

export const get: readonly Example[] = [{ summary: 'By its id', input: { id: REACTOR_ID }, output: reactor }]

export const update: readonly Example[] = [
  {
    summary: 'Code of its own',
    input: { id: REACTOR_ID, name: 'Echo', code: 'module.exports = async ({ args }) => ({ raw: args })' },
    output: {
      id: REACTOR_ID,
      tenant_id: TENANT_ID,
      name: 'Echo',
      code: 'module.exports = async ({ args }) => ({ raw: args })',
      configuration: {},
      callback_key: CALLBACK_KEY,
      ...created,
      ...modified,
    },
  },
]

export const patch: readonly Example[] = [
  { summary: 'Another name', input: { id: REACTOR_ID, name: 'Charge in the EU' }, output: {} },
]

export const remove: readonly Example[] = [{ summary: 'By its id', input: { id: REACTOR_ID }, output: {} }]

const args = { amount: '1999', customer: { name: 'Ada Lovelace' } }
const result = { tokens: { receipt: RECEIPT_ID }, raw: { amount: 1999, merchant: 'm-1001' } }

export const react: readonly Example[] = [
  { summary: 'With arguments', input: { id: REACTOR_ID, args }, output: result },
  {
    summary: 'Without one that the formula requires',
    input: { id: REACTOR_ID, args: { customer: { name: 'Ada Lovelace' } } },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { 'args.amount': ['is required by the formula'] },
    },
  },
]

export const reactAsync: readonly Example[] = [
  {
    summary: 'With arguments',
    input: { id: REACTOR_ID, args },
    output: { asyncReactorRequestId: REQUEST_ID },
  },
]

export const getResult: readonly Example[] = [
  {
    summary: 'Of an invocation that has ended',
    input: { id: REACTOR_ID, request_id: REQUEST_ID },
    output: { tokens: { receipt: 'e1c7a5d9-6b3f-4280-8d4e-9f2b7c5a1036' }, raw: result.raw },
  },
]

export const checkCode: readonly Example[] = [
  {
    summary: 'A member without its value',
    input: { code: 'module.exports = async ({ args }) => ({\n  raw: })' },
    output: { warnings: [{ path: 'code', line: 2, column: 8, message: "Unexpected token '}'" }] },
  },
]
