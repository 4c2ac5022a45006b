/** What searches cost in process, one after the other, HTTP included: `node test/bench/search.ts [tokens stored]`. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
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
  const { id, fingerprint } = made[0]!.json
  const queries = [
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
  process.stdout.write(
    `| query among ${stored.toLocaleString('en')} tokens | found | p50 ms | p99 ms |\n| --- | --- | --- | --- |\n`,
  )
  for (const query of queries) {
    const times: number[] = []
    let found = 0
    for (let round = 0; round < ROUNDS && times.reduce((sum, ms) => sum + ms, 0) < 10_000; round++) {
      const start = performance.now()
      const { status, json, text } = await service.call('POST', '/v2/tokens/search', { key, body: { query } })
      times.push(performance.now() - start)
      if (status !== 200) throw new Error(text)
      found = json.pagination.total_items
    }
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(2)
    process.stdout.write(`| \`${query}\` | ${found.toLocaleString('en')} | ${at(0.5)} | ${at(0.99)} |\n`)
  }
} finally {
  for (const close of closers) await close()
}
