import type { Example } from '#sdk'

const ID = '2f9b7d51-8c3e-4a60-b1d4-e7a5c9f30286'
const MANAGEMENT_ID = '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812'
const APPLICATION_ID = 'd7c8b0f2-53a1-4c57-9a0e-6e1f4b2c8d90'

const request_transform = {
  code: `module.exports = async ({ args, configuration }) => ({
  headers: { ...args.headers, 'x-shop': configuration.shop },
  body: { ...args.body, reference: args.body.order },
})`,
}

const response_transform = {
  code: 'module.exports = async ({ args }) => ({ headers: args.headers, body: { paid: args.body.status } })',
}

const sent = {
  name: 'Payments',
  destination_url: 'https://payments.example.com/v1',
  request_transform,
  response_transform,
  configuration: { shop: 'ada', retries: 2 },
  require_auth: true,
}

const ORDERS_ID = '8d41c6e0-27b5-4f9a-93c8-5e0b6a7d1f24'

const header = {
  name: 'Orders',
  destination_url: 'https://orders.example.com/v1',
  evaluate: ['body', 'header:authorization'],
}

const proxy = {
  ...sent,
  id: ID,
  key: 'K7mVx2QpZr9TnLc4YdWb3s',
  tenant_id: 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01',
  evaluate: ['body'],
  intercept: false,
  application_id: APPLICATION_ID,
  created_by: MANAGEMENT_ID,
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const modified = { modified_by: MANAGEMENT_ID, modified_at: '2026-03-02T09:30:00.000+00:00' }

export const create: readonly Example[] = [
  {
    summary: 'With transforms, configuration and an application for them',
    input: { ...sent, application: { id: APPLICATION_ID } },
    output: proxy,
  },
  {
    summary: 'Tokens in the body and in one header',
    input: header,
    output: {
      ...header,
      id: ORDERS_ID,
      key: 'W3hRq8NzT5vXy1JbKf6PmD',
      tenant_id: proxy.tenant_id,
      require_auth: true,
      intercept: false,
      created_by: MANAGEMENT_ID,
      created_at: proxy.created_at,
    },
  },
  {
    summary: 'Expressions in a header that frames the request',
    input: { ...header, evaluate: ['header:host'] },
    error: {
      code: 'invalid_surface',
      detail:
        '"header:host" cannot hold expressions: the header is for routing, framing or tracing. Use another header.',
    },
  },
  {
    summary: 'No destination',
    input: { name: 'Payments' },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { destination_url: ['is required'] },
    },
  },
  {
    summary: 'A client certificate without its key',
    input: {
      name: 'Payments',
      destination_url: 'https://payments.example.com/v1',
      destination_tls: { client_certificate: '-----BEGIN CERTIFICATE-----…' },
    },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { 'destination_tls.client_key': ['is required with a client certificate'] },
    },
  },
]

export const list: readonly Example[] = [
  {
    summary: 'By name',
    input: { name: 'pay*', page: 1, size: 20 },
    output: {
      pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
      data: [proxy],
    },
  },
]

export const get: readonly Example[] = [{ summary: 'By its id', input: { id: ID }, output: proxy }]

export const update: readonly Example[] = [
  {
    summary: 'Without transforms, for callers without a key',
    input: {
      id: ID,
      name: 'Webhooks',
      destination_url: 'https://hooks.example.com',
      require_auth: false,
    },
    output: {
      id: ID,
      key: proxy.key,
      tenant_id: proxy.tenant_id,
      evaluate: ['body'],
      intercept: false,
      name: 'Webhooks',
      destination_url: 'https://hooks.example.com',
      require_auth: false,
      created_by: proxy.created_by,
      created_at: proxy.created_at,
      ...modified,
    },
  },
]

export const patch: readonly Example[] = [
  { summary: 'Another name', input: { id: ID, name: 'Payments EU' }, output: {} },
]

export const remove: readonly Example[] = [
  { summary: 'Its key stops working at once', input: { id: ID }, output: {} },
]

export const versions: readonly Example[] = [
  {
    summary: 'Code that was not changed since',
    input: { id: ID },
    output: {
      pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
      data: [
        {
          version: 1,
          created_by: MANAGEMENT_ID,
          created_at: proxy.created_at,
          request_transform,
          response_transform,
        },
      ],
    },
  },
]

export const checkCode: readonly Example[] = [
  {
    summary: 'A member without its value',
    input: {
      request_transform: { code: 'module.exports = async ({ args }) => ({\n  body: args.body, headers: })' },
    },
    output: {
      warnings: [{ path: 'request_transform.code', line: 2, column: 29, message: "Unexpected token '}'" }],
    },
  },
]
