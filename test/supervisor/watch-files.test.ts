import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fingerprint, watchFiles } from '../../src/supervisor/watch-files.ts'
import { directoryFor } from '../kit/directory.ts'

const everyMs = 1

// Watching alone keeps no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

t.test(
  'a change that could not be applied is retried until it is, and reported once for each state',
  async (t) => {
    let files = 'new'
    let applied = 'old'
    const tried: string[] = []
    const reported: string[] = []
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const watching = watchFiles(
      {
        now: async () => files,
        applied: () => applied,
        apply: async () => {
          tried.push(files)
          if (tried.length < 4) throw new Error(files)
          if (tried.length === 4) {
            files = 'newer'
            throw new Error('newer')
          }
          applied = files
          resolve()
        },
        onRejected: (error) => reported.push(String(error)),
      },
      { everyMs },
    )
    t.teardown(() => watching.close())
    await done
    t.same(tried, ['new', 'new', 'new', 'new', 'newer'])
    t.same(reported, ['Error: new'])
  },
)

t.test('files that were applied are left alone', async (t) => {
  let looks = 0
  const { promise: looked, resolve } = Promise.withResolvers<void>()
  const watching = watchFiles(
    {
      now: async () => {
        if (++looks === 5) resolve()
        return 'same'
      },
      applied: () => 'same',
      apply: async () => void t.fail('nothing has changed'),
      onRejected: () => {},
    },
    { everyMs },
  )
  t.teardown(() => watching.close())
  await looked
})

t.test('a new file, new content and a new link target are detected', async (t) => {
  const directory = directoryFor(t)
  const path = (name: string) => join(directory, name)
  const seen = new Set<string>()
  const look = async () => seen.add(await fingerprint([path('link/a'), path('b')]))
  await look()
  for (const name of ['one', 'two']) {
    mkdirSync(path(name))
    writeFileSync(path(`${name}/a`), 'a')
    rmSync(path('link'), { force: true })
    symlinkSync(name, path('link'))
    await look()
  }
  writeFileSync(path('two/a'), 'longer')
  await look()
  writeFileSync(path('b'), '')
  await look()
  t.equal(seen.size, 5)
  await look()
  t.equal(seen.size, 5)
})
