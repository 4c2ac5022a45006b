/** `Event`, `EventTarget`, `AbortController`, `AbortSignal`: the subset for cancelling requests. */
import { setTimeout } from '../timers.ts'

type Listener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown }

interface Registration {
  readonly listener: Listener
  readonly once: boolean
}

export class Event {
  readonly type: string
  readonly cancelable: boolean
  readonly timeStamp = Date.now()
  defaultPrevented = false
  target: unknown = null

  constructor(type: string, options: { readonly cancelable?: boolean } = {}) {
    this.type = String(type)
    this.cancelable = options.cancelable === true
  }

  get currentTarget(): unknown {
    return this.target
  }

  preventDefault(): void {
    if (this.cancelable) this.defaultPrevented = true
  }

  stopPropagation(): void {}

  stopImmediatePropagation(): void {}
}

export class EventTarget {
  #registered = new Map<string, Registration[]>()

  addEventListener(
    type: string,
    listener: Listener | null,
    options: { readonly once?: boolean } | boolean = {},
  ): void {
    if (!listener) return
    const list = this.#registered.get(type) ?? []
    if (list.some((each) => each.listener === listener)) return
    this.#registered.set(type, [
      ...list,
      { listener, once: typeof options === 'object' && options.once === true },
    ])
  }

  removeEventListener(type: string, listener: Listener | null): void {
    const list = this.#registered.get(type) ?? []
    this.#registered.set(
      type,
      list.filter((each) => each.listener !== listener),
    )
  }

  dispatchEvent(event: Event): boolean {
    event.target = this
    const own = (this as unknown as Readonly<Record<string, unknown>>)[`on${event.type}`]
    if (typeof own === 'function') own.call(this, event)
    for (const { listener, once } of this.#registered.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener)
      if (typeof listener === 'function') listener.call(this as never, event)
      else listener.handleEvent(event)
    }
    return !event.defaultPrevented
  }
}

const aborted = (): Error =>
  Object.assign(new Error('This operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' })

const timedOut = (): Error =>
  Object.assign(new Error('The operation was aborted due to timeout'), { name: 'TimeoutError', code: 23 })

const abort = Symbol('abort')

export class AbortSignal extends EventTarget {
  aborted = false
  reason: unknown = undefined
  onabort: ((event: Event) => unknown) | null = null;

  [abort](reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.dispatchEvent(new Event('abort'))
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  static abort(reason: unknown = aborted()): AbortSignal {
    const signal = new AbortSignal()
    signal[abort](reason)
    return signal
  }

  static timeout(milliseconds: number): AbortSignal {
    const signal = new AbortSignal()
    setTimeout(() => signal[abort](timedOut()), milliseconds)
    return signal
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const either = new AbortSignal()
    for (const signal of signals) {
      if (signal.aborted) either[abort](signal.reason)
      signal.addEventListener('abort', () => either[abort](signal.reason), { once: true })
    }
    return either
  }
}

export class AbortController {
  readonly signal = new AbortSignal()

  abort(reason: unknown = aborted()): void {
    this.signal[abort](reason)
  }
}

/** `aborted` rejects when the signal is aborted; `stop` removes the listener. */
export const whenAborted = (
  signal: AbortSignal,
): { readonly aborted: Promise<never>; readonly stop: () => void } => {
  let stop = () => {}
  const rejected = new Promise<never>((_, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const listener = () => reject(signal.reason)
    signal.addEventListener('abort', listener)
    stop = () => signal.removeEventListener('abort', listener)
  })
  return { aborted: rejected, stop }
}
