import {
  createGrantCheck,
  createGuardChangeCheck,
  EntityId,
  exceeds,
  isWithin,
  namedPage,
  namedQuery,
  nameFilter,
  texts,
} from '#kit'
import {
  AppError,
  type Call,
  type Caller,
  defineOperation,
  Empty,
  invalid,
  listOf,
  offsetPage,
  type PluginContext,
  type Static,
  Type,
} from '#sdk'
import type { Change } from './application-store.ts'
import type { ApplicationRecord } from './collections.ts'
import type { Directory } from './directory.ts'
import * as examples from './examples.ts'
import { parseExpiry } from './expiry.ts'
import { type ApplicationGrants, checkGrants } from './grants.ts'
import { checkOrigins } from './origins.ts'
import { ApplicationCreate, ApplicationOutput, ApplicationUpdate } from './schemas.ts'
import { serializeApplication } from './serialize.ts'

/** The author and the time of a change. */
export const changeOf = (call: Call): Change => ({
  tenantId: call.caller.tenantId,
  actorId: call.caller.actorId,
  now: call.now,
})

/**
 * Throws unless the caller may get a key of an application: it may hand out all that the application holds, or it is
 * its own.
 */
export const mayHaveKeyOf = async (context: PluginContext, caller: Caller) => {
  const check = await createGrantCheck(context, caller)
  return (application: ApplicationRecord): void => {
    if (application.id !== caller.applicationId)
      check(application.type, application, application.expires_at ?? Infinity)
  }
}

const same = (a: ApplicationGrants, b: ApplicationGrants): boolean =>
  JSON.stringify([a.permissions, a.rules]) === JSON.stringify([b.permissions, b.rules])

/** The grants that an update adds to an application; undefined: none. */
const added = (
  current: ApplicationRecord,
  next: ApplicationGrants,
): Pick<ApplicationGrants, 'permissions'> | undefined => {
  if (!isWithin(current.destinations, next.destinations)) return next
  if (same(current, next)) return undefined
  if (current.type !== 'management') return exceeds(current, next).length === 0 ? undefined : next
  return { permissions: next.permissions.filter((permission) => !current.permissions.includes(permission)) }
}

const guardOf = ({ response_guard }: Pick<Static<typeof ApplicationUpdate>, 'response_guard'>) =>
  response_guard ? { response_guard } : {}

/** Calls on applications (completions §4). */
export const applicationOperations = (context: PluginContext, directory: Directory) => [
  defineOperation({
    rpc: 'Applications.Create',
    http: 'POST /applications',
    summary: 'Create an application',
    permission: 'application:create',
    audit: { entity: 'application', verb: 'create' },
    input: ApplicationCreate,
    output: ApplicationOutput,
    status: 201,
    location: (application) => `/applications/${application.id}`,
    transient: ['key'],
    examples: examples.create,
    run: async (input, call) => {
      const change = changeOf(call)
      const grants = checkGrants(input, input.type, context.permissions())
      const origins = checkOrigins(input, input.type, grants)
      const check = await createGrantCheck(context, call.caller)
      const expiry: { expires_at?: number } =
        typeof input.expires_at === 'string' ? { expires_at: parseExpiry(input.expires_at, call.now) } : {}
      check(input.type, grants, expiry.expires_at ?? Infinity)
      const { application, key } = await directory.create(
        { name: input.name, type: input.type, ...grants, ...expiry, ...guardOf(input), ...origins },
        input.create_key ?? true,
        change,
      )
      return serializeApplication(change.tenantId, application, key)
    },
  }),
  defineOperation({
    rpc: 'Applications.List',
    http: 'GET /applications',
    summary: 'List applications',
    permission: 'application:read',
    audit: 'none',
    input: Type.Object({ ...namedQuery, name: nameFilter(5), type: texts(4) }),
    output: listOf(ApplicationOutput),
    examples: examples.list,
    run: async (input, call) => {
      const { tenantId } = call.caller
      const page = namedPage(input)
      const result = await directory.applications().find(tenantId, {
        ...page,
        ...(input.type?.length ? { where: { type: input.type } } : {}),
      })
      const responses = result.items.map((application) => serializeApplication(tenantId, application))
      return offsetPage(responses, result.total, page)
    },
  }),
  defineOperation({
    rpc: 'Applications.GetByKey',
    http: 'GET /applications/key',
    summary: 'Get the application of the calling key',
    permission: 'any key',
    audit: 'none',
    input: Type.Object({}),
    output: ApplicationOutput,
    examples: examples.getByKey,
    run: async (_input, { caller }) => {
      if (caller.applicationId === undefined)
        throw new AppError(
          'application_not_found',
          'This call was made without a key, so it has no application.',
        )
      return serializeApplication(caller.tenantId, await directory.get(caller.tenantId, caller.applicationId))
    },
  }),
  defineOperation({
    rpc: 'Applications.Get',
    http: 'GET /applications/{id}',
    summary: 'Get an application',
    permission: 'application:read',
    audit: 'none',
    input: EntityId,
    output: ApplicationOutput,
    examples: examples.get,
    run: async ({ id }, { caller }) =>
      serializeApplication(caller.tenantId, await directory.get(caller.tenantId, id)),
  }),
  defineOperation({
    rpc: 'Applications.Update',
    http: 'PUT /applications/{id}',
    summary: 'Replace name, permissions and rules of an application',
    permission: 'application:update',
    audit: { entity: 'application', verb: 'update' },
    input: ApplicationUpdate,
    output: ApplicationOutput,
    examples: examples.update,
    run: async (input, call) => {
      const check = await createGrantCheck(context, call.caller)
      const checkGuard = await createGuardChangeCheck(context, call.caller)
      const application = await directory.update(input.id, changeOf(call), (current) => {
        if (typeof input.type === 'string' && input.type !== current.type)
          throw invalid({ type: ['cannot change; create another application instead'] })
        const grants = checkGrants(input, current.type, context.permissions())
        const origins = checkOrigins(input, current.type, grants)
        const more = added(current, grants)
        if (more) check(current.type, more, current.expires_at ?? Infinity)
        checkGuard(current.response_guard, input.response_guard ?? undefined)
        const {
          destinations: _,
          bound_hosts: __,
          response_guard: ___,
          allowed_origins: ____,
          ...rest
        } = current
        return { ...rest, name: input.name, ...grants, ...guardOf(input), ...origins }
      })
      return serializeApplication(call.caller.tenantId, application)
    },
  }),
  defineOperation({
    rpc: 'Applications.Delete',
    http: 'DELETE /applications/{id}',
    summary: 'Delete an application and its keys',
    permission: 'application:delete',
    audit: { entity: 'application', verb: 'delete' },
    input: EntityId,
    output: Empty,
    status: 204,
    examples: examples.remove,
    run: async ({ id }, { caller }) => {
      await directory.delete(caller.tenantId, id)
      return {}
    },
  }),
  defineOperation({
    rpc: 'Applications.Regenerate',
    http: 'POST /applications/{id}/regenerate',
    summary: 'Replace the only key of an application by a new one',
    permission: 'application:update',
    audit: { entity: 'application', verb: 'update', message: 'Application key regenerated' },
    input: EntityId,
    output: ApplicationOutput,
    transient: ['key'],
    errors: ['unprocessable'],
    examples: examples.regenerate,
    run: async ({ id }, call) => {
      const check = await mayHaveKeyOf(context, call.caller)
      const { application, key } = await directory.regenerate(id, changeOf(call), check)
      return serializeApplication(call.caller.tenantId, application, key)
    },
  }),
]
