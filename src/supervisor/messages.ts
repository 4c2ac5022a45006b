import type { FileContent, ListenAddress } from '../config.ts'

/** Validated settings. Their files may have changed since, and are not read again. */
export interface AcceptedSettings {
  /** Content of the configuration file. */
  readonly content: FileContent
  /** PEM file of the authorities trusted for destinations, as Envoy uses it. */
  readonly trustBundle: string
}

/** The start order of a process. */
export interface ProcessStart {
  readonly kind: 'admin' | 'gateway'
  /** Parts that this supervisor runs. */
  readonly role: Role
  /** The one tenant of a gateway with a delegated key. Undefined: all, with the root key. */
  readonly tenant: string | undefined
  /** Number of this gateway, from 0. */
  readonly worker: number
  /** True: the process before it has ended, and calls wait for this one. */
  readonly isRestart: boolean
  /** Becomes its working directory. */
  readonly dataDir: string
  /** Base of relative paths in the configuration. */
  readonly baseDir: string
  readonly configFile: string | undefined
  readonly settings: AcceptedSettings
  /** Directory of the sockets, relative to the data directory. */
  readonly runDir: string
  /** All ports of this service, with the chosen ones. */
  readonly ports: readonly number[]
  /** Where the admin process itself listens, with the chosen port. Undefined: only on its sockets. */
  readonly api: ListenAddress | undefined
  /** Where health, metrics and documentation are served, with the chosen port. Undefined: with the management API. */
  readonly ops: ListenAddress | undefined
  /** Where the forward proxy listens, with the chosen port. Undefined: there is none. */
  readonly forward: ListenAddress | undefined
  /** False: there is no Envoy. */
  readonly edge: boolean
  readonly demo: boolean
}

/** A component that does not work. `reason`: what is known about it, without data. */
export interface FailedComponent {
  readonly name: string
  readonly reason?: string
}

/** A running service, as its control socket describes it to the operator's commands. */
export interface ServiceDescription {
  readonly role: Role
  readonly version: string
  readonly pid: number
  /** `ready`: its start is complete. */
  readonly state: ServiceState
  /** URLs for programs of this machine. */
  readonly listeners: {
    readonly edge?: string
    readonly management_api?: string
    readonly ops?: string
    readonly forward_proxy?: string
  }
}

export type ServiceState = 'starting' | 'ready' | 'stopping'

export type Role = 'all' | 'gateway' | 'admin'

export const ROLES: readonly Role[] = ['all', 'gateway', 'admin']

/** Supervisor → process. `envoy` names the process that must not outlive the supervisor. */
export type ParentMessage =
  | { readonly kind: 'start'; readonly start: ProcessStart }
  /** New reloadable settings. */
  | { readonly kind: 'settings'; readonly settings: AcceptedSettings }
  /** Check all components of the service. */
  | { readonly kind: 'check' }
  /** Accept no new connections on listeners of its own. `stop` follows when Envoy is drained. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'envoy'; readonly pid: number }

/** Process → supervisor. */
export type ChildMessage =
  /**
   * `installed`: this start created the first tenant. `key`: its management key if it was generated; not stored
   * anywhere.
   */
  | { readonly kind: 'ready'; readonly installed?: boolean; readonly key?: string }
  /** The code of the plugin at `place` runs next; without `place`, the plugin's code has returned. */
  | { readonly kind: 'progress'; readonly place?: string }
  /** A child that runs tenants' code. The supervisor kills it if the process ends without doing so. */
  | { readonly kind: 'sandbox'; readonly pid: number; readonly alive: boolean }
  /** The last settings are applied. */
  | { readonly kind: 'settings' }
  /** The components that fail, in reply to `check`. */
  | { readonly kind: 'checked'; readonly failed: readonly FailedComponent[] }
  /** The process cannot start. `message`: for the operator. `configuration`: the configuration is wrong. */
  | { readonly kind: 'failed'; readonly message: string; readonly configuration?: boolean }

/** Directory of a supervisor's sockets, relative to the data directory. */
export const runDirOf = (role: Role): string => (role === 'all' ? 'run' : `run-${role}`)

/** Socket paths relative to the data directory, as absolute ones may exceed the limit of the system. */
export const socketsIn = (runDir: string, workers: number) => ({
  api: `${runDir}/api.sock`,
  grpc: `${runDir}/grpc.sock`,
  operator: `${runDir}/operator.sock`,
  envoyAdmin: `${runDir}/envoy.sock`,
  control: `${runDir}/control.sock`,
  demo: `${runDir}/demo.sock`,
  gateways: Array.from({ length: workers }, (_, worker) => `${runDir}/gateway-${worker}.sock`),
  logs: Array.from({ length: workers }, (_, worker) => `${runDir}/gateway-${worker}-log.sock`),
  status: Array.from({ length: workers }, (_, worker) => `${runDir}/gateway-${worker}-status.sock`),
})
