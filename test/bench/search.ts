/** What searches cost in process, one after the other, HTTP included: `node test/bench/search.ts [tokens stored]`. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { parseQuery } from '../../src/vault/search/parser.ts'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'
import { fillTokens } from '../store/sqlite/filled.ts'

const ROUNDS = 300
const stored = Number(process.argv[2] ?? 1_000_000)
const closers: (() => unknown)[] = []
const scope = { teardown: (close: () => unknown) => closers.unshift(close) } as unknown as Test
const service = await startTestService(scope)
try {
  const db = new Database(join(service.directory, 'vault.db'))
  fillTokens(db, 1, stored + 1, service.tenantId)
  db.close()
  const tally = async () => {
    while (await service.store.tokens.tally(50, 4_096));
  }
  await tally()
  const key = await service.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      service.call('POST', '/tokens', {
        key,
        body: {
          data: `needle-${index % 8}`,
          search_indexes: ['{{ data }}'],
          fingerprint_expression: '{{ data }}',
          metadata: { of: `${index % 8}` },
        },
      }),
    ),
  )
  // As the next round of upkeep does.
  await tally()
  const { id, fingerprint } = made[0]!.json
  const throughApi = [
    'data:"needle-1"',
    'data:"needle-1" AND type:token AND metadata.of:1',
    'data:"needle-1" OR metadata.of:2',
    'metadata.of:1',
    `fingerprint:${fingerprint}`,
    `id:${id}`,
    'type:token',
    'container:/general/*',
    'created_at:[2020-01-01 TO *]',
  ]
  /** Those that find tokens which were filled in, and cannot be opened, are asked of the store: a page and the total. */
  const ofStore = [
    'created_at:[2033-05-19T01:00:00Z TO 2033-05-25T02:03:04Z]',
    'created_at:[2033-05-19 TO 2033-05-25] AND type:card AND container:/c1/',
    'NOT created_at:[2033-05-19 TO 2033-05-25]',
    'modified_at:[2020-01-01 TO *]',
    'created_by:application-1',
    'created_by:application-1 AND type:card',
    'metadata.color:red',
    'metadata.color:red AND container:/c1/',
    'NOT metadata.color:red',
    'metadata.color:red AND metadata.n:4711',
    'metadata.color:red AND created_at:[2033-05-19 TO 2033-05-20]',
    'metadata.color:red AND created_by:application-1',
    'metadata.color:red OR type:token',
  ]
  process.stdout.write(
    `| query among ${stored.toLocaleString('en')} tokens | found | p50 ms | p99 ms | CPU ms |\n| --- | --- | --- | --- | --- |\n`,
  )
  const measure = async (query: string, search: () => Promise<number>) => {
    const times: number[] = []
    let found = 0
    const before = process.cpuUsage()
    for (let round = 0; round < ROUNDS && times.reduce((sum, ms) => sum + ms, 0) < 10_000; round++) {
      const start = performance.now()
      found = await search()
      times.push(performance.now() - start)
    }
    const { user, system } = process.cpuUsage(before)
    const cpu = ((user + system) / 1_000 / times.length).toFixed(2)
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(2)
    process.stdout.write(
      `| \`${query}\` | ${found.toLocaleString('en')} | ${at(0.5)} | ${at(0.99)} | ${cpu} |\n`,
    )
  }
  for (const query of throughApi)
    await measure(query, async () => {
      const { status, json, text } = await service.call('POST', '/v2/tokens/search', { key, body: { query } })
      if (status !== 200) throw new Error(text)
      return json.data.length
    })
  const { tokens } = service.store
  for (const query of ofStore) {
    const where = parseQuery(query, (text) => Buffer.from(text))
    const matching = { tenantId: service.tenantId, now: Date.now(), visibility: 'all', where } as const
    await measure(query, async () => {
      await tokens.list({ ...matching, size: 21 })
      return tokens.count(matching)
    })
  }
} finally {
  for (const close of closers) await close()
}
