/** `req.bt`: the service itself, with the permissions of the proxy's or reactor's application (interface "Proxy transforms"). */
import { callAsync } from './border.ts'

type Json = unknown

/** Members of tokens may be spelled as older clients did: `searchIndexes` for `search_indexes`. */
const snake = (token: Json): Json => {
  if (typeof token !== 'object' || token === null || Array.isArray(token)) return token
  return Object.fromEntries(
    Object.entries(token).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
}

const call =
  <Args extends readonly unknown[]>(method: string, input: (...args: Args) => Json) =>
  (...args: Args): Promise<Json> =>
    callAsync(method, input(...args))

/** Inputs are those of the operations of the same name; answers are theirs too, as plain objects. */
export const createSdk = () => {
  const retrieve = call('tokens.retrieve', (id: string) => ({ id }))
  const tokens = {
    create: call('tokens.create', (token: Json) => snake(token)),
    retrieve,
    get: retrieve,
    update: call('tokens.update', (id: string, changes: Json) => ({ id, changes: snake(changes) })),
    delete: call('tokens.delete', (id: string) => ({ id })),
    list: call('tokens.list', (query: Json = {}) => query),
    search: call('tokens.search', (query: Json) => (typeof query === 'string' ? { query } : query)),
  }
  return {
    tokens,
    tokenize: call('tokenize', (value: Json) => value),
    detokenize: call('detokenize', (value: Json) => value),
    reactors: { react: call('reactors.react', (id: string, request: Json = {}) => ({ id, request })) },
  }
}
