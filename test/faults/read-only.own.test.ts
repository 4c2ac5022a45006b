import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { smallDisk } from './disk.ts'

const disk = smallDisk(48)

t.test(
  'a read-only data directory is rejected at the start with a fix, and stays unchanged',
  { skip: typeof disk === 'string' && disk },
  async (t) => {
    if (typeof disk === 'string') return
    t.teardown(disk.unmount)
    const dataDir = join(disk.path, 'data')
    const first = await startSidevault({ dataDir })
    const key = await first.application({ permissions: ALL_TOKEN_PERMISSIONS })
    const { id } = (await first.call('POST', '/tokens', { key, body: { data: 'kept' } })).json
    await first.stop()
    const files = () =>
      readdirSync(dataDir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name)).toString('base64')])
    const before = files()

    disk.remount('ro')
    await t.rejects(
      startSidevault({ dataDir }),
      /ended with [1-9][\s\S]*cannot be created or written \(EROFS\)\. Set SIDEVAULT_DATA_DIR/,
    )
    t.strictSame(files(), before)

    disk.remount('rw')
    const again = await startSidevault({ dataDir })
    t.teardown(() => again.stop())
    t.equal((await again.call('GET', `/tokens/${id}`, { key })).status, 200)
  },
)
