/**
 * What the realm asks of its process and is answered at once: what pure JavaScript is too slow for (crypto, compression) or
 * would only repeat (URLs, encodings). Everything is bounded, nothing throws, and nothing of the process can be asked for.
 */
import type { Envelope, HostSync } from '../abi.ts'
import { asymmetric } from './asymmetric.ts'
import { createCiphers } from './ciphers.ts'
import { compression } from './compression.ts'
import { createDerivations } from './derivations.ts'
import { digests } from './digests.ts'
import { texts } from './text-codecs.ts'
import type { HostFunction, HostFunctions } from './types.ts'

const MESSAGE = 500
/** Characters of one call: what the largest body is as bytes, and some more. */
const CALL = 32 * 1024 * 1024

const failure = (error: unknown): Envelope => {
  const { name, message, code }: Error & { readonly code?: unknown } =
    error instanceof Error ? error : new Error('The host failed.')
  return {
    error: { name, message: message.slice(0, MESSAGE), ...(typeof code === 'string' ? { code } : {}) },
  }
}

const result = (functions: HostFunctions, name: string, json: string): Envelope => {
  try {
    const run: HostFunction | undefined = Object.hasOwn(functions, name) ? functions[name] : undefined
    if (json.length > CALL) throw new RangeError('This is too much for one call.')
    if (run === undefined) throw new TypeError('The host has no such function.')
    return { ok: run(...(JSON.parse(json) as never[])) ?? null }
  } catch (error) {
    return failure(error)
  }
}

const STATELESS: HostFunctions = { ...texts, ...digests, ...asymmetric, ...compression }

/** One for each context: it holds the states of the context's ciphers. `timeLeft`: milliseconds that its code may still run. */
export const createHostSync = (timeLeft: () => number): HostSync => {
  let own: HostFunctions | undefined
  return (name, json) => {
    if (Object.hasOwn(STATELESS, name)) return JSON.stringify(result(STATELESS, name, json))
    own ??= { ...createCiphers(), ...createDerivations(timeLeft) }
    return JSON.stringify(result(own, name, json))
  }
}
