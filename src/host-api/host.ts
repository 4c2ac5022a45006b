import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Kernel } from '../kernel/types.ts'
import type { SandboxHost } from '../sandbox/types.ts'
import type { Operation, PluginContext, UsedTokens } from '../sdk/index.ts'
import { requestOf, responseOf } from './fetch-call.ts'
import { createFetched } from './response-budget.ts'
import { sdkCall } from './sdk-calls.ts'

/** Requests to parties outside that one invocation may make. */
export const MOST_REQUESTS = 50
/** Calls of `bt` that one invocation may make. */
export const MOST_CALLS = 1_000
/** Runs of code within each other: a reactor may react, but not for ever. */
export const DEEPEST = 4

export interface HostDeps {
  readonly operations: readonly Operation[]
  readonly invokeAs: Kernel['invokeAs']
  readonly fetch: PluginContext['fetch']
}

/** For whom an invocation runs. */
export interface HostFor {
  readonly tenantId: string
  /** The application that `bt` works as; absent: the code gets no `bt`. */
  readonly applicationId?: string | undefined
  readonly traceId: string
  /** Runs of code that led to this one. */
  readonly depth: number
  /** Gets the tokens that `bt` gives the code the data of. */
  readonly used?: UsedTokens | undefined
}

export type CreateSandboxHost = (of: HostFor) => SandboxHost

const spent = (what: string, limit: number) =>
  new AppError('rate_limited', `One invocation may make ${limit} ${what}. This one has made them.`)

/** A countdown that throws when nothing is left. */
const allowance = (what: string, limit: number) => {
  let left = limit
  return () => {
    if (left === 0) throw spent(what, limit)
    left--
  }
}

/**
 * What code may ask of the service, one host for each invocation: `bt` acts as the application, by the operations that
 * callers use, under the permissions it has at that moment and with the same audit records; `fetch` goes where proxied
 * requests may go.
 */
export const createSandboxHosts = ({ operations, invokeAs, fetch }: HostDeps): CreateSandboxHost => {
  const fetched = createFetched()
  const byRpc = new Map(operations.map((operation) => [operation.rpc, operation]))

  return ({ tenantId, applicationId, traceId, depth, used }) => {
    const request = allowance('requests', MOST_REQUESTS)
    const spend = allowance('calls of bt', MOST_CALLS)

    const call = async (method: string, given: Json, signal: AbortSignal): Promise<Json> => {
      const { rpc, input } = sdkCall(method, given)
      const operation = byRpc.get(rpc)
      if (applicationId === undefined || operation === undefined)
        throw new AppError('forbidden', `bt.${method} is not there for this code. Give it an application.`)
      spend()
      if (rpc === 'Reactors.React' && depth >= DEEPEST)
        throw new AppError(
          'forbidden',
          `Reactors may react within each other ${DEEPEST} deep, and no deeper.`,
        )
      const application = { tenantId, id: applicationId }
      const invocation = { traceId, signal, depth: depth + 1, used }
      const output = await invokeAs(application, operation, input, invocation)
      if (operation.status === 204) return null
      return (
        operation.responseBody === undefined
          ? output
          : (output as Record<string, unknown>)[operation.responseBody]
      ) as Json
    }

    return {
      sdk: applicationId !== undefined,
      call: async (method, input, signal) => {
        if (method !== 'fetch') return call(method, input, signal)
        request()
        const onBytes = (bytes: number) => fetched.take(tenantId, signal, bytes)
        return responseOf(await fetch({ ...requestOf(input), tenantId, onBytes }, signal))
      },
    }
  }
}
