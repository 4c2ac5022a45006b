/** The calls that leave the isolate (`../abi.ts`) and how their answers come back. */
import type { Envelope, HostDone, RealmHost, RealmSettings } from '../abi.ts'
import { errorOf } from './failures.ts'
import { createRegistry, hasOwn, NativePromise, parse, stringify } from './intrinsics.ts'

interface Border {
  readonly host: RealmHost
  readonly settings: RealmSettings
}

type Settle = (result: { readonly ok: unknown } | { readonly failure: Error }) => void

let border: Border | undefined
let lastId = 0
const waiting = createRegistry<number, Settle>()

/** To be called once, before anything else here. */
export const openBorder = (opened: Border): void => {
  border = opened
}

const opened = (): Border => {
  if (!border) throw new Error('there is no host while the snapshot is made')
  return border
}

export const settings = (): RealmSettings => opened().settings

export const hostDone: HostDone = (head, result) => void opened().host('done', head, result)

const resultOf = (envelope: string): { readonly ok: unknown } | { readonly failure: Error } => {
  const result: Envelope = parse(envelope)
  return hasOwn(result, 'error') && 'error' in result
    ? { failure: errorOf(result.error) }
    : (result as { ok: unknown })
}

/** Asks the host and has its answer at once. Throws the error that the host answers with. */
export const callSync = <T>(name: string, ...args: readonly unknown[]): T => {
  const result = resultOf(opened().host('sync', name, stringify(args)) as string)
  if ('failure' in result) throw result.failure
  return result.ok as T
}

const ask = (name: string, json: string, settle: Settle): number => {
  const id = ++lastId
  waiting.set(id, settle)
  opened().host('async', id, name, json)
  return id
}

/** Asks the service. Rejects with the error that it answers with. */
export const callAsync = <T>(name: string, input: unknown): Promise<T> =>
  new NativePromise((resolve, reject) => {
    const json = stringify(input === undefined ? null : input)
    ask(name, json ?? 'null', (result) =>
      'failure' in result ? reject(result.failure) : resolve(result.ok as T),
    )
  })

/** Calls back once, `delay` milliseconds from now; a failure is that there are too many timers. */
export const startTimer = (delay: number, due: (failure?: Error) => void): number =>
  ask('timer', stringify(delay), (result) => ('failure' in result ? due(result.failure) : due()))

export const cancelTimer = (id: number): void => {
  if (waiting.delete(id)) opened().host('async', id, 'cancel', stringify(id))
}

/** The host's answer to the call `id`. Runs what waits for it. */
export const settle = (id: number, envelope: string): void => {
  const resume = waiting.get(id)
  if (!waiting.delete(id) || !resume) return
  resume(resultOf(envelope))
}
