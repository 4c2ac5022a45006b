import t from 'tap'
import { tenantOutput } from '../../plugins/tenants/schemas.ts'

const tenant = { id: 'a', owner_id: 'b', name: 'Acme', settings: {}, created_at: 0 }

t.test(
  'a tenant is shown with ISO 8601 times, with every setting, and without what is not set',
  async (t) => {
    t.strictSame(tenantOutput(tenant), {
      id: 'a',
      owner_id: 'b',
      name: 'Acme',
      settings: {
        fingerprint_tokens: 'false',
        deduplicate_tokens: 'false',
        strict_code: 'false',
        grants_within_own: 'true',
      },
      created_at: '1970-01-01T00:00:00.000+00:00',
    })
  },
)

t.test('settings are the strings that the interface names', async (t) => {
  const settings = { fingerprint_tokens: 'true', deduplicate_tokens: 'false' }
  const shown = tenantOutput({ ...tenant, settings, created_by: 'c', modified_by: 'd', modified_at: 1000 })
  t.same(shown.settings, { ...settings, strict_code: 'false', grants_within_own: 'true' })
  t.match(shown, { created_by: 'c', modified_by: 'd', modified_at: '1970-01-01T00:00:01.000+00:00' })
})
