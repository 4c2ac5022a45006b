import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ERRORS } from '../../../src/common/errors.ts'
import { hasFailed, matchesFilter } from '../../../src/common/request-filter.ts'
import type { ListedRequest } from '../../../src/common/request-ring.ts'
import type { RequestEntry } from '../../../src/console/api/types.ts'
import { appendOlderPage, mergeNewerPage } from '../../../src/console/screens/overview/call-pages.ts'
import { isFiltered, queryOf } from '../../../src/console/screens/requests/filters.ts'
import { outcomeBadge, outcomeOf } from '../../../src/console/screens/requests/outcome.ts'
import { loadRemedy } from '../../../src/console/screens/requests/remedy.ts'
import { sentenceOf } from '../../../src/console/screens/requests/sentence.ts'
import { stagesOf } from '../../../src/console/screens/requests/stages.ts'
import { stepsOf } from '../../../src/console/screens/requests/steps.ts'
import { root } from '../../kit/sources.ts'
import { markup, respondWith } from './kit.ts'

const call = (of: Partial<RequestEntry> = {}): RequestEntry => ({
  id: 'gateway-0-1',
  trace_id: 'trace-1',
  at: '2026-03-01T12:00:00.000+00:00',
  kind: 'proxy',
  application: { id: 'a1', name: 'Checkout' },
  method: 'POST',
  route: '/proxy',
  host: 'pay.example',
  outcome: 'answered',
  response_complete: true,
  status: 200,
  destination_status: 200,
  duration_ms: 3,
  stages: { use: 1, authenticate: 0.5 },
  tokens: 1,
  rules: [],
  failed: false,
  node: 'gateway-0',
  ...of,
})

const NO_STATUS = { status: undefined, destination_status: undefined } as unknown as Partial<RequestEntry>
const REJECTED = call({
  ...NO_STATUS,
  outcome: 'not_sent',
  status: 403,
  code: 'destination_not_allowed',
  failed: true,
})
const NOT_SENT = call({
  outcome: 'not_sent',
  status: 502,
  code: 'destination_unreachable',
  details: 'connection_failure',
  failed: true,
})
const UNKNOWN = call({
  outcome: 'unknown',
  status: 408,
  code: 'destination_timeout',
  details: 'timeout',
  failed: true,
})
const CUT_OFF = call({ response_complete: false, failed: true })
const SENT = call({ ...NO_STATUS, outcome: 'sent' })

t.test('filters of the URL hash are the query of the API', async (t) => {
  const members = new URLSearchParams('kind=proxy&trace_id=%20abc%20&live=off&rows=200&sort=slowest&other=1')
  t.match(queryOf(members), { kind: 'proxy', trace_id: 'abc', sort: 'slowest' })
  t.notOk(['live', 'rows', 'other'].some((name) => name in queryOf(members)))
  t.ok(isFiltered(members))
  t.notOk(isFiltered(new URLSearchParams('kind=&host=%20&sort=slowest&live=off')), 'an order is no filter')
})

t.test('a call is grey until it is known how it ended, and never green when it failed', async (t) => {
  const look = (of: RequestEntry) => [outcomeOf(of), /class=badge (\w*)/.exec(markup(outcomeBadge(of)))?.[1]]
  t.same(look(call()), ['answered', 'good'])
  t.same(look(SENT), ['sent', ''])
  t.same(look(call({ ...NO_STATUS, kind: 'connect', outcome: 'tunneled' })), ['tunneled', ''])
  t.same(look(call({ outcome: 'dry_run' })), ['dry_run', ''])
  t.same(look(REJECTED), ['rejected', 'warn'])
  t.same(look(call({ kind: 'api', outcome: 'responded', status: 404, failed: true })), ['rejected', 'warn'])
  t.same(look(NOT_SENT), ['not_sent', 'bad'])
  t.same(look(UNKNOWN), ['unknown', 'bad'])
  t.same(look(CUT_OFF), ['cut_off', 'bad'])
  t.same(look(call({ status: 500, failed: true })), ['answered', 'bad'])
  t.same(look(call({ status: 404 })), ['answered', 'warn'], "the destination's own error")
})

t.test('outcomes are the words that the API filters by', async (t) => {
  for (const outcome of ['answered', 'not_sent', 'unknown', 'responded', 'sent'] as const)
    for (const status of [undefined, 200, 404, 502])
      for (const complete of outcome === 'answered' ? [true, false] : [undefined]) {
        const row = { outcome, status, complete } as ListedRequest
        const members = { outcome, status, response_complete: complete, failed: hasFailed(row) }
        const word = outcomeOf(call(members as never))
        for (const filter of ['rejected', 'cut_off'] as const)
          t.equal(matchesFilter(row, { outcome: filter }), word === filter, `${outcome} ${status} ${filter}`)
      }
})

