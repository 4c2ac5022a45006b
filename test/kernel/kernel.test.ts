import t from 'tap'
import { Type } from 'typebox'
import { PluginIssues } from '../../src/kernel/check/issues.ts'
import type { Collection, Plugin, PluginContext } from '../../src/sdk/index.ts'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'
import { issuesOf, operationOf, pluginOf, startOverNothing, typeOf } from './kit.ts'

const Things = { name: 'things', schema: Type.Object({ id: Type.String(), owner: Type.String() }) }

const read = { type: 'thing:read', description: 'Read things', application_types: ['private'] }

const credentials = {
  collections: [] as string[],
  authenticate: async () => undefined,
  install: async () => {},
}

const consumer = { name: 'export', from: 'now', handle: async () => {} }
const job = { name: 'tidy', every: 10, run: async () => {} }

const pager = {
  name: 'pager',
  functions: ['page'],
  schema: Type.Object({ channel: Type.String({ pattern: '^#' }) }),
}
const provider = { page: async () => {}, channel: '#ops', also: () => {} }

/** A case, its plugins, and the only issue that they must have. */
const TABLE: readonly (readonly [string, readonly Plugin[], RegExp])[] = [
  ['another api', [pluginOf({}, { api: 2 })], /plugin "sample": it is written for plugin API 2\. .*api: 1/],
  ['a bad name', [pluginOf({}, { name: 'Sample!' })], /its name is not valid\. .*lower-case/],
  ['a bad version', [pluginOf({}, { version: '1' })], /version is not a semantic version\. .*"1\.0\.0"/],
  ['requires that is no list', [pluginOf({}, { requires: 'tokens' })], /"requires" is not a list/],
  ['no setup', [pluginOf({}, { setup: undefined })], /it has no setup function/],
  ['an unknown member', [pluginOf({}, { operations: [] } as never)], /a plugin has no member "operations"/],
  ['a name taken', [pluginOf(), pluginOf()], /its name is taken/],
  [
    'a missing requirement',
    [pluginOf({}, { requires: ['other'] })],
    /requires the plugin "other", which is not/,
  ],
  [
    'a circle of requirements',
    [pluginOf({}, { name: 'a', requires: ['b'] }), pluginOf({}, { name: 'b', requires: ['a'] })],
    /in a circle: a → b → a/,
  ],
  [
    'a config that its schema rejects',
    [pluginOf({}, { config: Type.Object({ port: Type.Integer() }) })],
    /plugin "sample" › config: "port" is required/,
  ],
  [
    'a setup that throws',
    [
      pluginOf(
        {},
        {
          setup: () => {
            throw new Error('no disk')
          },
        },
      ),
    ],
    /setup: it threw: no disk/,
  ],
  [
    'a setup that rejects',
    [
      pluginOf(
        {},
        {
          setup: async () => {
            throw new Error('late')
          },
        },
      ),
    ],
    /setup: it threw: late/,
  ],
  [
    'a setup that hangs',
    [pluginOf({}, { setup: () => new Promise(() => {}) })],
    /setup: it did not settle within 0\.05 s/,
  ],
  [
    'a setup that returns nothing',
    [pluginOf({}, { setup: () => undefined })],
    /setup: it does not return an object/,
  ],
  ['an unknown contribution', [pluginOf({ operation: [] })], /setup: a plugin cannot bring "operation"/],
  ['operations that are no list', [pluginOf({ operations: {} })], /"operations" is not a list of objects/],
  ['a start that is no function', [pluginOf({ start: 1 })], /"start" is not a function/],
  [
    'a service used inside setup',
    [pluginOf({}, { setup: (context: PluginContext) => ({ permissions: [...context.permissions()] }) })],
    /plugin "sample" used the service "permissions" inside setup/,
  ],
  [
    'records used inside setup',
    [
      pluginOf(
        {},
        {
          setup: async (context: PluginContext) => {
            await context.records(Things).get('a', 'b')
            return {}
          },
        },
      ),
    ],
    /used the service "records" inside setup/,
  ],
  [
    'the same operation twice',
    [pluginOf({ operations: [operationOf(), operationOf({ http: 'GET /others/{id}' })] })],
    /operation "Things\.Get": the same plugin has it twice/,
  ],
  [
    'the same route twice, under other member names',
    [
      pluginOf({ operations: [operationOf()] }),
      pluginOf(
        {
          operations: [
            operationOf({
              rpc: 'Other.Get',
              http: 'GET /things/{name}',
              input: Type.Object({ name: Type.String({ field: 1 }) }),
            }),
          ],
        },
        { name: 'other' },
      ),
    ],
    /plugin "other" › route "GET \/things\/\{\}": plugin "sample" has it too/,
  ],
  [
    'the same token type twice',
    [pluginOf({ tokenTypes: [typeOf()] }), pluginOf({ tokenTypes: [typeOf()] }, { name: 'other' })],
    /token type "locker": plugin "sample" has it too/,
  ],
  [
    'the same collection twice',
    [pluginOf({ collections: [Things] }), pluginOf({ collections: [Things] }, { name: 'other' })],
    /collection "things": plugin "sample" has it too/,
  ],
  [
    'a bad collection name',
    [pluginOf({ collections: [{ ...Things, name: 'Things' }] })],
    /its name is not valid/,
  ],
  [
    'a collection without id',
    [pluginOf({ collections: [{ name: 'x', schema: Type.Object({}) }] })],
    /not an object schema with a string "id"/,
  ],
  [
    'an index of nothing',
    [pluginOf({ collections: [{ ...Things, indexes: ['x'] }] })],
    /indexes: "x" is no string member/,
  ],
  [
    'a lookup listed twice',
    [pluginOf({ collections: [{ ...Things, lookups: ['owner', 'owner'] }] })],
    /listed twice/,
  ],
  [
    'the same filter twice',
    [
      pluginOf({ filters: { shout: (v: unknown) => v } }),
      pluginOf({ filters: { shout: (v: unknown) => v } }, { name: 'other' }),
    ],
    /filter "shout": plugin "sample" has it too/,
  ],
  [
    'a filter of the language',
    [pluginOf({ filters: { last4: (v: unknown) => v } })],
    /has a filter of this name/,
  ],
  [
    'a filter that is no function',
    [pluginOf({ filters: { shout: 1 } })],
    /filter "shout": it is not a function/,
  ],
  [
    'a bad filter name',
    [pluginOf({ filters: { 'SHOUT!': (v: unknown) => v } })],
    /filter "SHOUT!": its name is not valid/,
  ],
  [
    'a permission twice',
    [pluginOf({ permissions: [read] }), pluginOf({ permissions: [read] }, { name: 'other' })],
    /permission "thing:read": plugin "sample" has it too/,
  ],
  ['a bad permission', [pluginOf({ permissions: [{ ...read, type: 'read' }] })], /it is not "resource:verb"/],
  [
    'a permission without application types',
    [pluginOf({ permissions: [{ ...read, application_types: [] }] })],
    /its application types are not valid/,
  ],
  [
    'a port twice',
    [pluginOf({ ports: { credentials } }), pluginOf({ ports: { credentials } }, { name: 'other' })],
    /port "credentials": plugin "sample" has it too/,
  ],
  ['consumers that are no list', [pluginOf({ consumers: consumer })], /"consumers" is not a list of objects/],
  [
    'two consumers of one name',
    [pluginOf({ consumers: [consumer, consumer] })],
    /plugin "sample" › consumer "sample\/export": the same plugin has it twice/,
  ],
  [
    'a handle that is not async',
    [pluginOf({ consumers: [{ ...consumer, handle: () => Promise.resolve() }] })],
    /plugin "sample" › consumer "export": "handle" is not an async function\. Write async/,
  ],
  [
    'a consumer without a start',
    [pluginOf({ consumers: [{ name: 'export', handle: consumer.handle }] })],
    /consumer "export": "from" is not "now" or "start"/,
  ],
  [
    'two jobs of one name',
    [pluginOf({ jobs: [job, job] })],
    /plugin "sample" › job "sample\/tidy": the same plugin has it twice/,
  ],
  [
    'a job each second',
    [pluginOf({ jobs: [{ ...job, every: 1 }] })],
    /plugin "sample" › job "tidy": "every" is 1, not a number of seconds from 10\. Set 10 or more/,
  ],
  [
    'a health that is no function',
    [pluginOf({ jobs: [{ ...job, health: 'ok' }] })],
    /job "tidy": "health" is not a function\. Write async health/,
  ],
  ['a job without a run', [pluginOf({ jobs: [{ name: 'tidy', every: 10 }] })], /"run" is not an async/],
  ['a bad name of a job', [pluginOf({ jobs: [{ ...job, name: 'Tidy' }] })], /job "Tidy": its name is not/],
  [
    'an unknown member of a job',
    [pluginOf({ jobs: [{ ...job, cron: '* * * * *' }] })],
    /a job has no member "cron"\. Known are name, every, run/,
  ],
  ['an unknown port', [pluginOf({ ports: { mail: {} } })], /port "mail": there is no such port.*Known are/],
  [
    'an open port that no installed plugin opens',
    [pluginOf({ openPorts: [pager] }), pluginOf({ ports: { 'sample/mail': {} } }, { name: 'other' })],
    /plugin "other" › port "sample\/mail": there is no such port\. .*install the plugin.*, sample\/pager\./,
  ],
  [
    'two open ports of one name',
    [pluginOf({ openPorts: [pager, pager] })],
    /plugin "sample" › open port "sample\/pager": the same plugin has it twice\. Rename one/,
  ],
  [
    'an open port that asks for nothing',
    [pluginOf({ openPorts: [{ name: 'pager' }] })],
    /open port "pager": it says nothing of what a provider gives\. Add "functions"/,
  ],
  [
    'functions of an open port that are no list, whatever provides it',
    [pluginOf({ openPorts: [{ name: 'pager', functions: 'page' }], ports: { 'sample/pager': {} } })],
    /open port "pager": "functions" is not a list of names/,
  ],
  [
    'a schema of an open port that does not compile',
    [pluginOf({ openPorts: [{ ...pager, schema: { type: 'objekt' } }] })],
    /open port "pager" › schema: the schema does not compile/,
  ],
  [
    'a provider of an open port that lacks a function',
    [pluginOf({ openPorts: [pager], ports: { 'sample/pager': { channel: '#ops' } } })],
    /plugin "sample" › port "sample\/pager": it lacks the function "page"\. Add it/,
  ],
  [
    'a provider of an open port that its schema rejects',
    [
      pluginOf({ openPorts: [pager] }),
      pluginOf({ ports: { 'sample/pager': { page: async () => {}, channel: 7 } } }, { name: 'other' }),
    ],
    /plugin "other" › port "sample\/pager": "channel" must be/,
  ],
  [
    'two providers of an open port',
    [
      pluginOf({ openPorts: [pager], ports: { 'sample/pager': provider } }),
      pluginOf({ ports: { 'sample/pager': provider } }, { name: 'other' }),
    ],
    /plugin "other" › port "sample\/pager": plugin "sample" has it too\. Remove one of the plugins/,
  ],
  [
    'half a port',
    [pluginOf({ ports: { credentials: { ...credentials, authenticate: undefined } } })],
    /it lacks the function "authenticate"/,
  ],
  [
    'a port that watches nothing',
    [pluginOf({ ports: { credentials: { ...credentials, collections: ['keys'] } } })],
    /watches the collection "keys", which no plugin declares/,
  ],
]

