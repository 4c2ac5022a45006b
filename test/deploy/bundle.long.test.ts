import { join } from 'node:path'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { bundle } from './bundle-kit.ts'

t.test('two bundles are byte-equal, under another umask, time zone and language', async (t) => {
  const directory = directoryFor(t)
  const first = await bundle(join(directory, 'bundle.tar.gz'))
  const variables = { TZ: 'Asia/Kathmandu', LC_ALL: 'C', TAR_OPTIONS: '--owner=17', GZIP: '-1' }
  const second = await bundle(join(directoryFor(t), 'bundle.tar.gz'), 'umask 077; ', variables)
  t.match(first, /^[0-9a-f]{64} {2}bundle\.tar\.gz\n$/)
  t.equal(first, second)
})
