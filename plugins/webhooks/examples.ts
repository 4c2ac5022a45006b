import type { Example } from '#sdk'

const TENANT_ID = 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01'
const MANAGEMENT_ID = '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812'

const input = {
  name: 'Ledger',
  url: 'https://hooks.invalid/sidevault',
  events: ['token.created', 'token.deleted', 'webhook.disabled'],
}

const webhook = {
  id: 'c1d7e3a9-4b5f-4620-8e71-3a9d5c7b1f24',
  tenant_id: TENANT_ID,
  ...input,
  status: 'enabled',
  include_metadata: false,
  created_by: MANAGEMENT_ID,
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const modified = { modified_by: MANAGEMENT_ID, modified_at: '2026-03-02T09:30:00.000+00:00' }

const delivery = {
  id: '5f2c8e1a-7d94-4b30-a6c5-9e8f7d6c5b4a',
  webhook_id: webhook.id,
  event_id: '8a7b6c5d-4e3f-4211-9087-f6e5d4c3b2a1',
  event_type: 'webhook.pinged',
  status: 'failed',
  attempts: 1,
  last_attempt: { at: '2026-03-02T09:30:00.000+00:00', error: 'destination_unreachable' },
  created_at: '2026-03-02T09:30:00.000+00:00',
}

export const create: readonly Example[] = [
  {
    summary: 'For three types of events',
    input,
    output: { ...webhook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9yOlDdrrJkE=' },
  },
  {
    summary: 'An event type that does not exist',
    input: { ...input, events: ['token.create'] },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: {
        'events[0]': ['"token.create" is not an event type; the nearest is "token.created"'],
      },
    },
  },
]

export const list: readonly Example[] = [
  {
    summary: 'The first page',
    input: { page: 1, size: 20 },
    output: {
      pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
      data: [webhook],
    },
  },
]

export const eventTypes: readonly Example[] = [
  {
    summary: 'Some of them',
    input: {},
    output: { event_types: [{ value: 'token.created' }, { value: 'proxy.invoked' }] },
  },
]

export const get: readonly Example[] = [{ summary: 'By its id', input: { id: webhook.id }, output: webhook }]

export const update: readonly Example[] = [
  {
    summary: 'Other events',
    input: { ...input, id: webhook.id, events: ['token.created'] },
    output: { ...webhook, events: ['token.created'], ...modified },
  },
]

export const rotate: readonly Example[] = [
  {
    summary: 'A new secret',
    input: { id: webhook.id },
    output: {
      ...webhook,
      events: ['token.created'],
      ...modified,
      secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDxJ0a0mHTGeo=',
    },
  },
]

export const ping: readonly Example[] = [
  { summary: 'A receiver that cannot be reached', input: { id: webhook.id }, output: delivery },
]

export const listDeliveries: readonly Example[] = [
  {
    summary: 'The newest',
    input: { id: webhook.id, size: 20 },
    output: { pagination: { page_size: 20 }, data: [] },
  },
]

export const redeliver: readonly Example[] = [
  {
    summary: 'Once more',
    input: { id: webhook.id, delivery_id: delivery.id },
    output: { ...delivery, attempts: 2 },
  },
]

export const remove: readonly Example[] = [{ summary: 'By its id', input: { id: webhook.id }, output: {} }]
