import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from './kit/sources.ts'

const parsed = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))

t.test('every package of the lock has the hash of its content, for all platforms', async (t) => {
  const { packages }: { packages: Record<string, { version?: string; integrity?: string }> } =
    parsed('package-lock.json')
  const places = Object.keys(packages).filter((place) => place !== '')
  t.ok(places.length > 300, 'packages are found')
  t.same(
    places.filter((place) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(packages[place]?.integrity ?? '')),
    [],
  )
})

t.test('dependencies have exact versions', async (t) => {
  const { dependencies, devDependencies } = parsed('package.json')
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    t.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
})
