import { parseCidr } from '../common/cidr.ts'
import { createShares } from '../common/shares.ts'
import { DEFAULT_MEMORY_BYTES, HOSTS, heldBytes } from '../control-plane/limits.ts'
import { listen } from '../ext-proc/listen.ts'
import { type AdmissionLimits, createAdmission } from './admission.ts'
import { BODY_LIMITS, type BodyLimits } from './body/rewrite.ts'
import { serveCallLog } from './call-log.ts'
import { createExchanges } from './exchange.ts'
import type { ExchangeDeps } from './exchange-deps.ts'
import { headerRules } from './headers.ts'
import { OpenCalls } from './open-calls.ts'
import { createRecentHosts } from './recent-hosts.ts'
import { serveStream } from './stream.ts'
import { STREAM_LIMITS, type StreamLimits } from './streaming/pipe-body.ts'

type GatewayDeps = Omit<ExchangeDeps, 'admission' | 'codeAdmission' | 'uploads' | 'held' | 'hosts' | 'calls'>

/** Settings that may change while it runs. */
interface GatewaySettings {
  readonly egress: {
    readonly allow: readonly string[]
    readonly ports: '*' | readonly number[]
    readonly http: boolean
  }
  /** Bytes of a body, as sent, decoded and with its values in; Envoy's `bodyLimit`. */
  readonly bodyBytes: number
  /** ms for the complete response of a response transform. Default 25,000. */
  readonly responseMs?: number
}

interface GatewayOptions {
  /** Unix socket to listen on; an existing one is replaced. */
  readonly socketPath: string
  /** Unix socket for Envoy's log of the calls. Absent: how released calls ended stays unknown. */
  readonly logSocketPath?: string
  /** Number of this process in Envoy's configuration. Default 0. */
  readonly worker?: number
  /** Header prefixes, first canonical. */
  readonly prefixes: readonly string[]
  readonly egress: GatewaySettings['egress']
  /** Host of the demo destination, when it runs. */
  readonly demoHost?: string
  /** Whether the console is served on the same origin. Default false. */
  readonly hasConsole?: boolean
  readonly limits?: {
    /** Default 8 MiB. */
    readonly bodyBytes?: number
    /** Depth and sizes of a body's content, where they differ from BODY_LIMITS. */
    readonly body?: Partial<BodyLimits>
    /** Limits of streamed bodies that differ from STREAM_LIMITS. */
    readonly upload?: Partial<StreamLimits>
    /** Requests worked on at once, those whose code runs apart. Default 512. */
    readonly running?: number
    /** Bytes of Envoy's memory that calls through this process may hold. Default 768 MiB. */
    readonly heldBytes?: number
    /** Hosts that Envoy's cache of names holds for this process. Default 16,384. */
    readonly hosts?: number
    /** ms for one step; less than Envoy's message timeout. Default 10,000. */
    readonly stepMs?: number
    /** The `responseMs` of its first settings. */
    readonly responseMs?: number
    /** Milliseconds that a step with a transform may take before `gateway_timeout`. Default 14,000. */
    readonly codeStepMs?: number
    /** Milliseconds for which headers wait for the result of a search. Default 50. */
    readonly searchMs?: number
  }
}

interface Gateway {
  /** Applies settings to requests that start from now on. */
  apply(settings: GatewaySettings): void
  /** Accepts no more requests, waits `graceMs` (default 5,000) for open ones, then resets them. */
  close(graceMs?: number): Promise<void>
}

const MIB = 1024 * 1024

/** Bytes of bodies that a process works on at once. */
export const RUNNING_BYTES = 256 * MIB

/** Transforms that run or wait to: they may sleep for seconds, so tenants, and proxies of a tenant, share the room. */
export const CODE_ADMISSION: AdmissionLimits = { running: 1_536, bytes: 128 * MIB }

/** Calls at once; Envoy sends at most 1,000 over a connection (control-plane/clusters.ts). */
const CALLS = 10_000

/** Envoy's log of calls: a stream for each of its threads, with batches of some 64 KiB. */
const LOG_STREAM = { messageBytes: 4 * MIB, calls: 1_024 }
/** ms for the log of the last calls, whose batches Envoy sends every 250 ms. */
const LOG_GRACE_MS = 500

/** Serves Envoy's ext_proc calls on a unix socket. Resolves when it listens. */
export const startGateway = async (deps: GatewayDeps, options: GatewayOptions): Promise<Gateway> => {
  const { limits = {} } = options
  const upload = { ...STREAM_LIMITS, ...limits.upload }
  const admission = createAdmission({
    running: (limits.running ?? 512) + CODE_ADMISSION.running,
    bytes: RUNNING_BYTES,
  })
  const codeAdmission = createAdmission(CODE_ADMISSION)
  const uploads = createAdmission({ running: upload.running, bytes: 0 })
  const held = createShares(
    limits.heldBytes ?? heldBytes(DEFAULT_MEMORY_BYTES),
    'The tenant has used its share of open calls and buffered bodies. Retry when some have ended.',
  )
  const hosts = createRecentHosts(limits.hosts ?? HOSTS, () => performance.now())
  const calls = new OpenCalls(options.worker ?? 0, deps)
  const exchanges = ({ egress, bodyBytes, responseMs = 25_000 }: GatewaySettings) =>
    createExchanges(
      { ...deps, admission, codeAdmission, uploads, held, hosts, calls },
      {
        prefixes: headerRules(options.prefixes),
        destinations: {
          allow: egress.allow.map(parseCidr),
          ports: egress.ports,
          http: egress.http,
          ...(options.demoHost === undefined ? {} : { demoHost: options.demoHost }),
        },
        stepMs: limits.stepMs ?? 10_000,
        codeStepMs: limits.codeStepMs ?? 14_000,
        responseMs,
        searchMs: limits.searchMs ?? 50,
        // Envoy's buffer has one limit for what comes in and what is put in its place.
        body: { ...BODY_LIMITS, decodedBytes: bodyBytes, rewrittenBytes: bodyBytes, ...limits.body },
        bodyLimit: bodyBytes,
        hasConsole: options.hasConsole === true,
        upload,
      },
    )
  const bodyBytes = limits.bodyBytes ?? 8 * MIB
  const transport = { messageBytes: bodyBytes + MIB, calls: CALLS }
  let start = exchanges({
    egress: options.egress,
    bodyBytes,
    ...(limits.responseMs === undefined ? {} : { responseMs: limits.responseMs }),
  })
  const { logSocketPath } = options
  const callLog =
    logSocketPath === undefined
      ? undefined
      : await listen(
          logSocketPath,
          (call) => serveCallLog(call, (end) => calls.ended(end), deps.log),
          LOG_STREAM,
        )
  const listener = await listen(options.socketPath, (call) => serveStream(call, start, deps.log), transport)
  return {
    apply(settings) {
      transport.messageBytes = settings.bodyBytes + MIB
      start = exchanges(settings)
    },
    close: async (graceMs = 5_000) => {
      await listener.close(graceMs)
      await callLog?.close(LOG_GRACE_MS)
      calls.close()
    },
  }
}
