import t from 'tap'
import { openApi } from '../../../src/admin/openapi/document.ts'
import { AppError, ERRORS } from '../../../src/common/errors.ts'
import { newId } from '../../../src/common/ids.ts'
import { isObject } from '../../../src/common/json.ts'
import { macOfTenant } from '../../../src/kernel/services/tenants.ts'
import { addDelegation, revokeDelegation } from '../../../src/maintenance/delegations.ts'
import { requestOf } from '../../kit/callers.ts'
import { assertAgrees, missingNames, type Names, type Step, storyOf, translated } from '../../kit/examples.ts'
import { createResponseCheck } from '../../kit/responses.ts'
import { startTestService, testClock } from '../../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../../kit/sidevault.ts'
import { openInThread } from '../../kit/store-in-thread.ts'
import { until } from '../../supervisor/processes.ts'

/** Ids that examples name and no call of theirs makes. */
const TENANT_ID = 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01'
/** The key that the example of Applications.GetByKey is called with. */
const SECOND_KEY = 'key_9RdXvA3yPgMe5uZk7JcB2t'

/** A tenant with a member, and a caller for each kind of call. */
const startWorld = async () => {
  const clock = testClock()
  const service = await startTestService(t, { openStore: openInThread, clock })
  const { kernel, store, keys } = service
  const tenantId = newId()
  const ownerId = newId()
  await store.keys.add(await keys.newTenantKeys(tenantId, clock.now()))
  const tenant = {
    id: tenantId,
    owner_id: ownerId,
    name: 'Ada’s shop',
    settings: { fingerprint_tokens: 'true', deduplicate_tokens: 'false' },
    created_by: ownerId,
    created_at: clock.now(),
    modified_by: null,
    modified_at: null,
  }
  await store.tenants.create({ ...tenant, mac: macOfTenant(await keys.tenant(tenantId), tenant) }, [])
  const deps = { vault: { store, keys, record: async () => {} }, clock }
  for (const name of ['old-shop', 'shop']) await addDelegation(deps, { tenantId, name })
  await revokeDelegation(deps, 'old-shop')
  const management = 'key_4mUJvPQ2Xn8sKcTzR6yHdW'
  await kernel.registry.ports.credentials?.install(tenantId, keys.mac('api-key', management))
  const rule = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:read'],
  }
  const call = async (path: string, body: object) => {
    const { status, text, json } = await service.call('POST', path, { key: management, body })
    if (status !== 201) throw new Error(text)
    return json
  }
  const application = async (type: string, grants: object) =>
    (await call('/applications', { name: 'Caller', type, ...grants })).key as string
  const invitation = await call('/tenants/self/invitations', { email: 'grace@example.com' })
  await kernel.registry.ports.members?.acceptInvitation(tenantId, invitation.id, newId())
  const callers = {
    management,
    private: await application('private', { permissions: ALL_TOKEN_PERMISSIONS }),
    public: await application('public', { permissions: ['token:create'] }),
    revealing: await application('private', { rules: [rule] }),
  }
  clock.advance(1000)
  return { service, callers, names: new Map([[TENANT_ID, tenantId]]) as Names, clock }
}

const world = await startWorld()
const { service, callers, names, clock } = world
const { operations, tokenTypes, permissions } = service.kernel.registry
const check = createResponseCheck(openApi({ operations, tokenTypes }, { prefix: 'SVC', version: '0.0.0' }))

/** Callers that do not follow from the permission. */
const CALLERS: Readonly<Record<string, () => string>> = {
  'Applications.GetByKey': () => names.get(SECOND_KEY) ?? callers.private,
  'Sessions.Create': () => callers.public,
  'Sessions.Authorize': () => callers.private,
  'Tokens.Detokenize': () => callers.revealing,
}

const callerOf = ({ rpc, permission }: Step['operation']): string => {
  const known = CALLERS[rpc]
  if (known) return known()
  const types = permissions.find(({ type }) => type === permission)?.application_types ?? []
  return types.includes('private') ? callers.private : callers.management
}

/** Throws unless the example is what the service does. */
const play = async ({ operation, example }: Step): Promise<void> => {
  const missing = missingNames(example.input, names)
  if (missing.length > 0) throw new Error(`no example makes ${missing.join(', ')}`)
  const input = translated(example.input, names)
  const { method, path, body } = requestOf(operation, isObject(input) ? input : {})
  const ask = () =>
    service.call(method, path, {
      key: callerOf(operation),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  let response = await ask()
  // A result is returned once, so a response that has it is the last one.
  if (operation.rpc === 'Reactors.GetResult')
    await until('the result is there', async () => {
      if (response.status !== 404) return true
      response = await ask()
      return false
    })
  const status = 'error' in example ? ERRORS[example.error.code].status : (operation.status ?? 200)
  if (response.status !== status) throw new Error(`${status} was expected, not ${response.text}`)
  check(method, path, response)
  const shown =
    'error' in example
      ? new AppError(example.error.code, example.error.detail, example.error).toProblem()
      : operation.responseBody === undefined
        ? example.output
        : (example.output as Record<string, unknown>)[operation.responseBody]
  assertAgrees(shown, response.json ?? {}, names)
}

t.test('every operation shows at least one call that succeeds', async (t) => {
  for (const { rpc, examples = [] } of operations)
    t.ok(
      examples.some((example) => 'output' in example),
      rpc,
    )
})

t.test('each example equals the response of a service', async (t) => {
  let waiting: readonly Step[] = []
  for (const phase of storyOf(operations)) {
    const again: Step[] = []
    for (const step of [...waiting, ...phase]) {
      const { rpc, http } = step.operation
      const name = `${rpc}: ${step.example.summary}`
      try {
        await play(step)
        t.pass(name)
      } catch (thrown) {
        // What a list shows may be made later.
        if (http.startsWith('GET ') && !waiting.includes(step)) again.push(step)
        else t.fail(`${name}: ${(thrown as Error).message}`)
      }
    }
    waiting = again
    clock.advance(1000)
  }
  t.same(waiting, [], 'nothing is left')
})
