import { texts } from '#kit'
import {
  defineOperation,
  Empty,
  field,
  listOf,
  offsetPage,
  offsetQuery,
  type PluginContext,
  pageOf,
  TokenInput,
  Type,
} from '#sdk'
import * as examples from './examples.ts'
import { TokenOutput } from './schemas.ts'
import { AtMost, useContextOf } from './use-context.ts'

const parent_id = Type.String({ field: 100 })
const child_id = Type.String({ field: 101 })
const Pair = Type.Object({ parent_id, child_id })

/** The entity of an association's audit record: the parent. */
const parentOf = (_call: unknown, input: unknown): string => (input as { parent_id: string }).parent_id

/** Calls on parents and children (interface, "Token associations"). */
export const associationOperations = (context: PluginContext) => [
  defineOperation({
    rpc: 'Tokens.Associate',
    http: 'POST /tokens/{parent_id}/children/{child_id}',
    summary: 'Create a child association',
    permission: 'token:read',
    audit: {
      entity: 'token_association',
      verb: 'create',
      id: parentOf,
    },
    input: Pair,
    output: Empty,
    status: 204,
    examples: examples.associate,
    run: async ({ parent_id, child_id }, call) => {
      await context.vault.associate(parent_id, child_id, useContextOf(call))
      return {}
    },
  }),
  defineOperation({
    rpc: 'Tokens.Dissociate',
    http: 'DELETE /tokens/{parent_id}/children/{child_id}',
    summary: 'Remove a child association',
    permission: 'token:delete',
    audit: {
      entity: 'token_association',
      verb: 'delete',
      id: parentOf,
    },
    input: Pair,
    output: Empty,
    status: 204,
    examples: examples.dissociate,
    run: async ({ parent_id, child_id }, call) => {
      await context.vault.dissociate(parent_id, child_id, useContextOf(call))
      return {}
    },
  }),
  defineOperation({
    rpc: 'Tokens.CreateChild',
    http: 'POST /tokens/{parent_id}/children',
    summary: 'Create a child token',
    permission: 'token:create',
    audit: 'none',
    input: Type.Object({ parent_id, ...TokenInput.properties }),
    validatedBy: 'run',
    output: TokenOutput,
    status: 201,
    location: (token) => `/tokens/${encodeURIComponent(token.id)}`,
    examples: examples.createChild,
    run: ({ parent_id, ...input }, call) => context.vault.createChild(parent_id, input, useContextOf(call)),
  }),
  defineOperation({
    rpc: 'Tokens.ListChildren',
    http: 'GET /tokens/{parent_id}/children',
    summary: 'List child tokens',
    permission: 'token:read',
    audit: 'none',
    input: Type.Object({
      ...offsetQuery,
      id: texts(3),
      type: texts(4),
      disclosure: Type.Optional(field(5, AtMost)),
      parent_id,
    }),
    output: listOf(TokenOutput),
    examples: examples.listChildren,
    run: async (input, call) => {
      const page = pageOf(input)
      const filter = {
        ...(input.id?.length ? { ids: input.id } : {}),
        ...(input.type?.length ? { types: input.type } : {}),
      }
      const result = await context.vault.children(
        input.parent_id,
        filter,
        { kind: 'offset', ...page },
        useContextOf(call, input.disclosure),
      )
      return offsetPage(result.data, result.total ?? 0, page)
    },
  }),
  defineOperation({
    rpc: 'Tokens.ListParents',
    http: 'GET /tokens/{child_id}/parents',
    summary: 'List parent tokens',
    permission: 'token:read',
    audit: 'none',
    input: Type.Object({ ...offsetQuery, disclosure: Type.Optional(field(3, AtMost)), child_id }),
    output: listOf(TokenOutput),
    examples: examples.listParents,
    run: async ({ child_id, ...input }, call) => {
      const page = pageOf(input)
      const use = useContextOf(call, input.disclosure)
      const result = await context.vault.parents(child_id, { kind: 'offset', ...page }, use)
      return offsetPage(result.data, result.total ?? 0, page)
    },
  }),
]
