import type { PluginContext } from '#sdk'
import { applicationChanges } from './application-changes.ts'
import { createApplicationStore } from './application-store.ts'
import { keyChanges } from './key-changes.ts'

/** Applications with their keys: what is read of them, and every change. */
export const createDirectory = (context: PluginContext) => {
  const store = createApplicationStore(context)
  const { applications, keys, get, getKey, listKeys } = store
  return { applications, keys, get, getKey, listKeys, ...applicationChanges(store), ...keyChanges(store) }
}

export type Directory = ReturnType<typeof createDirectory>
