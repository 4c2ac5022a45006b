import { EntityId } from '#kit'
import { defineOperation, Empty, field, type PluginContext, TokenInput, TokenPatch, Type } from '#sdk'
import * as examples from './examples.ts'
import { TokenOutput } from './schemas.ts'
import { AtMost, useContextOf } from './use-context.ts'

/** Calls on one token. */
export const recordOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Tokens.Create',
    http: 'POST /tokens',
    summary: 'Create a token',
    permission: 'token:create',
    audit: 'none',
    input: TokenInput,
    validatedBy: 'run',
    output: TokenOutput,
    status: 201,
    location: (token) => `/tokens/${encodeURIComponent(token.id)}`,
    examples: examples.create,
    run: async (input, call) => {
      const [token] = await context.vault.create([input], useContextOf(call))
      return token!
    },
  }),
  defineOperation({
    rpc: 'Tokens.Get',
    http: 'GET /tokens/{id}',
    summary: 'Get a token',
    permission: 'token:read',
    audit: 'none',
    input: Type.Object({ ...EntityId.properties, disclosure: Type.Optional(field(2, AtMost)) }),
    output: TokenOutput,
    examples: examples.get,
    run: ({ id, disclosure }, call) => context.vault.get(id, useContextOf(call, disclosure)),
  }),
  defineOperation({
    rpc: 'Tokens.Update',
    http: 'PATCH /tokens/{id}',
    summary: 'Update a token',
    description:
      '`data`, `mask` and `metadata` are merged (RFC 7386); the other members are replaced. `id` and `type` cannot change and are ignored.',
    permission: 'token:update',
    audit: 'none',
    consumes: ['application/merge-patch+json'],
    // Validated here too, not by `run` alone: a malformed patch opens no token, records no denial, and tells nothing of
    // the id. `run` validates the merged token, since a valid patch may make an invalid one.
    input: Type.Object({ ...EntityId.properties, ...TokenPatch.properties }),
    output: TokenOutput,
    errors: ['unprocessable'],
    examples: examples.update,
    run: ({ id, ...patch }, call) => context.vault.update(id, patch, useContextOf(call)),
  }),
  defineOperation({
    rpc: 'Tokens.Delete',
    http: 'DELETE /tokens/{id}',
    summary: 'Delete a token and its data for good',
    permission: 'token:delete',
    audit: 'none',
    input: EntityId,
    output: Empty,
    status: 204,
    examples: examples.remove,
    run: async ({ id }, call) => {
      await context.vault.delete(id, useContextOf(call))
      return {}
    },
  }),
]
