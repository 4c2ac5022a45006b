import t from 'tap'
import { bodyChanges, headerChanges } from '../../../src/gateway/dry-run/changes.ts'

t.test('bodies are compared by member, and changes reported as pointers', async (t) => {
  const before = { same: { a: [1, 2] }, gone: 1, deep: { x: 1, 'a/b~': 1 }, list: [1, 2, 3], kind: {} }
  const after = { same: { a: [1, 2] }, deep: { x: 2, new: null }, list: [1, 5], kind: [] }
  t.same(bodyChanges(before, after), {
    added: ['/deep/new'],
    removed: ['/gone', '/deep/a~1b~0', '/list/2'],
    changed: ['/deep/x', '/list/1', '/kind'],
  })
  t.same(bodyChanges({ a: 1 }, { a: 1 }), { added: [], removed: [], changed: [] })
  t.same(bodyChanges({ a: 1 }, 'text'), { added: [], removed: [], changed: [''] })
  t.same(bodyChanges({}, JSON.parse('{"__proto__":1}')).added, ['/__proto__'])
})

t.test('at most a hundred changes of a kind are reported', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`m${at}`, at]))
  t.equal(bodyChanges({}, many).added.length, 100)
})

t.test('header changes are reported by name: a stripped header that is set again is new', async (t) => {
  const head = new Map([
    ['old', ['1']],
    ['kept', ['1']],
    ['x.dotted', ['1']],
  ])
  const set = new Map([
    ['content-length', '2'],
    ['kept', '2'],
    ['new', '1'],
    ['x.dotted', '1'],
  ])
  t.same(headerChanges(head, ['x.dotted'], { set, remove: ['old'] }), {
    added: ['new', 'x.dotted'],
    removed: ['old'],
    changed: ['kept'],
  })
})
