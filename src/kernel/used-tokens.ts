import type { TokenState, UsedTokens } from '../sdk/index.ts'

/** Tokens: twice as many as one body may name. */
const MAX_TOKENS = 20_000

export const createUsedTokens = (): UsedTokens => {
  const states = new Map<string, TokenState>()
  let all = true
  return {
    add: (state, own) => {
      const known = states.get(state.id)
      const carries = own && known?.created_at === state.created_at && known.version === state.version - 1
      if (known && !carries) return
      if (known || states.size < MAX_TOKENS) states.set(state.id, state)
      else all = false
    },
    get: (id) => states.get(id),
    states: () => (all ? [...states.values()] : undefined),
  }
}
