import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PRODUCTION_FILES } from '../../src/maintenance/production.ts'
import { root } from '../kit/sources.ts'
import { instructionsOf, textOf } from './kit.ts'

const all = instructionsOf(textOf('Dockerfile'))
const stages = all.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []))
const last = all.slice(stages.at(-1))
const only = (name: string) => last.filter((instruction) => instruction.name === name).map(({ rest }) => rest)

t.test('Envoy and Node have the versions of the bootstrap', async (t) => {
  const version = /const VERSION = '([\d.]+)'/.exec(textOf('bin/bootstrap/envoy.js'))?.[1]
  const node = /const NEEDED = (\d+)/.exec(textOf('bin/bootstrap/node.js'))?.[1]
  const images = all.filter(({ name }) => name === 'FROM').map(({ rest }) => rest.split(' ')[0])
  t.strictSame(
    images,
    ['${ENVOY_IMAGE}', '${NODE_IMAGE}', '${NODE_IMAGE}'],
    'a build may name each by digest',
  )
  const versions = all
    .filter(({ name }) => name === 'ARG')
    .map(({ rest }) => rest.replace(/@sha256:[0-9a-f]{64}$/, ''))
  t.strictSame(versions, [
    `ENVOY_IMAGE=envoyproxy/envoy:v${version}`,
    `NODE_IMAGE=node:${node}-bookworm-slim`,
  ])
})

t.test('every copied file exists, and is in the build context', async (t) => {
  const sent = textOf('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  const copied = all
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from='))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  for (const path of copied) {
    t.ok(existsSync(join(root, path)), path)
    t.ok(sent.includes(path), `${path} is sent`)
  }
  t.strictSame([...new Set(copied)].sort(), [...sent].sort(), 'nothing else is sent')
  t.strictSame([...PRODUCTION_FILES, '.npmrc'].sort(), [...sent].sort(), 'the files of a bundle')
})

t.test('the image needs nothing that it leaves out', async (t) => {
  const { imports, exports } = JSON.parse(textOf('package.json'))
  const within = [...Object.values(imports), ...Object.values(exports)].map(String)
  for (const path of within) t.match(path, /^\.\/(src\/|package\.json)/)
  t.strictSame(only('ENTRYPOINT'), ['["node", "/app/bin/sidevault.js"]'])
  t.strictSame(only('CMD'), ['["start"]'])
})

t.test('the image runs as an unprivileged user, with one writable directory and no tools', async (t) => {
  t.match(only('USER')[0], /^[1-9]\d*:[1-9]\d*$/)
  t.strictSame(only('VOLUME'), ['/var/lib/sidevault'])
  t.match(only('ENV')[0], /SIDEVAULT_DATA_DIR=\/var\/lib\/sidevault\/data$/)
  const run = only('RUN').join(' ')
  for (const tool of ['npm', 'npx', 'yarn', 'corepack']) t.match(run, `/usr/local/bin/${tool}`)
  t.notMatch(run, /build-essential|python|g\+\+|make /)
})

t.test('labels of the image are those of the package', async (t) => {
  const { description, version } = JSON.parse(textOf('package.json'))
  const labels = Object.fromEntries(
    [
      ...only('LABEL')
        .join(' ')
        .matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g),
    ].map(([, name, value]) => [name, value]),
  )
  t.strictSame(labels, { title: 'Sidevault', description, version })
})
