import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import { createCodeScope } from '../egress/code-scope.ts'
import type { Kernel } from '../kernel/types.ts'
import type { SandboxHost } from '../sandbox/types.ts'
import type { CodeScope, Operation, PluginContext, UsedTokens } from '../sdk/index.ts'
import { createCallLimits } from './call-limits.ts'
import { requestOf, responseOf } from './fetch-call.ts'
import { createResponseBudget } from './response-budget.ts'
import { sdkCall } from './sdk-calls.ts'

/** Limit of `fetch` calls of one invocation. */
export const MAX_REQUESTS = 50
/** Limit of `bt` calls of one invocation. */
export const MAX_CALLS = 1_000
/** Limit of nested runs: reactors may call reactors. */
export const MAX_REACTOR_DEPTH = 4

export interface HostDeps {
  readonly operations: readonly Operation[]
  readonly invokeAs: Kernel['invokeAs']
  readonly fetch: PluginContext['fetch']
}

/** Context of an invocation. */
interface HostFor {
  readonly tenantId: string
  /** Application that `bt` acts as; absent: no `bt`. */
  readonly applicationId?: string | undefined
  readonly traceId: string
  /** Number of enclosing runs. */
  readonly depth: number
  /** Collects the tokens whose data `bt` returns to the code. */
  readonly used?: UsedTokens | undefined
  readonly scope?: CodeScope | undefined
}

export type CreateSandboxHost = (invocation: HostFor) => SandboxHost

const spent = (what: string, limit: number) =>
  new AppError('rate_limited', `This invocation has used its limit of ${limit} ${what}.`)

/** A counter that throws `rate_limited` above its limit. */
const allowance = (what: string, limit: number) => {
  let left = limit
  return () => {
    if (left === 0) throw spent(what, limit)
    left--
  }
}

/**
 * Creates one host for each invocation. `bt` acts as the application, through the operations of the API, under its
 * current permissions and with the same audit records. `fetch` follows the egress rules of proxied requests.
 */
export const createSandboxHosts = ({ operations, invokeAs, fetch }: HostDeps): CreateSandboxHost => {
  const fetched = createResponseBudget()
  const callLimits = createCallLimits()
  const byRpc = new Map(operations.map((operation) => [operation.rpc, operation]))

  return ({ tenantId, applicationId, traceId, depth, used, scope = createCodeScope() }) => {
    const request = allowance('requests', MAX_REQUESTS)
    const spend = allowance('calls of bt', MAX_CALLS)
    const limited = callLimits(tenantId)

    const call = async (method: string, args: Json, signal: AbortSignal): Promise<Json> => {
      const { rpc, input } = sdkCall(method, args)
      const operation = byRpc.get(rpc)
      if (applicationId === undefined || operation === undefined)
        throw new AppError(
          'forbidden',
          `bt.${method} is not available to this code. Set an application on its reactor or proxy.`,
        )
      spend()
      if (rpc === 'Reactors.React' && depth >= MAX_REACTOR_DEPTH)
        throw new AppError('forbidden', `Reactors may be nested ${MAX_REACTOR_DEPTH} deep at most.`)
      if (rpc === 'Reactors.React' && scope.isLimited)
        throw new AppError(
          'destination_not_allowed',
          'This code has received a value that is limited to destinations, and a reactor has no destination. Call the reactor before the code reads the value.',
        )
      const application = { tenantId, id: applicationId }
      const invocation = { traceId, signal, depth: depth + 1, used, code: scope }
      const work = () => invokeAs(application, operation, input, invocation)
      const output = await limited(rpc === 'Reactors.React' ? 'code' : 'vault', signal, work)
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
        const check: CodeScope['check'] = (destination) => scope.check(destination)
        return responseOf(await fetch({ ...requestOf(input), tenantId, onBytes, check }, signal))
      },
    }
  }
}
