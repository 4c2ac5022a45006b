import { definePlugin, Type } from '#sdk'

/** Plain data: any JSON value (completions §5, "Types"). The default type of a token. */
export const plugin = definePlugin({
  api: 1,
  name: 'token',
  version: '1.0.0',
  setup: () => ({
    tokenTypes: [
      {
        name: 'token',
        title: 'Token',
        data: Type.Unknown(),
        container: '/general/high/',
        fingerprint: '{{ data | stringify }}',
        examples: ['ada@example.com', { answers: ['blue', 42, true, null] }],
      },
    ],
  }),
})
