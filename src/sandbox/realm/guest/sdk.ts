/** `req.bt`: the API with the permissions of the proxy's or reactor's application (interface "Proxy transforms"). */
import { callAsync } from './bridge.ts'

type Json = unknown

/** Accepts camelCase members of older clients: `searchIndexes` for `search_indexes`. */
const snake = (token: Json): Json => {
  if (typeof token !== 'object' || token === null || Array.isArray(token)) return token
  return Object.fromEntries(
    Object.entries(token).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
}

const queryOf = (query: Json): Json => (typeof query === 'string' ? { query } : query)

/** Members forward their arguments unchanged and return the results of the operations of the same name. */
export const createSdk = () => {
  const call = (method: string, ...args: readonly Json[]): Promise<Json> => callAsync(method, args)
  const retrieve = (id: Json) => call('tokens.retrieve', id)
  return {
    tokens: {
      create: (token: Json) => call('tokens.create', snake(token)),
      retrieve,
      get: retrieve,
      update: (id: Json, changes: Json) => call('tokens.update', id, snake(changes)),
      delete: (id: Json) => call('tokens.delete', id),
      list: (query: Json = {}) => call('tokens.list', query),
      search: (query: Json) => call('tokens.search', queryOf(query)),
    },
    tokenize: (value: Json) => call('tokenize', value),
    detokenize: (value: Json) => call('detokenize', value),
    reactors: { react: (id: Json, request: Json = {}) => call('reactors.react', id, request) },
  }
}
