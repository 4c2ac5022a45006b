import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ERRORS } from '../../../src/common/errors.ts'
import type { RequestEntry } from '../../../src/console/api/types.ts'
import { appendOlderPage, mergeNewerPage } from '../../../src/console/screens/requests/call-pages.ts'
import {
  filtersOf,
  isRejected,
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
  outcome: 'forwarded',
  duration_ms: 3,
  stages: { use: 1, authenticate: 0.5 },
  tokens: 1,
  rules: [],
  node: 'gateway-0',
  ...of,
})

const REJECTED = call({ outcome: 'responded', status: 403, code: 'destination_not_allowed' })

t.test('filters of the URL hash select calls', async (t) => {
  const asked = (text: string) => filtersOf(new URLSearchParams(text))
  t.same(asked('kind=&text=%20&other=1'), {}, 'empty ones filter nothing')
  const isShown = (text: string, of = call()) => matchesFilters(of, asked(text))
  t.ok(isShown(''))
  t.ok(isShown('kind=proxy&host=pay.example&application=a1'))
  t.notOk(isShown('kind=api'))
  t.notOk(isShown('host=pay.example.attacker.test'))
  t.ok(isShown('outcome=rejected', REJECTED))
  t.notOk(isShown('outcome=responded', REJECTED), 'a rejected call is no other outcome')
  for (const status of ['403', '4xx', '4XX', '4']) t.ok(isShown(`status=${status}`, REJECTED), status)
  t.notOk(isShown('status=5xx', REJECTED))
  t.notOk(isShown('status=4033', REJECTED))
  t.ok(isShown('status=502', call({ destination_status: 502 })), 'of the destination too')
  t.ok(isShown('text=CHECK%20proxy'), 'all words, in any member')
  t.notOk(isShown('text=check%20other'))
  t.ok(isShown('text=destination_not', REJECTED))
})

t.test('a call is rejected when Sidevault ended it with an error', async (t) => {
  t.ok(isRejected(REJECTED))
  t.ok(isRejected(call({ kind: 'api', outcome: 'responded', status: 404 })))
  t.notOk(isRejected(call({ outcome: 'forwarded', status: 500, destination_status: 500 })), 'its own error')
  t.equal(outcomeOf(call({ outcome: 'dry_run', status: 200 })), 'dry_run')
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
  t.same(titles(call()), ['Received', 'Authenticate', 'Open tokens', 'Forwarded', 'Response'])
  t.same(titles(call({ destination_status: 201, status: 201 })).slice(-2), ['Forwarded', 'Destination'])
  t.same(titles(call({ ...REJECTED, stages: { authenticate: 1, use: 1 } })), [
    'Received',
    'Authenticate',
    'Open tokens!',
    'Responded',
  ])
  t.same(titles(call({ ...REJECTED, stages: {} })), ['Received', 'Responded!'], 'before any stage')
  t.same(
    titles(call({ outcome: 'responded', status: 502, code: 'destination_unreachable' })).slice(-2),
    ['Destination!', 'Responded'],
    'a destination that did not respond',
  )
  t.same(titles(call({ outcome: 'dry_run' })).at(-1), 'Ended')
  t.same(titles(call({ outcome: 'interrupted' })).at(-1), 'Ended!')
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
