import Database from 'better-sqlite3'
import t from 'tap'
import { fromSqlite, fromWire, toWire } from '../../../src/store/sqlite/errors.ts'

const failed = (code: string) => fromWire(toWire(new Database.SqliteError('near "4242424242424242"', code)))

t.test('a failing or read-only disk rejects writes, and reports what was not done', async (t) => {
  for (const code of ['SQLITE_IOERR_WRITE', 'SQLITE_IOERR_READ', 'SQLITE_READONLY', 'SQLITE_CANTOPEN']) {
    const error = failed(code)
    t.match(error, {
      code: 'overloaded',
      status: 503,
      uncertain: false,
      message: /disk.*nothing was written/,
    })
    t.notMatch(JSON.stringify(toWire(error)), /4242/)
  }
})

t.test('a write whose sync failed is reported, since it may reappear after a crash', async (t) => {
  for (const code of ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC'])
    t.match(failed(code), {
      code: 'gateway_timeout',
      uncertain: true,
      message: /may have succeeded/,
    })
  t.match(fromSqlite(failed('SQLITE_IOERR_FSYNC')), { uncertain: true })
})
