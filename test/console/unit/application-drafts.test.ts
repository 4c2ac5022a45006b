import t from 'tap'
import type { Application } from '../../../src/console/api/types.ts'
import { changesOf } from '../../../src/console/screens/applications/changes.ts'
import {
  differences,
  type Sentence,
  sentencesOf,
} from '../../../src/console/screens/applications/difference.ts'
import {
  appendRule,
  bodyOf,
  destinationDraft,
  draftOf,
  isSameBody,
  moveRule,
} from '../../../src/console/screens/applications/draft.ts'
import { destinationText, phraseOf } from '../../../src/console/screens/applications/phrase.ts'
import type { DiffLine } from '../../../src/console/screens/applications/types.ts'
import { textOf } from './kit.ts'

const sentenceText = ({ parts }: Sentence): string =>
  parts.map((part) => (typeof part === 'string' ? part : part.strong)).join('')

const line = (of: Partial<DiffLine>): DiffLine => ({
  container: '/pci/',
  permission: 'token:read',
  from: 'none',
  to: 'mask',
  tokens: 1_204,
  exact: true,
  ...of,
})

const rule = (priority: number, description: string) => ({
  description,
  priority,
  container: '/pci/',
  transform: 'mask' as const,
  permissions: ['token:read'],
})

const application: Application = {
  id: 'b3f1',
  name: 'Checkout',
  type: 'private',
  permissions: ['token:create'],
  rules: [rule(2, 'second'), rule(1, 'first'), rule(7, 'third')],
  created_by: 'a',
  created_at: '2026-01-01T00:00:00.000+00:00',
}

t.test('differences are listed as sentences: reveals, then losses, then gains', async (t) => {
  const sentences = sentencesOf({
    data: [
      line({}),
      line({ permission: 'token:search' }),
      line({ container: '/hr/', from: 'reveal', to: 'none', tokens: 3 }),
      line({ container: '/hr/', permission: 'token:use', from: 'reveal', to: 'mask', tokens: 1 }),
      line({ from: 'mask', to: 'reveal', tokens: 10_000, exact: false }),
      line({ permission: 'token:delete', to: 'redact', tokens: 2 }),
      line({ permission: 'token:create', from: 'mask', to: 'none' }),
      line({ permission: 'token:create', from: 'mask', to: 'reveal' }),
    ],
  })
  t.strictSame(sentences.map(sentenceText), [
    'gains reveal on more than 10,000 tokens in /pci/ (read), had mask',
    'loses reveal on 3 tokens in /hr/ (read)',
    'loses reveal on 1 token in /hr/ (use), keeps mask',
    'loses create: new tokens in /pci/',
    'gains mask on 1,204 tokens in /pci/ (read, search)',
    'gains delete of 2 tokens in /pci/',
  ])
  const shown = (access: readonly Sentence[]) =>
    textOf(differences({ access, changes: [], more: false, isManagement: false }))
  t.match(shown(sentences), '1 reveal, 3 losses, 2 gains')
  t.match(shown([]), 'Every token that exists is seen as before.')
})

t.test('the same change in many containers is one sentence with their sum, which opens', async (t) => {
  const containers = Array.from({ length: 46 }, (_, index) => `/c${index}/`)
  const in46 = (of: Partial<DiffLine>) => containers.map((container) => line({ container, tokens: 1, ...of }))
  const sentences = sentencesOf({
    data: [
      ...in46({ from: 'mask', to: 'reveal' }),
      ...in46({ permission: 'token:search' }),
      line({ container: '/large/', from: 'mask', to: 'reveal', tokens: 10_005 }),
      line({ container: '/large/', permission: 'token:search', tokens: 10_000, exact: false }),
      line({ container: '/hr/', from: 'mask', to: 'none', tokens: 2 }),
      ...in46({ permission: 'token:create', from: 'redact', to: 'none', tokens: 0 }),
      // Of two types of tokens in one container.
      line({ container: '/c0/', permission: 'token:create', from: 'mask', to: 'none', tokens: 0 }),
    ],
  })
  t.strictSame(sentences.map(sentenceText), [
    'gains reveal on 10,051 tokens in 47 containers (read), had mask',
    'loses mask on 2 tokens in /hr/ (read)',
    'loses create: new tokens in 46 containers',
    'gains mask on more than 10,046 tokens in 47 containers (search)',
  ])
  t.strictSame(
    sentences.map(({ each }) => each?.at(-1)),
    ['/large/: 10,005 tokens', undefined, '/c45/', '/large/: more than 10,000 tokens'],
  )
  const text = textOf(differences({ access: sentences, changes: [], more: false, isManagement: false }))
  t.match(text, '1 reveal, 2 losses, 1 gain')
  t.match(text, '/c7/: 1 token')
})

