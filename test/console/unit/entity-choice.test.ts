import t from 'tap'
import type { Api } from '../../../src/console/api/client.ts'
import { chosenEntity } from '../../../src/console/kit/entity-choice.ts'
import { signal } from '../../../src/console/kit/signals.ts'
import { dependentsOf } from '../../../src/console/screens/applications/dependents.ts'

interface Named {
  readonly id: string
  readonly name: string
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('a chosen entity that the list does not hold is loaded by its id', async (t) => {
  const within = new AbortController()
  t.teardown(() => within.abort())
  const known = signal<readonly Named[] | undefined>(undefined)
  const id = signal('new')
  const calls: string[] = []
  const call = async (_method: string, path: string) => {
    calls.push(path)
    if (path.endsWith('/none')) throw new Error('Not found')
    return { id: 'old', name: 'Old' }
  }
  const chosen = chosenEntity<Named>({
    api: { call } as unknown as Api,
    path: '/proxies',
    id: () => id.value,
    candidates: () => known.value,
    signal: within.signal,
  })
  const after = async (next: string) => {
    id.value = next
    await settled()
    return chosen.value?.name
  }
  t.equal(await after('old'), undefined)
  t.strictSame(calls, [], 'the list is loading')
  known.value = [{ id: 'new', name: 'New' }]
  await settled()
  t.equal(chosen.value?.name, 'Old')
  t.equal(await after('new'), 'New')
  t.equal(await after('none'), undefined)
  t.equal(await after(''), undefined)
  t.strictSame(calls, ['/proxies/old', '/proxies/none'])
})

t.test('dependents name the kinds of which only the newest were looked through', async (t) => {
  const call = async (_method: string, path: string) => {
    if (path.endsWith('/keys')) return []
    const data = path === '/proxies' ? [{ id: 'p', name: 'P', application_id: 'a' }] : []
    return { pagination: { page_number: 1, page_size: 100, total_pages: path === '/reactors' ? 1 : 2 }, data }
  }
  const sentences = await dependentsOf(
    { call } as unknown as Api,
    'a',
    () => true,
    new AbortController().signal,
  )
  t.strictSame(sentences, [
    'It has no key.',
    '1 proxy acts as it: “P”.',
    'Only the newest 100 proxies, sessions were looked through.',
  ])
})
