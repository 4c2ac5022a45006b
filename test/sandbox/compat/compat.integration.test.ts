import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Json } from '../../../src/common/json.ts'
import type { Outcome } from '../../../src/sandbox/types.ts'
import { openSandbox } from '../kit.ts'
import { callFetch } from '../realm/kit.ts'
import { CASES, type Case } from './cases.ts'
import { openDestination } from './destination.ts'
import { createBt, load } from './plain-node.ts'
import { createService } from './service.ts'

const PROGRAMS = new URL('programs/', import.meta.url)

/** How a program ended, in words that both sides have. */
type Ended =
  | { readonly returned: Json }
  | { readonly threw: string; readonly message: string; readonly response?: Json }

const { run } = await openSandbox(t)
const base = await openDestination(t)

const argumentOf = ({ argument }: Case) => ({
  ...argument,
  configuration: { ...((argument.configuration as object | undefined) ?? {}), BASE: base },
})

const onNode = async (each: Case, code: string): Promise<Ended> => {
  const bt = createBt(createService())
  try {
    const program = await load(code)
    const result = await program({ ...structuredClone(argumentOf(each)), ...(each.sdk ? { bt } : {}) })
    return { returned: JSON.parse(JSON.stringify(result)) }
  } catch (thrown) {
    const error = thrown as Error & {
      readonly status?: number
      readonly headers?: Json
      readonly body?: Json
    }
    const response =
      error.name === 'CustomHttpResponseError'
        ? { status: error.status, headers: error.headers, body: error.body }
        : undefined
    return { threw: error.name, message: error.message, ...(response ? { response: response as Json } : {}) }
  } finally {
    Reflect.deleteProperty(globalThis, 'leak')
  }
}

const ended = (outcome: Outcome): Ended => {
  if (outcome.kind === 'returned') return { returned: JSON.parse(outcome.json ?? 'null') }
  if (outcome.kind !== 'threw') throw new Error(`It ended as ${outcome.kind}: ${outcome.message}`)
  const { name, message, status, headers, body } = outcome
  const response = name === 'CustomHttpResponseError' ? { status, headers, body } : undefined
  return { threw: name, message, ...(response ? { response: response as Json } : {}) }
}

const here = async (each: Case, code: string): Promise<Ended> => {
  const { call } = createService()
  return ended(
    await run(code, {
      name: 'request_transform',
      argument: argumentOf(each),
      limits: { cpuMs: 20_000, wallMs: 60_000 },
      host: {
        sdk: each.sdk === true,
        call: async (method, input) =>
          (method === 'fetch' ? await callFetch(method, input) : await call(method, input as Json[])) as Json,
      },
    }),
  )
}

for (const [index, each] of CASES.entries())
  t.test(`${each.program} has the same result on plain Node and in the sandbox (${index + 1})`, async (t) => {
    const code = readFileSync(new URL(`${each.program}.js`, PROGRAMS), 'utf8')
    const expected = await onNode(each, code)
    t.same(await here(each, code), expected)
    t.same(await here(each, code), expected, 'and again, in a context of its own')
  })

t.test('every program has a case', async (t) => {
  const used = new Set(CASES.map(({ program }) => `${program}.js`))
  t.same(
    readdirSync(PROGRAMS).filter((name) => !used.has(name)),
    [],
  )
  t.ok(used.size >= 50)
})