t.test('a draft of the stored application equals it, whatever the order of its rules', async (t) => {
  const draft = draftOf(application)
  t.strictSame(
    draft.rules.map(({ description }) => description),
    ['first', 'second', 'third'],
  )
  t.ok(isSameBody(bodyOf(draft), bodyOf(draftOf({ ...application, rules: application.rules.toReversed() }))))
  t.strictSame(changesOf(application, draft), [])
})

t.test('moved rules exchange priorities; a new one gets the next', async (t) => {
  const { rules } = draftOf(application)
  const order = (list: typeof rules) => list.map((rule) => `${rule.priority} ${rule.description}`)
  t.strictSame(order(moveRule(rules, 2, -1)), ['1 first', '2 third', '7 second'])
  t.equal(moveRule(rules, 0, -1), rules)
  t.equal(moveRule(rules, 2, 1), rules)
  t.equal(appendRule(rules, []).at(-1)?.priority, 8)
  const full = appendRule(draftOf({ ...application, rules: [rule(2_147_483_647, 'last')] }).rules, [])
  t.strictSame(
    full.map(({ priority }) => priority),
    [1, 2],
    'behind the highest priority, all get new ones',
  )
})

t.test('changes that affect no token are listed, too', async (t) => {
  const draft = draftOf({ ...application, destinations: [{ host: 'old.test' }] })
  const before = { ...application, destinations: [{ host: 'old.test' }] }
  const next = {
    ...draft,
    name: 'Payments',
    permissions: ['token:use'],
    destinations: [{ ...destinationDraft(), host: 'new.test', methods: 'post', path: '/v1/**' }],
    rules: appendRule(moveRule(draft.rules.slice(0, 2), 0, 1), []).map((rule, index) =>
      index === 0 ? { ...rule, transform: 'reveal' as const } : rule,
    ),
  }
  t.strictSame(changesOf(before, next).map(sentenceText), [
    'loses token:create',
    'gains token:use',
    'may not send to https://old.test',
    'may send to POST https://new.test/v1/**',
    'removes rule “third”',
    'changes rule “second”',
    'adds rule “New rule”',
    'changes the order of rules',
    'renames it to “Payments”',
  ])
  const guarded: Application = { ...application, response_guard: 'report' }
  t.equal(bodyOf(draftOf(guarded)).response_guard, 'report', 'what is set stays')
  t.strictSame(
    (['block', ''] as const).map((response_guard) =>
      changesOf(guarded, { ...draftOf(guarded), response_guard }).map(sentenceText),
    ),
    [['sets the response guard to “block”'], ['removes the response guard']],
  )
  const paged: Application = { ...application, allowed_origins: ['https://a.example', 'https://b.example'] }
  t.equal(draftOf(paged).allowed_origins, 'https://a.example, https://b.example')
  t.same(bodyOf(draftOf(paged)).allowed_origins, paged.allowed_origins, 'what is set stays')
  t.strictSame(
    ['https://b.example,https://c.example', ' '].map((allowed_origins) =>
      changesOf(paged, { ...draftOf(paged), allowed_origins }).map(sentenceText),
    ),
    [
      ['denies pages of https://a.example', 'allows pages of https://c.example'],
      ['denies pages of https://a.example', 'denies pages of https://b.example'],
    ],
  )
  const [open] = changesOf(before, { ...draft, destinations: [] })
  t.equal(open && sentenceText(open), 'may send anywhere that egress allows')
  t.equal(open?.effect, 'reveals')
})

t.test('destination fields are sent as lists, numerals as numbers', async (t) => {
  const destinations = [
    { ...destinationDraft(), host: ' a.test ', ports: '443, x', methods: 'get,', surfaces: 'body, header:x' },
  ]
  t.strictSame(bodyOf({ ...draftOf(application), destinations }).destinations, [
    { host: 'a.test', ports: [443, 'x'], methods: ['GET'], surfaces: ['body', 'header:x'] },
  ])
})

t.test('permissions of an application are summarized in one phrase', async (t) => {
  const of = (part: Partial<Application>) =>
    phraseOf({ type: 'private', permissions: [], rules: [], ...part })
  t.equal(of({ permissions: ['token:use', 'token:create'] }), 'Creates and uses tokens')
  t.equal(
    of({ rules: [rule(1, 'a')], permissions: ['token:create'] }),
    'Reads in /pci/, masked; creates elsewhere',
  )
  t.equal(
    of({ rules: [1, 2, 3, 4].map((n) => ({ ...rule(n, ''), container: '/' })) }),
    'Reads in all containers, masked; reads in all containers, masked; 2 more rules',
  )
  t.equal(
    of({ type: 'management', permissions: ['application:create', 'log:read', 'tenant:read'] }),
    'Manages applications; reads logs and the tenant',
  )
  t.equal(of({ permissions: ['passport:issue'] }), 'Passport:issue tokens')
  t.equal(
    destinationText({ host: '::1', ports: [80, 81], methods: ['GET'], surfaces: ['body'] }),
    'GET https://[::1]:80,81 (body)',
  )
})
