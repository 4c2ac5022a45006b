import type { Example } from '#sdk'

const log = {
  tenant_id: 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01',
  actor_id: 'f1b7a3c2-6d84-4e9b-8f05-2a1c9d3e7b64',
  actor_type: 'application',
  entity_type: 'card',
  entity_id: '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124',
}

export const list: readonly Example[] = [
  {
    summary: 'What was done to one card',
    input: {
      entity_type: 'card',
      entity_id: '7a2c4e68-9b1d-4f35-a806-c3e5f7d9b124',
      start_date: '2026-03-01T00:00:00Z',
      end_date: '2026-04-01T00:00:00Z',
      page: 1,
      size: 20,
    },
    output: {
      pagination: {
        total_items: 2,
        page_number: 1,
        page_size: 20,
        total_pages: 1,
      },
      data: [
        {
          ...log,
          operation: 'read',
          message: 'Card retrieved',
          created_at: '2026-03-02T09:30:00.000+00:00',
          trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
          disclosure: 'mask',
        },
        {
          ...log,
          operation: 'create',
          message: 'Card created',
          created_at: '2026-03-01T12:00:00.000+00:00',
          trace_id: '0af7651916cd43dd8448eb211c80319c',
        },
      ],
    },
  },
]

export const entityTypes: readonly Example[] = [
  {
    summary: 'Token types and resources',
    input: {},
    output: {
      entity_types: [
        { display_name: 'Card', value: 'card' },
        { display_name: 'Application', value: 'application' },
      ],
    },
  },
]

export const requests: readonly Example[] = [
  {
    summary: 'Calls to one destination that failed in a minute',
    input: {
      kind: 'proxy',
      outcome: 'failed',
      host: 'api.stripe.com',
      start_date: '2026-03-01T12:00:00Z',
      end_date: '2026-03-01T12:01:00Z',
    },
    output: { pagination: { page_size: 20 }, data: [] },
  },
  {
    summary: 'The end of the list',
    input: { start: 'MCBhZG1pbi0wLTAwMDAwMDAwMDAwMA' },
    output: { pagination: { page_size: 20 }, data: [] },
  },
]

export const destinations: readonly Example[] = [
  {
    summary: 'No value left since the start',
    input: {},
    output: { since: '2026-03-01T12:00:00.000+00:00', data: [] },
  },
]
