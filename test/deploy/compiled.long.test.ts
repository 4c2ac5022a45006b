import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { instructionsOf, textOf } from './kit.ts'

t.test('the build of the image leaves compiled code, and no data', async (t) => {
  const instructions = instructionsOf(textOf('Dockerfile'))
  const user = instructions.findIndex(({ name }) => name === 'USER')
  const run = instructions.slice(user).find(({ name }) => name === 'RUN')?.rest ?? ''
  const [app, temporary] = [join(directoryFor(t), 'app'), directoryFor(t)]
  mkdirSync(join(app, '.cache'), { recursive: true })
  for (const name of ['bin', 'src', 'plugins', 'proto', 'docs', 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(app, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'))
  const { ENVOY_BIN = '', PATH = '' } = process.env
  const { status, stdout, stderr } = spawnSync('sh', ['-c', run], {
    cwd: app,
    env: {
      PATH: `${join(process.execPath, '..')}:${PATH}`,
      ENVOY_BIN,
      TMPDIR: temporary,
      SIDEVAULT_LISTEN: `127.0.0.1:${await freePort()}`,
    },
    encoding: 'utf8',
  })
  t.equal(status, 0, stdout + stderr)
  const compiled = globSync('.cache/compiled/*/*', { cwd: app })
  t.ok(compiled.length > 300, `${compiled.length} files are compiled`)
  t.ok(
    compiled.some((name) => name.endsWith('.stripped.js')),
    'those of the sandbox too',
  )
  t.same(globSync('*', { cwd: temporary }), [])
})
