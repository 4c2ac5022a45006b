import {
  createKeyedMutex,
  EntityId,
  namedPage,
  namedQuery,
  notFound,
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
  offsetQuery,
  type PluginContext,
  pageOf,
  Secret,
  type Static,
  Type,
} from '#sdk'
import { Proxies, type ProxyRecord } from './collections.ts'
import * as examples from './examples.ts'
import { inputOf, parseProxy } from './input.ts'
import { rethrowBound } from './intercept.ts'
import {
  ProxyInput,
  ProxyOutput,
  ProxyPatch,
  ProxyUpdate,
  ProxyVersion,
  proxyOutput,
  proxyVersion,
} from './schemas.ts'
import { createVersions } from './versions.ts'

/** Characters of a proxy's key (completions §7). */
const KEY_LENGTH = 22

const noProxy = (id: string) => notFound('proxy_not_found', id)

/** Calls on stored proxies (interface, "Pre-configured proxies"). */
export const proxyOperations = (context: PluginContext) => {
  const proxies = () => context.records(Proxies)
  const versions = createVersions(context)
  const runExclusive = createKeyedMutex()

  /** Replaces the members that callers set by the result of `next`; retries when the proxy changed concurrently. */
  const change = (
    id: string,
    { caller, now }: Call,
    next: (current: ProxyRecord) => Static<typeof ProxyInput>,
  ): Promise<{ readonly proxy: ProxyRecord; readonly warnings: CodeWarning[] }> =>
    runExclusive(`${caller.tenantId} ${id}`, async () => {
      const { tenantId, actorId } = caller
      let version: number | undefined
      const attempt = async () => {
        const current = await proxies().read(tenantId, id)
        if (current === undefined) throw noProxy(id)
        version = current.version
        const { members, warnings } = await parseProxy(context, caller, next(current.record), {
          now,
          before: current.record,
        })
        const { key, key_hash, created_by, created_at } = current.record
        const code = await versions.retain(tenantId, current.record, members, { actorId, now })
        const proxy: ProxyRecord = {
          ...members,
          ...code.members,
          id,
          key,
          key_hash,
          created_by,
          created_at,
          modified_by: actorId,
          modified_at: now,
        }
        await context.commit([proxies().replaceMutation(tenantId, proxy, version), ...code.mutations])
        return { proxy, warnings }
      }
      // A conflict with the version unchanged is about the binding, and would not go away.
      const isStale = async () => (await proxies().read(tenantId, id))?.version !== version
      return retryOnConflict(attempt, isStale).catch(rethrowBound)
    })

  return [
    defineOperation({
      rpc: 'Proxies.Create',
      http: 'POST /proxies',
      summary: 'Create a proxy',
      permission: 'proxy:create',
      audit: { entity: 'proxy', verb: 'create' },
      input: ProxyInput,
      output: ProxyOutput,
      status: 201,
      location: ({ id }) => `/proxies/${id}`,
      examples: examples.create,
      run: async (input, { caller, now }) => {
        const { members, warnings } = await parseProxy(context, caller, input, { now })
        const key = randomBase58(KEY_LENGTH)
        const proxy: ProxyRecord = {
          ...members,
          id: newId(),
          key,
          key_hash: context.hashKey(new Secret(key)),
          created_by: caller.actorId,
          created_at: now,
        }
        // Id and key are new, so a conflict is about the binding.
        await proxies().insert(caller.tenantId, proxy).catch(rethrowBound)
        return proxyOutput(caller.tenantId, proxy, warnings)
      },
    }),
    defineOperation({
      rpc: 'Proxies.List',
      http: 'GET /proxies',
      summary: 'List proxies',
      permission: 'proxy:read',
      audit: 'none',
      input: Type.Object(namedQuery),
      output: listOf(ProxyOutput),
      examples: examples.list,
      run: async (input, { caller }) => {
        const page = namedPage(input)
        const result = await proxies().find(caller.tenantId, page)
        const shown = result.items.map((proxy) => proxyOutput(caller.tenantId, proxy))
        return offsetPage(shown, result.total, page)
      },
    }),
    defineOperation({
      rpc: 'Proxies.Get',
      http: 'GET /proxies/{id}',
      summary: 'Get a proxy',
      permission: 'proxy:read',
      audit: 'none',
      input: EntityId,
      output: ProxyOutput,
      examples: examples.get,
      run: async ({ id }, { caller }) => {
        const proxy = await proxies().get(caller.tenantId, id)
        if (proxy === undefined) throw noProxy(id)
        return proxyOutput(caller.tenantId, proxy)
      },
    }),
    defineOperation({
      rpc: 'Proxies.Update',
      http: 'PUT /proxies/{id}',
      summary: 'Replace a proxy; its key stays',
      permission: 'proxy:update',
      audit: { entity: 'proxy', verb: 'update' },
      input: ProxyUpdate,
      output: ProxyOutput,
      examples: examples.update,
      run: async ({ id, ...input }, call) => {
        const { proxy, warnings } = await change(id, call, () => input)
        return proxyOutput(call.caller.tenantId, proxy, warnings)
      },
    }),
    defineOperation({
      rpc: 'Proxies.Patch',
      http: 'PATCH /proxies/{id}',
      summary: 'Update a proxy (JSON Merge Patch, RFC 7386)',
      permission: 'proxy:update',
      audit: { entity: 'proxy', verb: 'update' },
      consumes: ['application/merge-patch+json'],
      input: ProxyPatch,
      output: Empty,
      status: 204,
      examples: examples.patch,
      run: async ({ id, ...patch }, call) => {
        await change(id, call, (current) =>
          patchedInput(inputOf(current), patch, ['name', 'destination_url']),
        )
        return {}
      },
    }),
    defineOperation({
      rpc: 'Proxies.Delete',
      http: 'DELETE /proxies/{id}',
      summary: 'Delete a proxy',
      permission: 'proxy:delete',
      audit: { entity: 'proxy', verb: 'delete' },
      input: EntityId,
      output: Empty,
      status: 204,
      examples: examples.remove,
      run: async ({ id }, { caller }) => {
        const { tenantId } = caller
        await runExclusive(`${tenantId} ${id}`, () =>
          retryOnConflict(async () => {
            const current = await proxies().read(tenantId, id)
            if (current === undefined) throw noProxy(id)
            // A concurrent change, which adds a version, is a conflict.
            await context.commit([
              proxies().replaceMutation(tenantId, current.record, current.version),
              ...(await versions.deleting(tenantId, id)),
              proxies().deleteMutation(tenantId, id),
            ])
          }),
        )
        return {}
      },
    }),
    defineOperation({
      rpc: 'Proxies.ListVersions',
      http: 'GET /proxies/{id}/versions',
      summary: "List the versions of a proxy's code, the current one first",
      description: 'The newest 20 are retained. A `PATCH` with the transforms of a version restores it.',
      permission: 'proxy:read',
      audit: 'none',
      input: Type.Object({ ...offsetQuery, id: Type.String({ field: 3 }) }),
      output: listOf(ProxyVersion),
      examples: examples.versions,
      run: async ({ id, ...input }, { caller }) => {
        const proxy = await proxies().get(caller.tenantId, id)
        if (proxy === undefined) throw noProxy(id)
        const page = pageOf(input)
        const all = await versions.list(caller.tenantId, proxy)
        const first = (page.page - 1) * page.size
        return offsetPage(all.slice(first, first + page.size).map(proxyVersion), all.length, page)
      },
    }),
  ]
}
