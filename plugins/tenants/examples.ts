import type { Example } from '#sdk'

const tenant = {
  id: 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01',
  owner_id: '3c6a1d52-7e4f-4b08-a9d1-5f2e8c7b6a90',
  name: 'Ada’s shop',
  settings: {
    fingerprint_tokens: 'true',
    deduplicate_tokens: 'false',
    strict_code: 'false',
    grants_within_own: 'true',
    unbound_destinations: 'deny',
    response_guard: 'off',
  },
  created_by: '3c6a1d52-7e4f-4b08-a9d1-5f2e8c7b6a90',
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const settings = { fingerprint_tokens: 'true', deduplicate_tokens: 'false', strict_code: 'true' }

export const get: readonly Example[] = [{ summary: 'That of the calling key', input: {}, output: tenant }]

export const update: readonly Example[] = [
  {
    summary: 'Another name, and code must parse',
    input: { name: 'Ada’s shop EU', settings },
    output: {
      ...tenant,
      name: 'Ada’s shop EU',
      settings: { ...tenant.settings, ...settings },
      modified_by: '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812',
      modified_at: '2026-03-02T09:30:00.000+00:00',
    },
  },
  {
    summary: 'No name',
    input: { settings },
    error: {
      code: 'invalid',
      detail: 'One or more members of the request are not valid; see "errors".',
      errors: { name: ['is required'] },
    },
  },
]

export const remove: readonly Example[] = [{ summary: 'With everything that it owns', input: {}, output: {} }]

export const delegations: readonly Example[] = [
  {
    summary: 'One of them revoked',
    input: {},
    output: {
      data: [
        {
          name: 'old-shop',
          status: 'revoked',
          revoked_at: '2026-03-02T09:30:00.000+00:00',
          data_key_versions: [],
        },
        {
          name: 'shop',
          status: 'active',
          created_at: '2026-03-01T12:00:00.000+00:00',
          data_key_versions: [1],
        },
      ],
    },
  },
]

export const usage: readonly Example[] = [
  {
    summary: 'Tokens by type, and those active this month',
    input: {},
    output: {
      token_report: {
        metrics_by_type: {
          token: { count: 412, last_created_at: '2026-03-01T12:00:00.000+00:00' },
          card: { count: 1280, last_created_at: '2026-03-02T09:30:00.000+00:00' },
          bank: { count: 6, last_created_at: '2026-03-01T12:00:00.000+00:00' },
        },
        included_monthly_active_tokens: 0,
        monthly_active_tokens: 734,
        total_tokens: 1698,
      },
    },
  },
]
