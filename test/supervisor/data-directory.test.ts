import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDataDirectory } from '../../src/supervisor/data-directory.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

t.test(
  'a folder that others may read and that has other files is rejected, and stays unchanged',
  async (t) => {
    const home = t.testdir({ 'notes.txt': '' })
    chmodSync(home, 0o755)
    t.throws(() => openDataDirectory(home, 'all'), /SIDEVAULT_DATA_DIR.*chmod 700/)
    t.equal(modeOf(home), 0o755)
  },
)

t.test('files whose names only begin like those of Sidevault are foreign', async (t) => {
  for (const name of ['run.sh', 'runner', 'audit-2025.pdf', 'root.key.pub', 'sidevault.db.old']) {
    const shared = t.testdir({ [name]: '' })
    chmodSync(shared, 0o755)
    t.throws(() => openDataDirectory(shared, 'all'), /SIDEVAULT_DATA_DIR/, name)
    t.equal(modeOf(shared), 0o755)
  }
})

t.test('folders named "run" and "audit" may be foreign', async (t) => {
  for (const content of [
    { run: {} },
    { run: { 'other.lock': '' } },
    { run: '' },
    { audit: { 'audit.log': '' } },
  ]) {
    const shared = t.testdir({ ...content, 'www.html': '' })
    chmodSync(shared, 0o755)
    t.throws(() => openDataDirectory(shared, 'all'), /SIDEVAULT_DATA_DIR/, JSON.stringify(content))
    t.equal(modeOf(shared), 0o755)
  }
})

t.test(
  'an empty folder, an own disk, one with a root key or an earlier start becomes a data directory',
  async (t) => {
    const dir = t.testdir({
      empty: {},
      disk: { 'lost+found': {} },
      key: { 'root.key': '', 'note.txt': '' },
      run: { run: { 'admin.lock': '' }, 'note.txt': '' },
      audit: { audit: { 'gateway-0-0123456789ab.000001.jsonl': '' }, 'note.txt': '' },
    })
    for (const name of ['empty', 'disk', 'key', 'run', 'audit', 'new/deep', 'empty']) {
      const path = join(dir, name)
      mkdirSync(path, { recursive: true, mode: 0o755 })
      openDataDirectory(path, 'all').release()
      t.equal(modeOf(path), 0o700, name)
    }
  },
)

t.test('a private folder may have other files', async (t) => {
  const path = t.testdir({ 'notes.txt': '' })
  chmodSync(path, 0o700)
  t.doesNotThrow(() => openDataDirectory(path, 'all').release())
})

t.test('a lock that cannot be taken, as on a full disk, is reported without a stack', async (t) => {
  const path = t.testdir({ run: { 'admin.lock': {} } })
  t.throws(() => openDataDirectory(path, 'all'), {
    message: /cannot be created or written \(SQLITE_\w+\).*free space/,
  })
})
