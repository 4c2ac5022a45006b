import t from 'tap'
import { issuesOf, pluginOf, startOverNothing } from '../kit.ts'

const CHECK = { name: 'hours', on: 'request', fail: 'closed', handle: async () => undefined }

t.test('all issues of checks are reported at once, each with its place and fix', async (t) => {
  const checks = [
    { ...CHECK, name: 'Hours' },
    { ...CHECK, name: 'a', on: 'both' },
    { name: 'b', on: 'response', handle: CHECK.handle },
    { ...CHECK, name: 'c', timeout_ms: 1_001 },
    { ...CHECK, name: 'd', handle: () => undefined },
    { ...CHECK, name: 'e', handle: undefined },
    { ...CHECK, name: 'f', every: 1 },
    CHECK,
    CHECK,
  ]
  const issues = await issuesOf([pluginOf({ checks }), pluginOf({ checks: [CHECK] }, { name: 'other' })])
  for (const expected of [
    /check "Hours": its name is not valid\. .*lower-case/,
    /check "a" › on: it is "both"\. .*'request' or/,
    /check "b" › fail: it is undefined\. .*'closed'/,
    /check "c" › timeout_ms: it is 1001\. .*1 to 1000/,
    /check "d" › handle: it is no async function\. .*"async"/,
    /check "e": it has no handle function\. /,
    /check "f": a check has no member "every"\. Known are name, on, fail, timeout_ms, handle, health/,
    /check "hours": the same plugin has it twice\. Rename one/,
    /plugin "other" › check "hours": plugin "sample" has it too/,
  ])
    t.ok(
      issues.some((issue) => expected.test(issue)),
      `${expected} in ${issues.join('\n')}`,
    )
  t.equal(issues.length, 9)
  t.match(await issuesOf([pluginOf({ checks: {} })]), [/"checks" is not a list of objects/])
})

t.test('checks are in the order of plugins and declarations, frozen', async (t) => {
  const named = (...names: readonly string[]) => ({ checks: names.map((name) => ({ ...CHECK, name })) })
  const kernel = await startOverNothing([
    pluginOf(named('c', 'a'), { name: 'first', requires: ['second'] }),
    pluginOf(named('b'), { name: 'second' }),
  ])
  const { checks } = kernel.registry
  await kernel.stop()
  t.same(
    checks.map(({ plugin, check }) => `${plugin} ${check.name}`),
    ['second b', 'first c', 'first a'],
  )
  t.ok(checks.every(({ check }) => Object.isFrozen(check)))
})
