import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { commandNamed } from '../../../src/store/commands.ts'
import { createJobGroups } from '../../../src/store/sqlite/job-groups.ts'

const setUp = () => {
  const sent: (readonly string[])[] = []
  const groups = createJobGroups({
    send: (jobs) => sent.push(jobs.map(({ command }) => command)),
    onResult: () => {},
    now: () => 0,
  })
  let number = 0
  const push = (name: string) => groups.push({ number: ++number, command: commandNamed(name), args: {} })
  const turn = async (...names: string[]) => {
    for (const name of names) push(name)
    await setImmediate()
    await setImmediate()
    return sent.at(-1)
  }
  const complete = (...ok: number[]) =>
    groups.receive(ok.map((done) => ({ number: done, ok: true, value: undefined, ms: 1 })))
  return { sent, turn, complete }
}

t.test('the next group waits for as many calls as the last one had, and for no maintenance', async (t) => {
  const { sent, turn, complete } = setUp()
  t.same(await turn('logs.ingest'), ['logs.ingest'])
  complete(1)
  t.same(await turn('logs.ingest'), ['logs.ingest'])
  t.equal(sent.length, 2, 'maintenance follows maintenance at once')
  complete(2)
  t.same(await turn('tokens.create', 'tokens.create'), ['tokens.create', 'tokens.create'])
  complete(3, 4)
  await turn('tokens.update')
  t.equal(sent.length, 3, 'one call waits for a second one')
  t.same(await turn('tokens.delete'), ['tokens.update', 'tokens.delete'])
  complete(5, 6)
  t.same(await turn('logs.ingest'), ['logs.ingest'], 'maintenance runs until the next call comes')
  complete(7)
  await turn('tokens.update')
  t.equal(sent.length, 5, 'a call behind it waits for a second one')
  t.same(await turn('tokens.delete'), ['tokens.update', 'tokens.delete'])
})

t.test('calls that come during maintenance do not wait for its end, but later ones for theirs', async (t) => {
  const { sent, turn, complete } = setUp()
  await turn('logs.ingest')
  t.same(await turn('tokens.create', 'logs.ingest'), ['tokens.create'], 'one maintenance job at a time')
  await turn('tokens.update')
  t.equal(sent.length, 2)
  complete(1)
  await turn()
  t.equal(sent.length, 2, 'the call is not done')
  complete(2)
  t.same(await turn('tokens.delete'), ['tokens.update', 'tokens.delete'])
  complete(4, 5)
  t.same(await turn(), ['logs.ingest'])
})
