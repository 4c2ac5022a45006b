import t from 'tap'
import { hashOf, LineDrafts, readLine, writeLine } from '../../src/audit/line.ts'
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

t.test('labels are the last value of a record, absent from others', async (t) => {
  const drafts = new LineDrafts()
  const record = {
    tenant_id: 't',
    actor_id: 'a',
    actor_type: 'application',
    trace_id: 'x',
    entity_type: 'proxy',
    entity_id: 'p',
    operation: 'check',
    message: 'm',
    created_at: 1,
  }
  drafts.add([{ ...record, labels: '{"a":"é"}' }, record])
  const [draft] = drafts.lines
  if (draft === undefined) throw new Error('no line')
  const { text, hash } = writeLine(mac, 'before', 0, draft)
  t.match(
    text,
    String.raw`["proxy","p","check","m",1,null,null,null,"{\"a\":\"é\"}"],["proxy","p","check","m",1,null]`,
  )
  const line = readLine(mac, 'before', Buffer.from(text.trimEnd()))
  t.same(line?.records, [{ ...record, labels: '{"a":"é"}' }, record])
  t.equal(hashOf(mac, 'before', 2, line?.records ?? []), hash)
})
