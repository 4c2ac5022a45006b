import type { FileContent } from '../config.ts'

/** Settings as they were accepted: their files may hold something else by now, and are not read again. */
export interface AcceptedSettings {
  /** What the configuration file held. */
  readonly content: FileContent
  /** PEM file of the authorities trusted for destinations, the one that Envoy has. */
  readonly trustBundle: string
}

/** What the supervisor tells a process of ours before it begins. */
export interface ProcessStart {
  readonly kind: 'admin' | 'gateway'
  /** Which parts this supervisor runs. */
  readonly role: Role
  /** Number of this gateway, from 0. */
  readonly worker: number
  /** Its working directory from then on. */
  readonly dataDir: string
  /** What relative paths of the configuration are relative to. */
  readonly baseDir: string
  readonly configFile: string | undefined
  readonly settings: AcceptedSettings
  /** Where sockets are, relative to the data directory, which is the working directory. */
  readonly runDir: string
  /** Where Envoy listens, with the port that was picked. */
  readonly listen: { readonly host: string; readonly port: number }
  readonly demo: boolean
}

export type Role = 'all' | 'gateway' | 'admin'

export const ROLES: readonly Role[] = ['all', 'gateway', 'admin']

/** Supervisor → process. `envoy` names the process that must not outlive the supervisor. */
export type ParentMessage =
  | { readonly kind: 'start'; readonly start: ProcessStart }
  /** Settings that may change while it runs. */
  | { readonly kind: 'settings'; readonly settings: AcceptedSettings }
  | { readonly kind: 'stop' }
  | { readonly kind: 'envoy'; readonly pid: number }

/** Process → supervisor. */
export type ChildMessage =
  /** `installed`: this start made the first tenant; `key` is there when it was generated, and is nowhere else. */
  | { readonly kind: 'ready'; readonly installed?: boolean; readonly key?: string }
  /** The code of the plugin at this place runs next; without a place, the code of plugins has returned. */
  | { readonly kind: 'progress'; readonly place?: string }
  /** A child of it that runs tenants' code: killed when the process itself cannot do it any more. */
  | { readonly kind: 'sandbox'; readonly pid: number; readonly alive: boolean }
  /** It goes on with the settings that it was told last. */
  | { readonly kind: 'settings' }
  /** It cannot start; the message is for people. `configuration`: what the operator asked for is wrong. */
  | { readonly kind: 'failed'; readonly message: string; readonly configuration?: boolean }

/** Where the sockets of a supervisor are, relative to the data directory. */
export const runDirOf = (role: Role): string => (role === 'all' ? 'run' : `run-${role}`)

/** Socket paths, relative to the data directory: short enough for any path above it. */
export const socketsIn = (runDir: string, workers: number) => ({
  api: `${runDir}/api.sock`,
  grpc: `${runDir}/grpc.sock`,
  operator: `${runDir}/operator.sock`,
  envoyAdmin: `${runDir}/envoy.sock`,
  control: `${runDir}/control.sock`,
  demo: `${runDir}/demo.sock`,
  gateways: Array.from({ length: workers }, (_, worker) => `${runDir}/gateway-${worker}.sock`),
  status: Array.from({ length: workers }, (_, worker) => `${runDir}/gateway-${worker}-status.sock`),
})
