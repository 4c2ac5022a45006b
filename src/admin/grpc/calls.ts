import {
  status as grpc,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type StatusObject,
} from '@grpc/grpc-js'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import type { Metrics } from '../../common/metrics.ts'
import { CLIENT_ADDRESS_HEADER, type RateLimiter } from '../../common/rate-limiter.ts'
import type { AppliedRule } from '../../common/request-ring.ts'
import { type Span, startSpan } from '../../common/tracing.ts'
import type { Authenticator, Identified } from '../../kernel/types.ts'
import type { Caller, Operation } from '../../sdk/index.ts'
import { createHeaderPrefixes, type PrefixedHeaders, REPLAYED_HEADER } from '../http/header-prefixes.ts'
import { createCallRecorder } from '../record-call.ts'
import type { createSlowBodyLimiter } from '../slow-body-limiter.ts'

/** State of one call, besides its message. */
export interface CallState extends Omit<PrefixedHeaders, 'parent'> {
  /** Name in metrics and access log. */
  readonly operation: string
  readonly startedAt: number
  readonly span: Span | undefined
  /** HTTP status of success. */
  readonly success: number
  /** The request message was decoded. */
  received: boolean
  /** The response is repeated from an idempotency record. */
  replayed: boolean
  /** Names the version of the entity in the response. */
  etag?: string
  caller?: Caller
  /** The key's owner, when the method takes a key. */
  identified?: Identified
  /** Rules and permissions that decided about the tokens of the call. */
  rules: readonly AppliedRule[]
  /** The error, when it is more exact than the gRPC status. */
  error?: AppError
}

export interface Calls {
  /** Sees every call before and after its handler. */
  readonly interceptor: ServerInterceptor
  stateOf(metadata: Metadata): CallState
  /** Ends calls that would stay open for as long as their caller likes: watched health, reflection. */
  endStreams(): void
}

interface CallsDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  /** Rate limits; absent: none. */
  readonly admit?: RateLimiter | undefined
  readonly watchBody: ReturnType<typeof createSlowBodyLimiter>
  readonly statusOf: (error: AppError) => StatusObject
}

/** HTTP statuses of calls that grpc-js ends by itself. */
const STATUS: Readonly<Record<number, number>> = {
  [grpc.CANCELLED]: 499,
  [grpc.DEADLINE_EXCEEDED]: 504,
  [grpc.RESOURCE_EXHAUSTED]: 413,
  [grpc.UNIMPLEMENTED]: 400,
  [grpc.NOT_FOUND]: 404,
}

/** Probes call the methods of this package every few seconds. */
const HEALTH = 'grpc.health.'

const headersOf = (metadata: Metadata): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, value.toString()]))

/**
 * Adds to each call what all share: rate limit and authentication before its message is read, the trace id header,
 * metrics and access log.
 */
export const createCalls = (
  { log, metrics, authenticator, admit, watchBody, statusOf }: CallsDeps,
  options: { readonly prefixes: readonly string[]; readonly operations: ReadonlyMap<string, Operation> },
): Calls => {
  const prefixes = createHeaderPrefixes(options.prefixes)
  const states = new WeakMap<Metadata, CallState>()
  const streams = new Set<ServerInterceptingCallInterface>()

  const recordCall = createCallRecorder({ log, metrics })
  const record = (state: CallState, code: grpc) => {
    // Before a message was decoded, INTERNAL from the library means a message that it could not read.
    const failure = STATUS[code] ?? (code === grpc.INTERNAL && !state.received ? 400 : 500)
    recordCall({
      operation: state.operation,
      method: 'POST',
      route: state.operation,
      startedAt: state.startedAt,
      traceId: state.traceId,
      span: state.span,
      caller: state.caller,
      rules: state.rules,
      status: code === grpc.OK ? state.success : (state.error?.status ?? failure),
      code: state.error?.code,
      isProbe: state.operation.startsWith(HEALTH),
      logged: { transport: 'grpc', grpc_status: code },
    })
  }

  /** Rejects with AppError for a call whose message is not to be read. */
  const authenticate = async (operation: Operation, state: CallState, metadata: Metadata): Promise<void> => {
    const address = metadata.get(CLIENT_ADDRESS_HEADER)[0]?.toString()
    await admit?.({ key: state.key, address })
    if (operation.permission === 'none') return
    const caller = await authenticator.authenticate(state.key)
    state.caller = caller
    state.identified = { caller, at: performance.now() }
  }

  const interceptor: ServerInterceptor = (method, call) => {
    let state: CallState | undefined
    let arrived = (): void => {}
    let recorded = false
    const end = (code: grpc) => {
      streams.delete(call)
      arrived()
      if (state === undefined || recorded) return
      recorded = true
      record(state, code)
    }
    const mark = (metadata: Metadata) => {
      if (state) metadata.set(state.traceIdName.toLowerCase(), state.traceId)
      return metadata
    }
    const reject = (error: AppError) => {
      if (recorded || state === undefined) return
      state.error = error
      call.sendStatus(statusOf(error))
    }
    if (method.requestStream || method.responseStream) streams.add(call)
    // Not by a responder: it does not see calls that the library rejects by itself.
    const send = call.sendStatus.bind(call)
    call.sendStatus = (status) => {
      end(status.code ?? grpc.OK)
      // A failed call has no other metadata.
      send(
        status.code === grpc.OK ? status : { ...status, metadata: mark(status.metadata ?? new Metadata()) },
      )
    }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            const declared = options.operations.get(method.path)
            const { parent, ...sent } = prefixes(headersOf(metadata))
            const operation = declared?.rpc ?? method.path.slice(1)
            const opened: CallState = {
              ...sent,
              operation,
              span: operation.startsWith(HEALTH) ? undefined : startSpan(operation, parent, sent.traceId),
              success: declared?.status ?? 200,
              startedAt: performance.now(),
              rules: [],
              received: false,
              replayed: false,
            }
            state = opened
            states.set(metadata, opened)
            if (declared === undefined) return pass(metadata)
            authenticate(declared, opened, metadata).then(
              () => {
                if (recorded) return
                if (opened.caller !== undefined)
                  arrived = watchBody(opened.caller.tenantId, { isRejected: () => recorded, reject })
                pass(metadata)
              },
              (thrown: unknown) => {
                if (!(thrown instanceof AppError))
                  log.error({ err: thrown, trace_id: opened.traceId }, 'gRPC call failed')
                reject(AppError.from(thrown))
              },
            )
          },
          onReceiveMessage: (message, pass) => {
            if (state) state.received = true
            arrived()
            pass(message)
          },
          onCancel: () => {
            const deadline = call.getDeadline()
            end(Number(deadline) <= Date.now() ? grpc.DEADLINE_EXCEEDED : grpc.CANCELLED)
          },
        }),
      sendMetadata: (metadata, next) => {
        if (state?.etag !== undefined) metadata.set('etag', state.etag)
        if (state?.replayed) metadata.set(REPLAYED_HEADER, 'true')
        next(mark(metadata))
      },
    })
  }
  return {
    interceptor,
    stateOf: (metadata) => {
      const state = states.get(metadata)
      if (state === undefined) throw new Error('a call without a beginning')
      return state
    },
    endStreams: () => {
      for (const call of streams)
        call.sendStatus({ code: grpc.UNAVAILABLE, details: 'The service is stopping. Connect again.' })
    },
  }
}
