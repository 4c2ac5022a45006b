import { AppError } from '../../common/errors.ts'
import { parseOfCode } from '../../common/json-structure.ts'
import { writeJson } from '../../common/write-json.ts'
import type { Envelope } from '../realm/abi.ts'
import type { SandboxHost } from '../types.ts'

/** Classes of errors that code knows by name (completions §7), by the status of what went wrong. */
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

export interface HostCalls {
  /** Answers with an envelope's JSON text; never rejects. */
  call(method: string, json: string): Promise<string>
  /** The invocation is over: aborts the signal that the calls were given. */
  end(): void
}

/** One for all, as an error with a stack for each invocation costs more than the rest of its end. */
const ENDED = new Error('The invocation is over.')

/** The calls of one invocation, at most `atOnce` at a time, each answer within `maxChars`. */
export const createHostCalls = (
  host: SandboxHost,
  options: { readonly atOnce: number; readonly maxChars: number },
): HostCalls => {
  let active = 0
  let controller: AbortController | undefined
  const result = async (method: string, json: string): Promise<string> => {
    try {
      controller ??= new AbortController()
      const input = await parseOfCode(json)
      if (input === undefined) return rejected('The input of this call holds too many values.')
      const ok = (await host.call(method, input, controller.signal)) ?? null
      const text = await writeJson({ ok } satisfies Envelope)
      return text.length > options.maxChars
        ? rejected('The answer of this call is too large.')
        : text.toString()
    } catch (thrown) {
      return JSON.stringify(failure(thrown))
    }
  }
  return {
    call: async (method, json) => {
      if (active >= options.atOnce) return rejected('Too many calls at a time.')
      active++
      return result(method, json).finally(() => {
        active--
      })
    },
    end: () => controller?.abort(ENDED),
  }
}
