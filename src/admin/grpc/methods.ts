import type {
  ServerUnaryCall,
  ServiceDefinition,
  sendUnaryData,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { AppError } from '../../common/errors.ts'
import { inOwnTurn } from '../../common/event-loop.ts'
import { withinSpan } from '../../common/tracing.ts'
import { IF_MATCH, type Messages, type Method } from '../../kernel/messages/model.ts'
import type { Invocation, Kernel } from '../../kernel/types.ts'
import { PACKAGE } from '../proto/files.ts'
import { checkStructure, structureOf } from '../structure.ts'
import type { CallState, Calls } from './calls.ts'
import { inputFrom, NotExpressible } from './codec.ts'
import { statusOf } from './problem.ts'
import type { WireOf, WireType } from './wire.ts'
import { createWriter } from './write-message.ts'

interface MethodDeps {
  readonly kernel: Kernel
  readonly calls: Calls
  readonly wireOf: WireOf
}

interface MethodOptions {
  /** Bytes of a request. */
  readonly messageLimit: number
  /** ms after which a call fails with `gateway_timeout`. */
  readonly callTimeout: number
}

/** Maximum tags and lengths of fields in a request. More take too much CPU time to decode, even within 1 MiB. */
export const MAX_READS = 120_000

const malformed = (why: string, cause?: unknown) =>
  new AppError('malformed', `The message does not fit this method: ${why}.`, { cause })

/** Definition and implementation of one `sidevault.v1` service for grpc-js. */
interface ServedService {
  readonly definition: ServiceDefinition
  readonly implementation: UntypedServiceImplementation
}

const same = (bytes: Buffer) => bytes

/** Decodes a method's request to the input of its operation and its condition. Rejects with AppError. */
const inputReader = ({ request, operation }: Method, { decode }: WireType) => {
  return async (bytes: Buffer) => {
    let input: Record<string, unknown>
    try {
      const wire = await inOwnTurn(() => decode(bytes, MAX_READS))
      input = await inOwnTurn(() => inputFrom(request, wire))
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown
      throw malformed(thrown instanceof NotExpressible ? thrown.message : 'its bytes cannot be read')
    }
    const body = operation.body === undefined ? input : input[operation.body]
    await inOwnTurn(() => checkStructure(structureOf(body)))
    const { [IF_MATCH.name]: ifMatch, ...members } = input
    return { input: members, ifMatch: ifMatch as string | undefined }
  }
}

/** A signal that is aborted when the caller goes away, its deadline passes, or the call takes too long. */
const watch = (call: ServerUnaryCall<Buffer, Buffer>, timeout: number) => {
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort(new AppError('gateway_timeout', 'The call took too long. Retry, or request less.'))
  }, timeout)
  const gone = () => controller.abort()
  call.once('cancelled', gone)
  // Emitted when the stream closes, however it ended.
  const sent = new Promise<void>((resolve) => {
    if (call.cancelled) resolve()
    else call.once('cancelled', () => resolve())
  })
  return {
    signal: controller.signal,
    sent,
    done: () => {
      clearTimeout(timer)
      call.off('cancelled', gone)
    },
  }
}

const unary = (method: Method, { kernel, calls, wireOf }: MethodDeps, options: MethodOptions) => {
  const { operation, request, response } = method
  const read = inputReader(method, wireOf(request))
  const write = createWriter(wireOf, response)

  const run = async (
    bytes: Buffer,
    state: CallState,
    { signal, sent }: Pick<ReturnType<typeof watch>, 'signal' | 'sent'>,
  ): Promise<Buffer> => {
    if (bytes.length > options.messageLimit)
      throw new AppError('too_large', 'The message is too large. Send less in one call.')
    const { input, ifMatch } = await read(bytes)
    const invocation: Invocation = {
      key: state.key,
      identified: state.identified,
      traceId: state.traceId,
      idempotencyKeys: state.idempotencyKeys,
      signal,
      sent,
      onCaller: (caller, rules) => {
        state.caller = caller
        state.rules = rules
      },
      ifMatch,
      onVersion: (version) => {
        state.etag = `"${version}"`
      },
      onReplay: () => {
        state.replayed = true
      },
    }
    const output = await withinSpan(state.span, () => kernel.invoke(operation, input, invocation))
    return write(output as Record<string, unknown>)
  }

  return async (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
    const state = calls.stateOf(call.metadata)
    const { done, ...watched } = watch(call, options.callTimeout)
    try {
      callback(null, await run(call.request, state, watched))
    } catch (thrown) {
      const error = AppError.from(thrown)
      if (!(thrown instanceof AppError))
        kernel.log.error({ err: thrown, trace_id: state.traceId }, 'gRPC call failed')
      state.error = error
      callback(statusOf(error, wireOf))
    } finally {
      done()
    }
  }
}

export const methodPath = (service: string, method: string): string => `/${PACKAGE}.${service}/${method}`

/** All services with their methods, one for each operation. Handlers get messages as bytes. */
export const servedServices = (
  { services }: Messages,
  deps: MethodDeps,
  options: MethodOptions,
): readonly ServedService[] =>
  services.map(({ name: service, methods }) => ({
    definition: Object.fromEntries(
      methods.map(({ name }) => [
        name,
        {
          path: methodPath(service, name),
          requestStream: false,
          responseStream: false,
          requestSerialize: same,
          requestDeserialize: same,
          responseSerialize: same,
          responseDeserialize: same,
        },
      ]),
    ),
    implementation: Object.fromEntries(
      methods.map((method) => [method.name, unary(method, deps, options) as never]),
    ),
  }))
