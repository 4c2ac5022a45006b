import { chmod, rm } from 'node:fs/promises'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { Log } from '../../common/log.ts'
import type { Metrics } from '../../common/metrics.ts'
import type { RateLimiter } from '../../common/rate-limiter.ts'
import { createMessages } from '../../kernel/messages/create.ts'
import type { Kernel } from '../../kernel/types.ts'
import type { Check } from '../ops/health.ts'
import { fileDescriptors } from '../proto/descriptors.ts'
import { PACKAGE, protoFiles } from '../proto/files.ts'
import { createSlowBodyLimiter, type SlowBodyLimits } from '../slow-body-limiter.ts'
import { createCalls } from './calls.ts'
import { serveHealth } from './health.ts'
import { methodPath, servedServices } from './methods.ts'
import { statusOf } from './problem.ts'
import { serveReflection } from './reflection.ts'
import { allowStreamResets } from './stream-resets.ts'
import { handleUnknownMethods } from './unknown.ts'
import { createWire } from './wire.ts'

interface GrpcDeps {
  readonly kernel: Kernel
  readonly metrics: Metrics
  readonly log: Log
  /** Components that must be ready for `grpc.health.v1.Health` to report SERVING, besides the kernel. */
  readonly checks?: Readonly<Record<string, Check>>
}

interface GrpcOptions {
  /** A unix socket (mode 0600, a stale one is replaced). */
  readonly socketPath: string
  /** Header prefixes, the canonical one first. Default: SVC. */
  readonly prefixes?: readonly string[]
  /** Bytes of a request message; default 1 MiB. */
  readonly messageLimit?: number
  /** ms after which a call fails with `gateway_timeout`; default 45,000: a reactor may take 30,000. */
  readonly callTimeout?: number
  /** ms between two health checks of the components; default 5,000. */
  readonly healthInterval?: number
  /** ms for a component's health check; default 2,000. */
  readonly partTimeout?: number
  /** ms that `close` waits for calls in flight; default 10,000. */
  readonly drainTimeout?: number
  /** Rate limits; absent: none. */
  readonly admit?: RateLimiter | undefined
  /** Messages that arrive slowly. */
  readonly slowBodies?: SlowBodyLimits
}

interface Grpc {
  /** Takes no new calls, lets those in flight finish within the drain timeout, then closes every connection. */
  close(): Promise<void>
}

const MIB = 1024 * 1024

const listen = async (server: Server, socketPath: string): Promise<void> => {
  await rm(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    )
  })
  await chmod(socketPath, 0o600)
}

const shutDown = (server: Server, drainTimeout: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), drainTimeout)
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })

/** The gRPC transport of the admin role: the kernel's operations as services, with health and reflection. */
export const startGrpc = async (deps: GrpcDeps, options: GrpcOptions): Promise<Grpc> => {
  const { kernel, metrics, log } = deps
  const { messages, issues } = createMessages(kernel.registry.operations)
  if (issues.length > 0) throw new Error(issues.map(({ rpc, problem }) => `${rpc}: ${problem}`).join(' '))
  const { services } = messages
  const wireOf = createWire(messages.messages)
  const calls = createCalls(
    {
      log,
      metrics,
      authenticator: kernel.authenticator,
      admit: options.admit,
      watchBody: createSlowBodyLimiter(options.slowBodies),
      statusOf: (error) => statusOf(error, wireOf),
    },
    {
      prefixes: options.prefixes ?? ['SVC'],
      operations: new Map(
        services.flatMap(({ name, methods }) =>
          methods.map((method) => [methodPath(name, method.name), method.operation] as const),
        ),
      ),
    },
  )
  const messageLimit = options.messageLimit ?? MIB
  const server = new Server({
    // Larger than the accepted size, so that our own check rejects most messages, with code and trace id.
    'grpc.max_receive_message_length': messageLimit + MIB,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': 10_000,
    interceptors: [calls.interceptor],
  })
  allowStreamResets(server)
  const limits = { messageLimit, callTimeout: options.callTimeout ?? 45_000 }
  for (const { definition, implementation } of servedServices(messages, { kernel, calls, wireOf }, limits))
    server.addService(definition, implementation)
  serveReflection(server, () => fileDescriptors(protoFiles(messages)), { calls, admit: options.admit })
  const health = serveHealth(
    server,
    { kernel: () => kernel.health(), ...deps.checks },
    {
      services: services.map(({ name }) => `${PACKAGE}.${name}`),
      interval: options.healthInterval ?? 5_000,
      timeout: options.partTimeout ?? 2_000,
    },
  )
  handleUnknownMethods(server, calls)
  await listen(server, options.socketPath)
  let closed: Promise<void> | undefined
  return {
    close: () => {
      closed ??= (async () => {
        health.stop()
        calls.endStreams()
        await shutDown(server, options.drainTimeout ?? 10_000)
      })()
      return closed
    },
  }
}
