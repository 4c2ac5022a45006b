import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ERRORS } from '../../../src/common/errors.ts'
import type { RequestEntry } from '../../../src/console/api/types.ts'
import { appendOlderPage, mergeNewerPage } from '../../../src/console/screens/requests/call-pages.ts'
import {
  filtersOf,
  hasFailed,
  matchesFilters,
  outcomeOf,
  sortCalls,
} from '../../../src/console/screens/requests/filters.ts'
import { loadRemedy } from '../../../src/console/screens/requests/remedy.ts'
import { stagesOf } from '../../../src/console/screens/requests/stages.ts'
import { stepsOf } from '../../../src/console/screens/requests/steps.ts'
import { root } from '../../kit/sources.ts'
import { respondWith } from './kit.ts'

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
  node: 'gateway-0',
  ...of,
})

const REJECTED = call({
  outcome: 'not_sent',
  status: 403,
  destination_status: undefined as never,
  code: 'destination_not_allowed',
})
const NOT_SENT = call({
  outcome: 'not_sent',
  status: 502,
  code: 'destination_unreachable',
  details: 'connection_failure',
})
const UNKNOWN = call({ outcome: 'unknown', status: 408, code: 'destination_timeout', details: 'timeout' })
const CUT_OFF = call({ response_complete: false })

t.test('filters of the URL hash select calls', async (t) => {
  const asked = (text: string) => filtersOf(new URLSearchParams(text))
  t.same(asked('kind=&text=%20&other=1'), {}, 'empty ones filter nothing')
  const isShown = (text: string, of = call()) => matchesFilters(of, asked(text))
  t.ok(isShown(''))
  t.ok(isShown('kind=proxy&host=pay.example&application=a1'))
  t.notOk(isShown('kind=api'))
  t.notOk(isShown('host=pay.example.attacker.test'))
  t.ok(isShown('outcome=rejected', REJECTED))
  t.notOk(isShown('outcome=not_sent', REJECTED), 'a rejected call is no other outcome')
  for (const failed of [REJECTED, NOT_SENT, UNKNOWN, CUT_OFF]) t.ok(isShown('outcome=failed', failed))
  t.notOk(isShown('outcome=failed'))
  for (const status of ['403', '4xx', '4XX', '4']) t.ok(isShown(`status=${status}`, REJECTED), status)
  t.notOk(isShown('status=5xx', REJECTED))
  t.notOk(isShown('status=4033', REJECTED))
  t.ok(isShown('status=502', call({ destination_status: 502 })), 'of the destination too')
  t.ok(isShown('text=CHECK%20proxy'), 'all words, in any member')
  t.notOk(isShown('text=check%20other'))
  t.ok(isShown('text=destination_not', REJECTED))
})

t.test('a call has failed unless its caller got the whole response of the destination', async (t) => {
  const states = (of: RequestEntry) => [outcomeOf(of), hasFailed(of)]
  t.same(states(REJECTED), ['rejected', true])
  t.same(states(call({ kind: 'api', outcome: 'responded', status: 404 })), ['rejected', true])
  t.same(states(NOT_SENT), ['not_sent', true])
  t.same(states(UNKNOWN), ['unknown', true])
  t.same(states(CUT_OFF), ['cut_off', true])
  t.same(states(call({ status: 500, destination_status: 500 })), ['answered', true])
  t.same(states(call({ status: 404, destination_status: 404 })), ['answered', false], 'its own error')
  t.same(states(call({ outcome: 'sent', status: undefined as never })), ['sent', false])
  t.same(states(call({ outcome: 'dry_run' })), ['dry_run', false])
})

t.test('a poll brings what became of a call that is listed', async (t) => {
  const sent = call({ outcome: 'sent' })
  const { calls } = mergeNewerPage(
    { entries: [sent], next: undefined },
    { entries: [call({ id: 'new' }), call()], next: undefined },
  )
  t.same(
    calls.entries.map(({ id, outcome }) => [id, outcome]),
    [
      ['new', 'answered'],
      [sent.id, 'answered'],
    ],
  )
})

t.test('calls are sorted by duration on request', async (t) => {
  const calls = [call({ id: '1', duration_ms: 1 }), call({ id: '2', duration_ms: 9 })]
  t.same(
    sortCalls(calls, 'slowest').map(({ id }) => id),
    ['2', '1'],
  )
  t.equal(sortCalls(calls, null), calls)
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
  t.same(titles(call({ outcome: 'sent' })).slice(-2), ['Forwarded', 'Response'])
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
