import { AppError } from '../../../src/common/errors.ts'
import type { Json } from '../../../src/common/json.ts'

type Args = readonly Json[]

/** The service as code sees it, in memory: the far side of `bt`. */
export const createService = () => {
  const tokens = new Map<string, Record<string, Json>>()

  const find = (id: Json | undefined) => {
    if (id === 'forbidden') throw new AppError('forbidden', 'This token is not yours.')
    const token = tokens.get(String(id))
    if (token === undefined) throw new AppError('not_found', 'There is no such token.')
    return token
  }

  const methods: Record<string, (args: Args) => Json> = {
    'tokens.create': ([token]) => {
      const created = { ...(token as Record<string, Json>), id: `token-${tokens.size + 1}` }
      tokens.set(created.id, created)
      return created
    },
    'tokens.retrieve': ([id]) => find(id),
    'tokens.update': ([id, changes]) => Object.assign(find(id), changes as object),
    'tokens.delete': ([id]) => {
      find(id)
      tokens.delete(String(id))
      return null
    },
    'tokens.list': () => ({ data: [...tokens.values()] }),
    'tokens.search': ([query]) => {
      const id = (query as { query: string }).query.replace(/^id:/, '')
      return { data: [find(id)] }
    },
    tokenize: ([value]) => ({ ...(value as Record<string, Json>), id: 'tokenized' }),
    detokenize: ([value]) =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll('{{ known | last4 }}', '4242')
          .replaceAll('{{ known }}', '4242424242424242'),
      ),
    'reactors.react': ([id, request]) => ({ raw: { id: id ?? null, request: request ?? null } }),
  }

  return {
    call: async (method: string, args: Args): Promise<Json> => {
      const run = methods[method]
      if (run === undefined) throw new AppError('invalid', `bt.${method} does not exist.`)
      return run(args)
    },
  }
}
