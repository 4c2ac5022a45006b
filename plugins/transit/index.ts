import { definePlugin } from '#sdk'

/** Declares nothing: its root keys are in `key-provider.ts`, which is loaded before plugins. */
export const plugin = definePlugin({ api: 1, name: 'transit', version: '1.0.0', setup: () => ({}) })