for (const [what, plugins, issue] of TABLE)
  t.test(`a start is rejected for ${what}, and that is the only issue`, async (t) => {
    const issues = await issuesOf(plugins, { setupTimeout: 50 })
    t.equal(issues.length, 1, issues.join('\n'))
    t.match(issues[0], issue)
  })

t.test('plugins without an issue start', async (t) => {
  t.same(
    await issuesOf([
      pluginOf({ operations: [operationOf()], tokenTypes: [typeOf()], collections: [Things] }),
      pluginOf({ consumers: [consumer], jobs: [{ ...job, name: 'export' }] }, { name: 'other' }),
      pluginOf({ consumers: [consumer], openPorts: [pager] }, { name: 'third' }),
      pluginOf({ ports: { 'third/pager': provider } }, { name: 'fourth' }),
    ]),
    [],
  )
})

t.test('all issues of all plugins are reported at once, and nothing starts', async (t) => {
  let starts = 0
  const start = () => {
    starts++
  }
  const plugins = [
    pluginOf({ start, tokenTypes: [typeOf({ container: 'x', writeOnly: ['/zip'] })] }),
    pluginOf(
      { start, operations: [operationOf({ permission: 'thing:read', summary: '' })] },
      { name: 'other' },
    ),
    pluginOf({ start }, { name: 'third', requires: ['fourth'] }),
    pluginOf({ start }, { name: 'fine' }),
  ]
  const thrown = await startOverNothing(plugins, { configs: { missing: {}, fine: { a: 1 } } }).catch(
    (error) => error,
  )
  t.type(thrown, PluginIssues)
  t.match(thrown.message, /^7 issues in the plugins; nothing was started:\n/)
  for (const line of [
    'plugin "sample" › token type "locker" › container: "x" is not a container.',
    'plugin "sample" › token type "locker" › writeOnly[0]: "/zip" names no member of the data schema.',
    'plugin "other" › operation Things.Get: it has no summary.',
    'plugin "other" › operation Things.Get: its permission "thing:read" is declared by no plugin.',
    'plugin "third": it requires the plugin "fourth", which is not in the list.',
    'plugin configuration › "missing": there is no plugin of this name.',
    'plugin "fine" › config: the plugin takes no configuration, and some is given.',
  ])
    t.ok(thrown.message.includes(line), line)
  t.equal(starts, 0)
})

