/**
 * Synchronous host functions: work that is too slow in JavaScript (crypto, compression) or would duplicate Node (URLs,
 * encodings). Each is bounded, never throws, and gives no access to the process.
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
/** Characters of one call: the largest body as bytes, with a margin. */
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
    if (json.length > CALL) throw new RangeError('The argument of this call is too large.')
    if (run === undefined) throw new TypeError('The host has no such function.')
    return { ok: run(...(JSON.parse(json) as never[])) ?? null }
  } catch (error) {
    return failure(error)
  }
}

const STATELESS: HostFunctions = { ...texts, ...digests, ...asymmetric, ...compression }

/** Host functions of one context, with the states of its ciphers. `timeLeft`: remaining milliseconds of its code. */
export const createHostSync = (timeLeft: () => number): HostSync => {
  let own: HostFunctions | undefined
  return (name, json) => {
    if (Object.hasOwn(STATELESS, name)) return JSON.stringify(result(STATELESS, name, json))
    own ??= { ...createCiphers(), ...createDerivations(timeLeft) }
    return JSON.stringify(result(own, name, json))
  }
}
