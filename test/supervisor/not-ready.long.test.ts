import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort } from '../kit/sidevault.ts'
import { startBlind } from './start.ts'

/** A plugin that never becomes healthy. */
const ILL = `export const plugin = {
  api: 1, name: 'ill', version: '1.0.0',
  setup: () => ({ health: async () => { throw Object.assign(new Error('hunter2'), { code: 'EFAR' }) } }),
}
`

t.test('a start that does not become ready names the components in one line of the JSON log', async (t) => {
  const cwd = t.testdir({ 'package.json': '{"type":"module"}', ill: { 'index.js': ILL } })
  const env = { SIDEVAULT_PLUGINS: `*,${cwd}/ill` }
  const { output, exited } = startBlind(directoryFor(t), { port: await freePort(), env })
  t.strictSame(await exited, [1, null])
  const lines = output.stderr.trim().split('\n')
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error')
  t.match(errors, [{ msg: /not become ready within 60 s\. Failed: kernel \(EFAR\), .*See the log lines/ }])
  t.notMatch(output.stderr, /hunter2/)
})
