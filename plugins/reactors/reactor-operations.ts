import {
  createKeyedMutex,
  EntityId,
  eachInTurn,
  namedPage,
  namedQuery,
  patchedInput,
  randomBase58,
  retryOnConflict,
} from '#kit'
import {
  type Call,
  type CodeWarning,
  defineOperation,
  Empty,
  listOf,
  newId,
  offsetPage,
  type PluginContext,
  type Static,
  Type,
} from '#sdk'
import { releaseFormula } from './acting-reactors.ts'
import { Formulas, type ReactorRecord, Reactors } from './collections.ts'
import * as examples from './examples.ts'
import { reactorNotFound } from './not-found.ts'
import { inputOf, parseReactor } from './reactor-input.ts'
import { ReactorInput, ReactorOutput, ReactorPatch, ReactorUpdate, reactorOutput } from './schemas.ts'

/** Characters of the key that signs callbacks. */
const KEY_LENGTH = 43

/** Body of a replacement. Without formula and code the reactor's own stay. */
const replaced = (
  current: Static<typeof ReactorInput>,
  input: Static<typeof ReactorInput>,
): Static<typeof ReactorInput> => {
  if (input.formula || typeof input.code === 'string') return input
  const { formula = null, code = null } = current
  return { ...input, formula, code }
}

/** Operations on reactors (completions §8). */
export const reactorOperations = (context: PluginContext) => {
  const reactors = () => context.records(Reactors)
  const runExclusive = createKeyedMutex()

  const shown = async (tenantId: string, reactor: ReactorRecord, warnings: readonly CodeWarning[] = []) => {
    const { formula_id, application_id } = reactor
    const [formula, application] = await Promise.all([
      formula_id === undefined ? undefined : context.records(Formulas).get(tenantId, formula_id),
      application_id === undefined ? undefined : context.port('applications')?.get(tenantId, application_id),
    ])
    return reactorOutput(tenantId, reactor, { formula, application }, warnings)
  }

  const get = async (tenantId: string, id: string): Promise<ReactorRecord> => {
    const reactor = await reactors().get(tenantId, id)
    if (reactor === undefined) throw reactorNotFound(id)
    return reactor
  }

  const change = (
    id: string,
    { caller, now }: Call,
    next: (current: ReactorRecord) => Static<typeof ReactorInput>,
  ) =>
    runExclusive(`${caller.tenantId} ${id}`, () =>
      retryOnConflict(async () => {
        const { tenantId, actorId } = caller
        const current = await reactors().read(tenantId, id)
        if (current === undefined) throw reactorNotFound(id)
        const { record } = current
        const { members, warnings, formulaMutations } = await parseReactor(
          context,
          caller,
          id,
          next(record),
          record,
        )
        const { callback_key, created_by, created_at } = record
        const retained = { id, callback_key, created_by, created_at }
        const reactor = { ...members, ...retained, modified_by: actorId, modified_at: now }
        const replacing = reactors().replaceMutation(tenantId, reactor, current.version)
        await context.commit([...formulaMutations, replacing])
        return { reactor, warnings }
      }),
    )

  return [
    defineOperation({
      rpc: 'Reactors.Create',
      http: 'POST /reactors',
      summary: 'Create a reactor of a formula, or with code of its own',
      permission: 'reactor:create',
      audit: { entity: 'reactor', verb: 'create' },
      input: ReactorInput,
      output: ReactorOutput,
      status: 201,
      location: ({ id }) => `/reactors/${id}`,
      examples: examples.create,
      run: async (input, { caller, now }) => {
        const { tenantId, actorId } = caller
        const { reactor, warnings } = await runExclusive(`${tenantId} ${input.formula?.id ?? newId()}`, () =>
          retryOnConflict(async () => {
            const id = newId()
            const { members, warnings, formulaMutations } = await parseReactor(context, caller, id, input)
            const created = { callback_key: randomBase58(KEY_LENGTH), created_by: actorId, created_at: now }
            const reactor = { ...members, id, ...created }
            await context.commit([...formulaMutations, reactors().insertMutation(tenantId, reactor)])
            return { reactor, warnings }
          }),
        )
        return shown(tenantId, reactor, warnings)
      },
    }),
    defineOperation({
      rpc: 'Reactors.List',
      http: 'GET /reactors',
      summary: 'List reactors',
      permission: 'reactor:read',
      audit: 'none',
      input: Type.Object(namedQuery),
      output: listOf(ReactorOutput),
      examples: examples.list,
      run: async (input, { caller }) => {
        const page = namedPage(input)
        const result = await reactors().find(caller.tenantId, page)
        const items = await eachInTurn(result.items, (reactor) => shown(caller.tenantId, reactor))
        return offsetPage(items, result.total, page)
      },
    }),
    defineOperation({
      rpc: 'Reactors.Get',
      http: 'GET /reactors/{id}',
      summary: 'Get a reactor',
      permission: 'reactor:read',
      audit: 'none',
      input: EntityId,
      output: ReactorOutput,
      examples: examples.get,
      run: async ({ id }, { caller }) => shown(caller.tenantId, await get(caller.tenantId, id)),
    }),
    defineOperation({
      rpc: 'Reactors.Update',
      http: 'PUT /reactors/{id}',
      summary: 'Replace a reactor',
      permission: 'reactor:update',
      audit: { entity: 'reactor', verb: 'update' },
      input: ReactorUpdate,
      output: ReactorOutput,
      examples: examples.update,
      run: async ({ id, ...input }, call) => {
        const { reactor, warnings } = await change(id, call, (current) => replaced(inputOf(current), input))
        return shown(call.caller.tenantId, reactor, warnings)
      },
    }),
    defineOperation({
      rpc: 'Reactors.Patch',
      http: 'PATCH /reactors/{id}',
      summary: 'Merge into a reactor (RFC 7386)',
      permission: 'reactor:update',
      audit: { entity: 'reactor', verb: 'update' },
      consumes: ['application/merge-patch+json'],
      input: ReactorPatch,
      output: Empty,
      status: 204,
      examples: examples.patch,
      run: async ({ id, ...patch }, call) => {
        await change(id, call, (current) => patchedInput(inputOf(current), patch, ['name']))
        return {}
      },
    }),
    defineOperation({
      rpc: 'Reactors.Delete',
      http: 'DELETE /reactors/{id}',
      summary: 'Delete a reactor',
      permission: 'reactor:delete',
      audit: { entity: 'reactor', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      examples: examples.remove,
      run: async ({ id }, { caller: { tenantId } }) => {
        await runExclusive(`${tenantId} ${id}`, () =>
          retryOnConflict(async () => {
            const current = await reactors().read(tenantId, id)
            if (current === undefined) throw reactorNotFound(id)
            await context.commit([
              ...(await releaseFormula(context, tenantId, current.record)),
              // Replaced at the version read: it fails when the reactor got another formula concurrently.
              reactors().replaceMutation(tenantId, current.record, current.version),
              reactors().deleteMutation(tenantId, id),
            ])
          }),
        )
        return {}
      },
    }),
  ]
}
