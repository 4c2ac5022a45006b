import t from 'tap'
import { hashOf, readLine } from '../../src/audit/line.ts'
import { mac } from './kit.ts'

t.test('a line of 0.2.0, without disclosures, is read, and its rows have its hash', async (t) => {
  const body =
    '{"seq":2,"call":["tenant","app","application","trace"],"records":[["card","a","use","Card used",1000,42,"body"],["card","b","read","Card retrieved",1000,null]]'
  const hash = mac(`before${body}`)
  const line = readLine(mac, 'before', Buffer.from(`${body},"hash":"${hash}"}`))
  t.match(line?.records, [
    { entity_id: 'a', surfaces: 'body', token_seq: 42 },
    { entity_id: 'b', surfaces: undefined },
  ])
  t.notOk(line?.records.some((record) => 'disclosure' in record))
  t.equal(hashOf(mac, 'before', 2, line?.records ?? []), hash)
})
