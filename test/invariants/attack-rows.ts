import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { type Outcome, preparedVault } from './prepared-vault.ts'
import { type Attack, edits, keyOf, type Row, replace, rollbacks, rowsOf, tablesOf } from './row-edits.ts'

/** Gain of an attack: a call that was denied, a secret that was not shown, another destination or caller. */
const gained = (before: readonly Outcome[], after: readonly Outcome[]): readonly string[] =>
  after.flatMap(({ ok, shows, leads }, at) => {
    const was = before[at]!
    if (ok && !was.ok) return [`call ${at} is not denied any more`]
    if (shows.some((secret) => !was.shows.includes(secret))) return [`call ${at} shows ${shows}`]
    if (ok && leads !== '' && leads !== was.leads) return [`call ${at} leads to ${leads}`]
    return []
  })

/**
 * Calls that only count and list: their rows are authorized one by one.
 */
const COUNTING = /^(?:logs?|log_.*|journal_.*|active_.*|schema_.*|token_counts)$/

/** Attacks a prepared vault row by row: `all` rows and tables, or one of a kind where something is decided. */
export const attackRows = async (t: Test, { all }: { readonly all: boolean }): Promise<void> => {
  const { service, change, look } = await preparedVault(t)
  const db = new Database(service.location)
  t.teardown(() => db.close())
  db.pragma('foreign_keys = off')
  const tables = tablesOf(db)
  const before = new Map(tables.map((table) => [table.name, rowsOf(db, table)]))
  await change()
  const honest = await look()
  t.ok(
    honest.some(({ shows }) => shows.length > 0) && honest.some(({ ok }) => !ok),
    'some calls disclose, some are denied',
  )
  let tried = 0
  const attack = async (...parts: readonly Attack[]) => {
    try {
      db.transaction(() => {
        for (const { table, from, to } of parts) replace(db, table, from, to)
      })()
    } catch {
      return
    }
    // An attacker who edits a row makes sure that it is read.
    db.prepare('update changes set version = version + 1').run()
    const gains = gained(honest, await look())
    for (const { table, from, to } of parts) {
      if (to !== undefined) replace(db, table, to, undefined)
      if (from !== undefined) replace(db, table, undefined, from)
    }
    tried++
    const titles = parts.map(({ title }) => title)
    if (gains.length > 0) t.fail(`${titles.join(', ')}: ${gains.join('; ')}`)
  }
  for (const table of tables) {
    // The counters are moved by every attack. Caches go by themselves after a minute when they are put back.
    if (table.name === 'changes' || (!all && COUNTING.test(table.name))) continue
    const now = rowsOf(db, table)
    const ofOne = (row: Row): boolean => (row.tenant_id ?? row.id) === service.tenantId
    // The limit that docs/threat-model.md, "A database writer" names: a token's whole row as it was once.
    for (const rollback of rollbacks(table, before.get(table.name)!, now))
      if ((all || ofOne(rollback.to!)) && (table.name !== 'tokens' || !rollback.title.startsWith('a row')))
        await attack(rollback)
    // A record of each collection, a response of each operation, and one of the other tenant to take values from.
    const kinds = Map.groupBy(now, (row) => (table.name === 'records' ? row.collection : row.operation))
    for (const kind of kinds.values()) {
      const rows = kind.toSorted((a, b) => Number(ofOne(b)) - Number(ofOne(a)))
      const other = rows.slice(1).slice(-1)
      for (const row of all ? rows : rows.slice(0, 1))
        for (const edit of edits(
          table,
          row,
          other.filter((other) => other !== row),
          all ? undefined : 2,
        ))
          await attack(edit)
    }
    t.strictSame(
      rowsOf(db, table)
        .map((row) => keyOf(table, row))
        .sort(),
      now.map((row) => keyOf(table, row)).sort(),
      table.name,
    )
  }
  // A kept response, and what says that its token is as it shows it.
  const attacksOn = (name: string): readonly Attack[] => {
    const table = tables.find((each) => each.name === name)!
    const now = rowsOf(db, table)
    const edited = now.flatMap((row) => [...edits(table, row, [])])
    return [...rollbacks(table, before.get(name)!, now), ...edited].filter(
      ({ title, from, to }) => to?.tenant_id === service.tenantId && from && !title.startsWith('a row'),
    )
  }
  const opened = attacksOn('idempotency_keys').filter(({ title }) =>
    /shown put back|shown_until edited \(0\)/.test(title),
  )
  const tokens = attacksOn('tokens').filter(
    ({ title, from }) =>
      /-(?:edited|ended)$/.test(String(from!.id)) &&
      /put back|(?:_at|_until|version) edited \(0\)/.test(title),
  )
  t.ok(opened.length > 2 && tokens.length > 10, `${opened.length} and ${tokens.length} attacks together`)
  for (const one of opened) for (const other of tokens) await attack(one, other)
  t.strictSame(await look(), honest, 'the vault is as it was')
  t.ok(tried > 200, `${tried} attacks`)
}