t.test('a row says who calls where', async (t) => {
  const proxy = { id: 'p1', name: 'Stripe charges' }
  t.equal(sentenceOf(call({ proxy })), 'Stripe charges → pay.example')
  t.equal(sentenceOf(call()), 'Checkout → pay.example')
  t.equal(sentenceOf(call({ proxy: { id: 'p1' } })), 'deleted proxy → pay.example')
  t.equal(sentenceOf(call({ host: undefined as never })), 'Checkout → no destination')
  t.equal(sentenceOf(call({ application: undefined as never })), 'anonymous → pay.example')
  t.equal(sentenceOf(call({ kind: 'connect' })), 'Checkout → tunnel to pay.example')
  const api = { kind: 'api', method: 'GET', route: '/tokens/{id}' } as const
  t.equal(sentenceOf(call(api)), 'Checkout: GET /tokens/{id}')
  t.equal(sentenceOf(call({ ...api, application: { id: 'a' } })), 'deleted application: GET /tokens/{id}')
  t.equal(sentenceOf(call({ ...api, method: 'POST', route: 'Tokens.Get' })), 'Checkout: Tokens.Get')
})

t.test('a poll brings what became of a call that is listed', async (t) => {
  const { calls } = mergeNewerPage(
    { entries: [SENT], next: undefined },
    { entries: [call({ id: 'new' }), call()], next: undefined },
  )
  t.same(
    calls.entries.map(({ id, outcome }) => [id, outcome]),
    [
      ['new', 'answered'],
      [SENT.id, 'answered'],
    ],
  )
})

const at = (second: number, id: string) =>
  call({ id, at: `2026-03-01T12:00:${String(second).padStart(2, '0')}.000+00:00` })
const ids = ({ entries }: { readonly entries: readonly RequestEntry[] }) =>
  entries.map(({ id }) => id).join('')

t.test('a poll adds new calls, also of a process that lagged', async (t) => {
  const held = { entries: [at(5, 'e'), at(3, 'c')], next: 'older' }
  const { calls, isJoined } = mergeNewerPage(held, {
    entries: [at(6, 'f'), at(5, 'e'), at(4, 'd')],
    next: 'x',
  })
  t.ok(isJoined)
  t.equal(ids(calls), 'fedc')
  t.equal(calls.next, 'older', 'older ones are read from where they were')
})

t.test('calls before a gap are left out', async (t) => {
  const held = { entries: [at(3, 'c')], next: 'older' }
  const page = { entries: [at(9, 'i'), at(8, 'h')], next: 'x' }
  t.same(mergeNewerPage(held, page), { calls: page, isJoined: false })
  const all = { entries: [at(9, 'i')], next: undefined }
  t.ok(mergeNewerPage(held, all).isJoined, 'there are no others: the processes restarted')
  t.equal(ids(appendOlderPage(page, { entries: [at(7, 'g')], next: undefined })), 'ihg')
})

t.test('stages come in the order in which they run, with the rest', async (t) => {
  t.same(
    stagesOf(call()).map(({ name, ms }) => [name, ms]),
    [
      ['authenticate', 0.5],
      ['use', 1],
      ['other', 1.5],
    ],
  )
  t.same(
    stagesOf(call({ stages: { later: 1 }, duration_ms: 1 })).map(({ label }) => label),
    ['later'],
  )
})

t.test('steps show where a call ended', async (t) => {
  const titles = (of: RequestEntry) =>
    stepsOf(of).map(({ title, state }) => (state === 'failed' ? `${title}!` : title))
  t.same(titles(call()), ['Received', 'Authenticate', 'Open tokens', 'Forwarded', 'Destination', 'Response'])
  t.same(titles(call({ ...REJECTED, stages: { authenticate: 1, use: 1 } })), [
    'Received',
    'Authenticate',
    'Open tokens!',
    'Not sent',
  ])
  t.same(titles({ ...REJECTED, stages: {} }), ['Received', 'Not sent!'], 'before any stage')
  t.same(titles(NOT_SENT).slice(-2), ['Open tokens', 'Not sent!'])
  t.same(titles(UNKNOWN).slice(-2), ['Forwarded', 'Destination!'])
  t.same(titles(CUT_OFF).slice(-2), ['Destination', 'Response!'])
  t.same(titles(SENT).slice(-2), ['Forwarded', 'Response'])
  t.equal(stepsOf(SENT).at(-1)?.state, 'open')
  t.same(titles(call({ outcome: 'dry_run' })).at(-1), 'Ended')
  t.same(titles(call({ kind: 'connect', outcome: 'opened' })).at(-1), 'Ended')
})

t.test('the fix of an error code is the text of the documentation', async (t) => {
  const page =
    '<h2 id="invalid">invalid</h2>\n<p><strong>400 Validation failed.</strong> A &quot;member&quot; &amp;lt; <code>x</code>.</p>\n<h2 id="forbidden">'
  respondWith(t, page)
  t.equal(await loadRemedy('invalid'), '400 Validation failed. A "member" &lt; x.')
  t.equal(await loadRemedy('forbidden'), undefined)
  t.equal(await loadRemedy('nothing'), undefined)
  const reference = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8')
  for (const code of Object.keys(ERRORS)) t.match(reference, new RegExp(`^## ${code}$`, 'm'))
})
