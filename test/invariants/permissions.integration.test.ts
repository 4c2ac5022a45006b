import t, { type Test } from 'tap'
import { isKeyClass } from '../../src/access/authorize.ts'
import type { ApplicationType, Operation } from '../../src/sdk/index.ts'
import { startCallers } from '../kit/callers.ts'
import { sampleOf } from '../kit/samples.ts'
import { startTestService } from '../kit/service.ts'

const TYPES: readonly ApplicationType[] = ['public', 'private', 'management']

const service = await startTestService(t)
const callers = await startCallers(t, service)
const { operations } = service.kernel.registry
const permissions = service.kernel.registry.permissions
const guarded = operations.filter(({ permission }) => !isKeyClass(permission))

const typesOf = (permission: string) => permissions.find(({ type }) => type === permission)!.application_types

/** All permissions that an application of a type may hold. */
const allOf = (type: ApplicationType) =>
  permissions
    .filter((permission) => permission.application_types.includes(type))
    .map((permission) => permission.type)

/** The least valid input, with ids of nothing. */
const inputOf = (operation: Operation) => sampleOf(operation.input as object) as Record<string, unknown>

/** A test over each transport. */
const over = (name: string, run: (t: Test, call: (typeof callers)['http']) => Promise<void>) => {
  for (const transport of ['http', 'grpc'] as const)
    t.test(`${name} (${transport})`, (t) => run(t, callers[transport]))
}

const shared = await service.newTenant('Guarded')
const keys = new Map<string, Promise<string>>()
/** The key of an application; equal ones are made once. */
const keyWith = (type: ApplicationType, held: readonly string[], tenant = shared): Promise<string> => {
  const name = JSON.stringify([type, held, tenant.id])
  const known = keys.get(name) ?? service.application({ permissions: held }, type, tenant.key)
  keys.set(name, known)
  return known
}
/** A call that is let through may do away with its tenant. */
const tenantFor = async ({ rpc }: Operation) =>
  rpc.startsWith('Tenants.') ? await service.newTenant('Own') : shared

over(
  '"403 | permission missing": a key with all but the permission of an operation is denied, one with only it is not',
  async (t, call) => {
    t.ok(guarded.length > 50, `${guarded.length} operations name a permission`)
    for (const operation of guarded)
      for (const type of typesOf(operation.permission)) {
        const others = allOf(type).filter((permission) => permission !== operation.permission)
        const lacking = await keyWith(type, others)
        const rejected = await call(operation, inputOf(operation), lacking)
        t.equal(rejected?.status, 403, `${operation.rpc} by a ${type} application: ${rejected?.detail}`)
        t.ok(rejected?.detail.includes(operation.permission), 'the error names the missing permission')
        const allowed = await call(
          operation,
          inputOf(operation),
          await keyWith(type, [operation.permission], await tenantFor(operation)),
        )
        t.notOk(
          [401, 403].includes(allowed?.status ?? 401),
          `${operation.rpc} by a ${type} application with this permission only: ${allowed?.detail}`,
        )
      }
  },
)

over('an application of a type that a permission is not for never gets past it', async (t, call) => {
  for (const operation of guarded)
    for (const type of TYPES.filter((type) => !typesOf(operation.permission).includes(type))) {
      const response = await call(operation, inputOf(operation), await keyWith(type, allOf(type)))
      t.equal(response?.status, 403, `${operation.rpc} by a ${type} application`)
    }
})

over(
  '"A session key before authorization → 403 on everything"; afterwards it may do what it was granted, no more',
  async (t, call) => {
    const tenant = await service.newTenant('Sessions')
    const publicKey = await service.application({ permissions: allOf('public') }, 'public', tenant.key)
    const privateKey = await service.application({ permissions: allOf('private') }, 'private', tenant.key)
    const create = async () => (await service.call('POST', '/sessions', { key: publicKey })).json
    const closed = await create()
    for (const operation of operations.filter(({ permission }) => permission !== 'none'))
      t.equal(
        (await call(operation, inputOf(operation), closed.session_key))?.status,
        403,
        `${operation.rpc} before`,
      )

    const authorized = async (granted: readonly string[]) => {
      const { session_key, nonce } = await create()
      const response = await service.call('POST', '/sessions/authorize', {
        key: privateKey,
        body: { nonce, permissions: granted },
      })
      t.equal(response.status, 200, response.text)
      return session_key
    }
    const all = await authorized(allOf('private'))
    for (const operation of guarded) {
      const status = (await call(operation, inputOf(operation), all))?.status
      if (typesOf(operation.permission).includes('private')) t.not(status, 403, `${operation.rpc} granted`)
      else t.equal(status, 403, `${operation.rpc} is not for sessions`)
    }
    for (const operation of guarded.filter(({ permission }) => typesOf(permission).includes('private'))) {
      const lacking = await authorized(
        allOf('private').filter((permission) => permission !== operation.permission),
      )
      t.equal(
        (await call(operation, inputOf(operation), lacking))?.status,
        403,
        `${operation.rpc} not granted`,
      )
    }
  },
)

over('"401 | no key, unknown … key", for every operation that needs one', async (t, call) => {
  for (const operation of operations.filter(({ permission }) => permission !== 'none'))
    for (const key of [undefined, 'key_unknown'])
      t.equal((await call(operation, inputOf(operation), key))?.status, 401, operation.rpc)
})

t.test(
  '"A permission not allowed for the type → 400", each with each type, as permission and in a rule',
  async (t) => {
    const rule = (permission: string) => ({
      description: 'd',
      priority: 1,
      container: '/',
      transform: 'mask',
      permissions: [permission],
    })
    for (const { type: permission, application_types } of permissions)
      for (const type of TYPES)
        for (const grants of [{ permissions: [permission] }, { rules: [rule(permission)] }]) {
          const { status, json } = await service.call('POST', '/applications', {
            body: { name: 'a', type, ...grants },
          })
          const fits = application_types.includes(type) && !(type === 'management' && 'rules' in grants)
          t.equal(
            status,
            fits ? 201 : 400,
            `${permission} of a ${type} application by ${Object.keys(grants)}`,
          )
          if (!fits) t.match(Object.keys(json.errors)[0], /^(permissions|rules)/)
        }
  },
)
