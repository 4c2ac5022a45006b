import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import { FROZEN_FILE, printProtos } from '../../../src/admin/proto/generated.ts'
import { loadOperations } from '../../../src/commands/operations.ts'
import { writeOperations } from '../../../src/commands/proto/files.ts'
import type { Operation } from '../../../src/sdk/index.ts'
import { directoryFor } from '../../kit/directory.ts'
import { root } from '../../kit/sources.ts'

const shipped = () => loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} })
const committed = (name: string) => readFileSync(join(root, 'proto', name), 'utf8')

t.test('the .proto files in the project match the operations', async (t) => {
  const { files, issues } = printProtos(await shipped(), JSON.parse(committed(FROZEN_FILE)))
  t.same(issues, [], 'no field has another number or type than it ever had: if it must, give it another name')
  t.same(
    readdirSync(join(root, 'proto/sidevault/v1')).sort(),
    [...files.keys()].map((name) => name.slice('sidevault/v1/'.length)).sort(),
    'run "npm run proto" when operations changed',
  )
  for (const [name, text] of files)
    t.equal(committed(name), text, `${name}: run "npm run proto" when operations changed`)
})

t.test('every .proto file of the project declares a package of its own, none of Envoy', async (t) => {
  const files = readdirSync(join(root, 'proto'), { recursive: true, encoding: 'utf8' })
  const protos = files.filter((name) => name.endsWith('.proto'))
  t.ok(protos.includes('sidevault/ext-proc.proto'))
  for (const name of protos) t.match(committed(name), /^package sidevault\.[\w.]+;$/m, name)
})

const operation = (output: Record<string, ReturnType<typeof Type.String>>) =>
  ({
    rpc: 'Things.Get',
    http: 'GET /things',
    summary: 'Get a thing',
    permission: 'thing:read',
    audit: 'none',
    input: Type.Object({}),
    output: Type.Object(output, { title: 'Thing' }),
  }) as unknown as Operation

t.test('field numbers of removed members are reserved, and not reused', async (t) => {
  const out = directoryFor(t)
  const first = operation({ a: Type.String({ field: 1 }), b: Type.String({ field: 2 }) })
  t.same((await writeOperations([first], out)).issues, [])
  writeFileSync(join(out, 'sidevault/v1/stale.proto'), '')
  await writeOperations([operation({ b: Type.String({ field: 2 }) })], out)
  const text = readFileSync(join(out, 'sidevault/v1/things.proto'), 'utf8')
  t.match(text, '  reserved 1;\n  reserved "a";\n  string b = 2;')
  t.notOk(readdirSync(join(out, 'sidevault/v1')).includes('stale.proto'))

  const reused = await writeOperations([operation({ c: Type.String({ field: 1 }) })], out)
  t.same(reused, { written: [], issues: ['Thing.c uses the number 1, which is that of "a".'] })
  t.equal(readFileSync(join(out, 'sidevault/v1/things.proto'), 'utf8'), text, 'nothing is written')
})
