import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ALL_TOKEN_PERMISSIONS, type Response, type Sidevault } from '../kit/sidevault.ts'
import type { FaultWorld } from './world.ts'

/** Permitted results of a call while something is broken: interface, "Errors"; completions §7. */
const EXPECTED = new Set([429, 502, 503, 504])
/** The first of two calls with one idempotency key is still at work, or was until its process was killed. */
const IN_PROGRESS = /"status":409,"detail":"Another request with this idempotency key is in progress/
/** The database was killed between a commit and its reply: the error says to check, and to use a new key. */
export const NOT_KNOWN =
  /"status":409,"detail":"Whether the first request with this idempotency key was carried out is not known/
/** Everything has its deadline far below this (ms). */
const HANGS = 90_000
/** ms between two calls of a lane: the faults are to be met, not the machine's limits. */
const PAUSE = 50
const TOKENS = 12

interface Load {
  /** Data of every token, by its id. */
  readonly values: ReadonlyMap<string, string>
  /** Proxied calls by trace id: the value that the destination has to see. */
  readonly sent: ReadonlyMap<string, string>
  /** Idempotent creates: key, what is unique in its token, and the token's id when it was acknowledged. */
  readonly creates: readonly { readonly key: string; readonly unique: string; readonly id?: string }[]
  /** Violations. */
  readonly violations: readonly string[]
  /** Calls that failed as they may. */
  readonly rejected: ReadonlyMap<string, number>
  readonly key: string
  /** True when a call of each kind works on this replica now. */
  works(replica: Sidevault): Promise<boolean>
  stop(): Promise<void>
}

/** Proxied calls, plain and with a transform, and idempotent creates, on every replica, until stopped. */
export const startLoad = async ({ replicas, destinationUrl }: FaultWorld): Promise<Load> => {
  const first = replicas[0] as Sidevault
  const key = await first.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const values = new Map<string, string>()
  for (let index = 0; index < TOKENS; index++) {
    const value = `value ${index} of ${randomUUID()}`
    const response = await first.call('POST', '/tokens', { key, body: { data: value } })
    values.set(response.json.id, value)
  }
  const body = { name: 'faults', destination_url: destinationUrl }
  const transform = {
    code: 'module.exports = async ({ args: { body, headers } }) => ({ body: { ...body, seen: true }, headers })',
  }
  const proxy = await first.call('POST', '/proxies', {
    key: first.managementKey,
    body: { ...body, request_transform: transform },
  })
  const proxyKey: string = proxy.json.key

  /** Of this load alone. */
  const name = randomUUID()
  const sent = new Map<string, string>()
  const creates: { key: string; unique: string; id?: string }[] = []
  const violations: string[] = []
  const rejected = new Map<string, number>()
  const count = (what: string) => rejected.set(what, (rejected.get(what) ?? 0) + 1)
  let running = true

  /** The last response to this call. Undefined: it failed as it may. */
  const attempt = async (what: string, call: Promise<Response>): Promise<Response | undefined> => {
    const late = new AbortController()
    const hangs = delay(HANGS, 'hangs' as const, { signal: late.signal, ref: false }).catch(() => undefined)
    const response = await Promise.race([call.catch(() => undefined), hangs])
    late.abort()
    if (response === 'hangs') violations.push(`${what} did not end within ${HANGS} ms`)
    else if (response === undefined) count('connection')
    else if (response.status < 300 || NOT_KNOWN.test(response.text)) return response
    else if (EXPECTED.has(response.status) || IN_PROGRESS.test(response.text)) count(String(response.status))
    else violations.push(`${what}: ${response.status} ${response.text.slice(0, 300)}`)
    return undefined
  }

  const ids = [...values.keys()]
  const proxied = (replica: Sidevault, turn: number): Promise<Response | undefined> => {
    const id = ids[turn % ids.length] as string
    const trace = randomUUID()
    sent.set(trace, values.get(id) as string)
    const where = turn % 3 === 0 ? { 'svc-proxy-key': proxyKey } : { 'svc-proxy-url': destinationUrl }
    return attempt(
      'a proxied call',
      replica.call('POST', '/proxy/charge', {
        key,
        headers: { ...where, 'svc-trace-id': trace },
        body: { trace, card: `{{ ${id} }}` },
      }),
    )
  }
  const created = (replica: Sidevault, idempotency: string, unique: string) =>
    attempt(
      'a create',
      replica.call('POST', '/tokens', {
        key,
        headers: { 'svc-idempotency-key': idempotency },
        body: { data: unique, metadata: { unique } },
      }),
    )

  const proxyLane = async (replica: Sidevault, lane: number) => {
    for (let turn = lane; running; turn++) {
      await proxied(replica, turn)
      await delay(PAUSE)
    }
  }
  /** Asks again, of the next replica, with the same key, until somebody acknowledges. */
  const createLane = async (lane: number) => {
    for (let turn = 0; running; turn++) {
      const idempotency = randomUUID()
      const create: { key: string; unique: string; id?: string } = {
        key: idempotency,
        unique: `${name}/${lane}/${turn}`,
      }
      creates.push(create)
      for (let tries = 0; ; tries++) {
        const replica = replicas[(lane + tries) % replicas.length] as Sidevault
        const response = await created(replica, idempotency, create.unique)
        if (response) {
          if (response.status < 300) create.id = response.json.id
          else count('not known')
          break
        }
        if (!running) break
        await delay(PAUSE * 4)
      }
      await delay(PAUSE)
    }
  }
  const lanes = [
    ...replicas.map((replica, lane) => proxyLane(replica, lane)),
    ...replicas.map((_, lane) => createLane(lane)),
  ]
  let probes = 0
  return {
    values,
    sent,
    creates,
    violations,
    rejected,
    key,
    works: async (replica) => {
      const unique = `${name}/probe/${probes++}`
      const [plain, coded, create] = await Promise.all([
        proxied(replica, 1),
        proxied(replica, 0),
        created(replica, randomUUID(), unique),
      ])
      return plain !== undefined && coded !== undefined && create !== undefined
    },
    stop: async () => {
      running = false
      await Promise.all(lanes)
    },
  }
}
