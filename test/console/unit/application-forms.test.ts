import t from 'tap'
import type { Api } from '../../../src/console/api/client.ts'
import { ApiError } from '../../../src/console/api/problem.ts'
import { createIdempotencyKey } from '../../../src/console/kit/idempotency.ts'
import { suggestContainers } from '../../../src/console/screens/applications/containers.ts'
import { fieldPlaces, issuesAt } from '../../../src/console/screens/applications/fields.ts'

t.test('an idempotency key belongs to one input, until the call succeeds', async (t) => {
  const sending = createIdempotencyKey()
  const first = sending.headers({ name: 'a' })
  t.match(first['SVC-IDEMPOTENCY-KEY'], /^[0-9a-f]{32}$/)
  t.strictSame(sending.headers({ name: 'a' }), first, 'again, as after a timeout')
  const second = sending.headers({ name: 'b' })
  t.notSame(second, first, 'another input')
  sending.reset()
  t.notSame(sending.headers({ name: 'b' }), second, 'another call')
})

t.test('containers are suggested with their parents', async (t) => {
  const suggested = (containers: readonly string[]) => {
    const responses: Readonly<Record<string, object>> = {
      '/applications': { data: [{ id: 'a' }] },
      '/access/diff': { data: containers.map((container) => ({ container })) },
    }
    const call = async <T>(_method: string, path: string) => responses[path] as T
    return suggestContainers({ call } as Api, undefined, new AbortController().signal)
  }
  t.strictSame(await suggested(['/pci/high/', '/hr/', '/hr/']), ['/', '/hr/', '/pci/', '/pci/high/'])
  t.strictSame(await suggested([]), ['/'])
})

t.test('error messages are shown at their fields, others above the form', async (t) => {
  const error = new ApiError({
    issues: {
      'rules[0].destinations[1].ports[0]': ['must be an integer'],
      'rules[0].description': ['must not be empty'],
      'rules[0].permissions': ['is unknown', 'is unknown'],
      rules: ['must have at most 100 items'],
    },
  })
  t.equal(issuesAt(error, 'rules[0].destinations[1].ports'), 'must be an integer')
  t.equal(issuesAt(error, 'rules[0].permissions'), 'is unknown')
  t.equal(issuesAt(error, 'rules[0]'), undefined, 'not those of its members')
  t.equal(issuesAt(undefined, 'name'), undefined)
  t.strictSame(
    Object.keys(error.issues).filter((place) => !fieldPlaces(error).includes(place)),
    ['rules'],
  )
})
