/**
 * Prints the pages of SQLite that a commit of `/tokenize` of 20 changes, by table and index, and one of audit records
 * if the log has one: `node test/bench/pages.ts`, with ENVOY_BIN, half a minute. They are read from the write-ahead log
 * (https://www.sqlite.org/fileformat2.html#walformat).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { freePort, startSidevault } from '../kit/sidevault.ts'
import { httpRequest, load } from './load.ts'
import { table } from './report.ts'

const PAGE = 4_096
const HEADER = 24
/** Tokens before the measured calls, in twenties. */
const FILLING = 5_000
/** The log has some of their commits, and of those of their audit records: a checkpoint lets it begin anew. */
const MEASURED = 300
/** ms until the audit records of the tokens before are ingested. */
const SETTLE = 3_000

/** Numbers of the pages of each commit in the log, in order. */
const commitsOf = (log: Buffer): readonly (readonly number[])[] => {
  const salt = log.subarray(16, 24)
  const commits: number[][] = []
  let pages: number[] = []
  for (let at = 32; at + HEADER + PAGE <= log.length; at += HEADER + PAGE) {
    // What follows is from before the log began anew.
    if (!log.subarray(at + 8, at + 16).equals(salt)) break
    pages.push(log.readUInt32BE(at))
    if (log.readUInt32BE(at + 4) === 0) continue
    commits.push(pages)
    pages = []
  }
  return commits
}

const dataDir = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
const port = await freePort()
const sidevault = await startSidevault({
  dataDir,
  env: { SIDEVAULT_API_LISTEN: `127.0.0.1:${port}`, SIDEVAULT_LOG_LEVEL: 'warn' },
})
try {
  const key = await sidevault.application({ permissions: ['token:create'] })
  const values = JSON.stringify(Array.from({ length: 20 }, (_, i) => `value ${i}`))
  const headers = { 'content-type': 'application/json', 'svc-api-key': key }
  const requests = [httpRequest('POST', '/tokenize', headers, values)]
  const tokenize = (concurrency: number, most: number) =>
    load({ host: '127.0.0.1', port, requests, concurrency, most, seconds: 60 })
  await tokenize(8, FILLING)
  await setTimeout(SETTLE)
  await tokenize(1, MEASURED)
  const file = join(dataDir, 'sidevault.db')
  const log = readFileSync(`${file}-wal`)
  const db = new Database(file, { readonly: true })
  const names = new Map(
    (db.prepare('select name, pageno from dbstat').all() as { name: string; pageno: number }[]).map(
      ({ name, pageno }) => [pageno, name] as const,
    ),
  )
  db.close()
  const commits = commitsOf(log).map((pages) => pages.map((page) => names.get(page) ?? 'free'))
  for (const written of ['tokens', 'logs']) {
    const own = commits.filter((pages) => pages.includes(written))
    if (own.length === 0) continue
    const changed = own.flat()
    const mean = (pages: number) => (pages / own.length).toFixed(1)
    const rows = [...Map.groupBy(changed, (name) => name)]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(([name, pages]) => [name, mean(pages.length)])
    const text = table(
      [`${written}: ${own.length} commits`, 'pages'],
      [['all', mean(changed.length)], ...rows],
    )
    process.stdout.write(`${text}\n\n`)
  }
} finally {
  await sidevault.stop()
  rmSync(dataDir, { recursive: true })
}
