import t from 'tap'
import { type DryRun, steps } from '../../../src/console/screens/try/dry-run.ts'
import { textOf } from './kit.ts'

const RUN: DryRun = {
  forwards: false,
  proxy_error: {
    status: 403,
    code: 'denied_by_plugin',
    title: 'Denied by a plugin',
    detail: 'Come at nine.',
  },
  destination: { method: 'POST', url: 'https://a.test/', query: [] },
  acting: { id: 'a', as: 'caller' },
  tokens: [],
  checks: [
    { name: 'tickets', on: 'request', fail: 'open', verdict: 'labeled', labels: { ticket: 'A-1' }, ms: 1 },
    {
      name: 'hours',
      on: 'request',
      fail: 'closed',
      verdict: 'denied',
      code: 'closed',
      detail: 'Come at nine.',
      ms: 2,
    },
    { name: 'status', on: 'response', fail: 'open', verdict: 'not_run' },
  ],
  body: {},
  stages: {},
  notes: [],
}

t.test('a dry run shows each check with its verdict, and the error once', async (t) => {
  const text = textOf(steps(RUN, undefined)).replaceAll(/\s+/g, ' ')
  for (const part of ['tickets', 'ticket=A-1', 'closed: Come at nine.', 'not run', 'Nothing would be sent'])
    t.match(text, part)
  t.equal(text.split('Denied by a plugin').length, 2)
  const { checks: _, ...without } = RUN
  t.notMatch(textOf(steps(without, undefined)), 'Checks of plugins')
})
