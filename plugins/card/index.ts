import { definePlugin, type Static, Type } from '#sdk'
import { card } from './card.ts'

const Config = Type.Object({
  /** Retention of a card's cvc (completions §5: 1 h). */
  cvc_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, default: 3600 })),
})

/** Payment cards (completions §5, "Types"). */
export const plugin = definePlugin({
  api: 1,
  name: 'card',
  version: '1.0.0',
  config: Config,
  setup: (context) => {
    const config = context.config as Static<typeof Config>
    return { tokenTypes: [card(config.cvc_seconds ?? 3600)] }
  },
})
