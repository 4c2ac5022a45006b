/** Globals of Node 16. Most are created on first use. */
import { defineProperty } from './intrinsics.ts'
import { createRequire, requireModule } from './modules.ts'
import {
  clearImmediate,
  clearInterval,
  clearTimeout,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
} from './timers.ts'

const present = {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
  queueMicrotask,
  global: globalThis,
  require: createRequire(),
}

/** Names, and the module that exports them. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  buffer: ['Buffer', 'atob', 'btoa'],
  url: ['URL', 'URLSearchParams'],
  '#text': ['TextEncoder', 'TextDecoder'],
  process: ['process'],
  console: ['console'],
  perf_hooks: ['performance'],
  '#clone': ['structuredClone'],
  '#events': ['Event', 'EventTarget', 'AbortController', 'AbortSignal'],
  '#fetch': ['fetch', 'Headers', 'Request', 'Response', 'Blob', 'File', 'FormData'],
  '#webcrypto': ['crypto'],
}

const exposeLater = (name: string, module: string) => {
  const become = (value: unknown) =>
    defineProperty(globalThis, name, { value, configurable: true, enumerable: false, writable: true })
  defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get: () => {
      const exported = requireModule(module)
      const value = module === name ? exported : (exported as Record<string, unknown>)[name]
      become(value)
      return value
    },
    set: become,
  })
}

export const exposeGlobals = (): void => {
  for (const [name, value] of Object.entries(present))
    defineProperty(globalThis, name, { value, configurable: true, enumerable: false, writable: true })
  for (const [module, names] of Object.entries(LATER)) for (const name of names) exposeLater(name, module)
}
