import t from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createHostApi } from '../../src/host-api/host-api.ts'
import type { Sandbox } from '../../src/sandbox/types.ts'

t.test('code for plugins cannot set the headers of the prefixes of the service', async (t) => {
  const sandbox: Sandbox = {
    run: async () => ({
      kind: 'threw',
      name: 'CustomHttpResponseError',
      message: '',
      frames: [],
      status: 418,
      headers: { 'svc-trace-id': 'forged', 'x-other': 'a' },
      console: [],
      timing: { waited: 0, cpu: 0, wall: 0 },
    }),
    check: async () => [],
    warm: async () => {},
    health: async () => ({ missing: [] }),
    close: async () => {},
  }
  const { createCode, close } = createHostApi({
    sandbox: { confine: async () => ({ missing: [] }) as never, start: async () => sandbox },
    fetch: () => Promise.reject(new Error('no request')),
    headerPrefixes: ['SVC'],
  })
  t.teardown(close)
  const code = createCode({ operations: [], invokeAs: () => Promise.reject(new Error('no call')) })
  const { signal } = new AbortController()
  const run = { tenantId: 'a', name: 'reactor', code: '', argument: null, traceId: 't', depth: 0, signal }
  const thrown: unknown = await code.run(run).catch((error: unknown) => error)
  t.ok(thrown instanceof AppError)
  t.strictSame((thrown as AppError).response, { status: 418, headers: { 'x-other': 'a' } })
})
