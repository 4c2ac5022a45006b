import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../../common/errors.ts'
import { parseCodeJson } from '../../common/json-structure.ts'
import { writeJson } from '../../common/write-json.ts'
import { CALL_BYTES, UNSETTLED_CALL_BYTES } from '../limits.ts'
import type { Envelope } from '../realm/abi.ts'
import type { SandboxHost } from '../types.ts'

/** Names of error classes in the guest (completions §7), by status. */
const NAMES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  402: 'InvalidPaymentMethodError',
  403: 'AuthorizationError',
  429: 'RateLimitError',
}

const failure = (thrown: unknown): Envelope => {
  const { status, message } = AppError.from(thrown)
  return { error: { name: NAMES[status] ?? 'Error', message, status } }
}

const rejected = (message: string): string =>
  JSON.stringify({ error: { name: 'Error', message } } satisfies Envelope)

interface HostCalls {
  /** Resolves with an envelope's JSON text; never rejects. */
  call(method: string, json: string): Promise<string>
  /** Aborts the calls' signal at the end of the invocation. */
  end(): void
}

/** Shared by all invocations: creating a stack for each invocation costs more than the rest of its end. */
const ENDED = new Error('The invocation has ended.')

/** Host calls of one invocation: at most `atOnce` concurrently, each result within `maxChars`. */
export const createHostCalls = (
  host: SandboxHost,
  options: { readonly atOnce: number; readonly maxChars: number },
): HostCalls => {
  let active = 0
  let chars = 0
  let controller: AbortController | undefined
  const result = async (method: string, json: string): Promise<string> => {
    try {
      controller ??= new AbortController()
      const input = await parseCodeJson(json)
      if (input === undefined) return rejected('The input of this call contains too many values.')
      const ok = (await host.call(method, input, controller.signal)) ?? null
      const text = await writeJson({ ok } satisfies Envelope)
      return text.length > options.maxChars
        ? rejected('The result of this call is too large.')
        : text.toString()
    } catch (thrown) {
      return JSON.stringify(failure(thrown))
    }
  }
  return {
    // Messages of a child arrive in the asynchronous context that started it, which is that of another call.
    call: AsyncLocalStorage.bind(async (method: string, json: string) => {
      if (active >= options.atOnce) return rejected('Too many concurrent calls.')
      // a child checks these in bytes
      if (json.length > CALL_BYTES || chars + json.length > UNSETTLED_CALL_BYTES)
        return rejected('The input of this call, with those of unfinished calls, is too large.')
      active++
      chars += json.length
      return result(method, json).finally(() => {
        active--
        chars -= json.length
      })
    }),
    end: () => controller?.abort(ENDED),
  }
}
