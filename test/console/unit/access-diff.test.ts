import { mock } from 'node:test'
import t from 'tap'
import type { Api } from '../../../src/console/api/client.ts'
import { signal } from '../../../src/console/kit/signals.ts'
import { liveDifference } from '../../../src/console/screens/applications/access-diff.ts'
import type { DraftBody } from '../../../src/console/screens/applications/draft.ts'
import type { Diff } from '../../../src/console/screens/applications/types.ts'

const body = (permission: string): DraftBody => ({ name: 'One', permissions: [permission], rules: [] })

const diffOf = (container: string): Diff => ({
  data: [{ container, permission: 'token:read', from: 'none', to: 'mask', tokens: 1, exact: true }],
})

t.test(
  'a draft is compared once it is unchanged for a while, and the newest comparison counts',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const calls: { permission: string; signal: AbortSignal; respond(diff: Diff): void }[] = []
    const call = (_method: string, _path: string, options: { body: DraftBody; signal: AbortSignal }) =>
      new Promise((resolve) => {
        const [permission = ''] = options.body.permissions
        calls.push({ permission, signal: options.signal, respond: resolve })
      })
    const left = new AbortController()
    const draft = signal<DraftBody | undefined>(undefined)
    const live = liveDifference({ call } as unknown as Api, 'id', draft, left.signal)
    const settled = () => new Promise((resolve) => setImmediate(resolve))

    await settled()
    t.match(live.state.value, { kind: 'ready', value: { data: [] } }, 'nothing changed: no call')
    for (const permission of ['a', 'b', 'c']) draft.value = body(permission)
    t.equal(live.waiting.value, true)
    mock.timers.tick(400)
    t.strictSame(
      calls.map(({ permission }) => permission),
      ['c'],
      'one call for a burst of changes',
    )
    draft.value = body('d')
    mock.timers.tick(400)
    t.equal(calls[0]?.signal.aborted, true, 'the older comparison is cancelled')
    calls[1]?.respond(diffOf('/new/'))
    await settled()
    calls[0]?.respond(diffOf('/old/'))
    await settled()
    t.strictSame(live.value.value, diffOf('/new/'), 'a late response changes nothing')

    draft.value = body('e')
    draft.value = body('d')
    mock.timers.tick(400)
    t.equal(calls.length, 2, 'a change that was undone is not compared')
    t.equal(live.waiting.value, false)

    draft.value = body('f')
    left.abort()
    mock.timers.tick(400)
    t.equal(calls.length, 2, 'nothing is sent when the page was left')
  },
)
