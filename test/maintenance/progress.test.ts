import t from 'tap'
import { createProgress } from '../../src/maintenance/progress.ts'

t.test('a long copy reports its progress, every ten seconds at most', async (t) => {
  const lines: string[] = []
  let now = 0
  const progress = createProgress(
    (line) => lines.push(line),
    () => now,
  )
  for (let rows = 1; rows <= 50; rows++) {
    now += 500
    progress('tokens', rows)
  }
  t.strictSame(lines, ['        tokens: 20 rows', '        tokens: 40 rows'])
})