t.test('plugins start after their dependencies and stop in reverse order, each once', async (t) => {
  const seen: string[] = []
  const noted = (name: string, requires: string[]) =>
    pluginOf(
      { start: () => void seen.push(`start ${name}`), stop: async () => void seen.push(`stop ${name}`) },
      { name, requires },
    )
  const kernel = await startOverNothing([noted('c', ['b']), noted('a', []), noted('b', ['a'])])
  await Promise.all([kernel.stop(), kernel.stop()])
  t.same(seen, ['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
})

t.test('when one start fails, plugins started before are stopped and their signals aborted', async (t) => {
  const seen: string[] = []
  let signal: AbortSignal | undefined
  const first = pluginOf(
    {
      start: (stopping: AbortSignal) => {
        signal = stopping
      },
      stop: () => void seen.push('stop first'),
    },
    { name: 'first' },
  )
  const second = pluginOf(
    {
      start: async () => {
        throw new Error('no port')
      },
      stop: () => void seen.push('stop second'),
    },
    { name: 'second', requires: ['first'] },
  )
  const thrown = await startOverNothing([first, second]).catch((error) => error)
  t.type(thrown, PluginIssues)
  t.match(thrown.message, /plugin "second" › start: it failed: no port\. /)
  t.same(seen, ['stop first'])
  t.equal(signal?.aborted, true)
})

t.test('a plugin whose health rejects makes the kernel unhealthy', async (t) => {
  let isHealthy = true
  const kernel = await startOverNothing([
    pluginOf({
      health: async () => {
        if (!isHealthy) throw new Error('broken')
      },
    }),
  ])
  await t.resolves(kernel.health())
  isHealthy = false
  await t.rejects(kernel.health(), { message: 'broken' })
})

t.test('configuration reaches the plugin with its defaults', async (t) => {
  let seen: unknown
  const plugin = pluginOf(
    {},
    {
      config: Type.Object({ a: Type.Integer({ default: 3 }), b: Type.String() }),
      setup: (context: PluginContext) => {
        seen = context.config
        return {}
      },
    },
  )
  t.same(await issuesOf([plugin], { configs: { sample: { b: 'x' } } }), [])
  t.same(seen, { a: 3, b: 'x' })
})

t.test('declarations of plugins are frozen after start', async (t) => {
  const operation = operationOf()
  const kernel = await startOverNothing([pluginOf({ operations: [operation], tokenTypes: [typeOf()] })])
  t.throws(() => {
    ;(operation as { permission: string }).permission = 'none'
  }, TypeError)
  t.throws(() => (kernel.registry.operations as unknown[]).push(operation), TypeError)
  t.throws(() => {
    ;(kernel.registry.tokenTypes.get('locker') as { container: string }).container = '/'
  }, TypeError)
})

t.test('services work from start on: lists, hashes, records and commits of own collections', async (t) => {
  const Owners: Collection = {
    name: 'owners',
    schema: Type.Object({ id: Type.String(), name: Type.String() }),
    lookups: ['name'],
  }
  let services: PluginContext | undefined
  const plugin: Plugin = {
    api: 1,
    name: 'owners',
    version: '1.0.0',
    setup: (context) => {
      services = context
      return { collections: [Owners], tokenTypes: [typeOf()], permissions: [read as never] }
    },
  }
  const service = await startTestService(t, { openStore: openInThread, plugins: [plugin] })
  const { tenantId } = service
  const records = services!.records(Owners) as unknown as {
    get(tenant: string, id: string): Promise<unknown>
    insertMutation(tenant: string, record: unknown): never
  }
  await services!.commit([
    records.insertMutation(tenantId, { id: '1', name: 'Ann' }),
    records.insertMutation(tenantId, { id: '2', name: 'Bob' }),
  ])
  t.same(await records.get(tenantId, '2'), { id: '2', name: 'Bob' })
  await t.rejects(
    services!.commit([
      records.insertMutation(tenantId, { id: '3', name: 'Cid' }),
      records.insertMutation(tenantId, { id: '4', name: 'Ann' }),
    ]),
    { code: 'conflict' },
  )
  t.equal(await records.get(tenantId, '3'), undefined, 'all or none')
  t.throws(
    () => services!.records(Things).get(tenantId, '1'),
    /collection "things", which it does not declare/,
  )
  t.same(
    services!.tokenTypes().map(({ name }) => name),
    ['locker'],
  )
  t.same(services!.permissions(), [read])
  t.match(await services!.tenants.get(tenantId), { id: tenantId, name: 'First' })
  t.equal(await services!.tenants.get('other'), undefined)
})
