/** Host calls out of the isolate (`../abi.ts`) and their results. */
import type { Envelope, HostDone, RealmHost, RealmSettings } from '../abi.ts'
import { errorOf } from './failures.ts'
import { createRegistry, hasOwn, NativePromise, parse, stringify } from './intrinsics.ts'

interface Bridge {
  readonly host: RealmHost
  readonly settings: RealmSettings
}

type Settle = (result: { readonly ok: unknown } | { readonly failure: Error }) => void

let bridge: Bridge | undefined
let lastId = 0
const waiting = createRegistry<number, Settle>()

/** Call once, before anything else here. */
export const openBridge = (opened: Bridge): void => {
  bridge = opened
}

const opened = (): Bridge => {
  if (!bridge) throw new Error('there is no host while the snapshot is made')
  return bridge
}

export const settings = (): RealmSettings => opened().settings

export const hostDone: HostDone = (head, result) => void opened().host('done', head, result)

const resultOf = (envelope: string): { readonly ok: unknown } | { readonly failure: Error } => {
  const result: Envelope = parse(envelope)
  return hasOwn(result, 'error') && 'error' in result
    ? { failure: errorOf(result.error) }
    : (result as { ok: unknown })
}

/** Synchronous host call. Throws the host's error. */
export const callSync = <T>(name: string, ...args: readonly unknown[]): T => {
  const result = resultOf(opened().host('sync', name, stringify(args)) as string)
  if ('failure' in result) throw result.failure
  return result.ok as T
}

const callLater = (name: string, json: string, settle: Settle): number => {
  const id = ++lastId
  waiting.set(id, settle)
  opened().host('async', id, name, json)
  return id
}

/** Asynchronous call of the service. Rejects with its error. */
export const callAsync = <T>(name: string, input: unknown): Promise<T> =>
  new NativePromise((resolve, reject) => {
    const json = stringify(input === undefined ? null : input)
    callLater(name, json ?? 'null', (result) =>
      'failure' in result ? reject(result.failure) : resolve(result.ok as T),
    )
  })

/** Calls back once after `delay` milliseconds. The only failure is too many timers. */
export const startTimer = (delay: number, due: (failure?: Error) => void): number =>
  callLater('timer', stringify(delay), (result) => ('failure' in result ? due(result.failure) : due()))

export const cancelTimer = (id: number): void => {
  if (waiting.delete(id)) opened().host('async', id, 'cancel', stringify(id))
}

/** Settles the call `id`. */
export const settle = (id: number, envelope: string): void => {
  const resume = waiting.get(id)
  if (!waiting.delete(id) || !resume) return
  resume(resultOf(envelope))
}
