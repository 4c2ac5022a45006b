import { texts } from '#kit'
import {
  type Call,
  cursorPage,
  cursorQuery,
  defineOperation,
  field,
  listOf,
  nullable,
  offsetPage,
  offsetQuery,
  PAGE_SIZE,
  type PluginContext,
  pageOf,
  type Static,
  type TokenFilter,
  type TokenPermission,
  Type,
} from '#sdk'
import * as examples from './examples.ts'
import { TokenOutput } from './schemas.ts'
import { AtMost, useContextOf } from './use-context.ts'

/** Written `metadata.color=red`, `metadata[color]=red` or `metadata={"color":"red"}` in a query (completions §3). */
const metadata = Type.Optional(Type.Record(Type.String(), Type.String(), { field: 5 }))

const TokenList = listOf(TokenOutput)

const size = nullable(2, Type.Integer({ minimum: 1, maximum: PAGE_SIZE.maximum, default: PAGE_SIZE.default }))
const query = nullable(3, Type.String({ description: 'The search query, e.g. `data:6789 AND type:card`.' }))

const disclosure = Type.Optional(field(4, AtMost))

const OffsetSearch = Type.Object({
  page: nullable(1, Type.Integer({ minimum: 1, default: 1 })),
  size,
  query,
  disclosure,
})

const CursorSearch = Type.Object({
  start: nullable(1, Type.String({ maxLength: 500 })),
  size,
  query,
  disclosure,
})

type Nullable<T> = T | null | undefined
type Disclosed = { disclosure?: Static<typeof AtMost> | undefined }

/** Lists of tokens as responses: pages by number, pages by cursor. */
const listings = (context: PluginContext) => ({
  offset: async (
    filter: TokenFilter,
    input: Parameters<typeof pageOf>[0] & Disclosed,
    call: Call,
    permission: TokenPermission,
  ): Promise<Static<typeof TokenList>> => {
    const page = pageOf(input)
    const use = useContextOf(call, input.disclosure)
    const result = await context.vault.list(filter, { kind: 'offset', ...page }, use, permission)
    return offsetPage(result.data, result.total ?? 0, page)
  },
  cursor: async (
    filter: TokenFilter,
    input: { start?: Nullable<string>; size?: Nullable<number> } & Disclosed,
    call: Call,
    permission: TokenPermission,
  ): Promise<Static<typeof TokenList>> => {
    const { size } = pageOf(input)
    const start = input.start ? { start: input.start } : {}
    const request = { kind: 'cursor', ...start, size } as const
    const use = useContextOf(call, input.disclosure)
    const result = await context.vault.list(filter, request, use, permission)
    return cursorPage(result.data, size, result.next)
  },
})

/** A filter without the members that are absent or empty: an empty filter filters nothing. */
const filterOf = (
  filter: {
    [Member in keyof TokenFilter]?: TokenFilter[Member] | undefined
  },
): TokenFilter =>
  Object.fromEntries(
    Object.entries(filter).filter(
      ([, value]) =>
        // The keys of a string are its characters, up to a million.
        value !== undefined && (typeof value === 'string' ? value !== '' : Object.keys(value).length > 0),
    ),
  )

/** Lists and searches of tokens. */
export const listOperations = (context: PluginContext) => {
  const list = listings(context)
  return [
    defineOperation({
      rpc: 'Tokens.List',
      http: 'GET /tokens',
      summary: 'List tokens by page number',
      deprecated: { since: '2026-11-27', replacedBy: 'GET /v2/tokens' },
      permission: 'token:read',
      audit: 'none',
      input: Type.Object({
        ...offsetQuery,
        id: texts(3),
        type: texts(4),
        metadata,
        disclosure: Type.Optional(field(6, AtMost)),
      }),
      output: TokenList,
      examples: examples.list,
      run: (input, call) =>
        list.offset(
          filterOf({ ids: input.id, types: input.type, metadata: input.metadata }),
          input,
          call,
          'token:read',
        ),
    }),
    defineOperation({
      rpc: 'Tokens.ListByCursor',
      http: 'GET /v2/tokens',
      summary: 'List tokens by cursor, newest first',
      permission: 'token:read',
      audit: 'none',
      input: Type.Object({
        ...cursorQuery,
        container: texts(3),
        type: texts(4),
        metadata,
        fingerprint: texts(6),
        disclosure: Type.Optional(field(7, AtMost)),
      }),
      output: TokenList,
      examples: examples.listByCursor,
      run: (input, call) =>
        list.cursor(
          filterOf({
            containers: input.container,
            types: input.type,
            fingerprints: input.fingerprint,
            metadata: input.metadata,
          }),
          input,
          call,
          'token:read',
        ),
    }),
    defineOperation({
      rpc: 'Tokens.Search',
      http: 'POST /tokens/search',
      summary: 'Search tokens by page number',
      deprecated: { since: '2026-11-27', replacedBy: 'POST /v2/tokens/search' },
      permission: 'token:search',
      audit: 'none',
      input: OffsetSearch,
      output: TokenList,
      examples: examples.search,
      run: (input, call) =>
        list.offset(filterOf({ query: input.query ?? undefined }), input, call, 'token:search'),
    }),
    defineOperation({
      rpc: 'Tokens.SearchByCursor',
      http: 'POST /v2/tokens/search',
      summary: 'Search tokens by cursor, newest first',
      permission: 'token:search',
      audit: 'none',
      input: CursorSearch,
      output: TokenList,
      examples: examples.searchByCursor,
      run: (input, call) =>
        list.cursor(filterOf({ query: input.query ?? undefined }), input, call, 'token:search'),
    }),
  ]
}
