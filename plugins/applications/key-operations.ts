import { defineOperation, Empty, type PluginContext, Type } from '#sdk'
import { changeOf, mayHaveKeyOf } from './application-operations.ts'
import type { Directory } from './directory.ts'
import * as examples from './examples.ts'
import { KeyOutput, NewKeyOutput } from './schemas.ts'
import { serializeKey } from './serialize.ts'

const OfApplication = Type.Object({ application_id: Type.String({ field: 1 }) })

/** `id` is the key's, so that it is the key that the audit record names. */
const OneKey = Type.Object({ application_id: Type.String({ field: 1 }), id: Type.String({ field: 2 }) })

/** Calls on the keys of an application: two at once is how a caller rotates without downtime (completions §4). */
export const keyOperations = (context: PluginContext, directory: Directory) => [
  defineOperation({
    rpc: 'ApplicationKeys.Create',
    http: 'POST /applications/{application_id}/keys',
    summary: 'Create another key of an application',
    permission: 'application:create',
    audit: { entity: 'application_key', verb: 'create' },
    input: OfApplication,
    output: NewKeyOutput,
    status: 201,
    location: (key) => `/applications/${key.application_id}/keys/${key.id}`,
    transient: ['key'],
    errors: ['unprocessable'],
    examples: examples.createKey,
    run: async ({ application_id }, call) => {
      const check = await mayHaveKeyOf(context, call.caller)
      const { record, key } = await directory.addKey(application_id, changeOf(call), check)
      return { ...serializeKey(record), key, application_id }
    },
  }),
  defineOperation({
    rpc: 'ApplicationKeys.List',
    http: 'GET /applications/{application_id}/keys',
    summary: 'List the keys of an application',
    permission: 'application:read',
    audit: 'none',
    input: OfApplication,
    output: Type.Object({ keys: Type.Array(KeyOutput, { field: 1 }) }),
    responseBody: 'keys',
    examples: examples.listKeys,
    run: async ({ application_id }, { caller }) => ({
      keys: (await directory.listKeys(caller.tenantId, application_id)).map(serializeKey),
    }),
  }),
  defineOperation({
    rpc: 'ApplicationKeys.Get',
    http: 'GET /applications/{application_id}/keys/{id}',
    summary: 'Get a key of an application',
    permission: 'application:read',
    audit: 'none',
    input: OneKey,
    output: KeyOutput,
    examples: examples.getKey,
    run: async ({ application_id, id }, { caller }) =>
      serializeKey(await directory.getKey(caller.tenantId, application_id, id)),
  }),
  defineOperation({
    rpc: 'ApplicationKeys.Delete',
    http: 'DELETE /applications/{application_id}/keys/{id}',
    summary: 'Delete a key of an application',
    permission: 'application:delete',
    audit: { entity: 'application_key', verb: 'delete' },
    input: OneKey,
    output: Empty,
    status: 204,
    examples: examples.removeKey,
    run: async ({ application_id, id }, { caller }) => {
      await directory.deleteKey(caller.tenantId, application_id, id)
      return {}
    },
  }),
]
