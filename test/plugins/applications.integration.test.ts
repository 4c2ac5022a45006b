import t from 'tap'
import { AppError, type ApplicationType } from '#sdk'
import { parseExpiry } from '../../plugins/applications/expiry.ts'
import { checkGrants } from '../../plugins/applications/grants.ts'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const known = (await startTestService(t, { openStore: openInThread })).kernel.registry.permissions

const rule = {
  description: 'cards',
  priority: 1,
  container: '/PCI/High/',
  transform: 'mask' as const,
  permissions: ['token:read'],
}

const issuesOf = (run: () => unknown): Readonly<Record<string, readonly string[]>> => {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid') return error.errors ?? {}
    throw error
  }
  return {}
}

t.test('each permission is allowed for exactly the application types of completions §4', async (t) => {
  const allowed: Record<ApplicationType, RegExp> = {
    public: /^token:(create|update)$/,
    private: /^token:(create|read|update|delete|use|search)$/,
    management: /^(tenant|application|session|log|report|proxy|reactor|webhook):/,
  }
  for (const [type, pattern] of Object.entries(allowed) as [ApplicationType, RegExp][])
    for (const { type: permission } of known) {
      const issues = issuesOf(() => checkGrants({ permissions: [permission] }, type, known))
      t.equal('permissions' in issues, !pattern.test(permission), `${type} and ${permission}`)
    }
})

t.test('an unknown permission is an issue, and a repeated permission is stored once', async (t) => {
  t.ok(issuesOf(() => checkGrants({ permissions: ['token:eat'] }, 'private', known)).permissions)
  const grants = checkGrants({ permissions: ['token:read', 'token:read'] }, 'private', known)
  t.same(grants, { permissions: ['token:read'], rules: [] })
})

t.test('a rule is stored with its container in lower case', async (t) => {
  t.same(checkGrants({ rules: [rule] }, 'private', known).rules, [{ ...rule, container: '/pci/high/' }])
})

t.test('an expiry is ISO 8601, in UTC unless it has an offset', async (t) => {
  const noon = Date.UTC(2030, 0, 31, 12)
  for (const text of [
    '2030-01-31T12:00:00Z',
    '2030-01-31T12:00:00.000Z',
    '2030-01-31T12:00:00',
    '2030-01-31T12:00',
    '2030-01-31T13:00:00+01:00',
    '2030-01-31t12:00:00z',
  ])
    t.equal(parseExpiry(text, 0), noon, text)
  t.equal(parseExpiry('2030-01-31', 0), Date.UTC(2030, 0, 31))
})

t.test('an expiry that is not a date-time, or not in the future, is an issue', async (t) => {
  for (const text of ['', 'soon', '2030-02-31T00:00:00Z', '2030-13-01', '2030-01-31T25:00:00Z', '1893456000'])
    t.ok(issuesOf(() => parseExpiry(text, 0)).expires_at, text)
  t.ok(issuesOf(() => parseExpiry('2030-01-31', Date.UTC(2030, 0, 31))).expires_at)
})
