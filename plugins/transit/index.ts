import { definePlugin } from '#sdk'

/** Its root keys are in `key-provider.ts`, which is needed before plugins are; there is nothing else to declare. */
export const plugin = definePlugin({ api: 1, name: 'transit', version: '1.0.0', setup: () => ({}) })
